import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from cofire.topology.create import create_network, initial_weights
from cofire.topology.indices import distinct


def create(sizes, counts, init="normal", **how):
    how = {"activation": "relu", "output": "softmax", "seed": 0} | how
    return create_network(sizes, counts, init=init, **how)


@given(data=st.data(), seed=st.integers(0, 2**31 - 1))
def test_a_network_has_exactly_the_counts_it_was_given(data, seed):
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=2, max_size=4))
    shapes = itertools.pairwise(sizes)
    counts = [data.draw(st.integers(0, n_in * n_out)) for n_in, n_out in shapes]

    network = create(sizes, counts, seed=seed)

    network.check()
    assert network.sizes == sizes
    assert [layer.nnz for layer in network.layers] == counts
    assert not any(layer.bias.any() for layer in network.layers)


@pytest.mark.parametrize("n", [2, 4])
def test_random_indices_are_uniform(n):
    rng = np.random.default_rng(0)
    counts = dict.fromkeys(itertools.combinations(range(6), n), 0)
    for _ in range(200 * len(counts)):
        counts[tuple(distinct(6, n, rng).tolist())] += 1
    assert chisquare(list(counts.values())).pvalue > 0.001


def test_a_huge_layer_costs_no_more_than_its_connections():
    n = 5_000_000
    tracemalloc.start()
    try:
        network = create([10**6, 10**6], [n])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    layer = network.layers[0]
    assert layer.nnz == n
    assert (np.diff(layer.flat_indices) > 0).all()
    assert peak < 6 * 8 * n  # six arrays of int64; a full layer has 10**12 indices
    # Both ends of the layer are reached alike.
    blocks = np.histogram(layer.flat_indices, bins=10, range=(0, 10**12))[0]
    assert np.abs(blocks - n / 10).max() < 5 * np.sqrt(n / 10)


def test_a_nearly_full_layer_draws_what_is_missing():
    n = 999_990
    tracemalloc.start()
    try:
        indices = distinct(10**6, n, np.random.default_rng(0))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(np.unique(indices)) == n
    assert peak < 2 * 8 * n


def test_the_seed_decides_everything():
    sizes, counts = [30, 20, 10], [60, 40]
    one, same, other = (create(sizes, counts, seed=seed) for seed in (1, 1, 2))
    for a, b, c in zip(one.layers, same.layers, other.layers, strict=True):
        assert np.array_equal(a.flat_indices, b.flat_indices)
        assert np.array_equal(a.weights, b.weights)
        assert not np.array_equal(a.flat_indices, c.flat_indices)
        assert not np.array_equal(a.weights, c.weights)


def test_layers_of_one_shape_differ():
    network = create([20, 20, 20], [80, 80])
    assert not np.array_equal(
        network.layers[0].flat_indices, network.layers[1].flat_indices
    )
    assert not np.array_equal(network.layers[0].weights, network.layers[1].weights)


def test_glorot_weights_are_uniform_within_the_fans_of_the_full_layer():
    layer = create([100, 50], [4000], init="glorot").layers[0]
    limit = np.sqrt(6 / 150)
    assert kstest(layer.weights, "uniform", (-limit, 2 * limit)).pvalue > 0.001


def test_normal_weights_have_spread_a_tenth():
    layer = create([100, 50], [4000], init="normal").layers[0]
    assert kstest(layer.weights, "norm", (0, 0.1)).pvalue > 0.001


def test_sparse_aware_weights_follow_the_fan_in_of_each_neuron():
    fan_in = np.array([2000, 0, 500, 4000])
    indptr = np.append(0, np.cumsum(fan_in))
    weights = initial_weights(indptr, 5000, "sparse_aware", np.random.default_rng(0))
    assert weights.dtype == np.float32
    for o in (0, 2, 3):
        row = weights[indptr[o] : indptr[o + 1]]
        assert kstest(row, "norm", (0, np.sqrt(2 / fan_in[o]))).pvalue > 0.001


def test_a_neuron_with_one_connection_counts_as_one():
    indptr = np.arange(4001)
    weights = initial_weights(indptr, 50, "sparse_aware", np.random.default_rng(0))
    assert kstest(weights, "norm", (0, np.sqrt(2))).pvalue > 0.001


def test_the_weights_do_not_depend_on_where_the_connections_lie():
    few, many = create([4, 5], [12], seed=3), create([400, 500], [12], seed=3)
    assert np.array_equal(few.layers[0].weights, many.layers[0].weights)


def test_an_unknown_init_is_named():
    with pytest.raises(ValueError, match="unknown init 'gloro'. Did you mean 'glorot'"):
        create([3, 2], [4], init="gloro")


def test_more_connections_than_indices_are_refused():
    with pytest.raises(ValueError, match="out of 6"):
        create([3, 2], [7])
    with pytest.raises(ValueError, match="shorter"):
        create([3, 2, 1], [2])
