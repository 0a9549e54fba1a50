"""Choose flat indices: of the weakest connections, the best ones, or free ones."""

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.topology.indices import distinct, merge, without

__all__ = [
    "closest_to_zero",
    "first_absent",
    "largest",
    "random_absent",
    "random_others",
    "smallest_magnitude",
]


def smallest_magnitude(
    layer: SparseLayer, n: int, rng: np.random.Generator
) -> np.ndarray:
    """Return the indices of the n connections with the smallest |weight|, ascending.

    Ties are broken at random. Weights must be finite.
    """
    if not 0 <= n <= layer.nnz:
        raise ValueError(f"cannot choose {n} of {layer.nnz} connections")
    return layer.flat_indices[largest(-np.abs(layer.weights), n, rng)]


def largest(scores: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the indices of the n largest scores, ascending; ties are broken at random.

    >>> largest(np.array([0.5, 2.0, 1.0]), 2, np.random.default_rng(0))
    array([1, 2])
    """
    if n == 0:
        return np.empty(0, dtype=np.int64)
    limit = np.partition(scores, len(scores) - n)[len(scores) - n]
    chosen = scores > limit
    tied = np.flatnonzero(scores == limit)
    n_tied = n - int(np.count_nonzero(chosen))
    chosen[tied[distinct(len(tied), n_tied, rng)]] = True
    return np.flatnonzero(chosen)


def closest_to_zero(layer: SparseLayer, n: int, fraction: float) -> np.ndarray:
    """Return the indices of the weights nearest zero on either side, ascending.

    SET's own rule: of the negative weights the fraction that is closest to zero, and of
    the positive ones, each with its limits included: one or two more, and all that
    equal a limit, may be among them. With n = 0 there are none.

    >>> weights = [-9, -8, -2, -1, 3, 4, 5, 6, 7]
    >>> layer = SparseLayer.from_flat_indices(range(9), weights, [0], 9, 1)
    >>> closest_to_zero(layer, 3, 0.34)  # from -8 to 4; -1 is the nearest
    array([1, 2, 3, 4, 5])
    """
    if n == 0:
        return np.empty(0, dtype=np.int64)
    values = np.sort(layer.weights)
    nearest = values[np.argmin(np.abs(values))]
    first = np.searchsorted(values, nearest, side="left")
    end = np.searchsorted(values, nearest, side="right")
    low = int((1 - fraction) * first)
    high = min(int(end + fraction * (len(values) - end)), len(values) - 1)
    weights = layer.weights
    return layer.flat_indices[(weights >= values[low]) & (weights <= values[high])]


def random_absent(
    layer: SparseLayer,
    n: int,
    rng: np.random.Generator,
    *,
    also: np.ndarray | None = None,
    exclude: np.ndarray | None = None,
) -> np.ndarray:
    """Draw n free indices, uniformly without replacement, ascending.

    `also` are indices of the layer that count as free (the just dropped ones),
    `exclude` are indices that count as taken. Memory grows with connections + n.

    >>> layer = SparseLayer.from_flat_indices([0, 2], [1, 1], [0, 0], n_in=2, n_out=2)
    >>> random_absent(layer, 2, np.random.default_rng(0))
    array([1, 3])
    """
    taken = layer.flat_indices
    if also is not None:
        taken = without(taken, also)
    if exclude is not None:
        taken = merge(taken, exclude)
    return random_others(taken, layer.n_in * layer.n_out, n, rng)


def random_others(
    taken: np.ndarray, n_possible: int, n: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw n of the indices below n_possible that are not taken, ascending.

    >>> random_others(np.array([0, 2]), 4, 2, np.random.default_rng(0))
    array([1, 3])
    """
    n_free = n_possible - len(taken)
    if n > n_free:
        raise ValueError(f"cannot grow {n} connections: only {n_free} indices are free")
    # taken[k] - k free indices lie before taken[k]: so the free index of rank r has as
    # many taken ones before it as there are entries <= r. Exact however full the layer
    # is, where drawing and rejecting would stall.
    rank = distinct(n_free, n, rng)
    return rank + np.searchsorted(taken - np.arange(len(taken)), rank, side="right")


def first_absent(
    layer: SparseLayer, n: int, *, also: np.ndarray | None = None
) -> np.ndarray:
    """Return the first n free indices, input by input, ascending.

    >>> layer = SparseLayer.from_flat_indices([0], [1], [0, 0], n_in=3, n_out=2)
    >>> first_absent(layer, 2)  # input 0 to output 1, input 1 to output 0
    array([1, 3])
    """
    taken = layer.flat_indices if also is None else without(layer.flat_indices, also)
    by_input = np.sort(taken % layer.n_in * layer.n_out + taken // layer.n_in)
    free = np.arange(n) + np.searchsorted(
        by_input - np.arange(len(by_input)), np.arange(n), side="right"
    )
    return np.sort(free % layer.n_out * layer.n_in + free // layer.n_out)
