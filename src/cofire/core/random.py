"""Random numbers: counter-based streams, nothing global."""

import operator

import numpy as np

from cofire.errors import unknown_name

# The order is part of the format: a stream is keyed by the purpose's index.
PURPOSES = (
    "topology",
    "weights",
    "order",
    "drop",
    "grow",
    "new_values",
    "split",
    "ties",
    "rows",
    "race",
)


def stream(
    seed: int, purpose: str, layer: int = 0, epoch: int = 0
) -> np.random.Generator:
    """Return the generator of one purpose in one layer and epoch of the run `seed`.

    Equal arguments give equal numbers, different ones independent numbers: training
    resumes at any epoch with the same bits, and no draw can disturb another.

    >>> a, b = stream(7, "grow", layer=1, epoch=3), stream(7, "grow", layer=1, epoch=3)
    >>> bool((a.random(4) == b.random(4)).all())
    True
    """
    if purpose not in PURPOSES:
        raise unknown_name("purpose", purpose, PURPOSES)
    words = (
        _word("seed", seed, 31),
        PURPOSES.index(purpose),
        _word("layer", layer, 32),
        _word("epoch", epoch, 32),
    )
    key = sum(word << (32 * i) for i, word in enumerate(words))
    return np.random.Generator(np.random.Philox(key=key))


def _word(name: str, value: int, bits: int) -> int:
    value = operator.index(value)
    if not 0 <= value < 2**bits:
        raise ValueError(f"{name} must lie in [0, 2**{bits}), got {value}")
    return value


def uniform(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw n float32 numbers from U(-1, 1)."""
    return 2 * rng.random(n, dtype=np.float32) - 1


def scattered(seed: int, numbers: np.ndarray) -> np.ndarray:
    """Return a random uint64 for each number: equal ones have equal ones.

    >>> keys = scattered(0, np.arange(10_000))
    >>> len(np.unique(keys)), float((keys < 2**62).mean().round(2))
    (10000, 0.25)
    """
    step, first = np.uint64(0x9E3779B97F4A7C15), np.uint64(seed * 0xD1B54A33 + 1)
    with np.errstate(over="ignore"):  # the finaliser of splitmix64
        x = (numbers.astype(np.uint64) + (first << np.uint64(32))) * step
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


RUN = 32
"""Consecutive rows of a chunk that are held out together, or not."""


def run_keys(seed: int, chunk: int, runs: np.ndarray) -> np.ndarray:
    """Return a random uint64 for runs of a chunk; those with the least are held out."""
    return scattered(seed, runs + (np.int64(chunk) << 32))


def held_out(seed: int, chunk: int, rows: np.ndarray, limit: float) -> np.ndarray:
    """Say of rows of a chunk, by their number in it, whether they are held out.

    limit: the fraction of all runs of rows that are, or the first key that is not.

    >>> float(held_out(0, 3, np.arange(100_000), 0.25).mean().round(2))
    0.25
    """
    keys = run_keys(seed, chunk, rows // RUN)
    return keys < np.uint64(limit if limit >= 1 else int(limit * 2.0**64))
