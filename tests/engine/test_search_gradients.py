"""Gradients of indices without a connection: those of a connection of weight 0."""

import numpy as np
import pytest

from cofire import engine
from cofire.core.network import ACTIVATIONS, OUTPUTS, SparseNetwork
from helpers import naive
from helpers.oracle import DenseNetwork
from helpers.search_cases import (
    Case,
    assert_same_indices,
    of_all_ties,
    with_real_numbers,
)


def full_network(network):
    """The same network with a connection, of weight 0, at every other index."""
    layers = [naive.with_zeros(layer) for layer in network.layers]
    return SparseNetwork(layers, network.activation, network.output)


def absent_gradients(case):
    """|gradient| of each index, by the engine, as if it held a connection of 0."""
    found = engine.gradients(
        full_network(case.network),
        case.rows,
        case.targets,
        order=case.row_ids,
        batch_size=len(case.row_ids),
        sample_weight=case.sample_weight,
    )
    shapes = [(layer.n_out, layer.n_in) for layer in case.network.layers]
    return [
        np.abs(g.astype(np.float64)).reshape(shape) * case.weight.sum()
        for g, shape in zip(found, shapes, strict=True)
    ]


@of_all_ties
@pytest.mark.parametrize("activation", ["relu", "identity", "tanh"])
@pytest.mark.parametrize("seed", range(8))
def test_indices_are_those_of_connections_of_weight_0(seed, activation, ties):
    # 64 rows: their mean gradient is as exact as the sum.
    how = {"activation": activation, "score": "gradient", "ties": ties, "wish": 0.4}
    case = Case.random(seed, sizes=(17, 21, 14, 6), n_rows=64, dead=0.3, **how)
    assert case.sums_are_exact()
    case.kept = [layer.flat_indices for layer in case.network.layers]
    case.ranks = lambda: [naive.significant(g) for g in absent_gradients(case)]
    assert_same_indices(case.search()[0], case.brute_force())


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("n_rows", [200, 1000])
def test_real_indices_are_those_of_connections_of_weight_0(n_rows, activation, output):
    how = {"n_rows": n_rows, "weighted": True, "score": "gradient"}
    case = Case.random(14, sizes=(17, 30, 20, 6), **how)
    with_real_numbers(case, activation, output, seed=n_rows)
    case.kept = [layer.flat_indices for layer in case.network.layers]
    case.n_wanted = [60, 80, 20]
    error = 2.0**-16 if n_rows == 200 else 2.0**-12  # double sums, float32 sums
    expected = absent_gradients(case)
    for found, kept, size in zip(case.search()[0], case.kept, expected, strict=True):
        others = np.setdiff1d(np.arange(size.size), np.union1d(kept, found))
        assert len(others) + len(kept) + len(found) == size.size
        assert size.flat[found].min() >= size.flat[others].max() * (1 - error)


@pytest.mark.parametrize("output", OUTPUTS)
def test_indices_come_in_the_order_of_finite_differences(output):
    case = Case.random(15, sizes=(4, 5, 3), n_rows=30, score="gradient", weighted=True)
    with_real_numbers(case, "tanh", output)
    dense = DenseNetwork(case.network)
    batch = case.dense[case.row_ids], case.targets[case.row_ids], case.weight
    case.kept = [layer.flat_indices for layer in case.network.layers]
    for i, (w, kept) in enumerate(zip(dense.weights, case.kept, strict=True)):
        free = np.setdiff1d(np.arange(w.size), kept)
        slopes = []
        for index in free:
            w.flat[index] = 1e-5
            above = dense.loss(*batch)
            w.flat[index] = -1e-5
            slopes.append(abs(above - dense.loss(*batch)))
            w.flat[index] = 0
        assert (np.diff(np.sort(slopes)) > 1e-4 * np.sort(slopes)[1:]).all()  # distinct
        best_first = free[np.argsort(slopes)[::-1]]
        for n in range(1, len(free) + 1):
            indices = case.search(n_wanted=[n if j == i else 0 for j in range(2)])[0]
            assert indices[i].tolist() == sorted(best_first[:n])
