"""Pairs of few rows are chosen by estimates: the same as by the sums of all pairs.

Rows times a power of two have the same scores, to the bit. But where signals are so
large that float32 products come near its end, the search makes no estimates.
"""

import numpy as np
import pytest

from cofire import engine
from helpers.engine_cases import random_network

BEYOND_ESTIMATES = np.float32(2.0**58)
SIZES = (150, 60, 20)


def found(n_rows, scale, weighted=False, **how):
    rng = np.random.default_rng(n_rows)
    factors = rng.standard_normal((n_rows, 3)) @ rng.standard_normal((3, SIZES[0]))
    X = (factors + rng.standard_normal((n_rows, SIZES[0]))).astype(np.float32)
    network = random_network(rng, SIZES, densities=[0.05, 0.1], output="identity")
    for layer in network.layers:
        layer.bias[:] = 0
    kept = [layer.flat_indices for layer in network.layers]
    weight = rng.integers(0, 3, n_rows).astype(np.float32) if weighted else None
    search = engine.PairSearch(
        network=network,
        rows=engine.Rows(X * scale),
        row_ids=rng.permutation(n_rows),
        kept=kept,
        n_wanted=[100, 20],
        seed=1,
        epoch=2,
        sample_weight=weight,
        **how,
    )
    return engine.best_pairs(search)[0]


@pytest.mark.parametrize("n_rows", [9, 82, 160, 300])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "how",
    [
        {"score": "cosine"},
        {"score": "lowest_cosine"},
        {"score": "pearson", "ties": "index"},
        {"score": "pearson", "gate": [2.5, None]},
        {"score": "pearson", "gate": [2.0, None], "sharpness": 2},
        {"score": "pearson", "sharpness": 5, "n_threads": 3},
    ],
)
def test_estimates_change_nothing(n_rows, weighted, how):
    by_estimates = found(n_rows, np.float32(1), weighted, **how)
    by_sums = found(n_rows, BEYOND_ESTIMATES, weighted, **how)
    assert len(by_estimates[0]) > 0
    for ours, theirs in zip(by_estimates, by_sums, strict=True):
        np.testing.assert_array_equal(ours, theirs)
