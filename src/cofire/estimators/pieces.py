"""Pieces: inputs for parts of the range of a column of numbers.

A network of few inputs draws smooth curves where trees cut sharply. So a column of
numbers enters twice: as it is, and in pieces. A piece rises from 0 to 1 between two
quantiles of the column and is flat elsewhere; a weight on it bends the curve there and
nowhere else (piecewise linear encoding: Gorishniy, Rubachev and Babenko, 2022).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from cofire.estimators.recipe import choose_pieces, most_columns_in_pieces
from cofire.estimators.scaling import column_scales
from cofire.persistence.values import Document, demand

_SAMPLE = 10_000
"""Rows that quantiles are taken from."""
_LARGEST = np.finfo(np.float64).max / 2
"""Of values whose differences are all finite."""
_DISTINCT = 4
"""Different values that a column must have."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of all columns; those of one column are neighbours, from low to high.

    >>> pieces = Pieces(np.array([0, 0], np.int32), np.r_[0.0, 2], np.r_[2.0, 6], 1.0)
    >>> pieces.encode(np.array([[-1.0], [1.0], [3.0], [9.0]])).tolist()
    [[0.0, 0.0], [0.5, 0.0], [1.0, 0.25], [1.0, 1.0]]
    """

    column: np.ndarray
    """The column of each piece: int32, ascending."""
    low: np.ndarray
    high: np.ndarray
    """Where each piece begins and ends to rise: float64."""
    size: float
    """How far the standardised inputs spread, where that of a column of numbers is 1.

    Small, so that pieces of few rows do not outweigh the numbers themselves.
    """

    @classmethod
    def none(cls) -> Self:
        """No pieces."""
        return cls(np.empty(0, np.int32), np.empty(0), np.empty(0), 1.0)

    def __len__(self) -> int:
        return len(self.column)

    @property
    def per_column(self) -> int:
        """The largest number of pieces of a column."""
        return int(np.bincount(self.column).max()) if len(self) else 0

    def of(self, column: int) -> slice:
        """Return which pieces a column has."""
        return slice(*np.searchsorted(self.column, [column, column + 1]))

    def encode(self, values: np.ndarray, which: slice = slice(None)) -> np.ndarray:
        """Return the value of each piece, from 0 to 1; NaN where a number is missing.

        values: (n_rows, n_columns) float64, or one column of it with its own pieces.
        """
        if which == slice(None):
            out = values[:, self.column]
        else:
            out = np.repeat(values, which.stop - which.start, axis=1)
        self.cut(out, which)
        return out

    def cut(self, values: np.ndarray, which: slice = slice(None)) -> None:
        """Turn numbers, one column for each piece, into the values of the pieces."""
        with np.errstate(over="ignore"):
            values -= self.low[which]
            values /= self._widths[which]
        np.maximum(values, 0.0, out=values)
        np.minimum(values, 1.0, out=values)

    @cached_property
    def _widths(self) -> np.ndarray:
        return self.high - self.low

    def names(self, columns: Sequence[str], dates: Sequence[int] = ()) -> list[str]:
        """Names of the inputs; dates: the columns whose numbers are days."""
        names = []
        for j in np.unique(self.column):
            own = self.of(j)
            edges = np.append(self.low[own], self.high[own][-1])
            shown = _as_dates(edges) if j in dates else _as_text(edges)
            pairs = zip(shown[:-1], shown[1:], strict=True)
            names += [f"{columns[j]} from {low} to {high}" for low, high in pairs]
        return names

    # ---- storing --------------------------------------------------------------------

    def to_plain(self, tensors: dict[str, np.ndarray]) -> Document:
        """Return all but the arrays as plain values; the arrays go to `tensors`."""
        if len(self) == 0:
            return {}
        for name in ("column", "low", "high"):
            tensors[f"encoder.piece_{name}"] = getattr(self, name)
        return {"piece_size": self.size}

    @classmethod
    def from_plain(cls, plain: Document, tensors: dict[str, np.ndarray]) -> Self:
        """Undo `to_plain`; whether there are such columns is left to the caller."""
        if "piece_size" not in plain:
            return cls.none()
        size = plain["piece_size"]
        column, low, high = (
            tensors.pop(f"encoder.piece_{name}") for name in ("column", "low", "high")
        )
        right = type(size) is float and 0 < size <= 1
        demand(right, "piece_size: expected a number in (0, 1]")
        right = column.ndim == 1 and column.dtype == np.int32 and len(column) > 0
        demand(right, "piece_column: expected columns of X, as int32")
        for name, values in (("low", low), ("high", high)):
            right = values.shape == column.shape and values.dtype == np.float64
            demand(right, f"piece_{name}: expected a float64 per piece")
            demand(bool(np.isfinite(values).all()), f"piece_{name} must be finite")
        demand(bool((low < high).all()), "pieces must begin before they end")
        demand(bool((column[1:] >= column[:-1]).all()), "pieces must be ascending")
        same = column[1:] == column[:-1]
        right = np.array_equal(low[1:][same], high[:-1][same])
        demand(right, "a piece must begin where the one before it ends")
        return cls(column, low, high, size)


class Learner:
    """Learns the pieces of columns, which come in blocks.

    n_pieces: of each column, at most; None: as many as the recipe says.
    """

    def __init__(self, n_pieces: int | None) -> None:
        self.n_pieces = n_pieces
        # Of each column its values, ascending, and their weights.
        self.columns: dict[int, tuple[np.ndarray, np.ndarray | None]] = {}

    def look(
        self, block: np.ndarray, columns: np.ndarray, weight: np.ndarray | None
    ) -> None:
        """Take in columns: (n_columns, n_rows) of float64, NaN where one is missing."""
        if self.n_pieces == 0 or self._too_many:
            return
        n_rows = block.shape[1]
        ids = np.linspace(0, n_rows - 1, min(n_rows, _SAMPLE)).astype(np.int64)
        for j, values in zip(columns, block[:, ids], strict=True):
            there = ~np.isnan(values)
            order = np.argsort(values[there], kind="stable")
            values = values[there][order]
            distinct = 1 + np.count_nonzero(values[1:] > values[:-1])
            if distinct < _DISTINCT or abs(values[[0, -1]]).max() > _LARGEST:
                continue
            own = None if weight is None else weight[ids][there][order]
            self.columns[int(j)] = values, own

    def forget(self, columns: np.ndarray) -> None:
        """Leave out columns whose values differ by rounding alone."""
        for j in columns:
            self.columns.pop(int(j), None)

    @property
    def _too_many(self) -> bool:
        n_columns = len(self.columns)
        return self.n_pieces is None and n_columns > most_columns_in_pieces()

    def found(self, n_rows: int) -> Pieces:
        """Return the pieces of all columns, which have so many rows."""
        n_pieces = self.n_pieces
        if n_pieces is None:
            n_pieces = choose_pieces(n_rows, len(self.columns))
        n_pieces = min(n_pieces, _SAMPLE)  # more have no effect
        if n_pieces == 0 or not self.columns:
            return Pieces.none()
        edges = [_edges(*own, n_pieces) for own in self.columns.values()]
        column = np.repeat(list(self.columns), [len(own) - 1 for own in edges])
        return Pieces(
            column.astype(np.int32),
            np.concatenate([own[:-1] for own in edges]),
            np.concatenate([own[1:] for own in edges]),
            min(1.0, 0.15 * n_pieces**0.5),
        )


def piece_scales(
    values: np.ndarray, weight: np.ndarray | None, size: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return centre and scale of pieces, given their values: (n_pieces, n_rows)."""
    eps = np.full(len(values), np.finfo(np.float64).eps)
    centre, scale = column_scales(values, weight, eps, bounded=False)
    return centre, scale / size


def _edges(values: np.ndarray, weight: Any, n_pieces: int) -> np.ndarray:
    """Return quantiles of ascending values by weight, all different.

    With no more values than edges, every value is one.

    >>> _edges(np.array([1.0, 2, 2, 2, 3, 4, 8]), None, 2).tolist()
    [1.0, 2.0, 8.0]
    """
    distinct = values[np.r_[True, values[1:] > values[:-1]]]
    if len(distinct) <= n_pieces + 1:
        return distinct
    summed = np.cumsum(np.ones(len(values)) if weight is None else weight)
    wanted = np.arange(1, n_pieces) / n_pieces * summed[-1]
    inner = values[np.searchsorted(summed, wanted, side="left")]
    return np.unique(np.r_[values[0], inner, values[-1]])


def _as_text(edges: np.ndarray) -> list[str]:
    """Return numbers with as many digits as tell them apart, and four at least.

    >>> _as_text(np.array([1.23456, 12345.678, 1e20]))
    ['1.235', '12350', '1e+20']
    >>> _as_text(np.array([1e8, 1e8 + 1]))
    ['100000000', '100000001']
    """
    for digits in range(4, 18):
        rounded = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(rounded)) == len(edges):
            break
    return [f"{float(text):.{max(digits, 15)}g}" for text in rounded]


def _as_dates(edges: np.ndarray) -> list[str]:
    """Return days since 1970-01-01 as dates, to the second where days are the same.

    >>> _as_dates(np.array([0.0, 1.5])), _as_dates(np.array([0.0, 0.5]))
    (['1970-01-01', '1970-01-02'], ['1970-01-01T00:00:00', '1970-01-01T12:00:00'])
    """
    moments = np.round(edges * 86_400).astype("datetime64[s]")
    days = np.datetime_as_string(moments, "D")
    apart = len(set(days)) == len(days)
    return [str(text) for text in (days if apart else np.datetime_as_string(moments))]
