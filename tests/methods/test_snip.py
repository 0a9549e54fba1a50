"""SNIP, by known answers."""

from dataclasses import replace

import numpy as np
import pytest

from cofire.core.layer import SparseLayer
from cofire.methods.snip import SNIP
from cofire.training.rewiring import begin
from helpers.method_cases import full_network


def test_snip_keeps_what_matters_most():
    # x = (1, 2, 0): outputs (3, 0) where (0, 1) is wanted, so the gradients are
    # 3, 6, 0 and -1, -2, 0; times the weights 3, 6, 0 and 2, 2, 0.
    progress, data, how = full_network([1, 1, 9, 2, -1, 9])
    data = replace(
        data,
        rows=type(data.rows)(np.array([[1, 2, 0]], np.float32)),
        targets=np.array([[0, 1]], np.float32),
        sample_weight=None,
        row_ids=np.array([0]),
    )
    begin(progress, data, replace(how, method=SNIP()), [2])
    (layer,) = progress.network.layers
    assert layer.flat_indices.tolist() == [0, 1]
    assert layer.weights.tolist() == [1, 1]  # as they were at first
    assert [len(m) for m in progress.optimizer.state[0].weights] == [2]


def test_snip_counts_the_penalty_in():
    # Without data every gradient is that of the penalty: the largest weights stay.
    progress, data, how = full_network([1, -5, 2, 4, 3, 0])
    data = replace(
        data,
        rows=type(data.rows)(np.ones((1, 3), np.float32)),
        targets=np.ones((1, 2), np.float32),
        row_ids=np.array([0]),
        sample_weight=np.zeros(1, np.float32),
    )
    progress.optimizer.alpha = 0.1
    begin(progress, data, replace(how, method=SNIP()), [3])
    assert progress.network.layers[0].flat_indices.tolist() == [1, 3, 4]


def test_snip_over_all_layers_leaves_none_empty():
    progress, data, how = full_network([1, 2, 3, 4, 5, 6])
    small = SparseLayer.from_flat_indices(range(4), [0.1, 0.2, 0.3, 0.4], [0, 0], 2, 2)
    network = replace(progress.network, layers=[*progress.network.layers, small])
    ones = [np.ones(6, np.float32), np.ones(4, np.float32)]
    chosen = SNIP(scope="global").begin(network, ones, [3, 2], seed=0)
    assert [indices.tolist() for indices in chosen] == [[2, 3, 4, 5], [3]]
    chosen = SNIP().begin(network, ones, [3, 2], seed=0)
    assert [indices.tolist() for indices in chosen] == [[3, 4, 5], [2, 3]]


def test_snip_over_all_layers_keeps_the_best_of_each_and_then_the_best():
    two = [
        SparseLayer.from_flat_indices([0, 1], w, [0], 2, 1) for w in ([10, 1], [9, 8])
    ]
    network = replace(full_network([1] * 6)[0].network, layers=two)
    ones = [np.ones(2, np.float32)] * 2
    chosen = SNIP(scope="global").begin(network, ones, [2, 1], seed=0)
    assert [indices.tolist() for indices in chosen] == [[0], [0, 1]]  # 10, 9, then 8


def test_snip_draws_lots_anew_in_each_layer():
    layer = SparseLayer.from_flat_indices(range(50), np.ones(50), np.zeros(5), 10, 5)
    network = replace(full_network([1] * 6)[0].network, layers=[layer, layer])
    ones = [np.ones(50, np.float32)] * 2
    first, second = SNIP().begin(network, ones, [25, 25], seed=0)
    assert not np.array_equal(first, second)


def test_snip_wants_gradients_and_a_count_for_every_layer():
    network, ones = full_network([1] * 6)[0].network, [np.ones(6, np.float32)]
    with pytest.raises(ValueError, match="longer"):
        SNIP().begin(network, 2 * ones, [3], seed=0)
    with pytest.raises(ValueError, match="longer"):
        SNIP().begin(network, ones, [3, 3], seed=0)
