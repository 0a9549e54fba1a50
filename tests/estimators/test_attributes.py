"""What a fit leaves behind."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from cofire import METHODS, SparseMLPClassifier, SparseMLPRegressor
from helpers.estimator_cases import (
    ESTIMATORS,
    METHODS_ALONE,
    classes,
    data_for,
    labels_of_columns,
    small,
)


@pytest.mark.parametrize("method", METHODS_ALONE)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_attributes_after_a_fit(of, method):
    X, y = data_for(of)
    model = small(of, method=method).fit(X, y)
    n_out = 3 if of is SparseMLPClassifier else 1
    assert model.n_features_in_ == 12
    assert not hasattr(model, "feature_names_in_")
    assert model.n_iter_ == len(model.history_) == len(model.loss_curve_) == 4
    assert model.loss_ == model.loss_curve_[-1] == model.history_[-1]["loss"]
    assert model.validation_scores_ is None
    assert model.best_validation_score_ is None
    assert model.network_.sizes == [12, 10, 8, n_out]
    shapes = [(12, 10), (10, 8), (8, n_out)]
    assert [w.shape for w in model.coefs_] == shapes
    assert [b.shape for b in model.intercepts_] == [(10,), (8,), (n_out,)]
    assert sum(w.nnz for w in model.coefs_) == model.n_connections_
    places = sum(a * b for a, b in shapes)
    assert model.density_ == model.n_connections_ / places
    if method == "dense":
        assert model.density_ == 1
    else:  # 1.5 * (n_in + n_out), at most full
        budget = [33, 27, {3: 16, 1: 8}[n_out]]
        counts = [w.nnz for w in model.coefs_]
        if METHODS[method].shrinks:
            assert all(n <= most for n, most in zip(counts, budget, strict=True))
            assert counts[-1] == budget[-1]
        else:
            assert counts == budget


def test_a_density_is_met_to_one_connection():
    X, y = classes()
    model = small(density=0.3, epsilon=100).fit(X, y)
    assert model.n_connections_ == round(0.3 * (12 * 10 + 10 * 8 + 8 * 3))


@pytest.mark.parametrize("of", ESTIMATORS)
def test_history_keys(of):
    X, y = data_for(of)
    model = small(of).fit(X, y, X_val=X, y_val=y)
    for epoch, record in enumerate(model.history_):
        assert record["epoch"] == epoch
        assert record["validation_score"] == model.validation_scores_[epoch]
        assert record["validation_loss"] > 0
        assert record["stalled_epochs"] >= 0
        assert record["train_seconds"] > 0
        assert record["rewire_seconds"] >= 0
        assert record["evaluate_seconds"] > 0
        assert len(record["alive"]) == 2
    for record in model.history_[1:]:
        assert record["replaced"] == [
            min(int(0.2 * w.nnz), np.prod(w.shape) - w.nnz) for w in model.coefs_
        ]
        assert all(0 <= share <= 1 for share in record["random_share"])


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "tanh", "identity"])
@pytest.mark.parametrize("target", ["classes", "labels", "numbers"])
def test_coefs_and_intercepts_are_the_whole_model(target, activation):
    X, y = classes()
    if target == "labels":
        y = labels_of_columns(X)
    of = SparseMLPRegressor if target == "numbers" else SparseMLPClassifier
    model = small(of, activation=activation).fit(X, y)
    values = X.astype(np.float64)
    for i, (w, b) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
        values = values @ w.toarray().astype(np.float64) + b
        if i < 2:
            values = {
                "relu": lambda a: np.maximum(a, 0),
                "leaky_relu": lambda a: np.where(a > 0, a, 0.01 * a),
                "tanh": np.tanh,
                "identity": lambda a: a,
            }[activation](values)
    if target == "classes":
        expected = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
        got = model.predict_proba(X)
    elif target == "labels":
        expected, got = 1 / (1 + np.exp(-values)), model.predict_proba(X)
    else:
        expected = values[:, 0] * model.target_scale_ + model.target_mean_
        got = model.predict(X)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_nothing_is_predicted_before_a_fit(of):
    X, _ = data_for(of)
    with pytest.raises(NotFittedError):
        small(of).predict(X)
