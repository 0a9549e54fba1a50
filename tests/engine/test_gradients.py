"""The engine's gradients against finite differences of the oracle's float64 loss."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofire.core.network import ACTIVATIONS, OUTPUTS
from helpers.engine_cases import ROW_KINDS, Case, examples
from helpers.engine_checks import EPS, assume_no_kink
from helpers.oracle import DenseNetwork

# A large power of two: (before - after) / RATE then holds the gradient's own digits,
# and not what is left of them beside the weight's.
RATE = 64.0
STEP = 1e-6


def engine_gradients(case):
    """Per layer (weights, bias): what one step of plain SGD took off, over its rate."""
    after = case.train()[0]
    pairs = zip(case.network.layers, after.layers, strict=True)
    return [
        ((a.weights - b.weights) / RATE, (a.bias - b.bias) / RATE) for a, b in pairs
    ]


def finite_differences(dense, batch):
    """Central differences of the loss along every connection and every bias."""

    def slope_along(array, index):
        old = array[index]
        array[index] = old + STEP
        above = dense.loss(*batch)
        array[index] = old - STEP
        below = dense.loss(*batch)
        array[index] = old
        return (above - below) / (2 * STEP)

    for i, layer in enumerate(dense.layers):
        indices = zip(layer.rows, layer.indices, strict=True)
        weights = [slope_along(dense.weights[i], index) for index in indices]
        bias = [slope_along(dense.biases[i], o) for o in range(layer.n_out)]
        yield np.array(weights), np.array(bias)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@examples(25)
@given(
    seed=st.integers(0, 2**32 - 1),
    hidden=st.lists(st.sampled_from([1, 3, 5]), max_size=3),
    n_used=st.sampled_from([1, 5, 9, 17]),
    kind=st.sampled_from(ROW_KINDS),
    weighted=st.booleans(),
    label_smoothing=st.sampled_from([0.0, 0.1, 0.75]),
)
def test_gradients_equal_finite_differences(
    activation, output, seed, hidden, n_used, kind, weighted, label_smoothing
):
    case = Case.random(
        seed,
        sizes=[4, *hidden, 3],
        densities=[0.7] * (len(hidden) + 1),
        activation=activation,
        output=output,
        optimizer="classical",
        kind=kind,
        batch_size=n_used,
        n_used=n_used,
        weighted=weighted,
        label_smoothing=label_smoothing,
        optimizer_settings={"learning_rate": RATE, "momentum": 0.0, "alpha": 0.0},
    )
    for layer in case.network.layers:
        layer.bias[layer.bias == 0] = 0.25  # no sum may lie on a kink, 0 itself
    dense = DenseNetwork(case.network, label_smoothing=case.label_smoothing)
    weight = np.ones(len(case.targets)) if not weighted else case.sample_weight
    batch = [a[case.order] for a in (case.samples.dense, case.targets, weight)]
    batch[2] = batch[2].astype(np.float64)
    analytic = dense.gradients(*batch)
    assume_no_kink(dense, margin=1e-4)  # nor within a difference's reach

    # float32 sums of terms of size 1, and a finite difference good to about 1e-9.
    near = {"rtol": 8 * EPS, "atol": 8 * EPS}
    found = zip(engine_gradients(case), finite_differences(dense, batch), strict=True)
    for i, (actual, expected) in enumerate(found):
        np.testing.assert_allclose(actual[0], expected[0], **near)
        np.testing.assert_allclose(actual[1], expected[1], **near)
        of_oracle = dense.connections(i, analytic[i][0])
        np.testing.assert_allclose(of_oracle, expected[0], rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(analytic[i][1], expected[1], rtol=1e-6, atol=1e-8)
