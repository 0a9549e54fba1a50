import pickle
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cofire import SparseMLPClassifier, SparseMLPRegressor
from cofire.callbacks import (
    Callback,
    EarlyStopping,
    Monitor,
    ProgressDisplay,
    RewiringStudy,
)
from cofire.methods.ctre.ablations import CTREWithoutRandom
from cofire.methods.ctre.sequential import CTRESequential
from helpers.estimator_cases import (
    ESTIMATORS,
    Snapshots,
    classes,
    data_for,
    network_bits,
    numbers,
    same,
    same_training,
    small,
)
from helpers.needs import needs_package


class Diary(Callback):
    """Writes down what it is told; stops, or raises, after a given epoch."""

    def __init__(self, log, name="", stop_at=None, error=None):
        self.log, self.name = log, name
        self.stop_at, self.error = stop_at, error

    def on_train_begin(self, estimator, progress, n_epochs):
        self.log.append((self.name, "begin", n_epochs))

    def on_epoch_end(self, progress, record):
        self.log.append((self.name, "epoch", record["epoch"]))
        if self.error is not None and record["epoch"] == self.stop_at:
            raise self.error
        return record["epoch"] == self.stop_at

    def on_train_end(self, progress):
        self.log.append((self.name, "end", progress.epoch))


@pytest.mark.parametrize("of", ESTIMATORS)
def test_callbacks_are_told_in_order_from_the_beginning_to_the_end(of):
    log = []
    model = small(of, max_iter=2, callbacks=[Diary(log, "a"), Diary(log, "b")])
    model.fit(*data_for(of))
    assert log == [
        *[("a", "begin", 2), ("b", "begin", 2)],
        *[("a", "epoch", 0), ("b", "epoch", 0)],
        *[("a", "epoch", 1), ("b", "epoch", 1)],
        *[("a", "end", 2), ("b", "end", 2)],
    ]


def test_a_callback_ends_the_fit_after_all_were_told():
    X, y = classes()
    log = []
    diaries = [Diary(log, "a", stop_at=1), Diary(log, "b")]
    model = small(max_iter=9, callbacks=diaries).fit(X, y)
    assert model.n_iter_ == len(model.loss_curve_) == 2
    assert log[-3:] == [("b", "epoch", 1), ("a", "end", 2), ("b", "end", 2)]
    assert same_training(model, small(max_iter=2).fit(X, y))


def test_partial_fit_tells_callbacks_too():
    X, y = classes()
    log = []
    model = small(callbacks=[Diary(log)])
    model.partial_fit(X, y).partial_fit(X, y)
    assert log == [
        *[("", "begin", 1), ("", "epoch", 0), ("", "end", 1)],
        *[("", "begin", 1), ("", "epoch", 1), ("", "end", 2)],
    ]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("of", ESTIMATORS)
def test_an_interrupt_goes_through_and_leaves_a_usable_estimator(of, error):
    X, y = data_for(of)
    log, snapshots = [], Snapshots()
    callbacks = [snapshots, Diary(log, "a", stop_at=2, error=error), Diary(log, "b")]
    model = small(of, max_iter=9, callbacks=callbacks)
    with pytest.raises(error):
        model.fit(X, y)
    assert ("b", "end", 3) in log
    assert model.n_iter_ == len(model.history_) == model.receipt_.epochs == 3
    assert same(network_bits(model.network_), network_bits(snapshots.networks[-1]))
    assert np.array_equal(model.predict(X), small(of, max_iter=3).fit(X, y).predict(X))
    # And it can go on as if nothing had happened.
    model.set_params(callbacks=())
    model.partial_fit(X, y)
    assert same_training(model, small(of, max_iter=4).fit(X, y))


def test_a_callback_that_refuses_leaves_the_estimator_as_it_was():
    X, y = classes()
    model = small().fit(X, y)
    log = []
    bad = Monitor(X[:, :3], y)  # other features than the model has
    model.set_params(callbacks=[Diary(log), bad])
    before = dict(vars(model))
    with pytest.raises(ValueError, match="X has 3 features"):
        model.fit(X, y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    assert log == [("", "begin", 4), ("", "end", 0)]


# ---- EarlyStopping -------------------------------------------------------------------


def test_early_stopping_waits_for_patience_epochs_without_a_better_score():
    stopping = EarlyStopping(3)
    stalls = [0, 1, 2, 3, 4]
    records = [{"stalled_epochs": n, "switched": False} for n in stalls]
    told = [stopping.on_epoch_end(None, record) for record in records]
    assert told == [False, False, False, True, True]


def test_early_stopping_gives_the_second_phase_as_much_time_as_the_first():
    X, y = classes()
    model = small(
        method=CTRESequential(patience=3),
        early_stopping=True,
        n_iter_no_change=3,
        max_iter=60,
        learning_rate_init=1e-9,  # never better than after the first epoch
        drop_fraction=0,
    ).fit(X, y)
    assert [record["stalled_epochs"] for record in model.history_] == list(range(7))
    assert [record["switched"] for record in model.history_] == [False] * 3 + [True] * 4
    phases = [record["random_phase"] for record in model.history_]
    assert phases == [False] * 4 + [True] * 3


def test_early_stopping_has_no_say_without_validation():
    X, y = classes()
    assert small(max_iter=5, callbacks=[EarlyStopping(1)]).fit(X, y).n_iter_ == 5


# ---- Monitor -------------------------------------------------------------------------


def test_a_monitor_scores_every_epoch_as_the_model_of_then_would():
    X, y = classes()
    X_test, y_test = classes(seed=1)
    monitor, snapshots = Monitor(X_test, y_test), Snapshots()
    model = small(callbacks=[monitor, snapshots]).fit(X, y)
    assert len(monitor.scores) == len(monitor.losses) == 4
    for score, loss, network in zip(
        monitor.scores, monitor.losses, snapshots.networks, strict=True
    ):
        model._progress.network = network
        assert score == model.score(X_test, y_test)
        likely = model.predict_proba(X_test).astype(np.float64)
        likely /= likely.sum(axis=1, keepdims=True)
        assert loss == pytest.approx(log_loss(y_test, likely), rel=1e-5)


def test_a_monitor_of_a_regressor_tells_r2_and_half_the_squared_error():
    X, y = numbers()
    X_test, y_test = numbers(seed=1)
    monitor = Monitor(X_test, y_test)
    model = small(SparseMLPRegressor, callbacks=[monitor]).fit(X, y)
    predicted = model.predict(X_test)
    assert monitor.scores[-1] == pytest.approx(r2_score(y_test, predicted), rel=1e-5)
    error = (predicted - y_test) / model.target_scale_
    assert monitor.losses[-1] == pytest.approx(np.mean(error**2) / 2, rel=1e-5)


def test_a_monitor_weights_its_rows():
    X, y = classes()
    weight = np.random.default_rng(0).integers(0, 5, size=len(y))
    monitor = Monitor(X, y, sample_weight=weight)
    model = small(callbacks=[monitor]).fit(X, y)
    weighted = accuracy_score(y, model.predict(X), sample_weight=weight)
    assert monitor.scores[-1] == pytest.approx(weighted)
    assert monitor.scores[-1] != model.score(X, y)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_training_cannot_see_a_monitor(of):
    X, y = data_for(of)
    watched = small(of, callbacks=[Monitor(-X, y[::-1])]).fit(X, y)
    assert same_training(watched, small(of).fit(X, y))
    assert watched.best_validation_score_ is None
    assert all(r["validation_score"] is None for r in watched.history_)


def test_a_monitor_begins_anew_with_every_fit():
    X, y = classes()
    monitor = Monitor(X, y)
    model = small(callbacks=[monitor]).fit(X, y)
    first = list(monitor.scores)
    model.fit(X, y)
    assert monitor.scores == first


def test_a_watched_model_can_be_cloned_and_pickled():
    X, y = classes()
    model = small(callbacks=[Monitor(X, y)]).fit(X, y)
    back = pickle.loads(pickle.dumps(model))
    assert back.callbacks[0].scores == model.callbacks[0].scores
    assert np.array_equal(back.predict_proba(X), model.predict_proba(X))
    again = clone(model).fit(X, y)
    assert again.callbacks[0] is not model.callbacks[0]
    assert again.callbacks[0].scores == model.callbacks[0].scores


# ---- the display ---------------------------------------------------------------------


@pytest.mark.parametrize("of", ESTIMATORS)
def test_the_display_shows_epoch_loss_and_validation_and_disturbs_nothing(of, capsys):
    X, y = data_for(of)
    model = small(of, max_iter=3, verbose=1)
    model.fit(X, y, X_val=X, y_val=y)
    shown = capsys.readouterr().err
    lines = [line for line in shown.splitlines() if "epoch" in line]
    assert [line.split("  ")[1] for line in lines] == [
        *("epoch 1/3", "epoch 2/3", "epoch 3/3")  # a line each: this is no terminal
    ]
    assert of.__name__ in shown
    assert "epoch 3/3" in shown
    assert f"loss {model.loss_:.4f}" in shown
    assert f"validation {model.validation_scores_[-1]:.4f}" in shown
    quiet = small(of, max_iter=3).fit(X, y, X_val=X, y_val=y)
    assert capsys.readouterr() == ("", "")
    assert same_training(model, quiet)
    pickle.dumps(model)


def test_the_display_says_which_layers_are_full(capsys):
    X, y = classes()
    small(hidden_layer_sizes=(10,), epsilon=4, verbose=1).fit(X, y)
    assert "Every connection exists in layer 2." in capsys.readouterr().err
    small(hidden_layer_sizes=(10,), epsilon=1, verbose=1).fit(X, y)
    small(method="dense", verbose=1).fit(X, y)
    assert "Every connection" not in capsys.readouterr().err


def test_the_display_ends_with_an_error_and_can_be_shown_again(capsys):
    X, y = classes()
    failing = Diary([], stop_at=1, error=RuntimeError)
    with pytest.raises(RuntimeError):
        small(verbose=1, callbacks=[failing]).fit(X, y)
    small(callbacks=[ProgressDisplay()]).fit(X, y).partial_fit(X, y)
    assert "epoch 4/4" in capsys.readouterr().err


def test_on_a_terminal_it_is_a_bar(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes the output for a terminal
    X, y = classes()
    small(max_iter=3, verbose=1).fit(X, y)
    shown = capsys.readouterr()
    assert "epoch 3/3" in shown.out and "\x1b[" in shown.out and shown.err == ""


def test_lines_say_which_of_several_networks_they_are_about(capsys):
    X, y = classes()
    small(max_iter=2, verbose=1, n_networks=2).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[:2] for line in lines] == [
        [f"SparseMLPClassifier, network {i} of 2", f"epoch {j}/2"]
        for i in (1, 2)
        for j in (1, 2)
    ]


def test_two_fits_may_show_themselves_at_once(capsys):
    X, y = classes()
    meet = threading.Barrier(2, timeout=20)

    class Meet(Callback):
        def on_epoch_end(self, progress, record):
            meet.wait()

    models = [small(verbose=1, callbacks=[Meet()]) for _ in range(2)]
    threads = [threading.Thread(target=m.fit, args=(X, y)) for m in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [model.n_iter_ for model in models] == [4, 4]


# ---- scikit-learn's own callbacks (from 1.9 on) --------------------------------------


@pytest.fixture
def theirs():
    return needs_package("sklearn.callback", "pip install 'scikit-learn>=1.9'")


@pytest.mark.parametrize(
    ("of", "scoring"), [(SparseMLPClassifier, "accuracy"), (SparseMLPRegressor, "r2")]
)
def test_a_scoring_monitor_scores_every_epoch(of, scoring, theirs):
    X, y = data_for(of)
    monitor, ours = theirs.ScoringMonitor(scoring=scoring), Monitor(X, y)
    model = small(of, callbacks=[ours]).set_callbacks(monitor)
    model.fit(X, y)
    rows = monitor.get_logs(select="most_recent").data
    scores = [row[scoring] for row in rows if row["task_name"] == "epoch"]
    assert scores == pytest.approx(ours.scores, abs=1e-6)
    assert scores[-1] == pytest.approx(model.score(X, y))
    assert same_training(model, small(of).fit(X, y))


@pytest.mark.parametrize("of", ESTIMATORS)
def test_a_progress_bar_of_theirs(of, theirs, capsys):
    X, y = data_for(of)
    model = small(of).set_callbacks(theirs.ProgressBar())
    model.fit(X, y)
    model.partial_fit(X, y)
    assert capsys.readouterr().out.count(f"{of.__name__} - fit") >= 2
    assert model.n_iter_ == 5
    pickle.dumps(model)


def test_a_progress_bar_of_theirs_on_a_pipeline(theirs, capsys):
    X, y = classes()
    model = make_pipeline(StandardScaler(), small())
    model.set_callbacks(theirs.ProgressBar(max_propagation_depth=None)).fit(X, y)
    assert model[-1].n_iter_ == 4
    assert "Pipeline" in capsys.readouterr().out


class Hooks:
    """A callback as scikit-learn wants it, which may stop or refuse."""

    def __init__(self, log, stop_at=None, refuse=False):
        self.log, self.stop_at, self.refuse = log, stop_at, refuse

    def setup(self, estimator, context):
        self.log.append("setup")
        if self.refuse:
            raise ValueError("not with me")

    def teardown(self, estimator, context):
        self.log.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.log.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.log.append(("end", context.task_name, context.task_id))
        if context.task_name == "epoch":
            assert fitted_estimator.predict(X).shape == y.shape
            return context.task_id == self.stop_at


def test_their_callbacks_hear_every_task_and_may_stop(theirs):
    X, y = classes()
    log = []
    model = small().set_callbacks(Hooks(log, stop_at=1)).fit(X, y)
    assert model.n_iter_ == 2
    assert log == [
        *["setup", ("begin", "fit", 0)],
        *[("begin", "epoch", 0), ("end", "epoch", 0)],
        *[("begin", "epoch", 1), ("end", "epoch", 1)],
        *[("end", "fit", 0), "teardown"],
    ]


def test_their_callbacks_are_taken_down_after_an_error(theirs):
    X, y = classes()
    log = []
    model = small(callbacks=[Diary([], stop_at=0, error=KeyboardInterrupt)])
    with pytest.raises(KeyboardInterrupt):
        model.set_callbacks(Hooks(log)).fit(X, y)
    assert log[-1] == "teardown"
    assert not any(name.startswith("_callback") for name in vars(model))


def test_a_callback_of_theirs_that_refuses_leaves_the_estimator_as_it_was(theirs):
    X, y = classes()
    model = small().fit(X, y)
    log = []
    model.set_callbacks(Hooks(log), Hooks(log, refuse=True))
    before = dict(vars(model))
    with pytest.raises(ValueError, match="not with me"):
        model.fit(X, y)
    assert log == ["setup", "setup", "teardown", "teardown"]
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


def test_nothing_of_theirs_outlives_a_process(theirs):
    """Their progress bar runs a thread that ends with its teardown, or never."""
    code = """
    import numpy as np
    from sklearn.callback import ProgressBar
    from cofire import SparseMLPClassifier
    X, y = np.eye(8), np.arange(8) % 2
    model = SparseMLPClassifier((4,), epsilon=1, max_iter=2)
    model.set_callbacks(ProgressBar()).fit(X, y).partial_fit(X, y)
    """
    code = textwrap.dedent(code)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_monitor_keeps_its_curve_over_partial_fits():
    X, y = classes()
    model = small(callbacks=[Monitor(X, y)])
    for n in range(1, 4):
        model.partial_fit(X, y)
        assert len(model.callbacks[0].scores) == n
    model.fit(X, y)  # a new fit, a new curve
    assert len(model.callbacks[0].scores) == model.n_iter_


# ---- RewiringStudy -------------------------------------------------------------------


def test_a_study_tells_what_each_rewiring_did():
    X, y = classes()
    study, snapshots = RewiringStudy(), Snapshots()
    model = small(max_iter=6, callbacks=[study, snapshots]).fit(X, y)
    plain = small(max_iter=6).fit(X, y)
    assert model.loss_curve_ == plain.loss_curve_  # it only looks
    assert "tried_share" not in model.history_[0]
    tried = [
        {(i, k) for i, x in enumerate(network.layers) for k in x.flat_indices.tolist()}
        for network in snapshots.networks
    ]
    n_possible = [x.n_in * x.n_out for x in model.network_.layers]
    for epoch in range(1, 6):
        record = model.history_[epoch]
        ever = set.union(*tried[: epoch + 1])
        assert record["tried_share"] == [
            sum(layer == i for layer, _ in ever) / n for i, n in enumerate(n_possible)
        ]
        loss = model.scorer(X, y)(snapshots.networks[epoch - 1])[1]
        assert record["loss_before_rewiring"] == pytest.approx(loss, rel=1e-6)
        assert record["loss_after_rewiring"] != record["loss_before_rewiring"]
    assert model.history_[1]["candidate_overlap"] is None
    for record in model.history_[2:]:
        assert all(0 <= share <= 1 for share in record["candidate_overlap"])


def test_the_same_candidates_overlap_fully():
    X, y = classes()
    # No training to speak of and nothing random: the search finds the same again.
    model = small(
        method=CTREWithoutRandom(returning="kept", ties="index"),
        learning_rate_init=1e-12,
        max_iter=4,
        callbacks=[RewiringStudy()],
    ).fit(X, y)
    assert model.history_[3]["candidate_overlap"][0] > 0.5
    random = small(method="set", max_iter=4, callbacks=[RewiringStudy()]).fit(X, y)
    assert random.history_[3]["candidate_overlap"] is None


def test_a_study_goes_on_with_its_fit_and_begins_anew_with_another():
    X, y = classes()
    whole = small(max_iter=5, callbacks=[RewiringStudy()]).fit(X, y)
    parts = small(max_iter=5, callbacks=[RewiringStudy()])
    for _ in range(5):
        parts.partial_fit(X, y)
    for key in ("tried_share", "candidate_overlap", "loss_after_rewiring"):
        assert parts.history_[4][key] == whole.history_[4][key]
    assert (
        whole.fit(X, y).history_[4]["tried_share"] == parts.history_[4]["tried_share"]
    )
