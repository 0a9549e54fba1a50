"""What is refused, and that the message names the argument."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse

from cofire import Augmentation, SparseMLPClassifier, SparseMLPRegressor
from cofire.callbacks import Checkpoint, Monitor
from cofire.errors import DivergenceError
from cofire.methods.set import SET
from helpers.estimator_cases import (
    ESTIMATORS,
    classes,
    data_for,
    network_bits,
    numbers,
    same,
    small,
)

NAN, INF = float("nan"), float("inf")


def with_value(array, value, at=(3, 1)):
    changed = array.astype(np.float64)
    changed[at[: changed.ndim]] = value
    return changed


# ---- data ----------------------------------------------------------------------------


@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("of", ESTIMATORS)
def test_values_that_are_not_finite_in_X(of, form, value):
    X, y = data_for(of)
    bad = form(with_value(X, value))
    with pytest.raises(ValueError, match="Input X contains (NaN|infinity)"):
        small(of).fit(bad, y)
    model = small(of).fit(X, y)
    with pytest.raises(ValueError, match="Input X contains (NaN|infinity)"):
        model.predict(bad)


@pytest.mark.parametrize("value", [NAN, INF])
@pytest.mark.parametrize("of", ESTIMATORS)
def test_values_that_are_not_finite_in_y(of, value):
    X, y = data_for(of)
    with pytest.raises(ValueError, match="Input y contains (NaN|infinity)"):
        small(of).fit(X, with_value(y, value))


@pytest.mark.parametrize("missing", [None, NAN])
@pytest.mark.parametrize("standardize", [True, False])
def test_labels_that_are_missing(standardize, missing):
    X, y = classes()
    labels = np.array(["a", "b", missing], dtype=object)[y]
    message = f"^Input y contains {'None' if missing is None else 'NaN'}. Leave these"
    with pytest.raises(ValueError, match=message):
        small(standardize=standardize).fit(X, labels)


def test_a_target_beyond_float32():
    X, y = numbers()
    with pytest.raises(ValueError, match="Input y contains a value too large"):
        small(SparseMLPRegressor).fit(X, with_value(y, 1e39))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([NAN], "Input sample_weight contains NaN"),
        ([INF], "Input sample_weight contains infinity"),
        ([-1.0], "Negative values in data passed to `sample_weight`"),
        ([0.0], "[Ss]ample.weight"),
    ],
)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_weights_that_are_no_weights(of, weight, message):
    X, y = data_for(of)
    weights = np.ones(len(y))
    weights[: None if weight == [0.0] else 1] = weight[0]
    with pytest.raises(ValueError, match=message):
        small(of).fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match=message):
        small(of).partial_fit(X, y, weights)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_lengths_that_do_not_match(of):
    X, y = data_for(of)
    message = "Found input variables with inconsistent numbers of samples: .150, 149"
    with pytest.raises(ValueError, match=message):
        small(of).fit(X, y[:-1])
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(149,\)"):
        small(of).fit(X, y, sample_weight=np.ones(149))
    with pytest.raises(ValueError, match="[Ss]ample.weight.*1D array or scalar"):
        small(of).fit(X, y, sample_weight=np.ones((150, 2)))


@pytest.mark.parametrize("of", ESTIMATORS)
def test_no_data(of):
    X, y = data_for(of)
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        small(of).fit(X[:0], y[:0])
    with pytest.raises(ValueError, match=r"Found array with 0 feature\(s\)"):
        small(of).fit(X[:, :0], y)
    with pytest.raises(ValueError, match="requires y to be passed"):
        small(of).fit(X, None)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_data_of_the_wrong_kind(of):
    X, y = data_for(of)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        small(of).fit(X[:, 0], y)
    with pytest.raises(ValueError, match="could not convert string to float"):
        small(of).fit(np.full(X.shape, "a"), y)
    with pytest.raises(ValueError, match="Complex data not supported"):
        small(of).fit(X * 1j, y)
    model = small(of).fit(X, y)
    with pytest.raises(ValueError, match="X has 11 features, but .* expecting 12"):
        model.predict(X[:, 1:])


def test_labels_that_are_no_classes():
    X, y = classes()
    with pytest.raises(ValueError, match=r"y has one class only \(4\)"):
        small().fit(X, np.full(len(y), 4))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        small().fit(X, X[:, 0])
    for labels in ([1, "a", 2.5], ["a", 1, 2.5], [1, 2, 2.5]):
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        message = f"y: Unknown label type: objects of type {kinds}. Make all of them"
        with pytest.raises(ValueError, match=message):
            small().fit(X, np.array(labels, dtype=object)[y])
    with pytest.raises(ValueError, match="y: several columns of more than two classes"):
        small().fit(X, np.stack([y, y], axis=1))


def test_labels_that_came_too_late():
    X, y = classes()
    model = small().fit(X, y).set_params(warm_start=True)
    message = r"y contains the label {}, which is not among the classes \[0, 1, 2\]"
    with pytest.raises(ValueError, match=message.format(3)):
        model.fit(X, np.where(y == 0, 3, y))
    with pytest.raises(ValueError, match=message.format("'a'")):
        model.partial_fit(X, np.array(["a", "b", "c"])[y])
    with pytest.raises(ValueError, match=message.format(9)):
        small().partial_fit(X, np.where(y == 0, 9, y), classes=[0, 1, 2])
    with pytest.raises(ValueError, match="classes=.* differs from those of the first"):
        model.partial_fit(X, y, classes=[0, 1, 2, 3])


def test_columns_that_came_too_late():
    X, y = numbers(n_outputs=2)
    model = small(SparseMLPRegressor).fit(X, y)
    with pytest.raises(
        ValueError, match=r"y: expected 2 columns, got shape \(150, 3\)"
    ):
        model.partial_fit(X, X[:, :3])
    labels = (y > 0).astype(int)
    model = small().fit(X, labels)
    with pytest.raises(ValueError, match="y: expected 2 columns of 0 and 1"):
        model.partial_fit(X, (X[:, :3] > 0).astype(int))


# ---- validation data -----------------------------------------------------------------


@pytest.mark.parametrize("of", ESTIMATORS)
def test_validation_data_that_are_not_whole(of):
    X, y = data_for(of)
    with pytest.raises(ValueError, match="y_val is missing"):
        small(of).fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="X_val is missing"):
        small(of).fit(X, y, y_val=y)
    with pytest.raises(ValueError, match="X_val is missing.*sample_weight_val"):
        small(of).fit(X, y, sample_weight_val=np.ones(len(y)))


@pytest.mark.parametrize("of", ESTIMATORS)
def test_validation_data_are_as_good_as_the_others(of):
    X, y = data_for(of)
    ones = np.ones(len(y))
    for X_val, y_val, weight, message in [
        (X[:, :3], y, None, "X_val.*X has 3 features"),
        (with_value(X, NAN), y, None, "X_val.*contains NaN"),
        (X, with_value(y, INF), None, "y_val.*contains infinity"),
        (X, y[:9], None, r"X_val, y_val.*\[150, 9\]"),
        (X, y, -ones, "sample_weight_val.*Negative values"),
        (X, y, ones[:5], r"sample_weight_val.*\(5,\)"),
        (X, y, 0 * ones, "sample_weight_val.*non-zero"),
    ]:
        with pytest.raises(ValueError, match=message):
            small(of).fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=weight)


def test_labels_that_only_validation_knows():
    X, y = classes()
    with pytest.raises(ValueError, match="y_val.*label 7, which is not among"):
        small().fit(X, y, X_val=X, y_val=np.where(y == 0, 7, y))


@pytest.mark.parametrize("of", ESTIMATORS)
def test_too_few_rows_to_hold_out(of):
    X, y = data_for(of)
    message = "validation_fraction=0.1 of 8 rows cannot be held out.* Give fit X_val"
    with pytest.raises(ValueError, match=message):
        small(of, early_stopping=True).fit(X[:8], y[:8])
    with pytest.raises(ValueError, match="validation_fraction=0.999 of 150 rows"):
        small(of, early_stopping=True, validation_fraction=0.999).fit(X, y)


# ---- parameters ----------------------------------------------------------------------


@pytest.mark.parametrize("of", ESTIMATORS)
@pytest.mark.parametrize(
    ("name", "value", "suggestion"),
    [
        ("method", "sett", "set"),
        ("method", "CTRE_SIM", "ctre_sim"),
        ("activation", "rellu", "relu"),
        ("init", "glorott", "glorot"),
        ("drop_schedule", "cosinus", "cosine"),
        ("solver", "adamm", "adam"),
        ("last_batch", "dropp", "drop"),
        ("learning_rate", "cosinus", "cosine"),
        ("similarity", "exakt", "exact"),
    ],
)
def test_a_name_that_is_not_known_gets_a_suggestion(of, name, value, suggestion):
    X, y = data_for(of)
    message = f"unknown {name} '{value}'. Did you mean '{suggestion}'? Known: "
    with pytest.raises(ValueError, match=re.escape(message)):
        small(of, **{name: value}).fit(X, y)


@pytest.mark.parametrize("of", ESTIMATORS)
@pytest.mark.parametrize(
    ("name", "values"),
    {
        "hidden_layer_sizes": [0, (8, 0), (8, -1), 2.5, (2.5,), "8", None, [[8]], True],
        "activation": [None, 1],
        "method": [SET, None, 3],
        "method_options": [3, "kept", {"retrning": "kept"}],
        "n_networks": [0, -1, 1.5, NAN, "4", None],
        "n_pieces": [-1, 1.5, NAN, "4", [4]],
        "epsilon": [0, -1, NAN, "1"],
        "density": [0, -0.1, 1.1, NAN, "half"],
        "init": [0.1],
        "drop_fraction": [-0.1, 1, 1.5, NAN, "0.2"],
        "drop_schedule": [0.1, {1: 0.5}, "adaptive"],
        "update_interval": [0, -1, 1.5, NAN, "1", "pass", (100,)],
        "update_stop": [-0.1, 1.1, NAN, "1", None],
        "solver": [None],
        "alpha": [-1e-9, NAN],
        "batch_size": [0, -5, 2.5, "auto"],
        "last_batch": [True],
        "learning_rate": [0.1, {-1: 0.5}, {1.5: 0.5}, {3: 0}, {3: NAN}, {3: "1"}],
        "learning_rate_init": [0, -0.1, NAN],
        "standardize": [None, "yes", 2],
        "momentum": [-0.1, 1.1],
        "nesterovs_momentum": ["yes"],
        "beta_1": [-0.1, 1.0],
        "beta_2": [-0.1, 1.0],
        "adam_epsilon": [0, -1e-8],
        "max_iter": [0, -1, 2.5, "auto"],
        "shuffle": ["no"],
        "early_stopping": [None],
        "validation_fraction": [0, 1, -0.5, 30],
        "n_iter_no_change": [0, 1.5],
        "restore_best": ["best"],
        "warm_start": [None],
        "random_state": [-1, 0.5, "seed"],
        "n_jobs": [0, 1.5, "all"],
        "similarity": [None],
        "augmentation": ["flip", 3, (4, 3), Augmentation, Augmentation(4, 4)],
        "input_dropout": [-0.1, 1, 1.5, NAN, "0.2"],
        "checkpoint": [3, True, b"folder", ["a"], Checkpoint("a")],
        "callbacks": [None, 3, Monitor, [Monitor], [print]],
        "verbose": [-1, "loud"],
    }.items(),
)
def test_a_parameter_out_of_its_range_is_named(of, name, values):
    X, y = data_for(of)
    for value in values:
        with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b"):
            small(of, **{name: value}).fit(X, y)
        with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b"):
            small(of, **{name: value}).partial_fit(X, y)


def test_every_parameter_is_in_the_test_above():
    mark = next(
        mark
        for mark in test_a_parameter_out_of_its_range_is_named.pytestmark
        if mark.args[0] == ("name", "values")
    )
    assert {name for name, _ in mark.args[1]} == set(SparseMLPRegressor().get_params())


@pytest.mark.parametrize("value", [-0.1, 1, 1.5, NAN, INF, "0.2", None, 1j])
def test_a_share_of_labels_that_is_none(value):
    X, y = classes()
    model = small(label_smoothing=value)
    for fit in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=r"\blabel_smoothing\b"):
            fit(X, y)


@pytest.mark.parametrize(
    "value",
    ["balance", 3, {0: -1, 1: 1, 2: 1}, {0: NAN}, {0: INF}, {0: 0, 1: 0, 2: 0}, {7: 2}],
)
def test_class_weights_that_are_no_weights(value):
    X, y = classes()
    if isinstance(value, dict) and 7 not in value:
        value = {1: 1, 2: 1} | value
    with pytest.raises(ValueError, match="class_weight"):
        small(class_weight=value).fit(X, y)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_an_epsilon_that_leaves_a_layer_empty_may_have_been_meant_for_adam(of):
    X, y = data_for(of)
    message = "epsilon=1e-08 leaves layer .* without a connection.*adam_epsilon"
    with pytest.raises(ValueError, match=message):
        small(of, epsilon=1e-8, solver="adam").fit(X, y)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_a_density_that_leaves_a_layer_empty(of):
    X, y = data_for(of)
    with pytest.raises(ValueError, match="density=0.001"):
        small(of, density=0.001).fit(X, y)


def test_dense_has_no_density():
    X, y = classes()
    with pytest.raises(ValueError, match="density=0.5 and method='dense'"):
        small(method="dense", density=0.5).fit(X, y)
    small(method="dense", density=1.0).fit(X, y)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_dropping_the_only_batch(of):
    X, y = data_for(of)
    message = (
        "last_batch='drop' leaves nothing to train on: batch_size=151, .* 150 rows"
    )
    with pytest.raises(ValueError, match=message):
        small(of, last_batch="drop", batch_size=151).fit(X, y)
    assert small(of, last_batch="drop", batch_size=150).fit(X, y).n_iter_ == 4


def test_a_network_that_is_full_gets_a_warning():
    X, y = classes()
    for fit in (small(epsilon=100).fit, small(epsilon=100).partial_fit):
        with pytest.warns(UserWarning, match="Every layer is full") as heard:
            fit(X, y)
        assert [warning.filename for warning in heard] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small(hidden_layer_sizes=(10,), epsilon=4).fit(X, y)  # one of two is full
        small(method="dense").fit(X, y)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_partial_fit_refuses_what_needs_all_of_the_data(of):
    X, y = data_for(of)
    with pytest.raises(ValueError, match="early_stopping=True"):
        small(of, early_stopping=True).partial_fit(X, y)


def test_partial_fit_refuses_balanced_classes():
    X, y = classes()
    with pytest.raises(ValueError, match="class_weight='balanced'"):
        small(class_weight="balanced").partial_fit(X, y)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_another_solver_cannot_go_on(of):
    X, y = data_for(of)
    model = small(of, solver="adam").fit(X, y).set_params(solver="sgd")
    with pytest.raises(ValueError, match="solver='sgd'"):
        model.partial_fit(X, y)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_a_refusal_before_any_fit_leaves_it_unfitted(of):
    X, y = data_for(of)
    model = small(of)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(with_value(X, NAN), y)
    with pytest.raises(ValueError, match="y_val"):
        model.fit(X, y, X_val=X)
    assert vars(model) == before
    with pytest.raises(AttributeError, match="not fitted"):
        _ = model.coefs_


@pytest.mark.parametrize("of", ESTIMATORS)
def test_a_refusal_leaves_a_fitted_estimator_as_it_was(of):
    X, y = data_for(of)
    other = -y if of is SparseMLPRegressor else 2 - y
    wide = np.hstack([X, X])
    model = small(of).fit(X, y)
    predicted, bits = model.predict(X), network_bits(model.network_.copy())

    def check(call, **parameters):
        sound = {name: getattr(model, name) for name in parameters}
        model.set_params(**parameters)
        before = dict(vars(model))
        with pytest.raises((ValueError, TypeError)):
            call()
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is value for name, value in before.items())
        model.set_params(**sound)
        assert np.array_equal(model.predict(X), predicted)
        assert same(network_bits(model.network_), bits)

    def fit():
        model.fit(wide, other)

    check(lambda: model.fit(with_value(wide, NAN), other))
    check(lambda: model.fit(wide, with_value(y, INF)))
    check(lambda: model.fit(wide, other[:-1]))
    check(lambda: model.fit(wide, other, sample_weight=-np.ones(len(y))))
    check(lambda: model.fit(wide, other, X_val=X))
    check(lambda: model.fit(wide, other, X_val=X, y_val=y))
    check(lambda: model.partial_fit(wide, other))
    check(lambda: model.partial_fit(with_value(X, NAN), other))
    check(fit, epsilon=1e-9)
    check(fit, n_jobs=0)
    check(fit, method="nothing")
    check(fit, callbacks=[print])
    check(fit, augmentation=Augmentation(3, 4))
    check(fit, last_batch="drop", batch_size=1000)
    check(fit, early_stopping=True, validation_fraction=0.999)
    check(lambda: model.partial_fit(X, other), solver="adam")
    # And a fit that is not refused does change it.
    model.fit(wide, other)
    assert model.n_features_in_ == 24


# ---- what only training can find out -------------------------------------------------


@pytest.mark.parametrize("of", ESTIMATORS)
def test_a_diverging_fit_says_what_to_do_and_keeps_the_last_finite_network(of):
    X, y = data_for(of)
    model = small(of, learning_rate_init=1e8, max_iter=50)
    with pytest.raises(DivergenceError, match=r"in epoch \d+: layer \d has") as raised:
        model.fit(X, y)
    assert str(raised.value).endswith(
        "Scale the inputs (standardize=True) or lower learning_rate_init."
    )
    assert model.n_iter_ == len(model.loss_curve_) == raised.value.epoch
    assert np.isfinite(model.loss_curve_).all()
    model.network_.check()
    if of is SparseMLPClassifier:
        assert np.isfinite(model.predict_proba(X)).all()
    else:
        assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("of", ESTIMATORS)
@pytest.mark.parametrize("method", ["static", "set", "ctre_sim"])
def test_an_epoch_that_diverges_can_be_tried_again(of, method):
    X, y = data_for(of)
    model = small(of, method=method).fit(X, y)
    model.set_params(learning_rate_init=1e30)
    with pytest.raises(DivergenceError, match="in epoch 4"):
        model.partial_fit(X, y)
    assert model.n_iter_ == 4
    assert np.isfinite(model.predict(X)).all()
    model.set_params(learning_rate_init=0.01).partial_fit(X, y)
    assert model.n_iter_ == 5
    model.network_.check()
