"""Removing connections from a trained network: which go first, what is left."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from cofire import SparseMLPClassifier
from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.lab.experiments.removal import (
    RemovalStudy,
    connection_cosines,
    without_first,
)
from cofire.profiles import DEFAULTS_0_1
from helpers import naive
from helpers.estimator_cases import classes
from helpers.strategies import layers


def random_layer(n_in, n_out, density, rng):
    indices = np.flatnonzero(rng.random(n_in * n_out) < density)
    weights, bias = rng.normal(size=len(indices)), 0.1 * rng.normal(size=n_out)
    return SparseLayer.from_flat_indices(indices, weights, bias, n_in, n_out)


def brute_force_cosines(network, X):
    """All activations at once, then pair by pair."""
    activations = [np.asarray(X, np.float64).T]
    for i, layer in enumerate(network.layers):
        z = naive.to_dense(layer) @ activations[-1] + layer.bias[:, None]
        last = i == len(network.layers) - 1
        activations.append(softmax(z, axis=0) if last else np.maximum(z, 0))
    found = []
    for layer, a, b in zip(
        network.layers, activations[:-1], activations[1:], strict=True
    ):
        cosines = []
        for index in sorted(naive.flat_indices(layer)):
            p, q = a[index % layer.n_in], b[index // layer.n_in]
            norm = np.linalg.norm(p) * np.linalg.norm(q)
            cosines.append(abs(p @ q) / norm if norm > 0 else 0.0)
        found.append(cosines)
    return found


@pytest.mark.parametrize("density", [0.3, 1.0])
@pytest.mark.parametrize("block", [7, 1000])
def test_cosines_are_those_of_all_pairs_computed_one_by_one(density, block):
    rng = np.random.default_rng(0)
    sizes = [6, 9, 8, 3]
    network = SparseNetwork(
        [
            random_layer(a, b, density, rng)
            for a, b in zip(sizes, sizes[1:], strict=False)
        ],
        "relu",
        "softmax",
    )
    X = rng.normal(size=(25, 6)).astype(np.float32)
    X[:, 2] = 0  # an input that is silent
    network.layers[0].bias[4] = -100  # a neuron that never fires
    assert (density == 1) == network.layers[0].is_full
    found = connection_cosines(network, X, block)
    for layer, ours, theirs in zip(
        network.layers, found, brute_force_cosines(network, X), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
        assert len(ours) == layer.nnz
    first = network.layers[0]
    silent = (first.indices == 2) | (first.rows == 4)
    assert silent.any() and (found[0][silent] == 0).all()
    assert (found[0][~silent] > 0).any()


def test_other_networks_are_not_studied():
    layer = random_layer(3, 2, 1.0, np.random.default_rng(0))
    with pytest.raises(ValueError, match="ReLU and softmax"):
        connection_cosines(SparseNetwork([layer], "tanh", "softmax"), np.ones((2, 3)))


@settings(max_examples=60, deadline=None)
@given(layer=layers(), seed=st.integers(0, 99), share=st.floats(0, 1))
def test_the_first_in_an_order_go_and_the_others_stay_as_they_were(layer, seed, share):
    ranked = np.random.default_rng(seed).permutation(layer.nnz)
    n = round(share * layer.nnz)
    after = without_first(layer, ranked, n)
    after.check()
    left = naive.to_dense(layer)
    indices = sorted(naive.flat_indices(layer))
    for k in ranked[:n]:
        left.flat[indices[k]] = 0
    assert after.nnz == layer.nnz - n
    np.testing.assert_array_equal(naive.to_dense(after), left)
    np.testing.assert_array_equal(after.bias, layer.bias)


SETTINGS = DEFAULTS_0_1 | {
    "hidden_layer_sizes": (30, 30),
    "method": "set",
    "epsilon": 3,
    "max_iter": 40,
    "learning_rate_init": 0.05,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def studied():
    """A network on an easy problem, looked at after 3 of its 40 epochs and the last."""
    X, y = classes(n=300, n_features=10, n_classes=3)
    y = np.array(["b", "a", "c"])[y]
    study = RemovalStudy(X[:200], X[200:], y[200:], seed=1, epochs=(3, 40, 100))
    model = SparseMLPClassifier(**SETTINGS, callbacks=[study])
    return model.fit(X[:200], y[:200]), study.curves, X[200:], y[200:]


def test_there_is_a_curve_for_each_epoch_score_and_order(studied):
    _, curves, _, _ = studied
    kinds = [
        *("magnitude ascending", "magnitude descending"),
        *("cosine ascending", "cosine descending", "random ascending"),
    ]
    assert sorted(curves) == sorted(f"removal {e} {k}" for e in (3, 40) for k in kinds)
    assert {len(curve) for curve in curves.values()} == {101}


def test_curves_begin_with_the_network_and_end_with_its_biases(studied):
    model, curves, X, y = studied
    whole = model.score(X, y)
    bare = np.mean(y == model.classes_[np.argmax(model.network_.layers[-1].bias)])
    assert whole > bare + 0.2
    for name, curve in curves.items():
        if name.startswith("removal 40 "):
            assert curve[0] == pytest.approx(whole)
            assert curve[-1] == pytest.approx(bare)


def test_a_network_holds_longer_if_its_small_weights_go_first(studied):
    _, curves, _, _ = studied
    small_first = curves["removal 40 magnitude ascending"].mean()
    large_first = curves["removal 40 magnitude descending"].mean()
    assert large_first + 0.05 < curves["removal 40 random ascending"].mean()
    assert curves["removal 40 random ascending"].mean() + 0.05 < small_first


def test_the_study_leaves_the_training_alone(studied):
    model, _, X, y = studied
    X_all, y_all = classes(n=300, n_features=10, n_classes=3)
    y_all = np.array(["b", "a", "c"])[y_all]
    alone = SparseMLPClassifier(**SETTINGS).fit(X_all[:200], y_all[:200])
    assert alone.loss_curve_ == model.loss_curve_


def test_rows_that_the_estimator_would_scale_are_refused():
    X, y = classes(n=60)
    study = RemovalStudy(X, X, y, seed=1)
    model = SparseMLPClassifier((9,), max_iter=2, callbacks=[study])
    with pytest.raises(ValueError, match="standardize=True: set it to False"):
        model.fit(X, y)
