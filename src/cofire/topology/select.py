"""Choose places: the weakest connections, or places where none is."""

import numpy as np

from cofire.layer import SparseLayer
from cofire.topology.places import distinct, merge, without


def smallest_magnitude(
    layer: SparseLayer, n: int, rng: np.random.Generator
) -> np.ndarray:
    """Return the places of the n connections with the smallest |weight|, ascending.

    Ties are broken at random. Weights must be finite.
    """
    if not 0 <= n <= layer.nnz:
        raise ValueError(f"cannot choose {n} of {layer.nnz} connections")
    if n == 0:
        return np.empty(0, dtype=np.int64)
    magnitude = np.abs(layer.weights)
    limit = np.partition(magnitude, n - 1)[n - 1]
    chosen = magnitude < limit
    tied = np.flatnonzero(magnitude == limit)
    n_tied = n - int(np.count_nonzero(chosen))
    chosen[tied[distinct(len(tied), n_tied, rng)]] = True
    return layer.keys[chosen]


def random_absent(
    layer: SparseLayer,
    n: int,
    rng: np.random.Generator,
    *,
    also: np.ndarray | None = None,
    exclude: np.ndarray | None = None,
) -> np.ndarray:
    """Draw n places without a connection, uniform without replacement, ascending.

    `also` are places of the layer that count as free (the just dropped ones),
    `exclude` are places that count as taken. Memory follows connections + n.

    >>> layer = SparseLayer.from_keys([0, 2], [1, 1], [0, 0], n_in=2, n_out=2)
    >>> random_absent(layer, 2, np.random.default_rng(0))
    array([1, 3])
    """
    taken = layer.keys
    if also is not None:
        taken = without(taken, also)
    if exclude is not None:
        taken = merge(taken, exclude)
    n_free = layer.n_in * layer.n_out - len(taken)
    if n > n_free:
        raise ValueError(f"cannot grow {n} connections: only {n_free} places are free")
    # taken[k] - k free places lie before taken[k]: so the free place of rank r has as
    # many taken ones before it as there are entries <= r. Exact however full the
    # layer is, where drawing and rejecting would stall.
    rank = distinct(n_free, n, rng)
    taken -= np.arange(len(taken))
    return rank + np.searchsorted(taken, rank, side="right")
