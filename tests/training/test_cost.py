import json

import numpy as np
import pytest

from cofire import engine
from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.energy import Energy
from cofire.training.cost import DENSE_RATE, SPARSE_RATE, receipt
from helpers.estimator_cases import classes, small


def layer(indices, n_in, n_out):
    return SparseLayer.from_flat_indices(
        indices, np.ones(len(indices)), np.zeros(n_out), n_in=n_in, n_out=n_out
    )


@pytest.fixture
def network():
    """4 inputs, 3 hidden units with 5 connections, 2 outputs with all 6."""
    layers = [layer([0, 1, 4, 7, 10], 4, 3), layer(range(6), 3, 2)]
    return SparseNetwork(layers, "relu", "softmax")


HISTORY = [
    {"rows": 40, "train_seconds": 1.0, "rewire_seconds": 0.0, "evaluate_seconds": 0.5},
    {"rows": 30, "train_seconds": 2.0, "rewire_seconds": 0.25, "evaluate_seconds": 0.5},
]


def test_a_receipt_is_what_one_counts_by_hand(network):
    paid = receipt([network], [HISTORY], simd_level="x86-64-v3", threads=2)
    assert (paid.connections, paid.dense_connections) == (5 + 6, 4 * 3 + 3 * 2)
    assert (paid.multiply_adds, paid.dense_multiply_adds) == (11, 18)
    # Weights and indices of 4 bytes, pointers (3 + 1 and 2 + 1) of 8, biases of 4.
    assert paid.bytes == 11 * (4 + 4) + (4 + 3) * 8 + (3 + 2) * 4
    assert paid.dense_bytes == 18 * 4 + (3 + 2) * 4
    assert paid.epochs == 2
    assert (paid.train_seconds, paid.rewire_seconds) == (3.0, 0.25)
    assert paid.evaluate_seconds == 1.0
    assert paid.capped_layers == (1,)
    assert (paid.simd_level, paid.threads) == ("x86-64-v3", 2)


def test_bytes_are_those_of_the_arrays(network):
    paid = receipt([network], [[]], simd_level="", threads=1)
    arrays = [
        array
        for layer in network.layers
        for array in (layer.indptr, layer.indices, layer.weights, layer.bias)
    ]
    assert paid.bytes == sum(array.nbytes for array in arrays)


def test_a_receipt_prints_its_figures_and_goes_into_json(network):
    paid = receipt([network], [HISTORY], simd_level="x86-64-v3", threads=2)
    lines = str(paid).splitlines()
    assert lines[1].split() == ["connections", "11", "18", "1.6", "x", "less"]
    # A full layer takes an index a weight: more bytes than the dense one.
    assert lines[2].split() == ["bytes", "164", "92", "1.8", "x", "more"]
    assert len({len(line) for line in lines[1:4]}) == 1
    assert lines[4] == "2 epochs: 3.00 s training, 0.25 s rewiring, 1.00 s evaluation"
    assert (
        lines[5] == "2 threads, SIMD level x86-64-v3, layers with every connection: 2"
    )
    assert json.loads(json.dumps(paid.to_dict()))["dense_bytes"] == 92


def test_joules_of_a_receipt_are_what_one_counts_by_hand(network):
    used = Energy(6e-7, "rapl", "package-0", seconds=1e-7, core_seconds=2e-7)
    paid = receipt(
        [network] * 2, [HISTORY, HISTORY[:1]], simd_level="", threads=2, energy=used
    )
    assert paid.rows == 40 + 30 + 40
    assert paid.energy is used
    # 18 connections of a twin; 3 W per core, as was measured.
    assert paid.dense_energy.joules == pytest.approx(3 * 18 * 110 / DENSE_RATE * 3)
    assert paid.dense_energy.source == "estimate"
    ours, dense = paid.prediction_energy, paid.dense_prediction_energy
    assert ours.joules == pytest.approx(1000 * 2 * 11 / SPARSE_RATE * 3)
    assert dense.joules == pytest.approx(1000 * 2 * 18 / DENSE_RATE * 3)
    lines = str(paid).splitlines()
    table = [line.split() for line in lines[4:6]]
    assert table[0][:6] == ["energy,", "training", "0.6", "µJ", "about", "0.356"]
    assert table[0][6:] == ["µJ", "1.7", "x", "more"]
    assert table[1][:6] == ["1,000", "predictions", "about", "4.4", "µJ", "about"]
    assert len({len(line) for line in lines[1:6]}) == 1
    starts = [
        "energy of training: measured by RAPL: package-0",
        "  its dense twin, as many rows: estimated: ",
        "arithmetic of 1,000 predictions: estimated: ",
        "  of its dense twin: estimated: ",
    ]
    assert len(lines) == 12 and all(map(str.startswith, lines[8:], starts))
    assert json.loads(json.dumps(paid.to_dict()))["energy"]["source"] == "rapl"


def test_without_energy_a_receipt_does_not_speak_of_it(network):
    paid = receipt([network], [HISTORY], simd_level="", threads=2)
    assert paid.energy is paid.dense_energy is paid.prediction_energy is None
    assert len(str(paid).splitlines()) == 6


def test_several_networks_cost_their_sum(network):
    one = receipt([network], [HISTORY], simd_level="", threads=2)
    two = receipt([network] * 2, [HISTORY, HISTORY[:1]], simd_level="", threads=2)
    for name in ("connections", "bytes", "multiply_adds"):
        assert getattr(two, name) == 2 * getattr(one, name)
        dense = f"dense_{name}"
        assert getattr(two, dense) == 2 * getattr(one, dense)
    assert (two.train_seconds, two.rewire_seconds) == (3.0 + 1.0, 0.25)
    assert two.evaluate_seconds == 1.5
    assert two.epochs == one.epochs == 2  # of the first
    assert two.capped_layers == one.capped_layers == (1,)


def test_full_layers_are_none_where_none_is_full():
    sparse = SparseNetwork([layer([0], 2, 2)], "relu", "softmax")
    paid = receipt([sparse], [[]], simd_level="", threads=1)
    assert paid.capped_layers == ()
    assert str(paid).endswith("layers with every connection: none")


def test_the_receipt_of_a_fit_counted_by_hand():
    X, y = classes(n_features=12, n_classes=3)
    model = small(hidden_layer_sizes=(8,), epsilon=2, n_jobs=2, max_iter=3).fit(X, y)
    paid = model.receipt_
    # 2 * (12 + 8) = 40 of 96 indices; 2 * (8 + 3) = 22 of 24.
    assert (paid.connections, paid.dense_connections) == (62, 120)
    assert paid.connections == model.n_connections_
    assert paid.bytes == 62 * 8 + (9 + 4) * 8 + 11 * 4
    assert paid.dense_bytes == (120 + 11) * 4
    assert paid.epochs == model.n_iter_ == 3
    assert paid.capped_layers == ()
    assert (paid.threads, paid.simd_level) == (2, engine.simd_level())
    for phase in ("train_seconds", "rewire_seconds", "evaluate_seconds"):
        assert getattr(paid, phase) == sum(r[phase] for r in model.history_) > 0


def test_the_receipt_names_the_layer_that_epsilon_filled():
    X, y = classes(n_features=12, n_classes=3)
    model = small(hidden_layer_sizes=(8,), epsilon=3, max_iter=1).fit(X, y)
    assert model.receipt_.capped_layers == (1,)  # 3 * (8 + 3) > 24
