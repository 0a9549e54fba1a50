"""Sums of gradients over batches equal the oracle's, and nothing is changed by them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofire import engine
from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.errors import DivergenceError
from helpers.engine_cases import Case, cases, examples
from helpers.engine_checks import EPS, all_bits, assume_no_kink
from helpers.oracle import DenseNetwork


def gradients(case, **changes):
    how = {
        "order": case.order,
        "batch_size": case.batch_size,
        "sample_weight": case.sample_weight,
    }
    return engine.gradients(
        case.network, case.samples.rows, case.targets, **how | changes
    )


def weights_of(case):
    """Of the samples, in float64."""
    if case.sample_weight is None:
        return np.ones(len(case.targets))
    return case.sample_weight.astype(np.float64)


def of_oracle(case, alpha):
    """Per layer the sum over the batches; also the oracle, that knows its kinks."""
    dense = DenseNetwork(case.network)
    total = [np.zeros(layer.nnz) for layer in case.network.layers]
    for start in range(0, len(case.order), case.batch_size):
        rows = case.order[start : start + case.batch_size]
        batch = [a[rows] for a in (case.samples.dense, case.targets, weights_of(case))]
        for i, (found, _) in enumerate(dense.gradients(*batch)):
            total[i] += dense.connections(i, found)
            total[i] += float(np.float32(alpha)) * case.network.layers[i].weights
    return total, dense


def assert_near(found, expected, n_steps):
    """As in `assert_same_numbers`, which see."""
    size = 4 * EPS * (4 + n_steps)
    for i, (actual, wanted) in enumerate(zip(found, expected, strict=True)):
        assert actual.dtype == np.float32
        scale = max(1.0, np.abs(wanted).max(initial=0.0))
        np.testing.assert_allclose(
            actual, wanted, rtol=0, atol=size * scale, err_msg=f"layer {i}"
        )


@examples(300)
@given(case=cases(), alpha=st.sampled_from([0.0, 0.25]), n_threads=st.integers(1, 3))
def test_the_sums_are_those_of_the_oracle(case, alpha, n_threads):
    expected, dense = of_oracle(case, alpha)
    assume_no_kink(dense)
    before = all_bits(case.network)
    found = gradients(case, alpha=alpha, n_threads=n_threads)
    assert_near(found, expected, -(-len(case.order) // case.batch_size))
    assert all_bits(case.network) == before


@pytest.mark.parametrize("n_batches", [1, 2, 5])
def test_several_batches_are_the_sum_of_each(n_batches):
    case = Case.random(1, sizes=(9, 20, 12, 3), n_used=150, weighted=True)
    size = 30
    order = case.order[: size * n_batches]
    found = gradients(case, order=order, batch_size=size, alpha=0.01)
    alone = [
        gradients(case, order=part, batch_size=size, alpha=0.01)
        for part in np.split(order, n_batches)
    ]
    expected = [
        np.sum(layer, axis=0, dtype=float) for layer in zip(*alone, strict=True)
    ]
    assert_near(found, expected, n_batches)
    assert all(np.abs(g).max() > 0.01 for g in found)


def test_a_last_batch_that_is_not_full_counts_as_a_batch():
    case = Case.random(2, n_used=40, batch_size=32)
    full, rest = case.order[:32], case.order[32:]
    expected = [
        sum(parts)
        for parts in zip(
            gradients(case, order=full), gradients(case, order=rest), strict=True
        )
    ]
    assert_near(gradients(case), expected, 2)


def test_one_connection_by_hand():
    # Two rows, 2 * 3 + 1 = 7 wanted 5, and 2 * -1 + 1 = -1 wanted 2; weights 1 and 3.
    layer = SparseLayer.from_flat_indices([0], [2], [1], 1, 1)
    network = SparseNetwork([layer], "relu", "identity")
    rows = engine.Rows(np.array([[3], [-1]], np.float32))
    targets = np.array([[5], [2]], np.float32)
    how = {"order": np.arange(2), "sample_weight": np.array([1, 3], np.float32)}
    mean = (1 * (7 - 5) * 3 + 3 * (-1 - 2) * -1) / 4
    (found,) = engine.gradients(network, rows, targets, batch_size=2, **how)
    assert found.tolist() == [mean]
    (found,) = engine.gradients(network, rows, targets, batch_size=2, alpha=0.5, **how)
    assert found.tolist() == [mean + 0.5 * 2]
    each = (7 - 5) * 3 + (-1 - 2) * -1
    (found,) = engine.gradients(network, rows, targets, batch_size=1, alpha=0.5, **how)
    assert found.tolist() == [each + 2 * 0.5 * 2]


@pytest.mark.parametrize("batch_size", [64, 300])
@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_the_number_of_threads_changes_nothing(n_threads, batch_size):
    how = {"sizes": (40, 150, 90, 5), "n_used": 300, "weighted": True}
    case = Case.random(3, batch_size=batch_size, **how)
    found, expected = gradients(case, n_threads=n_threads), gradients(case)
    assert [g.tobytes() for g in found] == [g.tobytes() for g in expected]


def test_no_rows_give_no_gradients():
    case = Case.random(4)
    found = gradients(case, order=np.empty(0, np.int64), alpha=0.5)
    assert [g.tolist() for g in found] == [
        [0.0] * layer.nnz for layer in case.network.layers
    ]


def test_a_loss_that_is_not_finite_is_an_error_and_changes_nothing():
    case = Case.random(5, output="identity")
    case.targets[case.order[3]] = np.inf
    before = all_bits(case.network)
    with pytest.raises(DivergenceError):
        gradients(case)
    assert all_bits(case.network) == before


def test_a_weight_of_minus_0_keeps_its_sign():
    case = Case.random(6)
    for layer in case.network.layers:
        layer.weights[::2] = -0.0
    before = all_bits(case.network)
    gradients(case)
    assert all_bits(case.network) == before
