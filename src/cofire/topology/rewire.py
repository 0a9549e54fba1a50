"""rewire(): the only function that changes a topology."""

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.errors import unknown_name
from cofire.topology.indices import find

RETURNING = ("fresh", "kept")


def rewire(
    layer: SparseLayer,
    dropped: np.ndarray,
    grown: np.ndarray,
    new_weights: np.ndarray,
    *,
    returning: str = "fresh",
) -> tuple[SparseLayer, np.ndarray]:
    """Remove the dropped connections from a layer and add the grown ones.

    dropped, grown: flat indices in any order; new_weights[k] belongs to grown[k]. A
    connection that is both dropped and grown gets its new weight ("fresh") or stays
    as it was ("kept"). Returns the new layer, which shares the bias, and origin, (nnz)
    int64: which old connection each new one was, -1 if none.

    >>> layer = SparseLayer.from_flat_indices([0, 2], [0.1, 5], [0, 0], n_in=2, n_out=2)
    >>> after, origin = rewire(layer, np.array([0]), np.array([3]), np.array([7.0]))
    >>> after.flat_indices, after.weights, origin
    (array([2, 3]), array([5., 7.], dtype=float32), array([ 1, -1]))
    """
    if returning not in RETURNING:
        raise unknown_name("returning", returning, RETURNING)
    if len(new_weights) != len(grown):
        raise ValueError(
            f"new_weights: expected {len(grown)}, one per grown connection, "
            f"got {len(new_weights)}"
        )
    if not np.isfinite(new_weights).all():
        raise ValueError("new_weights must be finite")
    for name, array in (("dropped", dropped), ("grown", grown)):
        if len(array) and np.asarray(array).dtype.kind not in "iu":
            raise TypeError(f"{name}: flat indices must be whole numbers")
    indices = layer.flat_indices
    order = np.argsort(grown)
    grown, new_weights = grown[order], np.asarray(new_weights, np.float32)[order]
    before = find(indices, grown)
    kept = _kept(indices, dropped)
    _check_grown(layer, grown, before, kept)

    back = before >= 0 if returning == "kept" else np.zeros(len(grown), dtype=bool)
    new_weights[back] = layer.weights[before[back]]
    grown_origin = np.where(back, before, -1)

    kept = np.flatnonzero(kept)
    at = np.searchsorted(indices[kept], grown)
    origin = np.insert(kept, at, grown_origin)
    weights = np.insert(layer.weights[kept], at, new_weights)
    indices = np.insert(indices[kept], at, grown)
    after = SparseLayer.from_flat_indices(
        indices, weights, layer.bias, layer.n_in, layer.n_out
    )
    return after, origin


def _kept(indices: np.ndarray, dropped: np.ndarray) -> np.ndarray:
    """Mark the connections that stay: (nnz) bool."""
    at = find(indices, dropped)
    if (at < 0).any():
        raise ValueError(f"dropped: no connection has index {dropped[at < 0][0]}")
    kept = np.ones(len(indices), dtype=bool)
    kept[at] = False
    if len(indices) - np.count_nonzero(kept) != len(dropped):
        raise ValueError("dropped: an index occurs twice")
    return kept


def _check_grown(
    layer: SparseLayer, grown: np.ndarray, before: np.ndarray, kept: np.ndarray
) -> None:
    """Refuse ascending `grown` indices that are out of range, repeat or are taken."""
    n_possible = layer.n_in * layer.n_out
    if len(grown) and not 0 <= grown[0] <= grown[-1] < n_possible:
        raise ValueError(f"grown: indices must lie in [0, {n_possible})")
    if (grown[1:] == grown[:-1]).any():
        raise ValueError("grown: an index occurs twice")
    there = before >= 0
    taken = grown[there][kept[before[there]]]
    if len(taken):
        raise ValueError(f"grown: the connection with index {taken[0]} still exists")
