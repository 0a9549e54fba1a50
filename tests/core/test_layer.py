import re
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given

from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from helpers import naive
from helpers.strategies import layers


@given(layer=layers())
def test_every_drawn_layer_is_legal(layer):
    layer.check()


@given(layer=layers())
def test_flat_indices_are_those_of_the_dense_matrix(layer):
    ones = replace(layer, weights=np.ones_like(layer.weights))
    assert np.array_equal(layer.flat_indices, np.flatnonzero(naive.to_dense(ones)))
    assert np.array_equal(layer.rows, layer.flat_indices // layer.n_in)
    assert layer.flat_indices.dtype == np.int64


@given(layer=layers())
def test_from_flat_indices_undoes_flat_indices(layer):
    again = SparseLayer.from_flat_indices(
        layer.flat_indices, layer.weights, layer.bias, layer.n_in, layer.n_out
    )
    again.check()
    assert np.array_equal(again.indptr, layer.indptr)
    assert np.array_equal(again.indices, layer.indices)


@given(layer=layers())
def test_counts_agree_with_the_dense_matrix(layer):
    n_possible = naive.to_dense(layer).size
    assert layer.nnz == len(naive.flat_indices(layer))
    assert layer.density == len(naive.flat_indices(layer)) / n_possible
    assert layer.is_full == (naive.flat_indices(layer) == set(range(n_possible)))


@given(layer=layers(min_nnz=1))
def test_to_scipy_is_the_dense_matrix_and_shares_the_weights(layer):
    view = layer.to_scipy()
    assert np.array_equal(view.toarray(), naive.to_dense(layer))
    assert np.shares_memory(view.data, layer.weights)
    assert np.shares_memory(view.indices, layer.indices)


@given(layer=layers(min_nnz=1))
def test_a_copy_is_equal_and_shares_nothing(layer):
    copy = layer.copy()
    for name in ("indptr", "indices", "weights", "bias"):
        assert np.array_equal(getattr(copy, name), getattr(layer, name))
        assert not np.shares_memory(getattr(copy, name), getattr(layer, name))


def test_indices_of_a_huge_layer_do_not_overflow():
    flat_indices = np.array([0, 10**12 - 1])
    layer = SparseLayer.from_flat_indices(
        flat_indices, np.ones(2), np.zeros(10**6), 10**6, 10**6
    )
    layer.check()
    assert np.array_equal(layer.flat_indices, flat_indices)
    assert layer.density == 2e-12


def test_fields_are_frozen_but_weights_train_in_place():
    layer = small_layer()
    with pytest.raises(FrozenInstanceError):
        layer.weights = np.zeros(3, np.float32)
    layer.weights[0] = 9
    assert layer.weights[0] == 9


def small_layer():
    return SparseLayer.from_flat_indices([1, 3, 5], [1, 2, 3], [0, 0], n_in=3, n_out=2)


def ints(*values):
    return np.array(values, np.int32)


def longs(*values):
    return np.array(values, np.int64)


def floats(*values):
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indptr": ints(0, 1, 3)}, "indptr must be an array of int64, got int32"),
        ({"indices": longs(1, 0, 2)}, "indices must be an array of int32, got int64"),
        ({"weights": np.ones(3)}, "weights must be an array of float32, got float64"),
        ({"bias": [0.0, 0.0]}, "bias must be an array of float32, got list"),
        ({"weights": np.ones((3, 1), np.float32)}, "weights must be one-dimensional"),
        ({"weights": np.ones(6, np.float32)[::2]}, "weights must be one-dimensional"),
        ({"n_in": 0}, "n_in must lie in"),
        ({"n_in": 2**31}, "n_in must lie in"),
        ({"indptr": longs(0)}, "indptr must have n_out + 1"),
        ({"indptr": longs(1, 1, 3)}, "indptr must start at 0"),
        ({"indptr": longs(0, 4, 3)}, "indptr must not decrease"),
        ({"indptr": longs(0, 1, 2)}, "indptr must end at the number of indices"),
        ({"weights": floats(1, 2)}, "weights must be one per connection"),
        ({"bias": floats(0)}, "bias must be one per output neuron"),
        ({"indices": ints(3, 0, 2)}, "indices must lie in [0, n_in = 3)"),
        ({"indices": ints(-1, 0, 2)}, "indices must lie in [0, n_in = 3)"),
        ({"indices": ints(1, 2, 0)}, "indices must be sorted within each neuron"),
        ({"indices": ints(1, 2, 2)}, "indices must be unique within each neuron"),
        ({"weights": floats(1, np.nan, 2)}, "weights must be finite"),
        ({"bias": floats(0, np.inf)}, "bias must be finite"),
    ],
)
def test_check_names_the_broken_invariant(change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        replace(small_layer(), **change).check()


@pytest.mark.parametrize(
    ("flat_indices", "n_weights", "n_biases", "message"),
    [
        ([3, 1], 2, 2, "strictly ascending"),
        ([1, 1], 2, 2, "strictly ascending"),
        ([1, 6], 2, 2, "must lie in"),
        ([-1, 1], 2, 2, "must lie in"),
        ([1, 3], 3, 2, "as many weights"),
        ([1, 3], 2, 3, "as many weights"),
    ],
)
def test_from_flat_indices_refuses(flat_indices, n_weights, n_biases, message):
    with pytest.raises(ValueError, match=message):
        SparseLayer.from_flat_indices(
            flat_indices, np.ones(n_weights), np.ones(n_biases), 3, 2
        )


def small_network():
    second = SparseLayer.from_flat_indices([0], [1], [0], n_in=2, n_out=1)
    return SparseNetwork([small_layer(), second], "relu", "softmax")


def test_a_network_knows_its_sizes_and_counts():
    network = small_network()
    network.check()
    assert network.sizes == [3, 2, 1]
    assert network.n_connections == 4
    assert network.density == 4 / 8


def test_a_copied_network_trains_alone():
    network = small_network()
    copy = network.copy()
    copy.layers[0].weights[:] = 7
    copy.layers.pop()
    assert network.sizes == [3, 2, 1]
    assert network.layers[0].weights.tolist() == [1, 2, 3]
    assert (copy.activation, copy.output) == ("relu", "softmax")


def test_a_network_names_the_layer_that_is_broken():
    network = small_network()
    network.layers[1].weights[0] = np.nan
    with pytest.raises(ValueError, match="layer 2: weights must be finite"):
        network.check()


def test_a_network_refuses_layers_that_do_not_fit():
    network = small_network()
    with pytest.raises(ValueError, match="layer 2: expected n_in = 2, got 3"):
        SparseNetwork([network.layers[0]] * 2, "relu", "softmax").check()
    with pytest.raises(ValueError, match="at least one layer"):
        SparseNetwork([], "relu", "softmax").check()


def test_a_network_refuses_unknown_functions():
    with pytest.raises(ValueError, match="Did you mean 'relu'"):
        SparseNetwork([small_layer()], "rleu", "softmax")
    with pytest.raises(ValueError, match="unknown output 'relu'"):
        SparseNetwork([small_layer()], "relu", "relu")
