"""One epoch after the other: partial_fit, warm_start, and models handed out."""

import copy
import warnings

import joblib
import numpy as np
import pytest

from cofire import SparseMLPClassifier, SparseMLPRegressor
from helpers.estimator_cases import (
    ESTIMATORS,
    METHODS_ALONE,
    classes,
    data_for,
    labels_of_columns,
    network_bits,
    same,
    same_training,
    small,
)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"solver": "adam"},
        {"nesterovs_momentum": False},
        {"momentum": 0.0},
    ],
    ids=["nesterov", "adam", "classical", "plain"],
)
@pytest.mark.parametrize("method", METHODS_ALONE)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_k_calls_of_partial_fit_are_a_fit_of_k_epochs(of, method, how):
    X, y = data_for(of)
    how = {"method": method, "max_iter": 5, **how}
    step = small(of, **how)
    for k in range(1, 6):
        step.partial_fit(X, y)
        assert step.n_iter_ == k
    whole = small(of, **how).fit(X, y)
    assert same_training(step, whole)
    assert np.array_equal(step.predict(X), whole.predict(X))


@pytest.mark.parametrize("schedule", ["cosine", "adaptive"])
@pytest.mark.parametrize("last_batch", ["train", "drop"])
def test_partial_fit_keeps_to_the_schedule_and_to_weights(schedule, last_batch):
    X, y = classes()
    how = {"learning_rate": schedule, "last_batch": last_batch, "shuffle": False}
    how["class_weight"] = {0: 1, 1: 2, 2: 3}
    weight = np.linspace(0, 1, len(y))
    step = small(**how)
    for _ in range(4):
        step.partial_fit(X, y, weight)
    assert same_training(step, small(**how).fit(X, y, sample_weight=weight))


@pytest.mark.parametrize("of", ESTIMATORS)
def test_partial_fit_after_the_end_of_the_schedule_says_that_it_is_in_vain(of):
    X, y = data_for(of)
    model = small(of, learning_rate="cosine").fit(X, y)
    before = network_bits(model.network_)
    with pytest.warns(UserWarning, match="'cosine' is 0 after max_iter=4 epochs"):
        model.set_params(drop_fraction=0.0).partial_fit(X, y)
    assert same(network_bits(model.network_), before)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(learning_rate="constant").partial_fit(X, y)
    assert not same(network_bits(model.network_), before)


def test_partial_fit_for_labels_and_several_columns():
    X, _ = classes()
    for of, y in (
        (SparseMLPClassifier, labels_of_columns(X)),
        (SparseMLPRegressor, X[:, :2] - X[:, 2:4]),
    ):
        step = small(of, max_iter=2).partial_fit(X, y).partial_fit(X, y)
        assert same_training(step, small(of, max_iter=2).fit(X, y))


def test_partial_fit_may_begin_with_rows_that_lack_a_class():
    X, y = classes()
    model = small().partial_fit(X[y < 2], y[y < 2], classes=[2, 0, 1])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(X).shape == (150, 3)
    model.partial_fit(X[y == 2], y[y == 2])
    model.partial_fit(X, y, classes=[0, 1, 2])
    assert model.n_iter_ == 3


def test_a_fit_begins_anew_whatever_was_before():
    X, y = classes()
    model = small().partial_fit(X, y)
    assert same_training(model.fit(X, y), small().fit(X, y))


@pytest.mark.parametrize("of", ESTIMATORS)
@pytest.mark.parametrize("method", sorted({*METHODS_ALONE} - {"ctre_seq_abl2"}))
def test_warm_start_goes_on_for_as_many_epochs_again(of, method):
    X, y = data_for(of)
    warm = small(of, method=method, warm_start=True, max_iter=3).fit(X, y).fit(X, y)
    assert warm.n_iter_ == len(warm.history_) == 6
    assert same_training(warm, small(of, method=method, max_iter=6).fit(X, y))


@pytest.mark.parametrize(
    ("solver", "setting"),
    [
        ("sgd", {"learning_rate_init": 0.001}),
        ("sgd", {"alpha": 0.1}),
        ("sgd", {"momentum": 0.5}),
        ("sgd", {"nesterovs_momentum": False}),
        ("adam", {"learning_rate_init": 0.001}),
        ("adam", {"beta_1": 0.5}),
        ("adam", {"beta_2": 0.5}),
        ("adam", {"adam_epsilon": 0.1}),
    ],
    ids=str,
)
def test_settings_may_change_between_the_epochs(solver, setting):
    X, y = classes()
    model = small(solver=solver).partial_fit(X, y)
    same_setting = copy.deepcopy(model).partial_fit(X, y)
    model.set_params(**setting).partial_fit(X, y)
    assert not same(network_bits(model.network_), network_bits(same_setting.network_))


def test_a_model_in_memory_that_cannot_be_written_to_goes_on(tmp_path):
    X, y = classes()
    model = small(hidden_layer_sizes=(400,), epsilon=2).fit(X, y)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    assert not mapped.network_.layers[0].weights.flags.writeable
    assert same_training(mapped.partial_fit(X, y), model.partial_fit(X, y))


@pytest.mark.parametrize("of", ESTIMATORS)
def test_a_network_that_was_handed_out_is_not_trained_on(of):
    X, y = data_for(of)
    model = small(of).fit(X, y)
    network, history = model.network_, model.history_
    before, n_before = network_bits(network.copy()), len(history)
    model.partial_fit(X, y)
    model.set_params(warm_start=True).fit(X, y)
    assert same(network_bits(network), before)
    assert len(history) == n_before
    assert not same(network_bits(model.network_), before)
