"""Among scikit-learn's tools: pipelines, searches, clones and pickles."""

import copy
import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from cofire.methods.set import SET
from helpers.estimator_cases import (
    ESTIMATORS,
    METHODS_ALONE,
    classes,
    data_for,
    same_training,
    small,
)


def test_in_a_pipeline():
    X, y = classes()
    pipeline = make_pipeline(StandardScaler(), small(max_iter=60)).fit(X * 1e3 + 1e4, y)
    assert pipeline.score(X * 1e3 + 1e4, y) > 0.8


def test_in_a_grid_search_over_methods_and_epsilon():
    X, y = classes()
    grid = {"method": METHODS_ALONE, "epsilon": [0.5, 2.0]}
    search = GridSearchCV(small(), grid, cv=3, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 2 * len(METHODS_ALONE)
    best = small(**search.best_params_).fit(X, y)
    assert same_training(search.best_estimator_, best)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_in_a_cross_validation_of_two_processes(of):
    X, y = data_for(of)
    two = cross_val_score(small(of), X, y, cv=4, n_jobs=2, error_score="raise")
    assert two.tolist() == cross_val_score(small(of), X, y, cv=4).tolist()


@pytest.mark.parametrize("of", ESTIMATORS)
def test_clones_know_the_parameters_and_nothing_else(of):
    X, y = data_for(of)
    model = small(of, method=SET(new_values="zero")).fit(X, y)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "network_")
    assert same_training(fresh.fit(X, y), model)


@pytest.mark.parametrize("solver", ["sgd", "adam"])
@pytest.mark.parametrize("method", METHODS_ALONE)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_a_pickle_or_copy_goes_on_to_the_bit(of, method, solver):
    X, y = data_for(of)
    model = small(of, method=method, solver=solver).fit(X, y)
    pickled = pickle.loads(pickle.dumps(model))
    copied = copy.deepcopy(model)
    model.partial_fit(X, y)
    assert not same_training(copied, model)
    for other in (pickled, copied):
        other.partial_fit(X, y)
        assert same_training(other, model)
        assert np.array_equal(other.predict(X), model.predict(X))


def test_set_params_changes_the_next_fit_alone():
    X, y = classes()
    model = small().fit(X, y)
    before = model.predict_proba(X)
    model.set_params(hidden_layer_sizes=(5,), activation="tanh", method="set")
    assert np.array_equal(model.predict_proba(X), before)
    model.fit(X, y)
    assert model.network_.sizes == [12, 5, 3]
    assert model.network_.activation == "tanh"


def test_weights_and_validation_data_are_routed_through_a_pipeline():
    X, y = classes()
    X_val, y_val = classes(seed=1, n=40)
    weight = np.linspace(0.5, 2, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = small().set_fit_request(sample_weight=True, X_val=True, y_val=True)
        pipeline = Pipeline(
            [
                ("scale", StandardScaler().set_fit_request(sample_weight=False)),
                ("m", model),
            ],
            transform_input=["X_val"],
        )
        pipeline.fit(X, y, sample_weight=weight, X_val=X_val, y_val=y_val)
    scaler = StandardScaler().fit(X)
    direct = small().fit(
        scaler.transform(X),
        y,
        sample_weight=weight,
        X_val=scaler.transform(X_val),
        y_val=y_val,
    )
    assert len(direct.validation_scores_) == 4
    assert pipeline["m"].validation_scores_ == direct.validation_scores_
    assert same_training(pipeline["m"], direct)


def test_weights_and_validation_data_are_routed_through_a_grid_search():
    X, y = classes()
    X_val, y_val = classes(seed=1, n=40)
    weight = np.linspace(0.5, 2, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = small().set_fit_request(sample_weight=True, X_val=True, y_val=True)
        model.set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"epsilon": [1.0, 2.0]}, cv=3, error_score="raise")
        search.fit(X, y, sample_weight=weight, X_val=X_val, y_val=y_val)
    direct = small(**search.best_params_)
    direct.fit(X, y, sample_weight=weight, X_val=X_val, y_val=y_val)
    assert same_training(search.best_estimator_, direct)
    assert search.best_estimator_.validation_scores_ == direct.validation_scores_


def test_partial_fit_can_ask_for_classes_and_weights():
    with sklearn.config_context(enable_metadata_routing=True):
        model = small().set_partial_fit_request(sample_weight=True, classes=True)
        assert model.get_metadata_routing().partial_fit.requests == {
            "sample_weight": True,
            "classes": True,
        }
