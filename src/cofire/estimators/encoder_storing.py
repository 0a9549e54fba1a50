"""An encoder as plain values and arrays, as a model file holds it, and back."""

from typing import Any

import numpy as np

from cofire.estimators.date_columns import DateColumn
from cofire.estimators.encoder import Encoder
from cofire.estimators.frames import MOST_LEVELS, Levels
from cofire.estimators.pieces import Pieces
from cofire.persistence.values import Document, demand, whole

Tensors = dict[str, np.ndarray]
_ARRAYS = ("missing", "centre", "scale")


def to_plain(encoder: Encoder, tensors: Tensors) -> Document:
    """Return all but the arrays as plain values; the arrays go to `tensors`."""
    for name in _ARRAYS:
        tensors[f"encoder.{name}"] = getattr(encoder, name)
    categories = [
        [own.column, list(own.levels), own.rare, own.missing]
        for own in encoder.categories
    ]
    dates = [[own.column, own.times] for own in encoder.dates]
    return {
        "categories": categories,
        "bounded": encoder.bounded,
        "sparse": encoder.sparse,
        **({"dates": dates} if dates else {}),
        **encoder.pieces.to_plain(tensors),
    }


def from_plain(plain: Document, tensors: Tensors, n_features: int) -> Encoder:
    """Undo `to_plain`; a ValueError, TypeError or LookupError for anything else."""
    missing, centre, scale = (tensors.pop(f"encoder.{name}") for name in _ARRAYS)
    categories = tuple(_restored_levels(*own) for own in plain["categories"])
    columns = [own.column for own in categories]
    _demand_columns(np.array(columns, np.int64), n_features, "categories")
    _demand_columns(missing, n_features, "missing")
    dates = tuple(DateColumn.from_plain(*own) for own in plain.get("dates", ()))
    of_dates = [own.column for own in dates]
    _demand_columns(np.array(of_dates, np.int64), n_features, "dates")
    demand(not set(columns) & set(of_dates), "dates: expected no categories")
    right = missing.dtype == np.int32 and not set(columns) & set(missing.tolist())
    demand(right, "missing: expected columns of numbers, as int32")
    flags = plain["bounded"], plain["sparse"]
    demand(all(type(flag) is bool for flag in flags), "expected true or false")
    bounded, sparse = flags
    pieces = Pieces.from_plain(plain, tensors)
    in_pieces = np.unique(pieces.column)
    _demand_columns(in_pieces, n_features, "pieces")
    demand(not set(columns) & set(in_pieces.tolist()), "pieces: expected numbers")
    right = len(pieces) == 0 or not (bounded or (sparse and not categories))
    demand(right, "pieces: expected none of bytes and of sparse rows")
    n_inputs = n_features - len(columns) + len(missing)
    n_inputs += sum(own.n_added for own in dates)
    n_inputs += sum(own.n_inputs for own in categories) + len(pieces)
    for name, values in (("centre", centre), ("scale", scale)):
        right = values.shape == (n_inputs,) and values.dtype == np.float64
        demand(right, f"{name}: expected a float64 per input")
        demand(bool(np.isfinite(values).all()), f"{name} must be finite")
    demand(bool((scale >= 0).all()), "scale must not be negative")
    return Encoder(
        n_features, categories, missing, centre, scale, bounded, sparse, dates, pieces
    )


def _restored_levels(column: Any, levels: Any, rare: Any, missing: Any) -> Levels:
    demand(type(levels) is list and len(levels) <= MOST_LEVELS, "levels: too many")
    demand(all(type(level) is str for level in levels), "levels: expected text")
    ascending = all(a < b for a, b in zip(levels, levels[1:], strict=False))
    demand(ascending, "levels must be ascending")
    demand(type(rare) is bool and type(missing) is bool, "expected true or false")
    return Levels(whole(column), tuple(levels), rare, missing)


def _demand_columns(columns: np.ndarray, n_features: int, name: str) -> None:
    demand(bool((columns[1:] > columns[:-1]).all()), f"{name} must be ascending")
    inside = len(columns) == 0 or 0 <= columns[0] <= columns[-1] < n_features
    demand(bool(inside), f"{name}: expected columns of X")
