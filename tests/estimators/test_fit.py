"""Every method learns, and gives the same bits for any number of threads."""

import numpy as np
import pytest

from cofire import METHODS
from helpers.estimator_cases import (
    ESTIMATORS,
    METHODS_ALONE,
    classes,
    data_for,
    same_training,
    small,
)

# ---- threads -------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["sgd", "adam"])
@pytest.mark.parametrize("method", METHODS_ALONE)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_the_same_bits_for_any_number_of_threads(of, method, solver):
    X, y = data_for(of, n=700)
    weight = np.random.default_rng(0).uniform(0.5, 2, size=700)
    how = {
        "method": method,
        "solver": solver,
        "batch_size": 512,
        "early_stopping": True,
    }
    models = [
        small(of, n_jobs=n, **how).fit(X, y, sample_weight=weight) for n in (1, 2, 3)
    ]
    assert [model.receipt_.threads for model in models] == [1, 2, 3]
    for model in models[1:]:
        assert same_training(models[0], model)
        assert models[0].validation_scores_ == model.validation_scores_
        assert np.array_equal(models[0].predict(X), model.predict(X))


# ---- it learns -----------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["sgd", "adam"])
@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_learns_with_every_solver(method, solver):
    X, y = classes(n=400)
    model = small(
        hidden_layer_sizes=(40,),
        method=method,
        solver=solver,
        learning_rate_init={"sgd": 0.05, "adam": 0.005}[solver],
        max_iter=60,
    )
    model.fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.75
    assert model.loss_curve_[-1] < 0.6 * model.loss_curve_[0]
