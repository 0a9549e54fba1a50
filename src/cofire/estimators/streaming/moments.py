"""Means and deviations of all rows of a stream, and an encoder that uses them."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from cofire.estimators.encoder import Encoder
from cofire.estimators.frames import is_frame
from cofire.estimators.number_blocks import neighbours, number_block, rounding_of
from cofire.estimators.scaling import (
    FAR,
    LEAST,
    MOST,
    entry_reach,
    eps_of,
    middle_and_reach,
)

BLOCK_VALUES = 2**16
"""Values that are taken in at a time, in float64."""


class Moments:
    """Means, deviations and extremes of columns of numbers; NaN is a missing value.

    >>> moments = Moments()
    >>> for part in ([[1.0], [np.nan]], [[3.0], [5.0]]):
    ...     moments.add(np.array(part), None)
    >>> moments.centre.tolist(), (moments.deviation**2).round(3).tolist()
    ([3.0], [2.667])
    """

    def __init__(self) -> None:
        self.n = np.zeros(0)

    def add(self, block: np.ndarray, weight: np.ndarray | None) -> None:
        """Take in rows: (n_rows, n_columns) float64, overwritten; weights > 0."""
        if len(self.n) == 0:
            self._begin(block)
        gaps = np.isnan(block)
        weights = np.ones(len(block)) if weight is None else weight.astype(np.float64)
        of_rows = np.where(gaps, 0.0, weights[:, None])
        with np.errstate(all="ignore"):
            for extreme, of, none in ((self.low, np.fmin, 1), (self.high, np.fmax, -1)):
                of(extreme, of.reduce(block, axis=0, initial=none * np.inf), extreme)
            block -= self.middle
            block[gaps] = 0.0
            n = of_rows.sum(axis=0)
            mean = (of_rows * block).sum(axis=0) / np.where(n > 0, n, 1.0)
            self.differing += (of_rows * (block != 0)).sum(axis=0)
            block -= mean
            squares = (of_rows * block**2).sum(axis=0)
            total = np.where(self.n + n > 0, self.n + n, 1.0)
            delta = mean - self.mean
            self.squares += squares + delta**2 * (self.n * n / total)
            self.mean += delta * (n / total)
        self.n = self.n + n

    def _begin(self, block: np.ndarray) -> None:
        n = block.shape[1]
        rows = np.sort(block[:2001], axis=0)  # NaN come last
        last = np.maximum((~np.isnan(rows)).sum(axis=0) - 1, 0)
        middle = rows[last // 2, np.arange(n)]
        self.middle = np.where(np.isfinite(middle), middle, 0.0)
        self.n, self.mean, self.squares, self.differing = np.zeros((4, n))
        self.low, self.high = np.full(n, np.inf), np.full(n, -np.inf)

    @property
    def centre(self) -> np.ndarray:
        """The mean of each column."""
        return self.middle + self.mean

    @property
    def deviation(self) -> np.ndarray:
        """The standard deviation of each column."""
        return np.sqrt(self.squares / np.where(self.n > 0, self.n, 1.0))

    def scale(self, eps: np.ndarray, *, bounded: bool) -> np.ndarray:
        """Scales of columns without outliers, as `scaling.column_scales` has them."""
        with np.errstate(all="ignore"):
            about_middle = self.squares + self.n * self.mean**2
            typical = np.sqrt(about_middle / np.maximum(self.differing, 1e-300))
            typical = np.where(self.differing > 0, typical, 0.0)
            scale = np.maximum(self.deviation, LEAST * typical)
            if bounded:
                reach = np.maximum(self.high - self.centre, self.centre - self.low)
                scale = np.maximum(scale, reach / MOST)
            largest = np.maximum(np.abs(self.low), np.abs(self.high))
            constant = self.high - self.low <= 4 * eps * largest
        return np.where(constant | (self.n == 0), 0.0, scale)


class ColumnMoments:
    """The moments of those columns of X, an array or a frame, that hold numbers."""

    def __init__(self, X: Any) -> None:
        self.columns = np.arange(X.shape[1])
        if is_frame(X):
            self.columns = np.array([j for j in self.columns if _is_plain(X, j)], int)
        self.eps = np.array([rounding_of(X, int(j)) for j in self.columns])
        self.moments = Moments()

    def block(self, X: Any) -> np.ndarray | None:
        """Copy the columns as float64; None if one of them does not hold numbers."""
        if not is_frame(X):
            return X.astype(np.float64)
        if not all(_is_plain(X, j) for j in self.columns):
            return None
        return number_block(X, self.columns, None).T.copy()

    def add(self, block: np.ndarray, weight: np.ndarray | None) -> None:
        """Take in rows."""
        self.moments.add(block, weight)

    def without_outliers(
        self, known: np.ndarray, middle: np.ndarray, reach: np.ndarray, *, bounded: bool
    ) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
        """Return centre and scale of columns without outliers, and which these are.

        middle, reach: of the columns, as a sample shows them.
        """
        of = self.moments
        centre, scale = of.centre[known], of.scale(self.eps, bounded=bounded)[known]
        with np.errstate(over="ignore", invalid="ignore"):
            furthest = np.maximum(of.high[known] - middle, middle - of.low[known])
            near = (reach == 0) | (furthest <= FAR * reach)
        usable = np.isfinite(scale) & np.isfinite(centre) & (near | bounded)
        return (centre[usable], scale[usable]), usable


def _is_plain(frame: Any, j: int) -> bool:
    """Whether a column holds numbers by its dtype."""
    kind = frame.dtypes.iloc[j]
    return isinstance(kind, np.dtype) and kind.kind in "biuf"


class SparseMoments:
    """The same of sparse rows, whose zeros count."""

    def __init__(self) -> None:
        self.total = 0.0
        self.n_rows = 0

    def add(self, X: Any, weight: np.ndarray | None) -> None:
        """Take in sparse rows in CSR format."""
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
        n, values = X.shape[1], X.data.astype(np.float64)
        if self.n_rows == 0:
            self.counts, self.present, self.sums, self.squares = np.zeros((4, n))
            self.low, self.high = np.zeros((2, n))
        self.n_rows += X.shape[0]
        weights = np.ones(X.shape[0]) if weight is None else weight.astype(np.float64)
        self.total += float(weights.sum())
        of_entries = np.repeat(weights, np.diff(X.indptr))
        at = X.indices
        with np.errstate(over="ignore", invalid="ignore"):
            self.counts += np.bincount(at, minlength=n)
            self.present += np.bincount(at, of_entries, minlength=n)
            self.sums += np.bincount(at, of_entries * values, minlength=n)
            self.squares += np.bincount(at, of_entries * values**2, minlength=n)
        np.minimum.at(self.low, at, values)
        np.maximum.at(self.high, at, values)

    def scale(self, eps: float) -> np.ndarray:
        """Scales of columns without outliers, as `scaling.sparse_scales` has them."""
        with np.errstate(all="ignore"):
            mean = self.sums / self.total
            deviation = np.sqrt(np.maximum(self.squares / self.total - mean**2, 0.0))
            present = np.where(self.counts > 0, self.present, 1.0)
            typical = np.sqrt(self.squares / present)
        full = self.counts == self.n_rows
        largest = np.maximum(self.high, -self.low)
        constant = full & (self.high / 2 - self.low / 2 <= 2 * eps * largest)
        scale = np.maximum(deviation, LEAST * typical)
        return np.where(constant | (self.counts == 0), 0.0, scale)


def with_moments(
    encoder: Encoder, sample: Any, weight: np.ndarray | None, moments: Any
) -> Encoder:
    """Give an encoder that was learnt from a sample the moments of all rows.

    Columns of numbers without outliers get them. Outliers are told by the median and
    the reach of the sample; what else an encoder has stays as the sample shows it.
    """
    if isinstance(moments, SparseMoments):
        scale = moments.scale(eps_of(sample.dtype))
        by_column = scipy.sparse.csc_array(sample)
        sizes, counts = np.abs(by_column.data), np.diff(by_column.indptr)
        entry_weight = np.ones(len(sizes))
        if weight is not None:
            entry_weight = weight.astype(np.float64)[by_column.indices]
        reach = entry_reach(sizes.astype(np.float64), counts, entry_weight)
        largest = np.maximum(moments.high, -moments.low)
        usable = np.isfinite(scale) & ((largest <= FAR * reach) | (encoder.scale == 0))
        return replace(encoder, scale=np.where(usable, scale, encoder.scale))
    place = {int(j): i for i, j in enumerate(encoder.columns_of_numbers)}
    own = [k for k, j in enumerate(moments.columns) if int(j) in place]
    centre, scale = encoder.centre.copy(), encoder.scale.copy()
    wanted = moments.columns[own]
    for part in neighbours(sample, wanted):
        known = np.searchsorted(moments.columns, part)
        inputs = np.array([place[int(j)] for j in part])
        block = number_block(sample, part, None)
        gaps = np.isnan(block)
        block[gaps] = 0.0
        bounds = middle_and_reach(block, gaps, weight)
        of, usable = moments.without_outliers(known, *bounds, bounded=encoder.bounded)
        centre[inputs[usable]], scale[inputs[usable]] = of
    return replace(encoder, centre=centre, scale=scale)
