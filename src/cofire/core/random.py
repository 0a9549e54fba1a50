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
