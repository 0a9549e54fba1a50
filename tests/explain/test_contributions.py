"""Contributions on held-out rows, against finite differences and known truth."""

import numpy as np
import pytest
import scipy.sparse

from cofire import SparseMLPClassifier, SparseMLPRegressor
from cofire.explain import contributions
from cofire.explain.shuffling import shuffled_losses


def outputs_before_softmax(network, inputs):
    values = inputs
    for i, layer in enumerate(network.layers):
        values = values @ layer.to_scipy().toarray().astype(float).T + layer.bias
        if i < len(network.layers) - 1 and network.activation == "tanh":
            values = np.tanh(values)
        elif i < len(network.layers) - 1 and network.activation == "relu":
            values = np.maximum(values, 0)
        elif i < len(network.layers) - 1 and network.activation == "leaky_relu":
            values = np.where(values > 0, values, 0.01 * values)
    return values


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "tanh", "identity"])
@pytest.mark.parametrize("make", [SparseMLPClassifier, SparseMLPRegressor])
def test_contributions_equal_finite_differences(make, activation):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 4)).astype(np.float32)
    y = X[:, 0] - X[:, 2]
    y = (y > 0) * 1 if make is SparseMLPClassifier else y
    model = make(
        (9, 7),
        activation=activation,
        standardize=False,
        random_state=0,
        max_iter=5,
        n_networks=2,
    ).fit(X, y)
    found = contributions(model, X, y)
    if make is SparseMLPClassifier:
        targets = np.eye(2)[y] - np.eye(2)[y].mean(axis=0)
    else:
        targets = ((y - model.target_mean_) / model.target_scale_)[:, None]
        targets = targets - targets.mean(axis=0)
    means, squares = [], []
    step = 1e-6
    for network in model.networks_:
        gradient = np.empty(X.shape)
        for j in range(4):
            higher, lower = X.astype(float), X.astype(float)
            higher[:, j] += step
            lower[:, j] -= step
            difference = outputs_before_softmax(network, higher)
            difference = difference - outputs_before_softmax(network, lower)
            gradient[:, j] = (targets * difference).sum(axis=1) / (2 * step)
        means.append((X * gradient).mean(axis=0))
        squares.append((gradient**2).mean(axis=0))
    np.testing.assert_allclose(found.mean, np.mean(means, axis=0), rtol=1e-4, atol=1e-7)
    expected = np.sqrt(np.mean(squares, axis=0))
    np.testing.assert_allclose(found.gradient, expected, rtol=1e-4)
    np.testing.assert_array_equal(found.positive, np.mean(np.array(means) > 0, axis=0))


def test_what_was_learnt_by_heart_does_not_contribute():
    """Fifty features that agree with each other attract connections."""
    random = np.random.default_rng(3)
    X = random.normal(size=(300, 40))
    trap = 0.8 * random.normal(size=(300, 1)) + 0.6 * random.normal(size=(300, 50))
    X = np.hstack([X, trap])
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0) * 1
    model = SparseMLPClassifier(random_state=0).fit(X[:200], y[:200])
    found = contributions(model, X[200:], y[200:]).mean
    assert found[0] == found.max()
    assert found[0] > 5 * np.abs(found[40:]).max()


@pytest.mark.parametrize("kind", ["bytes", "sparse"])
def test_other_kinds_of_rows_contribute_alike(kind):
    random = np.random.default_rng(4)
    X = random.integers(0, 256, size=(80, 6), dtype=np.uint8)
    X[random.random(X.shape) < 0.6] = 0
    y = (X[:, 1] > 0) * 1
    X = X if kind == "bytes" else scipy.sparse.csr_array(X.astype(np.float32))
    model = SparseMLPClassifier(random_state=0).fit(X, y)
    found = contributions(model, X, y)
    assert found.mean.argmax() == 1


def test_shuffling_moves_the_features_of_a_column_together():
    class Model:
        def score(self, X, y):
            dense = X.toarray() if scipy.sparse.issparse(X) else X
            # A row of two levels, or of none, never occurs.
            assert (dense[:, 1:3].sum(axis=1) == 1).all()
            return float((dense[:, 1] == y).mean())

    random = np.random.default_rng(0)
    y = random.integers(0, 2, 200).astype(float)
    X = np.column_stack([random.normal(size=200), y, 1 - y])
    groups = [slice(0, 1), slice(1, 3)]
    for rows in (X, scipy.sparse.csr_array(X)):
        losses = shuffled_losses(Model(), rows, y, groups)
        assert losses.mean[0] == 0
        assert 0.4 < losses.mean[1] < 0.6
