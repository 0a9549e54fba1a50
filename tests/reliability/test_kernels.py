"""Forward, gradients, losses and optimisers against the float64 oracle, on any shape.

`make test` tries 1,240 drawn cases at the machine's SIMD level (tests/engine/)
and 1,592 at the others (tests/engine/test_simd.py); here are as many as one likes.
"""

import json
import subprocess
import sys

import numpy as np
import pytest

from cofire import engine
from cofire.core.network import ACTIVATIONS, OUTPUTS
from helpers import processes, simd
from helpers.engine_cases import BATCH_SIZES, N_FEATURES, OPTIMIZERS, ROW_KINDS, Case
from helpers.engine_checks import EPS, share_of, shares_of_allowed
from helpers.oracle import DenseNetwork
from helpers.reliability import figures

N_THREADS = (1, 1, 2, 3, 7)
WIDTHS = (1, 2, 3, 5, 8, 10, 17, 33, 64, 65)


def drawn_case(rng):
    """Any of the shapes, kinds and settings; most cases small, for they are fast."""

    def any_of(options):
        return options[rng.integers(len(options))]

    batch_size = any_of(BATCH_SIZES)
    n_layers = rng.integers(1, 5)
    sizes = [any_of(N_FEATURES), *[any_of(WIDTHS) for _ in range(n_layers)]]
    return Case.random(
        int(rng.integers(2**32)),
        sizes=sizes,
        activation=any_of(ACTIVATIONS),
        output=any_of(OUTPUTS),
        optimizer=any_of(OPTIMIZERS),
        kind=any_of(ROW_KINDS),
        batch_size=batch_size,
        n_used=max(1, rng.integers(3) * batch_size + rng.integers(batch_size)),
        weighted=any_of([False, True]),
        moving=any_of([False, True]),
        drop_last=any_of([False, True]),
        densities=[any_of([0.0, 0.1, 0.3, 0.7, 1.0]) for _ in sizes[1:]],
        deaf=any_of([0.0, 0.4]),
        mute=any_of([0.0, 0.4]),
        optimizer_settings={"alpha": any_of([0.0, 0.01])},
    )


def gradients_share(case, n_threads):
    """The error of the gradients, summed over the batches, over the error allowed."""
    weight = case.sample_weight
    actual = engine.gradients(
        case.network,
        case.samples.rows,
        case.targets,
        order=case.order,
        batch_size=case.batch_size,
        sample_weight=weight,
        n_threads=n_threads,
    )
    dense = DenseNetwork(case.network)
    weight = np.ones(len(case.targets)) if weight is None else weight.astype(float)
    expected, n_steps = [0.0] * len(actual), 0
    for start in range(0, len(case.order), case.batch_size):
        rows = case.order[start : start + case.batch_size]
        batch = case.samples.dense[rows], case.targets[rows], weight[rows]
        for i, (of_weights, _) in enumerate(dense.gradients(*batch)):
            expected[i] = expected[i] + dense.connections(i, of_weights)
        n_steps += 1
    size = 4 * EPS * (4 + n_steps)
    return max(map(share_of, [size] * len(actual), actual, expected))


def worst_shares(first, n):
    """Try n cases; the largest error over the error allowed, of each kind of result."""
    worst, seed, n_left_out = {}, first, 0
    for _ in range(n):
        while True:
            rng = np.random.default_rng([1, seed])
            seed += 1
            case, n_threads = drawn_case(rng), int(rng.choice(N_THREADS))
            dense, loss = case.oracle()
            has_kinks = case.network.activation in ("relu", "leaky_relu")
            if not has_kinks or dense.nearest_kink > 32 * EPS:
                break
            n_left_out += 1  # rounding alone could switch a ReLU on or off
        trained = case.train(n_threads=n_threads)
        shares = list(shares_of_allowed(case, trained, dense, loss))
        predicted = engine.predict(case.network, case.samples.rows, n_threads=n_threads)
        expected = DenseNetwork(case.network).predict(case.samples.dense)
        shares.append(("predictions", share_of(16 * EPS, predicted, expected)))
        shares.append(("gradients", gradients_share(case, n_threads)))
        for what, share in shares:
            assert share <= 1, (
                f"case {seed - 1}: {what}: {share:.3g} of the error allowed"
            )
            kind = what.split(": ")[-1]
            worst[kind] = max(worst.get(kind, 0.0), float(share))
    return worst, n_left_out


def at_level(level, first, n):
    """The same in a process at a SIMD level; None where the machine has no such one."""
    if not simd.machine_has(level):
        return None
    done = subprocess.run(
        [sys.executable, __file__, str(first), str(n)],
        env=processes.environment(COFIRE_SIMD=level),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_hundred_drawn_cases_equal_the_oracle():
    worst, _ = worst_shares(0, 100)
    assert {"loss", "weights", "bias", "predictions", "gradients"} < worst.keys()


@pytest.mark.slow
def test_50_000_drawn_cases_equal_the_oracle():
    shares = [50_000 * i // len(simd.LEVELS) for i in range(len(simd.LEVELS) + 1)]
    worst, levels, n_cases = {}, [], 0
    for level, first, end in zip(simd.LEVELS, shares, shares[1:], strict=False):
        # Where a level is missing, its cases are tried at the machine's own.
        found = at_level(level, 100_000 + first, end - first)
        own = engine.simd_level()
        of_level, _ = found or at_level(own, 100_000 + first, end - first)
        n_cases += end - first
        levels.append(level if found else own)
        worst |= {k: max(worst.get(k, 0.0), v) for k, v in of_level.items()}
    what = max(worst, key=worst.get)
    figures.report(
        "kernels against a float64 oracle",
        "50,000 random networks, rows and settings within the bound for float32",
        f"{n_cases:,} cases at {', '.join(dict.fromkeys(levels))}; the largest error: "
        f"{worst[what]:.2f} of the bound ({what})",
        met=worst[what] <= 1,
    )
    assert worst[what] <= 1


if __name__ == "__main__":
    sys.stdout.write(json.dumps(worst_shares(*map(int, sys.argv[1:]))))
