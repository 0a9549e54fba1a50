"""How the engine is judged: near the oracle's numbers, or equal bit for bit."""

import numpy as np
from hypothesis import assume

EPS = float(np.finfo(np.float32).eps)


def assume_no_kink(dense, margin=32 * EPS):
    """Leave out a case in which rounding alone could switch a ReLU on or off.

    A sum within rounding of 0 has either slope: there the engine and the oracle may
    both be right and differ by a sample's whole gradient. Sums of exactly 0 stay in:
    those are neurons that nothing reaches, and the two must agree on them.
    """
    if dense.activation in ("relu", "leaky_relu"):
        assume(dense.nearest_kink > margin)


def assert_same_numbers(case, trained, dense, loss, n_epochs=1):
    """Weights, biases, moments and loss are the oracle's, as far as float32 goes."""
    network, optimizer, stats = trained
    network.check()
    assert stats.n_steps == case.n_steps
    assert optimizer.steps_done == dense.steps_done
    for what, share in shares_of_allowed(case, trained, dense, loss, n_epochs):
        assert share <= 1, f"{what}: {share:.3g} times the error allowed"


def shares_of_allowed(case, trained, dense, loss, n_epochs=1):
    """Yield (what, its largest error over the error allowed) for all that was trained.

    A number that went through float32 is right to EPS / 2 of the largest term it was
    summed from. Terms here are of size 1, a sum has some tens of them, and each step of
    the optimiser adds its own: so the error allowed grows with the steps, and is
    relative to the array's largest value where that exceeds 1. In 66,000 drawn cases,
    with and without fused multiply-adds, no error was above a third of it.
    """
    network, optimizer, stats = trained
    size = 4 * EPS * (4 + n_epochs * case.n_steps)
    yield "loss", abs(stats.loss - loss) / (size * (1 + abs(loss)))
    for i, layer in enumerate(network.layers):
        weight_moments, bias_moments = dense.moments[i]
        pairs = [
            ("weights", layer.weights, dense.connections(i, dense.weights[i])),
            ("bias", layer.bias, dense.biases[i]),
        ]
        for m, moment in enumerate(optimizer.state[i].weights):
            expected = dense.connections(i, weight_moments[m])
            pairs.append((f"moment {m} of the weights", moment, expected))
        for m, moment in enumerate(optimizer.state[i].bias):
            pairs.append((f"moment {m} of the bias", moment, bias_moments[m]))
        for what, actual, expected in pairs:
            yield f"layer {i}: {what}", share_of(size, actual, expected)


def share_of(size, actual, expected):
    """The largest error over `size` times the largest value, or 1 if that is less."""
    assert actual.shape == expected.shape
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    return np.abs(actual - expected).max(initial=0.0) / (size * scale)


def assert_same_bits(trained, expected):
    """Two trainings gave the same network, optimiser state and stats, bit for bit."""
    network, optimizer, stats = trained
    other, other_optimizer, other_stats = expected
    assert repr(stats) == repr(other_stats)
    assert all_bits(network, optimizer) == all_bits(other, other_optimizer)


def all_bits(network, optimizer=None):
    """The bytes of all arrays, to compare before and after."""
    arrays = [
        a for x in network.layers for a in (x.indptr, x.indices, x.weights, x.bias)
    ]
    if optimizer is not None:
        arrays += [a for s in optimizer.state for a in (*s.weights, *s.bias)]
    return [a.tobytes() for a in arrays]
