"""Strengths of paths and importances, against sums over single paths."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance

from cofire import SparseMLPClassifier, SparseMLPRegressor, load
from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.core.paths import path_signs, path_strengths
from cofire.explain import (
    class_importances,
    directions,
    feature_importances,
    network_importances,
)


def random_network(seed, sizes, output):
    random = np.random.default_rng(seed)
    layers = []
    for n_in, n_out in zip(sizes, sizes[1:], strict=False):
        flat = np.sort(random.choice(n_in * n_out, n_in * n_out // 2, replace=False))
        weights = random.normal(size=len(flat))
        bias = random.normal(size=n_out)
        layers.append(SparseLayer.from_flat_indices(flat, weights, bias, n_in, n_out))
    return SparseNetwork(layers, "relu", output)


def sums_over_paths(network, power):
    """Walk every path on its own; the last layer's weights are centred for softmax."""
    dense = [layer.to_scipy().toarray().astype(float) for layer in network.layers]
    if network.output == "softmax":
        dense[-1] = dense[-1] - dense[-1].mean(axis=0)
    sums = np.zeros((dense[-1].shape[0], dense[0].shape[1]))

    def walk(depth, neuron, start, product):
        if depth == len(dense):
            sums[neuron, start] += product
            return
        for following in range(dense[depth].shape[0]):
            weight = dense[depth][following, neuron] ** power
            walk(depth + 1, following, start, product * weight)

    for start in range(dense[0].shape[1]):
        walk(0, start, start, 1.0)
    return sums


@pytest.mark.parametrize("output", ["softmax", "sigmoid", "identity"])
@pytest.mark.parametrize("sizes", [(5, 3), (4, 6, 2), (3, 5, 4, 3)])
def test_strengths_equal_sums_over_single_paths(sizes, output):
    network = random_network(len(sizes), sizes, output)
    np.testing.assert_allclose(path_strengths(network), sums_over_paths(network, 2))
    np.testing.assert_allclose(
        path_signs(network), sums_over_paths(network, 1), atol=1e-12
    )


@pytest.fixture(scope="module")
def mixed():
    random = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame(
        {
            "noise": random.normal(size=n),
            "size": random.normal(size=n),
            "colour": random.choice(["red", "green", "blue"], n),
            "day": pd.date_range("2020-01-01", periods=n),
        }
    )
    X.loc[::7, "size"] = np.nan
    y = np.where((X["size"] > 0) | (X["colour"] == "red"), "yes", "no")
    return X, y


def test_importances_are_of_columns_not_of_inputs(mixed):
    X, y = mixed
    model = SparseMLPClassifier(random_state=0, n_pieces=0).fit(X, y)
    found = model.feature_importances_
    assert found.shape == (4,)
    assert found.sum() == pytest.approx(1)
    assert set(np.argsort(-found)[:2]) == {1, 2}  # size and colour
    naive = np.zeros(4)
    columns = [
        list(X.columns).index(name.split("=")[0].split()[0])
        for name in model.input_names_
    ]
    for network in model.networks_:
        of_inputs = sums_over_network(network)
        of_columns = np.bincount(columns, of_inputs, minlength=4)
        naive += np.sqrt(of_columns) / np.sqrt(of_columns).sum()
    np.testing.assert_allclose(found, naive / len(model.networks_))
    np.testing.assert_allclose(network_importances(model).mean(axis=0), found)


def sums_over_network(network):
    """As `sums_over_paths`, by dense products: the network is too large for walks."""
    product = np.eye(network.layers[0].n_in)
    for i, layer in enumerate(network.layers):
        dense = layer.to_scipy().toarray().astype(float)
        if i == len(network.layers) - 1:
            dense = dense - dense.mean(axis=0)
        product = dense**2 @ product
    return product.sum(axis=0)


def test_importances_agree_with_permutation_importance():
    random = np.random.default_rng(1)
    X = random.normal(size=(600, 12))
    y = 3 * X[:, 0] + 2 * X[:, 1] ** 2 + X[:, 2] + 0.3 * random.normal(size=600)
    model = SparseMLPRegressor(random_state=0).fit(X[:400], y[:400])
    shuffled = permutation_importance(
        model, X[400:], y[400:], n_repeats=5, random_state=0
    ).importances_mean
    by_weights = np.argsort(-model.feature_importances_)[:3]
    assert set(by_weights) == set(np.argsort(-shuffled)[:3]) == {0, 1, 2}


def test_importances_serve_select_from_model_and_survive_saving(mixed, tmp_path):
    X, y = mixed
    X = X[["noise", "size"]].fillna(0)
    selector = SelectFromModel(SparseMLPClassifier(random_state=0)).fit(X, y)
    assert selector.get_feature_names_out().tolist() == ["size"]
    model = SparseMLPClassifier(random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.feature_importances_, model.feature_importances_
    )


def test_a_class_has_importances_and_directions_of_its_own():
    random = np.random.default_rng(2)
    X = random.normal(size=(600, 6))
    y = np.where(X[:, 0] > 0.5, 0, np.where(X[:, 3] > 0.5, 1, 2))
    model = SparseMLPClassifier(random_state=0).fit(X, y)
    per_class = class_importances(model)
    np.testing.assert_allclose(per_class.sum(axis=1), 1)
    assert per_class[0].argmax() == 0
    signs = directions(model)
    assert signs[0, 0] > 0.5
    assert signs[1, 3] > 0.5
    assert np.abs(signs).max() <= 1


@pytest.mark.parametrize("method", ["dense", "set"])
def test_a_constant_feature_has_no_importance(method):
    """Its input is always 0, whatever weights its connections began with."""
    X = np.random.default_rng(0).normal(size=(100, 3))
    X[:, 1] = 7
    model = SparseMLPClassifier(method=method, max_iter=2, random_state=0)
    model.fit(X, X[:, 0] > 0)
    assert model.network_.layers[0].to_scipy().toarray()[:, 1].any()
    assert model.feature_importances_[1] == 0
    assert not class_importances(model)[:, 1].any()
    assert not directions(model)[:, 1].any()


def test_a_network_without_connections_has_no_importances():
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    model = SparseMLPClassifier(random_state=0).fit(X, y)
    for network in model.networks_:
        for layer in network.layers:
            layer.weights[:] = 0
    np.testing.assert_array_equal(feature_importances(model), np.zeros(3))
