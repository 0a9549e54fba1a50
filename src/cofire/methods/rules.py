"""Rules that methods share, each a table of functions: what goes, what new weights are.

A new rule is a function and a row of its table.
"""

from collections.abc import Callable

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.core.random import uniform
from cofire.topology.select import closest_to_zero, smallest_magnitude

# ---- which connections are dropped ---------------------------------------------------


def _magnitude(
    layer: SparseLayer, n: int, fraction: float, rng: np.random.Generator
) -> np.ndarray:
    return smallest_magnitude(layer, n, rng)


def _signed(
    layer: SparseLayer, n: int, fraction: float, rng: np.random.Generator
) -> np.ndarray:
    return closest_to_zero(layer, n, fraction)


DropRule = Callable[[SparseLayer, int, float, np.random.Generator], np.ndarray]
"""(layer, n, fraction, rng) -> flat indices of about n connections, ascending."""

DROP_RULES: dict[str, DropRule] = {"magnitude": _magnitude, "signed": _signed}

# ---- the weights of new connections --------------------------------------------------


def _normal(layer: SparseLayer, n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal(n, np.float32) * np.float32(0.1)


def _he_uniform(layer: SparseLayer, n: int, rng: np.random.Generator) -> np.ndarray:
    return uniform(n, rng) * np.float32(np.sqrt(6 / layer.n_in))


def _zero(layer: SparseLayer, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.zeros(n, dtype=np.float32)


def _layer_spread(layer: SparseLayer, n: int, rng: np.random.Generator) -> np.ndarray:
    if n == 0:  # the layer may be empty: it has no spread then
        return np.zeros(0, dtype=np.float32)
    spread = layer.weights.std(dtype=np.float64) / 2
    return rng.standard_normal(n, np.float32) * np.float32(spread)


NewValues = Callable[[SparseLayer, int, np.random.Generator], np.ndarray]
"""(layer, n, rng) -> n float32 weights."""

NEW_VALUES: dict[str, NewValues] = {
    "normal": _normal,
    "he_uniform": _he_uniform,
    "zero": _zero,
    "layer_spread": _layer_spread,
}
