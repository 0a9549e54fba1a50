"""n_networks: several networks, each trained as if alone; their mean predicts."""

import pickle
import threading

import numpy as np
import pytest

import cofire
from cofire import SparseMLPClassifier, SparseMLPRegressor
from cofire.callbacks import Callback, Checkpoint, EarlyStopping, Monitor
from cofire.errors import DivergenceError, ModelFormatError
from cofire.estimators import network_training
from cofire.persistence import model_file
from helpers.estimator_cases import (
    ESTIMATORS,
    classes,
    data_for,
    labels_of_columns,
    model_bits,
    network_bits,
    same,
    same_training,
    small,
)

N = 3


def several(of=SparseMLPClassifier, **how):
    return small(of, **{"n_networks": N} | how)


def outputs(model, X):
    """What the model says of rows, before it decides."""
    return model._predict_outputs(X)


def epochs(model):
    return [progress.epoch for progress in model._fitted.trainings]


class Seed(np.random.RandomState):
    """Gives the seed that one network of a fit had."""

    def __init__(self, seed):
        super().__init__(0)
        self.seed_of_network = seed

    def randint(self, *arguments, **more):
        return self.seed_of_network


# ---- each as if alone ----------------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"solver": "adam", "method": "cofire", "input_dropout": 0.2},
        {"early_stopping": True, "validation_fraction": 0.2},
        {"method": "snip"},
        {"max_iter": None, "hidden_layer_sizes": (6,), "update_interval": 30},
    ],
    ids=str,
)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_the_outputs_are_the_mean_of_single_networks(of, how):
    X, y = data_for(of)
    model = several(of, **how).fit(X, y)
    assert len(model.networks_) == len(model.histories_) == N
    seeds = [progress.seed for progress in model._fitted.trainings]
    assert len(set(seeds)) == N and seeds[0] == model.seed_
    total = np.zeros_like(outputs(model, X))
    for seed, network, history in zip(
        seeds, model.networks_, model.histories_, strict=True
    ):
        single = small(of, **how | {"random_state": Seed(seed)}).fit(X, y)
        assert single.seed_ == seed
        assert same(network_bits(single.network_), network_bits(network))
        assert [r["loss"] for r in single.history_] == [r["loss"] for r in history]
        total += outputs(single, X)
    np.testing.assert_allclose(outputs(model, X), total / N, rtol=1e-6, atol=1e-7)


def test_the_first_network_is_that_of_a_fit_of_one():
    X, y = classes()
    model, single = several().fit(X, y), small().fit(X, y)
    assert same(network_bits(model.network_), network_bits(single.network_))
    assert model.network_ is model.networks_[0]
    assert model.loss_curve_ == single.loss_curve_
    assert not same(*(network_bits(n) for n in model.networks_[:2]))


@pytest.mark.parametrize("of", ESTIMATORS)
def test_predictions_come_from_the_mean(of):
    X, y = data_for(of)
    model = several(of).fit(X, y)
    mean = outputs(model, X)
    if of is SparseMLPClassifier:
        assert np.array_equal(model.predict_proba(X), mean)
        assert np.array_equal(model.predict(X), mean.argmax(axis=1))
        assert mean.sum(axis=1) == pytest.approx(1, rel=1e-5)
    else:
        expected = mean[:, 0] * model.target_scale_ + model.target_mean_
        assert np.array_equal(model.predict(X), expected)


def test_labels_are_decided_by_the_mean():
    X, _ = classes()
    y = labels_of_columns(X)
    model = several(max_iter=8).fit(X, y)
    assert np.array_equal(model.predict(X), (outputs(model, X) > 0.5).astype(int))


def test_figures_are_those_of_all_networks():
    X, y = classes()
    model = several(method="cofire", max_iter=6).fit(X, y)
    networks = model.networks_
    assert model.n_connections_ == sum(n.n_connections for n in networks)
    assert model.density_ == pytest.approx(np.mean([n.density for n in networks]))
    paid = model.receipt_
    assert paid.connections == model.n_connections_
    assert paid.dense_connections == N * (12 * 10 + 10 * 8 + 8 * 3)
    assert paid.epochs == 6
    seconds = [r["train_seconds"] for history in model.histories_ for r in history]
    assert paid.train_seconds == pytest.approx(sum(seconds))


# ---- threads -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [
        {"method": "cofire", "input_dropout": 0.1},
        {"method": "rigl", "early_stopping": True, "n_iter_no_change": 1},
        {"solver": "adam", "callbacks": [Callback()]},
    ],
    ids=["cofire", "rigl, held-out rows", "watched"],
)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_any_number_of_threads_gives_the_same_bits(of, how):
    X, y = data_for(of)
    alone, *others = (several(of, n_jobs=k, **how).fit(X, y) for k in (1, 2, 3, 7))
    for other in others:
        assert same_training(alone, other)
        assert np.array_equal(outputs(alone, X), outputs(other, X))


def test_networks_train_at_the_same_time():
    """Two that wait for each other: none of them ends unless both run."""
    X, y = classes()
    both = threading.Barrier(2)
    train = network_training.train

    def waiting(*arguments, **more):
        both.wait(timeout=60)
        return train(*arguments, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network_training, "train", waiting)
        model = several(n_networks=2, n_jobs=2).fit(X, y)
    assert epochs(model) == [4, 4]


# ---- stored and continued ------------------------------------------------------------


@pytest.mark.parametrize("solver", ["sgd", "adam"])
@pytest.mark.parametrize("of", ESTIMATORS)
def test_a_file_and_a_pickle_keep_all_networks(of, solver, tmp_path):
    X, y = data_for(of)
    model = several(of, solver=solver).fit(X, y)
    model.save(tmp_path / "model")
    for other in (cofire.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert same_training(model, other)
        assert np.array_equal(outputs(model, X), outputs(other, X))
        assert other.n_networks == N and len(other.networks_) == N
        again = pickle.loads(pickle.dumps(model)).partial_fit(X, y)
        assert same_training(other.partial_fit(X, y), again)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_partial_fits_and_warm_starts_train_all_networks(of):
    X, y = data_for(of)
    whole = several(of, max_iter=4, n_jobs=2).fit(X, y)
    step = several(of, max_iter=4)
    for k in range(1, 5):
        assert epochs(step.partial_fit(X, y)) == [k] * N
    warm = several(of, max_iter=2, warm_start=True).fit(X, y).fit(X, y)
    assert same_training(step, whole)
    assert same_training(warm, whole)


@pytest.mark.parametrize("n_networks", [1, 2, 4])
def test_another_number_of_networks_cannot_continue(n_networks):
    X, y = classes()
    model = several(warm_start=True).fit(X, y)
    before = model_bits(model)
    model.set_params(n_networks=n_networks)
    message = f"n_networks={n_networks}: training began with 3 .* set n_networks back"
    for fit in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=message):
            fit(X, y)
    assert same(model_bits(model), before)
    assert len(model.networks_) == N
    model.set_params(warm_start=False).fit(X, y)
    assert len(model.networks_) == n_networks


class CutOff(Callback):
    """Ends a fit as Ctrl-C does, in one of the networks, after so many epochs."""

    def __init__(self, at, seed=None):
        self.at, self.seed = at, seed

    def on_epoch_end(self, progress, record):
        if progress.epoch == self.at and self.seed in (None, progress.seed):
            raise KeyboardInterrupt


@pytest.fixture
def interrupting(monkeypatch):
    """A function that lets a network of a fit be interrupted after some epochs."""

    def interrupt(index, epoch):
        prepare = network_training.prepare_network

        def prepared(found, i, *, watchers, **more):
            if i == index:
                watchers = [*watchers, CutOff(epoch)]
            return prepare(found, i, watchers=watchers, **more)

        monkeypatch.setattr("cofire.estimators.base.prepare_network", prepared)

    yield interrupt


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.parametrize("solver", ["sgd", "adam"])
def test_a_fit_that_was_cut_off_resumes_to_the_bit(
    solver, index, n_jobs, tmp_path, interrupting, monkeypatch
):
    X, y = classes()
    how = {"method": "cofire", "solver": solver, "max_iter": 7, "n_jobs": n_jobs}
    how |= {"early_stopping": True, "validation_fraction": 0.2}
    whole = several(**how).fit(X, y)
    cut = several(callbacks=[Checkpoint(tmp_path, every=2)], **how)
    with monkeypatch.context():
        interrupting(index, 5)
        with pytest.raises(KeyboardInterrupt):
            cut.fit(X, y)
    monkeypatch.undo()
    assert len(list(tmp_path.iterdir())) == N
    resumed = cut.fit(X, y)
    assert same_training(resumed, whole)
    if index == 0:
        assert resumed.resumed_after_ == 4
    # Once more: it has finished, and nothing is trained again.
    again = several(callbacks=[Checkpoint(tmp_path, every=2)], **how)
    again.fit(X, y)
    assert same_training(again, whole)
    assert again.resumed_after_ == again.n_iter_


def test_networks_side_by_side_that_were_stopped_resume_to_the_bit(
    tmp_path, interrupting, monkeypatch
):
    """Without callbacks, so that all run at once when one of them is interrupted."""
    X, y = classes()
    how = {"method": "set", "max_iter": 40}
    whole = several(**how).fit(X, y)
    for index in range(N):
        folder = tmp_path / str(index)
        cut = several(checkpoint=folder, n_jobs=N, **how)
        interrupting(index, 13)
        with pytest.raises(KeyboardInterrupt):
            cut.fit(X, y)
        assert epochs(cut)[index] == 13
        monkeypatch.undo()
        assert same_training(cut.fit(X, y), whole)


# ---- cut off -------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("index", [0, 1, 2])
def test_an_interrupt_leaves_what_was_trained(index, n_jobs, interrupting):
    X, y = classes()
    model = several(n_jobs=n_jobs, max_iter=30)
    interrupting(index, 2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    done = epochs(model)
    assert done[index] == 2
    if n_jobs == 1:
        assert done == [30] * index + [2] + [0] * (N - 1 - index)
    begun = [n for n in done if n > 0]
    assert len(model.networks_) == len(begun) >= 1
    assert np.isfinite(model.predict_proba(X)).all()
    assert [len(history) for history in model.histories_] == done


def test_an_interrupted_model_continues_with_all_networks(interrupting, monkeypatch):
    X, y = classes()
    model = several(n_jobs=1)
    interrupting(1, 2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    assert len(model.networks_) == 2
    model.partial_fit(X, y)
    assert epochs(model) == [5, 3, 1]
    assert len(model.networks_) == N


def test_an_interrupt_before_the_first_epoch_ends_leaves_something_to_use(monkeypatch):
    X, y = classes()

    def cut(*arguments, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(network_training, "train", cut)
    model = several()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert epochs(model) == [0] * N and len(model.networks_) == N
    assert np.isfinite(model.predict_proba(X)).all()


def test_an_interrupt_is_not_lost_among_errors(monkeypatch):
    """The second network diverges while the third is interrupted."""
    X, y = classes()
    all_run = threading.Barrier(N)
    seeds = [t.seed for t in several().fit(X, y)._fitted.trainings]

    def failing(progress, *arguments, **more):
        all_run.wait(timeout=60)
        index = seeds.index(progress.seed)
        if index == 1:
            raise DivergenceError(layer=0, epoch=0)
        if index == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(network_training, "train", failing)
    with pytest.raises(KeyboardInterrupt):
        several(n_jobs=N).fit(X, y)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("index", [0, 2])
def test_one_network_that_diverges_ends_the_fit(index, n_jobs, monkeypatch):
    X, y = classes()
    seeds = [t.seed for t in several().fit(X, y)._fitted.trainings]
    train = network_training.train

    def diverging(progress, data, settings, *arguments, **more):
        train(progress, data, settings, *arguments, **more | {"n_epochs": 2})
        if progress.seed == seeds[index]:
            progress.rate_factor = 1e30
        train(progress, data, settings, *arguments, **more | {"n_epochs": 2})

    monkeypatch.setattr(network_training, "train", diverging)
    model = several(n_jobs=n_jobs)
    with pytest.raises(DivergenceError, match="in epoch 2: layer"):
        model.fit(X, y)
    assert epochs(model)[index] == 2
    assert np.isfinite(model.predict_proba(X)).all()


# ---- what watches --------------------------------------------------------------------


class Diary(Callback):
    def __init__(self, stop_at=None):
        self.log, self.stop_at = [], stop_at

    def on_train_begin(self, estimator, progress, n_epochs):
        self.log.append(("begin", progress.seed, len(estimator.networks_), n_epochs))

    def on_epoch_end(self, progress, record):
        self.log.append(("epoch", progress.seed, record["epoch"]))
        return record["epoch"] == self.stop_at

    def on_train_end(self, progress):
        self.log.append(("end", progress.seed, progress.epoch))


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_callbacks_watch_the_first_network_and_end_all(n_jobs):
    X, y = classes()
    diary = Diary(stop_at=1)
    model = several(callbacks=[diary], n_jobs=n_jobs).fit(X, y)
    seed = model.seed_
    assert diary.log == [
        ("begin", seed, 1, 4),
        ("epoch", seed, 0),
        ("epoch", seed, 1),
        ("end", seed, 2),
    ]
    assert epochs(model) == [2] * N
    # The others stop there too: they are the networks of that time.
    whole = several().fit(X, y)
    for stopped, full in zip(model.histories_, whole.histories_, strict=True):
        assert [r["loss"] for r in stopped] == [r["loss"] for r in full[:2]]


def test_a_monitor_scores_the_first_network():
    X, y = classes()
    monitor = Monitor(X, y)
    model = several(callbacks=[monitor]).fit(X, y)
    single = Monitor(X, y)
    small(callbacks=[single]).fit(X, y)
    assert monitor.scores == single.scores and len(monitor.scores) == 4
    assert len(model.networks_) == N


def test_each_network_stops_early_by_its_own_score():
    X, y = classes(n=200)
    how = {"early_stopping": True, "n_iter_no_change": 2, "max_iter": 40}
    model = several(**how).fit(X, y)
    for seed, history in zip(
        [t.seed for t in model._fitted.trainings], model.histories_, strict=True
    ):
        alone = small(random_state=Seed(seed), **how).fit(X, y)
        assert len(alone.history_) == len(history)
        assert history[-1]["stalled_epochs"] == 2 or len(history) == 40
    assert len({len(history) for history in model.histories_}) > 1
    watched = several(max_iter=40, callbacks=[EarlyStopping(2)])
    watched.fit(X, y, X_val=X, y_val=y)
    assert len({len(history) for history in watched.histories_}) == 1


def test_a_progress_bar_shows_one_network_after_the_other(capsys):
    X, y = classes()
    shown = several(verbose=1, n_jobs=3).fit(X, y)
    assert same_training(shown, several().fit(X, y))


# ---- malformed files -----------------------------------------------------------------


def edited(change):
    def forge(document, tensors):
        change(document["more_networks"], tensors)

    return forge


def moved(tensors, old, new):
    tensors[new] = tensors.pop(old)


@pytest.mark.parametrize(
    "forge",
    [
        lambda d, t: d.update(more_networks=None),
        lambda d, t: d.update(more_networks={}),
        lambda d, t: d.update(more_networks=["network", "network"]),
        lambda d, t: d.update(more_networks=d["more_networks"][:1]),
        lambda d, t: d["more_networks"].append(d["more_networks"][0]),
        edited(lambda more, t: more[0].update(sizes=[12, 10, 8, 4])),
        edited(lambda more, t: more[0].update(sizes=[12, 9, 8, 3])),
        edited(lambda more, t: more[0].update(activation="tanh")),
        edited(lambda more, t: more[1].update(output="sigmoid")),
        edited(lambda more, t: more[1].update(epoch=3)),
        edited(lambda more, t: more[1].update(seed=-1)),
        edited(lambda more, t: more[0].update(rate_factor=2.0)),
        edited(lambda more, t: more[0].update(best_network="own")),
        edited(lambda more, t: more[0].pop("history")),
        edited(lambda more, t: t.pop("more_networks.0.network.0.weights")),
        edited(lambda more, t: t.pop("more_networks.1.moments.2.0.bias")),
        edited(lambda more, t: t.update({"more_networks.2.x": np.zeros(1, np.int32)})),
        edited(lambda more, t: t.update({"more_networks.0.x": np.zeros(1, np.int32)})),
        edited(
            lambda more, t: moved(
                t, "more_networks.0.network.0.bias", "network.0.bias2"
            )
        ),
        edited(lambda more, t: t["more_networks.1.network.0.indices"].fill(99)),
        edited(lambda more, t: t["more_networks.1.network.0.weights"].fill(np.nan)),
    ],
)
def test_a_file_with_a_wrong_network_is_refused(forge, tmp_path):
    X, y = classes()
    several().fit(X, y).save(tmp_path / "good")
    document, tensors = model_file.read(tmp_path / "good")
    tensors = {name: array.copy() for name, array in tensors.items()}
    document.pop("tensors", None)
    assert len(document["more_networks"]) == N - 1
    forge(document, tensors)
    model_file.write(tmp_path / "bad", document, tensors)
    with pytest.raises(ModelFormatError):
        cofire.load(tmp_path / "bad")


def test_the_same_file_unchanged_is_read(tmp_path):
    """What the test above writes is right but for what it changes."""
    X, y = data_for(SparseMLPRegressor, n_outputs=2)
    model = several(SparseMLPRegressor).fit(X, y)
    model.save(tmp_path / "good")
    document, tensors = model_file.read(tmp_path / "good")
    document.pop("tensors", None)
    model_file.write(tmp_path / "again", document, dict(tensors))
    assert same_training(cofire.load(tmp_path / "again"), model)


def test_a_checkpoint_of_one_network_is_a_model(tmp_path):
    X, y = classes()
    model = several(checkpoint=tmp_path).fit(X, y)
    found = [cofire.load(path) for path in tmp_path.rglob("*.cofire")]
    assert len(found) == N
    for one in found:
        assert len(one.networks_) == 1
        assert any(
            same(network_bits(one.network_), network_bits(network))
            for network in model.networks_
        )
