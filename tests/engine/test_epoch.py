"""One native epoch against the dense float64 oracle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofire import engine
from cofire.core.layer import SparseLayer
from cofire.core.network import ACTIVATIONS, OUTPUTS, SparseNetwork
from cofire.core.optimizers import SGD, Adam
from helpers.engine_cases import (
    BATCH_SIZES,
    N_FEATURES,
    OPTIMIZERS,
    ROW_KINDS,
    Case,
    cases,
    examples,
)
from helpers.engine_checks import EPS, all_bits, assert_same_numbers, assume_no_kink

seeds = st.integers(0, 2**32 - 1)


def check_epochs(case, n_epochs=1):
    dense, loss = case.oracle(n_epochs)
    assume_no_kink(dense)
    assert_same_numbers(case, case.train(n_epochs), dense, loss, n_epochs)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@examples(12)
@given(data=st.data())
def test_an_epoch_equals_the_oracle(activation, output, optimizer, data):
    drawn = cases(activation=activation, output=output, optimizer=optimizer)
    check_epochs(data.draw(drawn))


@pytest.mark.parametrize("kind", ROW_KINDS)
@pytest.mark.parametrize("n_features", N_FEATURES)
@examples(2)
@given(seed=seeds)
def test_all_widths_of_rows_equal_the_oracle(kind, n_features, seed):
    check_epochs(Case.random(seed, sizes=(n_features, 5, 3), kind=kind, batch_size=9))


# The rows of a last batch: none, few, half, nearly all. It may be cut into wider tiles
# than a full batch: 128 samples make two of 64, 129 make four of 40.
@pytest.mark.parametrize("tail", [0, 1, 0.5, 0.8, -1])
@pytest.mark.parametrize("batch_size", BATCH_SIZES)
@examples(2)
@given(seed=seeds, drop_last=st.booleans())
def test_all_batch_sizes_equal_the_oracle(batch_size, tail, seed, drop_last):
    n_tail = int(tail * batch_size) if 0 < tail < 1 else tail
    n_used = max(1, 2 * batch_size + n_tail)
    check_epochs(
        Case.random(
            seed,
            batch_size=batch_size,
            n_used=n_used,
            weighted=True,
            drop_last=drop_last,
        )
    )


@pytest.mark.parametrize("n_features", [8192, 8193, 32768, 32769])
@pytest.mark.parametrize(("batch_size", "n_used"), [(100, 130), (65, 129), (145, 280)])
@examples(1)
@given(seed=seeds)
def test_layers_wider_than_the_cache_equal_the_oracle(
    n_features, batch_size, n_used, seed
):
    check_epochs(
        Case.random(
            seed,
            sizes=(n_features, 2, 2),
            densities=[1.0, 1.0],
            batch_size=batch_size,
            n_used=n_used,
            optimizer_settings={"learning_rate": 0.001},
        )
    )


# ---- known answers -------------------------------------------------------------------

# One connection of weight 3, bias 1, input 2, target 0: the output is 7, the loss 24.5,
# the gradient 14 for the weight and 7 for the bias.
KNOWN = {
    "classical": (SGD(0.1, alpha=0, nesterov=False), (3 - 1.4, 1 - 0.7)),
    "nesterov": (SGD(0.1, alpha=0, momentum=0.5), (3 - 1.5 * 1.4, 1 - 1.5 * 0.7)),
    "l2": (SGD(0.1, alpha=1, momentum=0), (3 - 1.4 - 0.3, 1 - 0.7)),
    "adam": (Adam(0.1, alpha=0), (3 - 0.1, 1 - 0.1)),
    "adam_l2": (Adam(0.1, alpha=-10), (3 + 0.1, 1 - 0.1)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_one_step_of_one_connection_by_hand(name):
    optimizer, expected = KNOWN[name]
    layer = SparseLayer.from_flat_indices([0], [3], [1], n_in=1, n_out=1)
    network = SparseNetwork([layer], "relu", "identity")
    optimizer.start(network)
    stats = engine.train_epoch(
        network,
        optimizer,
        engine.Rows(np.array([[2]], np.float32)),
        np.array([[0]], np.float32),
        order=np.array([0]),
        batch_size=1,
    )
    assert (stats.loss, stats.n_steps, stats.fired) == (24.5, 1, [])
    actual = (layer.weights[0], layer.bias[0])
    np.testing.assert_allclose(actual, expected, rtol=0, atol=8 * EPS)


@examples(30)
@given(case=cases(weighted=False))
def test_an_epoch_is_its_steps_one_by_one(case):
    """Also for Adam, whose steps are counted across epochs."""
    whole = case.train()
    network, optimizer = whole[:2]
    n_steps = case.n_steps
    order, loss, n_seen = case.order, 0.0, 0
    for step in range(n_steps):
        case.order = order[step * case.batch_size :][: case.batch_size]
        case.network, case.optimizer, stats = case.train()
        loss += stats.loss * len(case.order)
        n_seen += len(case.order)
    np.testing.assert_allclose(whole[2].loss, loss / max(n_seen, 1), rtol=16 * EPS)
    assert optimizer.steps_done == case.optimizer.steps_done
    for a, b in zip(network.layers, case.network.layers, strict=True):
        np.testing.assert_allclose(a.weights, b.weights, rtol=0, atol=16 * EPS)
        np.testing.assert_allclose(a.bias, b.bias, rtol=0, atol=16 * EPS)


@examples(30)
@given(case=cases())
def test_at_rate_zero_only_the_moments_move(case):
    case.optimizer.learning_rate = 0.0
    network = case.train()[0]
    for a, b in zip(network.layers, case.network.layers, strict=True):
        assert np.array_equal(a.weights, b.weights)
        assert np.array_equal(a.bias, b.bias)


# ---- one batch that holds all rows ---------------------------------------------------


@examples(40)
@given(case=cases(weighted=True), seed=seeds)
def test_in_one_batch_neither_order_nor_repetition_matters(case, seed):
    """A row of weight 2 is the row twice, of weight 0 nothing; to the bit."""
    case.batch_size, case.drop_last = 1000, False
    case.order = case.order[:400]
    case.sample_weight = np.round(case.sample_weight)
    case.sample_weight[case.order[0]] = 1
    weighted = case.train()[0]

    repeats = case.sample_weight[case.order].astype(int)
    case.order = np.repeat(case.order, repeats)
    np.random.default_rng(seed).shuffle(case.order)
    case.sample_weight = None
    repeated = case.train()[0]
    assert all_bits(repeated) == all_bits(weighted)
