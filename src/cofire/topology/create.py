"""Sample a layer's connections and give them their first weights."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.core.random import normal, stream, uniform
from cofire.errors import unknown_name
from cofire.topology.indices import distinct

INITS = ("glorot", "normal", "small_normal", "sparse_aware")


def random_places(
    n_in: int, n_out: int, n: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw n of the n_in * n_out places, uniform without replacement: ascending int64.

    Memory and time follow n, however large the layer would be if it were full.

    >>> random_places(10**6, 10**6, 5, np.random.default_rng(0)).shape
    (5,)
    """
    return distinct(n_in * n_out, n, rng)


def initial_weights(
    indptr: np.ndarray, n_in: int, init: str, rng: np.random.Generator
) -> np.ndarray:
    """Draw first weights for a layer's connections: (nnz) float32.

    "glorot": uniform, with the fans of the full layer (Glorot & Bengio, 2010).
    "normal": N(0, 0.1^2), as in SET (Mocanu et al., 2018).
    "small_normal": N(0, 0.05^2): less than what methods grow with, so that of two
    connections that were never trained the old one is dropped first.
    "sparse_aware": N(0, 2 / fan_in), with the fan-in that each neuron really has, so
    that the signal keeps its size at any density (Evci et al., 2022).
    """
    fan_in = np.diff(indptr)
    nnz, n_out = int(indptr[-1]), len(fan_in)
    if init == "glorot":
        return uniform(nnz, rng) * np.float32(np.sqrt(6 / (n_in + n_out)))
    if init == "normal":
        return normal(nnz, rng) * np.float32(0.1)
    if init == "small_normal":
        return normal(nnz, rng) * np.float32(0.05)
    if init == "sparse_aware":
        spread = np.sqrt(2 / np.maximum(fan_in, 1)).astype(np.float32)
        return normal(nnz, rng) * np.repeat(spread, fan_in)
    raise unknown_name("init", init, INITS)


def create_network(
    sizes: Sequence[int],
    counts: Sequence[int],
    *,
    init: str,
    activation: str,
    output: str,
    seed: int,
    with_replacement: bool = False,
) -> SparseNetwork:
    """Create a network whose layer l has counts[l] connections at random places.

    With replacement, counts[l] places are drawn and those drawn twice count once.

    Biases are 0. Allocates in proportion to the connections, never n_in * n_out.

    >>> network = create_network([784, 100, 10], [884, 110], init="normal",
    ...                          activation="relu", output="softmax", seed=0)
    >>> network.sizes, network.n_connections
    ([784, 100, 10], 994)
    """
    layers = []
    shapes = zip(pairwise(map(int, sizes)), counts, strict=True)
    for i, ((n_in, n_out), n) in enumerate(shapes):
        rng = stream(seed, "topology", i)
        if with_replacement:
            places = np.unique(rng.integers(n_in * n_out, size=n))
        else:
            places = random_places(n_in, n_out, n, rng)
        zeros = np.zeros(len(places), np.float32), np.zeros(n_out, np.float32)
        layer = SparseLayer.from_keys(places, *zeros, n_in, n_out)
        rng = stream(seed, "weights", i)
        layer.weights[:] = initial_weights(layer.indptr, n_in, init, rng)
        layers.append(layer)
    return SparseNetwork(layers, activation, output)
