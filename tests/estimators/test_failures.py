"""Networks that did not learn: trained again where the recipe chose, or told."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import cofire
from cofire import SparseMLPClassifier, SparseMLPRegressor
from cofire.callbacks import Callback, Checkpoint, Monitor
from cofire.errors import DivergenceError
from cofire.estimators import network_training
from cofire.estimators.failures import failure
from cofire.training.loop import train
from helpers.estimator_cases import classes, numbers, same_training
from helpers.training_cases import SETTINGS, begin

RATE = 0.15  # the recipe's for SGD
EPOCHS = 120  # of one step


def linear(scale=6.5, **how):
    """A linear model and rows so large that SGD's rate must be lower than 0.06.

    Of X' X / n the largest eigenvalue is about 1.5 * scale^2; with a momentum of 0.9
    all rates below 3.8 / eigenvalue converge.
    """
    X, y = numbers()
    plain = {"hidden_layer_sizes": (), "density": 1.0, "method": "dense"}
    plain |= {"solver": "sgd", "input_dropout": 0.0, "standardize": False}
    plain |= {"n_networks": 1, "random_state": 0, "max_iter": EPOCHS, "batch_size": 150}
    return SparseMLPRegressor(**plain | how), np.float32(scale) * X, y


def told(model, X, y):
    """What a fit warns of."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [str(warning.message) for warning in heard]


# ---- a rate that is too high ---------------------------------------------------------


def test_a_rate_of_the_recipe_is_lowered_until_it_converges():
    model, X, y = linear()
    assert told(model, X, y) == []
    assert model._progress.rate_factor == 0.3
    assert model.n_iter_ == len(model.history_) == EPOCHS
    assert model.history_[0]["learning_rate"] == RATE * 0.3
    assert model.chosen_parameters_["learning_rate_init"] == RATE
    assert model.score(X, y) > 0.9


def test_a_rate_of_the_user_is_not():
    model, X, y = linear(learning_rate_init=RATE)
    with pytest.raises(DivergenceError, match="learning_rate_init"):
        model.fit(X, y)
    assert model._progress.rate_factor == 1.0
    assert np.isfinite(model.predict(X)).all()


def test_a_restart_is_the_fit_with_the_lower_rate():
    restarted, X, y = linear()
    lower, _, _ = linear(learning_rate_init=RATE * 0.3)
    assert same_training(restarted.fit(X, y), lower.fit(X, y))
    assert restarted._progress.rate_factor < lower._progress.rate_factor == 1.0


def test_it_is_lowered_twice_at_most():
    model, X, y = linear(scale=12.0)  # rates below 3.8 / 230
    assert model.fit(X, y)._progress.rate_factor == pytest.approx(0.09)
    model, X, y = linear(scale=60.0)
    with pytest.raises(DivergenceError):
        model.fit(X, y)
    assert model._progress.rate_factor == pytest.approx(0.09)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_each_network_restarts_for_itself(n_jobs):
    how = {"n_networks": 3, "n_jobs": n_jobs}
    model, X, y = linear(**how)
    assert [t.rate_factor for t in model.fit(X, y)._fitted.trainings] == [0.3] * 3
    alone, _, _ = linear(n_networks=3, n_jobs=1)
    assert same_training(model, alone.fit(X, y))


def test_a_warm_start_and_partial_fit_do_not_restart():
    model, X, y = linear(warm_start=True)
    model.fit(X / 6, y)
    assert model._progress.rate_factor == 1.0
    with pytest.raises(DivergenceError):
        model.fit(X, y)
    assert model._progress.rate_factor == 1.0
    model, X, y = linear(scale=20.0)
    with pytest.raises(DivergenceError):
        for _ in range(EPOCHS):
            model.partial_fit(X, y)
    assert model._progress.rate_factor == 1.0


def test_training_that_continues_keeps_the_lower_rate_unless_a_user_sets_one():
    model, X, y = linear(warm_start=True)
    model.fit(X, y).fit(X, y)
    assert model.history_[EPOCHS]["learning_rate"] == RATE * 0.3
    model.set_params(learning_rate_init=0.02).fit(X, y)
    assert model.history_[2 * EPOCHS]["learning_rate"] == 0.02
    model, X, y = linear()
    model.fit(X, y).partial_fit(X, y)
    assert model.history_[-1]["learning_rate"] == pytest.approx(RATE / 3 * 0.3)
    model.set_params(learning_rate_init=0.02).partial_fit(X, y)
    assert model.history_[-1]["learning_rate"] == 0.02


def test_the_lower_rate_is_stored(tmp_path):
    model, X, y = linear(warm_start=True)
    model.fit(X, y).save(tmp_path / "model")
    again = cofire.load(tmp_path / "model")
    assert again._progress.rate_factor == 0.3
    assert same_training(again.fit(X, y), model.fit(X, y))


# ---- what watches it -----------------------------------------------------------------


class Diary(Callback):
    def __init__(self, cut_at=None, factor=1.0, end_at=None):
        self.log, self.cut, self.end_at = [], (cut_at, factor), end_at

    def on_train_begin(self, estimator, progress, n_epochs):
        self.log.append(("begin", progress.rate_factor, n_epochs))
        assert estimator._progress is progress

    def on_epoch_end(self, progress, record):
        if (progress.epoch, progress.rate_factor) == self.cut:
            raise KeyboardInterrupt
        return progress.epoch == self.end_at

    def on_train_end(self, progress):
        self.log.append(("end", progress.rate_factor))


def test_callbacks_hear_of_each_training_and_monitors_keep_the_last():
    model, X, y = linear()
    diary, monitor = Diary(), Monitor(X, y)
    model.set_params(callbacks=[diary, monitor]).fit(X, y)
    assert diary.log == [
        ("begin", 1.0, EPOCHS),
        ("end", 1.0),
        ("begin", 0.3, EPOCHS),
        ("end", 0.3),
    ]
    assert len(monitor.scores) == EPOCHS
    assert monitor.scores[-1] == pytest.approx(model.score(X, y))


def test_a_network_that_restarts_has_no_more_epochs_than_the_one_that_is_watched(
    monkeypatch,
):
    seen = []

    def diverging(progress, *arguments, **more):
        seen.append(progress.rate_factor)
        if len(seen) > 1 and progress.rate_factor == 1.0:
            raise DivergenceError(layer=0, epoch=0)
        return train(progress, *arguments, **more)

    monkeypatch.setattr(network_training, "train", diverging)
    model, X, y = linear(scale=1.0, n_networks=2, callbacks=[Diary(end_at=7)])
    model.fit(X, y)
    assert seen == [1.0, 1.0, 0.3]
    assert [len(history) for history in model.histories_] == [7, 7]


@pytest.mark.parametrize(("cut_at", "factor"), [(2, 1.0), (1, 0.3), (5, 0.3)])
def test_a_fit_that_was_cut_off_before_or_after_its_restart(cut_at, factor, tmp_path):
    whole, X, y = linear(max_iter=12)
    whole.fit(X, y)
    assert whole._progress.rate_factor == 0.3
    callbacks = [Diary(cut_at, factor), Checkpoint(tmp_path, every=1)]
    model, _, _ = linear(max_iter=12, callbacks=callbacks)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    names = sorted(path.name for path in tmp_path.rglob("epoch-*"))
    n_written = cut_at - 1  # the diary is told before the checkpoint is written
    kept = range(max(1, n_written - 1), n_written + 1)
    assert names == [f"epoch-{n:08d}.cofire" for n in kept]
    model.callbacks[0].cut = None, None
    assert same_training(model.fit(X, y), whole)
    assert model.resumed_after_ == n_written


def test_a_restart_removes_the_checkpoints_of_the_failed_training(tmp_path):
    model, X, y = linear(max_iter=12, callbacks=[Checkpoint(tmp_path, every=1)])
    model.fit(X, y)
    (folder,) = tmp_path.iterdir()
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["epoch-00000011.cofire", "epoch-00000012.cofire"]
    assert cofire.load(folder / names[0])._progress.rate_factor == 0.3


# ---- a model that learnt nothing -----------------------------------------------------

REMEDY = (
    "Try a lower learning_rate_init (it was {}), more connections (epsilon) or wider "
    "hidden layers, and standardize=True if it is off. If no model learns from these "
    "data, X may say nothing about y."
)


def learner(**how):
    how = {"max_iter": 60, "n_networks": 2, "random_state": 0} | how
    return SparseMLPClassifier(**{"hidden_layer_sizes": (8,), "epsilon": 2} | how)


def empty_rows(share=0.6):
    """Rows that say nothing; one class has more of them."""
    X, _ = classes(n=150)
    return np.zeros_like(X), (np.arange(150) >= share * 150).astype(int)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({}, "no neuron of hidden layer 1 is active any more"),
        (
            {"hidden_layer_sizes": (), "epsilon": 1},
            "it predicts the same class for all rows",
        ),
        (
            {"learning_rate": "constant", "learning_rate_init": 1e-12, "n_pieces": 0},
            "its training loss did not fall",
        ),
    ],
)
def test_a_model_that_learnt_nothing_says_what_to_do(how, reason):
    X, y = classes() if "learning_rate" in how else empty_rows()
    with pytest.warns(ConvergenceWarning, match="did not learn: " + reason) as heard:
        model = learner(**{"learning_rate_init": 0.1} | how).fit(X, y)
    (message,) = [str(w.message) for w in heard]
    rate = "1e-12" if "learning_rate" in how else "0.1"
    assert message.endswith(REMEDY.format(rate))
    assert "trained again" not in message
    assert heard[0].filename == __file__
    assert np.isfinite(model.predict_proba(X)).all()


def test_the_recipe_tries_lower_rates_before_it_says_so():
    X, y = empty_rows()
    model = learner(hidden_layer_sizes=(), epsilon=1)
    (message,) = told(model, X, y)
    assert "trained again with lower learning rates, which did not help" in message
    assert "it was 0.013" in message  # 0.15 * 0.09
    assert [t.rate_factor for t in model._fitted.trainings] == [pytest.approx(0.09)] * 2


def test_many_layers_get_a_remedy_that_helps():
    X, y = classes()
    deep = SparseMLPClassifier((20,) * 10, n_networks=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="10 hidden layers.*'sparse_aware'"):
        deep.fit(X, y)
    assert deep.set_params(init="sparse_aware").fit(X, y).score(X, y) > 0.9


def test_one_network_that_learnt_is_enough(monkeypatch):
    X, y = classes()
    judged = []

    def judge(progress, data, settings):
        judged.append(progress.seed)
        return "it is the second" if len(judged) == 2 else None

    monkeypatch.setattr(network_training, "failure", judge)
    model = learner(learning_rate_init=0.1, n_jobs=1)
    assert told(model, X, y) == []
    assert len(set(judged)) == 2
    monkeypatch.setattr(network_training, "failure", lambda *_: "they both are")
    (message,) = told(model, X, y)
    assert message.startswith("The model did not learn: they both are. ")


def test_few_steps_are_not_judged():
    X, y = empty_rows()
    how = {"learning_rate_init": 0.1, "batch_size": 50}  # three steps per pass
    assert told(learner(max_iter=33, **how), X, y) == []
    assert len(told(learner(max_iter=34, **how), X, y)) == 1
    how = {"learning_rate_init": 0.1, "batch_size": 5}  # thirty
    assert told(learner(max_iter=4, **how), X, y) == []
    assert len(told(learner(max_iter=5, **how), X, y)) == 1


def test_a_loss_that_grew_is_bad_after_few_steps_too():
    model, X, y = linear(max_iter=5, learning_rate_init=RATE)
    (message,) = told(model, X, y)
    assert "its training loss did not fall" in message
    model, X, y = linear(max_iter=5)
    model.fit(X, y)
    assert model._progress.rate_factor == 0.3
    model, X, y = linear(max_iter=4)
    model.fit(X, y)
    assert model._progress.rate_factor == 1.0  # too few epochs to tell


def test_partial_fit_is_not_judged():
    X, y = empty_rows()
    model = learner(batch_size=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(6):
            model.partial_fit(X, y)


# ---- what is a failure ---------------------------------------------------------------


def judged(losses=(1.0, 0.8, 0.6, 0.5, 0.4), alive=10, *, says=None, **how):
    """What is said of 90 rows of three classes, trained in steps of one row."""
    progress, data = begin()
    progress.epoch = len(losses)
    progress.history = [{"loss": loss, "alive": [alive]} for loss in losses]
    data = replace(
        data,
        outputs=lambda network, ids: np.eye(3)[
            data.targets[ids] if says is None else np.full(len(ids), says)
        ],
        **how,
    )
    return failure(progress, data, replace(SETTINGS, batch_size=1))


def test_a_network_that_learnt_is_none():
    assert judged() is None
    assert judged((1.0, 3.0, 2.0, 1.5, 0.99)) is None  # it fell in the end
    assert judged((1e-4,) * 5) is None  # there was nothing to learn
    assert judged(alive=1) is None


def test_failures_are_told_in_words():
    assert judged(alive=0) == "no neuron of hidden layer 1 is active any more"
    stuck = judged((1.0, 1.0, 1.0, 1.0, 0.9995))
    assert stuck == "its training loss did not fall (at first 1, now 0.9995)"
    assert judged(says=2) == "it predicts the same class for all rows"


def test_a_class_that_has_nearly_all_rows_may_be_the_only_one():
    targets = np.zeros(90, np.int32)
    targets[:5] = 1
    assert judged(says=0, targets=targets) is None
    weight = np.where(targets == 1, 85 / 5, 1).astype(np.float32)
    assert judged(says=0, targets=targets, sample_weight=weight) is not None
    balanced = np.arange(90, dtype=np.int32) % 2
    assert judged(says=0, targets=balanced) is not None
    weight = np.where(balanced == 0, 1000, 1e-4).astype(np.float32)
    assert judged(says=0, targets=balanced, sample_weight=weight) is None


def test_a_warm_start_is_judged_by_its_own_epochs():
    progress, data = begin()
    losses = [3.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    progress.history = [{"loss": loss, "alive": [10]} for loss in losses]
    progress.epoch, progress.first_epoch = 6, 1
    data = replace(data, outputs=lambda network, ids: np.eye(3)[data.targets[ids]])
    settings = replace(SETTINGS, batch_size=1)
    assert "did not fall" in failure(progress, data, settings)
    progress.first_epoch = 0
    assert failure(progress, data, settings) is None
