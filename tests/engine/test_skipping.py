"""Neurons that provably change nothing are left out: nobody may be able to tell."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from cofire import engine
from cofire.core.layer import SparseLayer
from cofire.core.network import ACTIVATIONS, SparseNetwork
from helpers.engine_cases import (
    OPTIMIZERS,
    ROW_KINDS,
    Case,
    examples,
    make_optimizer,
    random_network,
)
from helpers.engine_checks import EPS, assert_same_numbers, assume_no_kink
from helpers.oracle import DenseNetwork

seeds = st.integers(0, 2**32 - 1)
N_EPOCHS = 3


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@examples(12)
@given(seed=seeds, moving=st.booleans())
def test_networks_of_mostly_dead_neurons_equal_the_oracle(
    activation, optimizer, seed, moving
):
    # With moving moments some dead biases rise above zero during the epochs.
    case = Case.random(
        seed,
        sizes=(9, 17, 17, 16, 3),
        activation=activation,
        optimizer=optimizer,
        densities=[0.1, 0.08, 0.08, 0.15],
        deaf=0.4,
        mute=0.3,
        moving=moving,
        n_used=20,
        optimizer_settings={"alpha": 0.01},
    )
    dense, loss = case.oracle(N_EPOCHS)
    assume_no_kink(dense)
    assert_same_numbers(case, case.train(N_EPOCHS), dense, loss, N_EPOCHS)


def one_loose_neuron(optimizer, *, bias, push):
    """A ReLU neuron that nothing reaches, heard by the output; push: its moment."""
    hidden = SparseLayer.from_flat_indices([0], [0.5], [0.1, bias], n_in=1, n_out=2)
    output = SparseLayer.from_flat_indices([0, 1], [0.7, 0.8], [0.0], n_in=2, n_out=1)
    network = SparseNetwork([hidden, output], "relu", "identity")
    optimizer.start(network)
    optimizer.state[0].bias[0][1] = push
    rows = engine.Rows(np.ones((8, 1), np.float32))
    engine.train_epoch(
        network,
        optimizer,
        rows,
        np.ones((8, 1), np.float32),
        order=np.arange(8),
        batch_size=1,
    )
    return network


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_momentum_lifts_a_dead_bias_above_zero(kind):
    network = one_loose_neuron(make_optimizer(kind, alpha=0), bias=-0.01, push=-1.0)
    assert network.layers[0].bias[1] > 0
    assert network.layers[1].weights[1] != np.float32(0.8)


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_a_dead_bias_at_rest_stays_and_its_connection_too(kind):
    network = one_loose_neuron(make_optimizer(kind, alpha=0), bias=-0.01, push=0.0)
    assert network.layers[0].bias[1] == np.float32(-0.01)
    assert network.layers[1].weights[1] == np.float32(0.8)


@pytest.mark.parametrize("dead_end", ["no way out", "nothing comes in"])
def test_skipped_connections_decay(dead_end):
    """n steps at momentum 0: the weight is multiplied by (1 - alpha * rate) n times."""
    if dead_end == "no way out":
        hidden = SparseLayer.from_flat_indices([0, 1], [1, 2], [0, -1], n_in=1, n_out=2)
        output = SparseLayer.from_flat_indices([0], [1], [0], n_in=2, n_out=1)
    else:
        hidden = SparseLayer.from_flat_indices([0], [1], [0, -1], n_in=1, n_out=2)
        output = SparseLayer.from_flat_indices([0, 1], [1, 2], [0], n_in=2, n_out=1)
    network = SparseNetwork([hidden, output], "relu", "identity")
    rate, alpha, n_steps = 0.25, 0.125, 5
    optimizer = make_optimizer(
        "classical",
        learning_rate=rate,
        alpha=alpha,
        momentum=0.0,
    )
    optimizer.start(network)
    x = np.ones((n_steps, 1), np.float32)
    engine.train_epoch(
        network,
        optimizer,
        engine.Rows(x),
        x,
        order=np.arange(n_steps),
        batch_size=1,
    )
    skipped = (hidden if dead_end == "no way out" else output).weights[1]
    near = {"rtol": 2 * n_steps * EPS}
    np.testing.assert_allclose(skipped, 2 * (1 - alpha * rate) ** n_steps, **near)
    assert hidden.bias[1] == -1.0


@pytest.mark.parametrize("kind", ROW_KINDS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@examples(12)
@given(seed=seeds, n_used=st.sampled_from([1, 5, 8, 9, 16, 20]))
def test_fired_counts_the_neurons_that_some_row_woke(activation, kind, seed, n_used):
    case = Case.random(
        seed,
        sizes=(5, 17, 8, 3),
        activation=activation,
        kind=kind,
        densities=[0.3, 0.2, 0.3],
        deaf=0.2,
        mute=0.2,
        batch_size=n_used,
        n_used=n_used,
    )
    dense = DenseNetwork(case.network)
    x = case.samples.dense[case.order]
    dense.gradients(x, case.targets[case.order], np.ones(n_used))
    assume_no_kink(dense)
    assert case.train()[2].fired == dense.fired(x)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, np.uint8])
@examples(12)
@given(seed=seeds)
def test_few_rows_have_the_bits_of_many(activation, form, seed):
    """For few rows the whole network is walked, dead neurons and all."""
    rng = np.random.default_rng(seed)
    how = {"densities": [0.1, 0.08, 0.15], "deaf": 0.4, "mute": 0.3}
    network = random_network(rng, (9, 17, 17, 3), activation, "identity", **how)
    X = form(rng.integers(-3, 4, size=(300, 9)).astype(np.float32))
    many = engine.predict(network, engine.Rows(X))
    for n in (1, 8, 65, 256):
        few = engine.predict(network, engine.Rows(X[:n]))
        assert few.tobytes() == many[:n].tobytes()
