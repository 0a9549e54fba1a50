"""What is left out of a model changes none of its outputs."""

from dataclasses import replace

import numpy as np
import pytest

from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.export.plain import Classes, Column, Inputs, PlainModel
from cofire.export.reading import plain_model, rows_of
from cofire.export.simplify import _with_first, fold_bytes, selected, simplify
from helpers.exported import CASES, case


@pytest.mark.parametrize("name", CASES)
def test_outputs_stay_the_same(name):
    own = case(name)
    plain, rows = plain_model(own.model), rows_of(own.model, own.X)
    small = simplify(plain)
    small = fold_bytes(small) if small.takes_bytes else small
    for network in small.networks:
        network.check()
        for layer, after in zip(network.layers, network.layers[1:], strict=False):
            if name == "constant":  # one neuron is left, since no layer is empty
                assert layer.nnz == after.nnz == 0 and layer.n_out == 1
                continue
            assert len(np.unique(after.indices)) == layer.n_out  # all are read
            assert (np.diff(layer.indptr) > 0).all()  # none is constant
    expected = plain.evaluate(rows)
    np.testing.assert_allclose(small.evaluate(rows), expected, rtol=2e-6, atol=1e-6)
    assert small.n_connections <= plain.n_connections


def test_some_of_the_inputs_of_a_wide_network_are_left_out():
    plain = plain_model(case("bytes").model)
    assert len(simplify(plain).inputs) < len(plain.inputs) == 64


def test_inputs_of_a_kind_are_neighbours():
    """C files have a loop for each kind; files may have words between numbers."""
    plain = plain_model(case("categories").model)
    order = np.random.default_rng(0).permutation(len(plain.inputs))
    mixed = replace(
        plain,
        inputs=selected(plain.inputs, order),
        networks=tuple(_with_first(own, order) for own in plain.networks),
    )
    small, rows = simplify(mixed), np.array([[1.0, 30.0, 1, 2], [np.nan, 60, 2, -1]])
    assert (np.diff(mixed.inputs.kind) < 0).any()
    assert (np.diff(small.inputs.kind) >= 0).all()
    np.testing.assert_allclose(small.evaluate(rows), plain.evaluate(rows), atol=1e-6)


def by_hand(activation="relu"):
    """Return a network of 3 inputs, 4 neurons and 2 outputs.

    Input 0 is always 0; neuron 0 reads inputs 0 and 1, neuron 1 none, neuron 2 is not
    read, neuron 3 reads input 2.
    """
    first = SparseLayer.from_flat_indices(
        [0, 1, 8, 11], [5, 2, 1, 1], [1, 3, 0, 0], 3, 4
    )
    last = SparseLayer.from_flat_indices([0, 1, 7], [1, 10, 1], [0.5, 0], 4, 2)
    network = SparseNetwork([first, last], activation, "softmax")
    n = 3
    zero, level = np.zeros(n), np.zeros(n, np.int32)
    flag = np.zeros(n, np.float32)
    inputs = Inputs(
        np.zeros(n, np.int8),
        np.arange(n, dtype=np.int32),
        zero,
        np.r_[0.0, 1, 1],
        zero,
        zero,
        level,
        flag,
        flag,
        True,
    )
    columns = tuple(Column(f"x{j}") for j in range(n))
    target = Classes(np.array(["a", "b"]))
    return PlainModel(columns, False, inputs, (network,), target)


@pytest.mark.parametrize(
    ("activation", "bias"), [("relu", 30.5), ("tanh", 0.5 + 10 * np.tanh(3))]
)
def test_a_network_by_hand(activation, bias):
    small = simplify(by_hand(activation))
    (network,) = small.networks
    assert network.sizes == [2, 2, 2]
    first, last = network.layers
    assert first.to_scipy().toarray().tolist() == [[2, 0], [0, 1]]
    assert last.to_scipy().toarray().tolist() == [[1, 0], [0, 1]]
    assert last.bias == pytest.approx([bias, 0])
    assert small.inputs.column.tolist() == [1, 2]


def test_nothing_is_left_but_constants():
    model = by_hand()
    (network,) = model.networks
    first, last = network.layers
    nothing = replace(first, weights=0 * first.weights)
    model = replace(model, networks=(replace(network, layers=[nothing, last]),))
    small, rows = simplify(model), np.ones((2, 3))
    assert small.networks[0].sizes == [1, 1, 2]
    assert small.n_connections == 0
    np.testing.assert_allclose(small.evaluate(rows), model.evaluate(rows))
