"""Encoder: how the columns of X become the inputs of a network.

Numbers are standardised, missing ones become 0 (the mean) and set an input of their
own, categories become inputs of 0 and 1, dates become numbers. The inputs are, in this
order: the columns of numbers, the parts of dates, whether a number was missing, the
levels of the columns of categories, the pieces of the columns of numbers.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse

from cofire.estimators.date_columns import DateColumn, expand, expanded_names
from cofire.estimators.frames import (
    Levels,
    is_frame,
    number_columns,
    numbers,
)
from cofire.estimators.inputs import ScaledBytes
from cofire.estimators.number_blocks import (
    VALUES,
    averages,
    neighbours,
    number_block,
    rounding_of,
)
from cofire.estimators.pieces import Learner, Pieces, piece_scales
from cofire.estimators.scaling import (
    MOST,
    column_scales,
    flag_scales,
    sparse_scales,
    standardise,
)

_WIDE = 256
"""Inputs beyond which categories make sparse rows."""


@dataclass(frozen=True, eq=False)
class Encoder:
    """What fit learnt of the columns of X."""

    n_features: int
    categories: tuple[Levels, ...]
    """Columns of categories, ascending; the others are numbers."""
    missing: np.ndarray
    """Which columns of numbers have an input that says "missing": int32, ascending."""
    centre: np.ndarray
    """Of each input, float64; input = (value - centre) / scale, then bent."""
    scale: np.ndarray
    """Of each input, float64; 0 for one that is always 0."""
    bounded: bool
    """Learnt from bytes, whose inputs are cut off at MOST and not bent."""
    sparse: bool
    """Whether rows are sparse: then zeros of a sparse X, or of levels, stay zeros."""
    dates: tuple[DateColumn, ...] = ()
    """Columns of dates, ascending; numbers stand for them, more at the end."""
    pieces: Pieces = field(default_factory=Pieces.none)
    """Parts of the ranges of columns of numbers."""

    # ---- learning -------------------------------------------------------------------

    @classmethod
    def learn(
        cls,
        X: Any,
        weight: np.ndarray | None,
        *,
        n_pieces: int | None = 0,
        n_rows: int | None = None,
    ) -> Self:
        """Learn from rows that were checked and their weights; 0 means not in use.

        n_pieces: of each column of numbers, at most; None: the recipe's number, for
        `n_rows` rows. n_rows None: those in use; more, if they are a sample.
        """
        used = None
        if weight is not None and weight.any():
            weight = weight.astype(np.float64)
            used = None if (weight > 0).all() else np.flatnonzero(weight > 0)
            weight = weight if used is None else weight[used]
        else:
            weight = None
        if scipy.sparse.issparse(X):
            scale = sparse_scales(X if used is None else X[used], weight)
            nothing = np.empty(0, np.int32)
            return cls(X.shape[1], (), nothing, 0 * scale, scale, False, True)
        return cls._of_columns(X, used, weight, n_pieces, n_rows)

    @classmethod
    def _of_columns(
        cls,
        X: Any,
        used: np.ndarray | None,
        weight: np.ndarray | None,
        n_pieces: int | None,
        n_rows: int | None,
    ) -> Self:
        n_features = X.shape[1]
        categories: tuple[Levels, ...] = ()
        dates: tuple[DateColumn, ...] = ()
        columns = np.arange(n_features)
        if is_frame(X):
            dates = DateColumn.find(X, used)
            X = expand(X, dates)
            is_number = number_columns(X)
            columns = np.flatnonzero(is_number)
            others = np.flatnonzero(~is_number)
            categories = tuple(Levels.learn(X, int(j), used) for j in others)
        bounded = not is_frame(X) and X.dtype == np.uint8
        centres, scales, fractions = [np.empty(0)], [np.empty(0)], [np.empty(0)]
        learner = Learner(0 if bounded else n_pieces)
        for part in neighbours(X, columns):
            block = number_block(X, part, used)
            given = part < n_features  # parts of dates are pieces already
            learner.look(block[given], part[given], weight)
            fractions.append(averages(np.isnan(block), weight))
            eps = np.array([rounding_of(X, j) for j in part])
            centre, scale = column_scales(block, weight, eps, bounded=bounded)
            centres.append(centre)
            scales.append(scale)
            learner.forget(part[scale == 0])
        gaps = np.concatenate(fractions)
        gaps[columns >= n_features] = 0.0  # a missing date is missing once
        n_inputs = len(columns) + int((gaps > 0).sum())
        n_inputs += sum(levels.n_inputs for levels in categories)
        sparse = bool(categories) and n_inputs > max(_WIDE, 4 * n_features)
        flags = [gaps[gaps > 0]]
        for levels in categories:
            codes = levels.codes(X)
            codes = codes if used is None else codes[used]
            counts = np.bincount(codes + 1, weight, minlength=levels.n_inputs + 1)
            flags.append(counts[1:] / counts.sum())
        centre, scale = flag_scales(np.concatenate(flags))
        centres.append(0 * centre if sparse else centre)
        scales.append(scale)
        n_used = X.shape[0] if used is None else len(used)
        pieces = learner.found(n_used if n_rows is None else n_rows)
        for j in np.unique(pieces.column):
            values = pieces.encode(number_block(X, np.array([j]), used).T, pieces.of(j))
            centre, scale = piece_scales(values.T.copy(), weight, pieces.size)
            centres.append(centre)
            scales.append(scale)
        return cls(
            n_features,
            categories,
            columns[gaps > 0].astype(np.int32),
            np.concatenate(centres),
            np.concatenate(scales),
            bounded,
            sparse,
            dates,
            pieces,
        )

    # ---- encoding -------------------------------------------------------------------

    @property
    def n_inputs(self) -> int:
        """Number of inputs of the network."""
        return len(self.scale)

    @property
    def takes_text(self) -> bool:
        """Whether rows must come as a frame, or as an array that can hold text."""
        return bool(self.categories or self.dates)

    @cached_property
    def columns_of_numbers(self) -> np.ndarray:
        """The columns of numbers."""
        others = [levels.column for levels in self.categories]
        return np.delete(np.arange(self._n_columns), others)

    @property
    def _n_columns(self) -> int:
        """Number of columns, with those that are added for dates."""
        return self.n_features + sum(own.n_added for own in self.dates)

    def encode(self, X: Any) -> Any:
        """Turn checked rows into inputs: float32 rows, sparse rows or scaled bytes."""
        if scipy.sparse.issparse(X):
            return self._encode_sparse(X)
        X = expand(X, self.dates)
        if self.categories:
            return self._encode_frame(X)
        if self.bounded and not is_frame(X) and X.dtype == np.uint8:
            return self._scaled_bytes(X)
        return self._encode_numbers(X, self.n_inputs)

    def _encode_sparse(self, X: Any) -> Any:
        if self.categories or not self.sparse:
            raise ValueError(
                "X is sparse, but fit learnt the features from a dense X, whose zeros "
                "are not zeros after standardising: pass X.toarray(), or fit on a "
                "sparse X."
            )
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        n_entries = X.indptr[-1]
        data = np.empty(n_entries, np.float32)
        for start in range(0, n_entries, VALUES):
            part = slice(start, min(start + VALUES, n_entries))
            values = X.data[part].astype(np.float64)
            standardise(values, 0.0, self.scale[X.indices[part]], bounded=False)
            data[part] = values
        parts = data, X.indices[:n_entries], X.indptr
        return scipy.sparse.csr_array(parts, shape=X.shape, copy=False)

    def _scaled_bytes(self, X: np.ndarray) -> ScaledBytes:
        """Keep bytes as they are; those that training never saw may be cut off."""
        in_use = self.scale > 0
        scale = np.where(in_use, self.scale, 1.0)
        most = (1 + 1e-9) * MOST * scale  # the extremes of the training rows are inside
        low = np.where(in_use, np.ceil(self.centre - most), 0).clip(0, 255)
        high = np.where(in_use, np.floor(self.centre + most), 255).clip(0, 255)
        if (X.min(axis=0) < low).any() or (X.max(axis=0) > high).any():
            X = np.clip(X, low.astype(np.uint8), high.astype(np.uint8))
        factor = np.where(in_use, 1 / scale, 0.0)
        return ScaledBytes(
            X, factor.astype(np.float32), (-self.centre * factor).astype(np.float32)
        )

    def _encode_numbers(self, X: Any, n_inputs: int) -> np.ndarray:
        """Encode numbers, into the first inputs, and pieces, into the last."""
        columns = self.columns_of_numbers
        n, first = len(columns), n_inputs - len(self.pieces)
        out = np.empty((X.shape[0], n_inputs), np.float32)
        centre, scale = self.centre[:n], self.scale[:n]
        if is_frame(X):
            place = {int(column): n + i for i, column in enumerate(self.missing)}
            for i, j in enumerate(columns):
                values = numbers(X, int(j))
                if int(j) in place:
                    out[:, place[int(j)]] = np.isnan(values)
                own = self.pieces.of(int(j))
                if own.start < own.stop:
                    pieces = self.pieces.encode(values[:, None], own)
                    self._standardise_pieces(pieces, own)
                    out[:, first + own.start : first + own.stop] = pieces
                standardise(
                    values[:, None],
                    centre[i],
                    scale[i : i + 1],
                    bounded=self.bounded,
                )
                out[:, i] = values
        else:
            which, centre, scale = self._numbers_and_pieces
            flags = slice(n, n + len(self.missing))
            step = max(1, VALUES // len(which))
            for start in range(0, X.shape[0], step):
                rows = slice(start, start + step)
                values = X[rows].take(which, axis=1).astype(np.float64)
                if len(self.missing):
                    out[rows, flags] = np.isnan(values[:, self.missing])
                if len(self.pieces):
                    self.pieces.cut(values[:, n:])
                standardise(values, centre, scale, bounded=self.bounded)
                out[rows, :n] = values[:, :n]
                out[rows, first:] = values[:, n:]
        if len(self.missing):
            self._standardise_flags(out, n, n + len(self.missing))
        return out

    @cached_property
    def _numbers_and_pieces(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the columns of an array for numbers and pieces; centre and scale."""
        n, first = len(self.columns_of_numbers), self.n_inputs - len(self.pieces)
        which = np.concatenate([np.arange(n), self.pieces.column])
        inputs = np.r_[:n, first : self.n_inputs]
        return which, self.centre[inputs], self.scale[inputs]

    def _standardise_pieces(self, values: np.ndarray, which: slice) -> None:
        first = self.n_inputs - len(self.pieces)
        centre, scale = self.centre[first:][which], self.scale[first:][which]
        standardise(values, centre, scale, bounded=False)

    def _standardise_flags(self, out: np.ndarray, first: int, last: int) -> None:
        """Turn 0 and 1 into the standardised values, in place."""
        absent, present = self._flag_values
        for i in range(first, last):
            out[:, i] = np.where(out[:, i] > 0, present[i], absent[i])

    @cached_property
    def _flag_values(self) -> tuple[np.ndarray, np.ndarray]:
        """What 0 and 1 become in each input."""
        values = np.repeat([[0.0], [1.0]], self.n_inputs, axis=1)
        standardise(values, self.centre, self.scale, bounded=False)
        absent, present = values.astype(np.float32)
        return absent, present

    def _encode_frame(self, frame: Any) -> Any:
        """Encode numbers and categories."""
        first = self._n_columns - len(self.categories) + len(self.missing)
        absent, present = self._flag_values
        rows = np.arange(frame.shape[0])
        if not self.sparse:
            out = self._encode_numbers(frame, self.n_inputs)
            for levels in self.categories:
                out[:, first : first + levels.n_inputs] = absent[
                    first : first + levels.n_inputs
                ]
                codes = levels.codes(frame)
                known = codes >= 0
                at = first + codes[known]
                out[rows[known], at] = present[at]
                first += levels.n_inputs
            return out
        # A value for each number and each flag, and one for each column of categories.
        n_dense, n_pieces = first, len(self.pieces)
        width = n_dense + len(self.categories) + n_pieces
        values = self._encode_numbers(frame, width)
        indices = np.empty(values.shape, np.int32)
        indices[:, :n_dense] = np.arange(n_dense)
        indices[:, width - n_pieces :] = np.arange(n_pieces) + self.n_inputs - n_pieces
        for i, levels in enumerate(self.categories, start=n_dense):
            codes = levels.codes(frame)
            at = first + np.maximum(codes, 0)
            # Without a level, a zero is stored.
            indices[:, i] = np.minimum(at, self.n_inputs - 1)
            values[:, i] = np.where(codes >= 0, present[indices[:, i]], 0.0)
            first += levels.n_inputs
        indptr = np.arange(len(rows) + 1, dtype=np.int64) * width
        parts = values.reshape(-1), indices.reshape(-1), indptr
        shape = len(rows), self.n_inputs
        return scipy.sparse.csr_array(parts, shape=shape, copy=False)

    def input_names(self, columns: list[str]) -> list[str]:
        """Names of the inputs, given those of the columns of X."""
        dates = [own.column for own in self.dates]
        columns = expanded_names(columns, self.dates)
        names = [columns[j] for j in self.columns_of_numbers]
        names += [f"{columns[j]} missing" for j in self.missing]
        for levels in self.categories:
            names += levels.names(columns[levels.column])
        return names + self.pieces.names(columns, dates)

    def input_columns(self) -> np.ndarray:
        """For each input the column of X that it comes from."""
        added = [np.repeat(own.column, own.n_added) for own in self.dates]
        origin = np.concatenate([np.arange(self.n_features), *added])
        levels = [np.repeat(own.column, own.n_inputs) for own in self.categories]
        numbers = origin[self.columns_of_numbers]
        every = [numbers, self.missing, *levels, self.pieces.column]
        return np.concatenate(every).astype(np.intp)

    def input_sizes(self) -> np.ndarray:
        """How far each input spreads; that of a column of numbers is 1."""
        sizes = np.ones(self.n_inputs)
        sizes[self.n_inputs - len(self.pieces) :] = self.pieces.size
        return sizes

    def number_input(self, column: int) -> int:
        """Return the input of a column of numbers."""
        return int(np.searchsorted(self.columns_of_numbers, column))

    def at_edges(self, column: int) -> np.ndarray:
        """Return what the inputs of a column are where its pieces begin and end.

        (n_edges, 1 + n_pieces): first the number, then its pieces.
        """
        own, i = self.pieces.of(column), self.number_input(column)
        edges = np.append(self.pieces.low[own], self.pieces.high[own][-1])[:, None]
        pieces = self.pieces.encode(edges, own)
        self._standardise_pieces(pieces, own)
        standardise(edges, self.centre[i], self.scale[i : i + 1], bounded=self.bounded)
        return np.hstack([edges, pieces])
