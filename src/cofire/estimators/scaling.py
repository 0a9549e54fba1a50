"""How columns are centred and scaled: by mean and deviation, in float64.

Outliers do not count as what they are: a column that has any is clipped to four
deviations, as its middle half shows them, before its mean and its deviation are taken.
"""

from typing import Any

import numpy as np

FAR, NEAR = 20.0, 4.0
"""Outliers are further from the median than FAR; they count as if they were NEAR."""
BEND, MOST = 4.0, 10.0
"""Standardised values beyond BEND grow like a logarithm, up to MOST."""
LEAST = 0.1
"""The least scale, in units of a typical value that is not the median.

A column that is nearly always 0 has a small deviation: its rare values would be huge.
"""
_QUANTILE, _OF_NORMAL = 0.75, 1.1503493803760079
"""Of distances from the median: the quantile, and what it is for N(0, 1)."""
_SAMPLE, _FEW = 2_000, 50
"""Rows that quantiles are taken from, and how many of them must tell something."""


def eps_of(kind: Any) -> float:
    """Relative rounding of numbers of a dtype; whole numbers are float64 here."""
    single = isinstance(kind, np.dtype) and kind.kind == "f" and kind.itemsize < 8
    return float(np.finfo(kind if single else np.float64).eps)


def column_scales(
    block: np.ndarray, weight: np.ndarray | None, eps: np.ndarray, *, bounded: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return centre and scale of columns; a scale of 0 says that one is constant.

    block: (n_columns, n_rows) float64, overwritten; NaN is a missing value.
    weight: of the rows, > 0. eps: the relative rounding of the values of each column.
    bounded: values have no outliers, and no scaled one may be beyond MOST.

    >>> centre, scale = column_scales(
    ...     np.array([[1.0, 3.0], [5.0, 5.0]]), None, np.full(2, 2e-16), bounded=False
    ... )
    >>> centre.tolist(), scale.tolist()
    ([2.0, 5.0], [1.0, 0.0])
    """
    gaps = np.isnan(block)
    block[gaps] = 0.0
    # No difference of two values may overflow.
    before = np.maximum(_power(block) - 1000, 0)
    if before.any():
        np.ldexp(block, -before[:, None], out=block)
    middle, reach = middle_and_reach(block, gaps, weight)
    block -= middle[:, None]
    block[gaps] = 0.0
    if not bounded:
        far = (reach > 0) & (np.abs(block).max(axis=1) > FAR * reach)
        for j in np.flatnonzero(far):
            np.clip(block[j], -NEAR * reach[j], NEAR * reach[j], out=block[j])
    # The square of 1e-200 is 0: squares are taken of numbers near 1, which a power of 2
    # makes of any number without rounding.
    power = _power(block)
    np.ldexp(block, -power[:, None], out=block)
    low, high = block.min(axis=1), block.max(axis=1)
    weights = np.ones(block.shape[1]) if weight is None else weight
    total = weights.sum() - (gaps * weights).sum(axis=1)
    mean = _average(block, weights, total)
    differing = ((block != 0) * weights).sum(axis=1)
    typical = np.sqrt(_average(block**2, weights, differing))
    block -= mean[:, None]
    block[gaps] = 0.0
    np.square(block, out=block)
    scale = np.maximum(np.sqrt(_average(block, weights, total)), LEAST * typical)
    if bounded:
        scale = np.maximum(scale, np.maximum(high - mean, mean - low) / MOST)
    values = middle + np.ldexp([low, high, mean], power)
    rounding = 4 * eps * np.abs(values[:2]).max(axis=0)
    constant = np.ldexp(high - low, power) <= rounding
    scale = np.where(constant, 0.0, np.ldexp(scale, power + before))
    return np.ldexp(values[2], before), scale


def flag_scales(fraction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return centre and scale of columns of 0 and 1, given the fraction of ones."""
    deviation = np.sqrt(fraction * (1 - fraction))
    constant = (fraction <= 0) | (fraction >= 1)
    return fraction, np.where(constant, 0.0, np.maximum(deviation, LEAST))


def sparse_scales(X: Any, weight: np.ndarray | None) -> np.ndarray:
    """Return the scale of the columns of a CSR matrix, whose zeros are to stay zeros.

    It is the deviation, with the zeros counted; 0 says that a column is constant.
    """
    n_rows, n_columns = X.shape
    by_column = X.tocsc()
    by_column.sum_duplicates()
    by_column.eliminate_zeros()
    starts = by_column.indptr
    scale = np.zeros(n_columns)
    first, most = 0, max(2**16, by_column.nnz // 128)
    while first < n_columns:  # as many columns as have about so many entries
        last = int(np.searchsorted(starts, int(starts[first]) + most, "right")) - 1
        last = min(max(last, first + 1), n_columns)
        part = slice(starts[first], starts[last])
        used = None if weight is None else weight[by_column.indices[part]]
        scale[first:last] = _entry_scales(
            by_column.data[part].astype(np.float64),
            np.diff(starts[first : last + 1]),
            used,
            (n_rows, float(n_rows if weight is None else weight.sum())),
            eps_of(by_column.dtype),
        )
        first = last
    return scale


def standardise(
    values: np.ndarray, centre: Any, scale: np.ndarray, *, bounded: bool
) -> None:
    """Centre, scale and bend values (float64) in place; what is missing becomes 0.

    The last axis of `values` has the columns, or `scale` has one value for each.
    """
    # For one row, each call of NumPy takes as long as a network: none is without need,
    # and `count_nonzero` takes a third of what `any` does.
    constant = scale == 0
    some = np.count_nonzero(constant) > 0
    with np.errstate(over="ignore", invalid="ignore"):
        np.subtract(values, centre, out=values)
        np.divide(values, np.where(constant, 1.0, scale) if some else scale, out=values)
    if some:
        values[..., constant] = 0.0
    gaps = np.isnan(values)
    if np.count_nonzero(gaps):
        values[gaps] = 0.0
    if bounded:
        np.clip(values, -MOST, MOST, out=values)
    else:
        bend(values)


def bend(values: np.ndarray) -> None:
    """Let values beyond BEND grow like a logarithm, up to MOST, in place.

    >>> values = np.array([-3.0, 4.0, 5.0, -1e30])
    >>> bend(values)
    >>> values.round(3).tolist()
    [-3.0, 4.0, 4.693, -10.0]
    """
    far = np.abs(values) > BEND
    if np.count_nonzero(far):
        beyond = values[far]
        bent = BEND + np.log1p(np.abs(beyond) - BEND)
        values[far] = np.copysign(np.minimum(bent, MOST), beyond)


def middle_and_reach(
    block: np.ndarray, gaps: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the medians, and a deviation that outliers do not change.

    Values that equal the median tell nothing of it: most values of a column may be 0.
    """
    n_rows = block.shape[1]
    weights = np.ones(n_rows) if weight is None else weight
    ids = np.linspace(0, n_rows - 1, min(n_rows, _SAMPLE)).astype(np.int64)
    sample = block[:, ids]
    present = np.where(gaps[:, ids], 0.0, weights[ids])
    middle = _quantiles(sample, present, 0.5)
    distance = np.abs(sample - middle[:, None])
    differing = np.where(distance == 0, 0.0, present)
    reach = _quantiles(distance, differing, _QUANTILE)
    if len(ids) < n_rows:
        for j in np.flatnonzero((differing > 0).sum(axis=1) < _FEW):
            other = (block[j] != middle[j]) & ~gaps[j]
            distance = np.abs(block[j, other] - middle[j])[None]
            reach[j] = _quantiles(distance, weights[None, other], _QUANTILE)[0]
    return middle, reach / _OF_NORMAL


def _quantiles(values: np.ndarray, weights: np.ndarray, q: float) -> np.ndarray:
    """Quantiles of rows by weight; 0 where no value has any."""
    if values.shape[1] == 0:
        return np.zeros(len(values))
    order = np.argsort(values, axis=1, kind="stable")
    summed = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    at = (summed >= q * summed[:, -1:]).argmax(axis=1)
    rows = np.arange(len(values))
    found = values[rows, order[rows, at]]
    return np.where(summed[:, -1] > 0, found, 0.0)


def _average(values: np.ndarray, weights: np.ndarray, total: Any) -> np.ndarray:
    # Not a matrix product, whose order of summation depends on the number of threads.
    return (values * weights).sum(axis=1) / np.where(total > 0, total, 1.0)


def _power(values: np.ndarray) -> np.ndarray:
    """Exponents of 2 that the rows of a block stay below."""
    return np.frexp(np.abs(values).max(axis=1, initial=0.0))[1]


def _entry_scales(
    values: np.ndarray,
    counts: np.ndarray,
    weight: np.ndarray | None,
    of_rows: tuple[int, float],
    eps: float,
) -> np.ndarray:
    """Scales of columns, given their entries (not 0), one column after the other.

    of_rows: how many there are, and their total weight.
    """
    n_columns, (n_rows, total) = len(counts), of_rows
    column = np.repeat(np.arange(n_columns), counts)
    weights = np.ones(len(values)) if weight is None else weight

    def summed(of_entries: np.ndarray) -> np.ndarray:
        return np.bincount(column, of_entries, minlength=n_columns)

    low, high = np.zeros((2, n_columns))
    filled = np.flatnonzero(counts)
    if len(filled):
        first = (np.cumsum(counts) - counts)[filled]
        low[filled] = np.minimum.reduceat(values, first)
        high[filled] = np.maximum.reduceat(values, first)
    largest = np.maximum(high, -low)
    reach = entry_reach(np.abs(values), counts, weights)
    bound = np.where(largest > FAR * reach, NEAR * reach, largest)
    power = np.frexp(bound)[1]
    np.clip(values, -bound[column], bound[column], out=values)
    np.ldexp(values, -power[column], out=values)
    present = np.where(counts > 0, summed(weights), 1.0)
    mean = summed(weights * values) / total
    typical = np.sqrt(summed(weights * values**2) / present)
    squares = summed(weights * (values - mean[column]) ** 2)
    absent = np.maximum(total - present, 0.0)
    deviation = np.sqrt((squares + absent * mean**2) / total)
    scale = np.ldexp(np.maximum(deviation, LEAST * typical), power)
    # Without a zero it may be constant; halves, since a difference may overflow.
    constant = (counts == n_rows) & (high / 2 - low / 2 <= 2 * eps * largest)
    return np.where(constant | (counts == 0), 0.0, scale)


def entry_reach(
    sizes: np.ndarray, counts: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Like `middle_and_reach`, of entries: their median is taken to be 0."""
    kept = np.minimum(counts, _SAMPLE)
    ends = np.cumsum(kept)
    within = np.arange(ends[-1]) - np.repeat(ends - kept, kept)
    steps = within * np.repeat(counts, kept) // np.repeat(kept, kept)
    ids = np.repeat(np.cumsum(counts) - counts, kept) + steps
    column = np.repeat(np.arange(len(counts)), kept)
    order = np.lexsort((sizes[ids], column))
    summed = np.concatenate([[0.0], np.cumsum(weights[ids][order])])
    before, after = summed[ends - kept], summed[ends]
    wanted = before + _QUANTILE * (after - before)
    at = np.searchsorted(summed[1:], wanted, side="left")
    reach = np.zeros(len(counts))
    filled = kept > 0
    at = np.minimum(np.maximum(at, ends - kept), ends - 1)[filled]
    reach[filled] = sizes[ids][order][at] / _OF_NORMAL
    return reach
