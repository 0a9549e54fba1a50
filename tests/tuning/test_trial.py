"""One trial: a function of settings, rows and seeds; its smaller ensembles are real."""

import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold

from cofire import SparseMLPClassifier, SparseMLPRegressor
from cofire.tuning.curves import Rival, margin
from cofire.tuning.trial import first_networks, microseconds, n_bytes, run_trial

X, y = load_iris(return_X_y=True)
FOLDS = list(KFold(3, shuffle=True, random_state=0).split(X))
SEEDS = [5, 6, 7]
FAST = {"max_iter": 6, "hidden_layer_sizes": (20,), "n_jobs": 1}


def trial(estimator=None, settings=None, rivals=()):
    estimator = estimator or SparseMLPClassifier(n_networks=3, **FAST)
    scorer = check_scoring(estimator)
    return run_trial(estimator, settings or {}, X, y, FOLDS, SEEDS, scorer, rivals)


def untimed(found):
    ensembles = [replace(one, microseconds=0) for one in found.ensembles]
    return replace(found, seconds=0, ensembles=ensembles)


def test_equal_arguments_give_equal_trials():
    settings = {"epsilon": 1.5, "hidden_layer_sizes": [9]}
    first, second = trial(settings=settings), trial(settings=settings)
    assert untimed(first) == untimed(second)
    assert first.seconds > 0 and first.ensembles[0].microseconds > 0


def test_the_first_networks_are_the_ensemble_of_that_many():
    how = {**FAST, "random_state": 3}
    whole = SparseMLPClassifier(n_networks=3, **how).fit(X, y)
    for n in (1, 2, 3):
        alone = SparseMLPClassifier(n_networks=n, **how).fit(X, y)
        own = first_networks(whole, n)
        assert np.array_equal(own.predict_proba(X), alone.predict_proba(X))
        assert own.n_connections_ == alone.n_connections_
        assert own.get_params() == alone.get_params()
    assert len(whole.networks_) == 3  # itself unchanged


def test_the_scores_are_those_of_plain_fits():
    found = trial()
    assert [one.n_networks for one in found.ensembles] == [1, 2, 3]
    for one in found.ensembles:
        fits = [
            SparseMLPClassifier(n_networks=one.n_networks, random_state=seed, **FAST)
            .fit(X[train], y[train])
            .score(X[test], y[test])
            for (train, test), seed in zip(FOLDS, SEEDS, strict=True)
        ]
        assert one.scores == fits
    assert len(found.scores) == len(found.connections) == 6


def test_bytes_are_those_of_the_arrays():
    model = SparseMLPRegressor(n_networks=2, **FAST).fit(X, X[:, 0])
    neurons = sum(layer.n_out for net in model.networks_ for layer in net.layers)
    n_layers = sum(len(net.layers) for net in model.networks_)
    index = model.network_.layers[0].indptr.itemsize
    expected = 8 * model.n_connections_ + 4 * neurons + index * (neurons + n_layers)
    assert n_bytes(model) == expected


def test_a_rival_that_is_smaller_and_clearly_better_ends_it():
    free = trial()
    better = Rival([2.0] * 6, [1.0] * 6, margin=0.5)
    stopped = trial(rivals=[better])
    assert stopped.stopped and not free.stopped
    assert 2 <= len(stopped.scores) <= 3  # a third of the epochs
    assert stopped.scores == free.scores[: len(stopped.scores)]
    assert stopped.sizes == free.sizes


@pytest.mark.parametrize(
    "rival",
    [
        Rival([2.0] * 6, [1e9] * 6, margin=0.5),  # larger
        Rival([1.0] * 6, [1.0] * 6, margin=1.1),  # not clearly better
        Rival([2.0], [1.0], margin=0.5),  # was not trained that long
        Rival([2.0] * 6, [1.0] * 6, margin([[0.9]])),  # one fold says nothing of chance
    ],
)
def test_no_other_rival_does(rival):
    assert not trial(rivals=[rival]).stopped


def test_a_class_that_a_fold_alone_has_is_no_fault():
    rare = y.copy()
    rare[FOLDS[0][1][0]] = 7  # held out in the first fold, whose curve is watched
    estimator = SparseMLPClassifier(**FAST)
    scorer = check_scoring(estimator)
    found = run_trial(estimator, {}, X, rare, FOLDS, SEEDS, scorer)
    assert not found.stopped and len(found.scores) == 6


def test_slow_calls_are_timed_less_often():
    class Slow:
        n_calls = 0

        def predict(self, row):
            assert row.shape == (1, 4)
            self.n_calls += 1
            time.sleep(0.05)

    model = Slow()
    assert microseconds(model, X) > 0 and model.n_calls == 10


def test_a_score_that_is_no_number_is_an_error():
    estimator = SparseMLPClassifier(**FAST)
    with pytest.raises(
        ValueError, match=r"scoring: nan on 50 rows .* fewer folds \(`cv`"
    ):
        run_trial(estimator, {}, X, y, FOLDS, SEEDS, lambda *a: float("nan"))
