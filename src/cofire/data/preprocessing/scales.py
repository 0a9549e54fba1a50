"""Fill values and scales of features, as scikit-learn computes them."""

from collections.abc import Mapping

import numpy as np
import scipy.sparse

from cofire.data.catalog.dataset import Samples
from cofire.data.tables.faults import Fault, TableFaults
from cofire.errors import unknown_name

SCALES = ("standard", "minmax", "none")
FILLS = ("mean", "median", "most_frequent")
MISSING = ("keep", *FILLS)
"""Missing values stay missing, or what takes their place."""
LARGEST = float(np.finfo(np.float32).max)
"""Features are float32: they hold no larger number."""
_SAMPLE = 1000
"""Rows by which a squeezed feature is found."""
_BLOCK = 4096
"""Rows that are scaled at a time, since the intermediate results are float64."""


def origin_and_unit(X: Samples, scale: str) -> tuple[np.ndarray, np.ndarray]:
    """Return what to subtract from each feature, and what to divide it by then.

    Sparse X is only divided, by its standard deviation or its largest absolute value,
    so that zeros stay zeros.

    >>> [part.tolist() for part in origin_and_unit(np.array([[1.0], [3.0]]), "minmax")]
    [[1.0], [2.0]]
    """
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

    if scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    zeros, ones = np.zeros(X.shape[1]), np.ones(X.shape[1])
    if scale == "none":
        return zeros, ones
    if scipy.sparse.issparse(X):
        divide = StandardScaler(with_mean=False), MaxAbsScaler()
        return zeros, divide[scale == "minmax"].fit(X).scale_
    if scale == "standard":
        standard = StandardScaler().fit(X)
        return standard.mean_, standard.scale_
    minmax = MinMaxScaler().fit(X)
    return minmax.data_min_, np.where(minmax.data_range_ == 0, 1, minmax.data_range_)


def scaled(X: Samples, origin: np.ndarray, unit: np.ndarray) -> Samples:
    """Return (X - origin) / unit as float32, computed in float64; a unit of 0 is 1.

    >>> scaled(np.array([[1, 7], [3, 7]]), np.array([1, 7]), np.array([4, 0])).tolist()
    [[0.0, 0.0], [0.5, 0.0]]
    """
    unit = np.where(unit == 0, 1.0, unit)
    if scipy.sparse.issparse(X):
        return _scaled_sparse(X, origin, unit)
    result = np.empty(X.shape, np.float32)
    for start in range(0, len(X), _BLOCK):
        block = slice(start, start + _BLOCK)
        result[block] = (X[block] - origin) / unit
    return result


def squeezed(X: np.ndarray, origin: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Return the features most of whose values are equal once they are scaled.

    A value that is very far out does that: float32 has seven digits.

    >>> X = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [4.0, 4.0], [5.0, 1e30]])
    >>> squeezed(X, *origin_and_unit(X, "standard")).tolist()
    [1]
    """
    some = X[np.linspace(0, len(X) - 1, min(len(X), _SAMPLE)).astype(np.int64)]
    after = scaled(some, origin, unit)
    found = [
        _n_values(after[:, j]) < _n_values(some[:, j]) / 2 for j in range(len(unit))
    ]
    return np.flatnonzero(found)


def _n_values(column: np.ndarray) -> int:
    return len(np.unique(column[~np.isnan(column)]))


def note_of_squeezed(name: str, values: np.ndarray, origin: float) -> str:
    """Say which value is to blame, and what to do; `name` says of which feature."""
    far = values[np.nanargmax(np.abs(values - origin))]
    return (
        f"{name}: {far:.6g} is so far from the other values that most of them are "
        f"equal after scaling; correct it, or pass `scale='none'`: the default network "
        f"scales features itself, and outliers do not matter to it"
    )


def _scaled_sparse(X: Samples, origin: np.ndarray, unit: np.ndarray) -> Samples:
    X, moved = X.astype(np.float64), np.flatnonzero(origin)
    if len(moved):
        n = X.shape[0]
        shift = np.tile(origin[moved], n), np.tile(moved, n)
        rows = np.arange(n + 1) * len(moved)
        X = X - scipy.sparse.csr_array((*shift, rows), shape=X.shape)
        X.eliminate_zeros()
    values = (X.data / unit[X.indices]).astype(np.float32)
    columns = X.indices.astype(np.int32)
    return scipy.sparse.csr_array((values, columns, X.indptr), shape=X.shape)


def fill_values(X: np.ndarray, missing: str | None) -> np.ndarray | None:
    """Return what replaces missing values of each feature; None: nothing does."""
    from sklearn.impute import SimpleImputer

    if missing not in FILLS:
        return None
    return SimpleImputer(strategy=missing).fit(X).statistics_


def refuse_missing(columns: Mapping[str, np.ndarray], missing: str | None) -> None:
    """Raise a ValueError that names the columns with missing values, if it is None."""
    if missing is not None and missing not in MISSING:
        raise unknown_name("missing", missing, MISSING)
    fault = gap_fault(columns) if missing is None else None
    if fault is not None:
        raise TableFaults([fault])
    for name, where in columns.items():
        if len(where) and where.all():
            raise ValueError(
                f"column {name!r} is empty: leave it out with `drop={[name]!r}`."
            )


def gap_fault(columns: Mapping[str, np.ndarray]) -> Fault | None:
    """Name the columns with missing values, if there are any."""
    some = {name: int(where.sum()) for name, where in columns.items()}
    found = [f"{name!r} ({n} rows)" for name, n in some.items() if n]
    if not found:
        return None
    more = f" and {len(found) - 8} more" if len(found) > 8 else ""
    return Fault(
        f"values are missing in {', '.join(found[:8])}{more}. Fill them in, or "
        f"have them filled in when training: {_ways_to_fill()}.",
        {"missing": FILLS[0]},
    )


def _ways_to_fill() -> str:
    *others, last = (f"`missing={name!r}`" for name in FILLS)
    return f"{', '.join(others)} or {last}"
