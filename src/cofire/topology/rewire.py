"""The only place that changes a topology."""

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
    """Take the dropped connections out of a layer, put the grown ones in.

    dropped, grown: places in any order; new_weights[k] belongs to grown[k]. A place
    that is dropped and grown at once returns with its new weight ("fresh") or as if
    nothing had happened ("kept"). Returns the new layer, which shares the bias, and
    origin, (nnz) int64: which old connection each new one was, -1 if none.

    >>> layer = SparseLayer.from_keys([0, 2], [0.1, 5], [0, 0], n_in=2, n_out=2)
    >>> after, origin = rewire(layer, np.array([0]), np.array([3]), np.array([7.0]))
    >>> after.keys, after.weights, origin
    (array([2, 3]), array([5., 7.], dtype=float32), array([ 1, -1]))
    """
    if returning not in RETURNING:
        raise unknown_name("returning", returning, RETURNING)
    if len(new_weights) != len(grown):
        raise ValueError(f"{len(grown)} grown places, {len(new_weights)} new weights")
    if not np.isfinite(new_weights).all():
        raise ValueError("new_weights must be finite")
    for name, array in (("dropped", dropped), ("grown", grown)):
        if len(array) and np.asarray(array).dtype.kind not in "iu":
            raise TypeError(f"{name}: places must be whole numbers")
    places = layer.keys
    order = np.argsort(grown)
    grown, new_weights = grown[order], np.asarray(new_weights, np.float32)[order]
    before = find(places, grown)
    kept = _kept(places, dropped)
    _check_grown(layer, grown, before, kept)

    back = before >= 0 if returning == "kept" else np.zeros(len(grown), dtype=bool)
    new_weights[back] = layer.weights[before[back]]
    grown_origin = np.where(back, before, -1)

    kept = np.flatnonzero(kept)
    at = np.searchsorted(places[kept], grown)
    origin = np.insert(kept, at, grown_origin)
    weights = np.insert(layer.weights[kept], at, new_weights)
    places = np.insert(places[kept], at, grown)
    after = SparseLayer.from_keys(places, weights, layer.bias, layer.n_in, layer.n_out)
    return after, origin


def _kept(places: np.ndarray, dropped: np.ndarray) -> np.ndarray:
    """Mark the connections that stay: (nnz) bool."""
    at = find(places, dropped)
    if (at < 0).any():
        raise ValueError(f"dropped: no connection at place {dropped[at < 0][0]}")
    kept = np.ones(len(places), dtype=bool)
    kept[at] = False
    if len(places) - np.count_nonzero(kept) != len(dropped):
        raise ValueError("dropped: a place occurs twice")
    return kept


def _check_grown(
    layer: SparseLayer, grown: np.ndarray, before: np.ndarray, kept: np.ndarray
) -> None:
    """Refuse ascending `grown` places that do not exist, repeat or are taken."""
    n_places = layer.n_in * layer.n_out
    if len(grown) and not 0 <= grown[0] <= grown[-1] < n_places:
        raise ValueError(f"grown: places must lie in [0, {n_places})")
    if (grown[1:] == grown[:-1]).any():
        raise ValueError("grown: a place occurs twice")
    there = before >= 0
    taken = grown[there][kept[before[there]]]
    if len(taken):
        raise ValueError(f"grown: place {taken[0]} still has its connection")
