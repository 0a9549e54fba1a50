"""Sample a layer's connections and give them their first weights."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.core.random import stream, uniform
from cofire.errors import unknown_name
from cofire.topology.indices import distinct

# ---- first weights: a table of functions ---------------------------------------------


def _glorot(fan_in: np.ndarray, n_in: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform, with the fans of the full layer (Glorot & Bengio, 2010)."""
    limit = np.sqrt(6 / (n_in + len(fan_in)))
    return uniform(fan_in.sum(), rng) * np.float32(limit)


def _normal(fan_in: np.ndarray, n_in: int, rng: np.random.Generator) -> np.ndarray:
    """N(0, 0.1^2), as in SET (Mocanu et al., 2018)."""
    return rng.standard_normal(fan_in.sum(), np.float32) * np.float32(0.1)


def _small_normal(
    fan_in: np.ndarray, n_in: int, rng: np.random.Generator
) -> np.ndarray:
    """N(0, 0.05^2): less than what methods grow with.

    So of two connections that were never trained, the older one is dropped first.
    """
    return rng.standard_normal(fan_in.sum(), np.float32) * np.float32(0.05)


def _sparse_aware(
    fan_in: np.ndarray, n_in: int, rng: np.random.Generator
) -> np.ndarray:
    """N(0, 2 / fan_in), with the fan-in that each neuron really has.

    So the signal keeps its size at any density (Evci et al., 2022).
    """
    spread = np.sqrt(2 / np.maximum(fan_in, 1)).astype(np.float32)
    return rng.standard_normal(fan_in.sum(), np.float32) * np.repeat(spread, fan_in)


Init = Callable[[np.ndarray, int, np.random.Generator], np.ndarray]
"""(connections of each output neuron, n_in, rng) -> (nnz) float32 weights."""

INITS: dict[str, Init] = {
    "glorot": _glorot,
    "normal": _normal,
    "small_normal": _small_normal,
    "sparse_aware": _sparse_aware,
}


def initial_weights(
    indptr: np.ndarray, n_in: int, init: str, rng: np.random.Generator
) -> np.ndarray:
    """Draw first weights for a layer's connections: (nnz) float32."""
    if init not in INITS:
        raise unknown_name("init", init, INITS)
    return INITS[init](np.diff(indptr), n_in, rng)


def create_network(
    sizes: Sequence[int],
    counts: Sequence[int],
    *,
    init: str,
    activation: str,
    output: str,
    seed: int,
) -> SparseNetwork:
    """Create a network whose layer l has counts[l] connections at random.

    Biases are 0. Allocates in proportion to the connections, never n_in * n_out.

    >>> network = create_network([784, 100, 10], [884, 110], init="normal",
    ...                          activation="relu", output="softmax", seed=0)
    >>> network.sizes, network.n_connections
    ([784, 100, 10], 994)
    """
    layers = []
    shapes = zip(pairwise(map(int, sizes)), counts, strict=True)
    for i, ((n_in, n_out), n) in enumerate(shapes):
        indices = distinct(n_in * n_out, n, stream(seed, "topology", i))
        zeros = np.zeros(n, np.float32), np.zeros(n_out, np.float32)
        layer = SparseLayer.from_flat_indices(indices, *zeros, n_in, n_out)
        rng = stream(seed, "weights", i)
        layer.weights[:] = initial_weights(layer.indptr, n_in, init, rng)
        layers.append(layer)
    return SparseNetwork(layers, activation, output)
