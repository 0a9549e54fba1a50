"""Checks of sparse matrices, whose arrays compiled code reads without checks."""

from typing import Any

import numpy as np

MOST_FEATURES = 2**31 - 1
"""The engine numbers features with 32 bits."""


def check_sparse(X: Any) -> None:
    """Refuse a sparse matrix whose indices point outside its arrays.

    SciPy checks a matrix when it is made, not when it is used. One that was changed
    afterwards would make compiled code, SciPy's too, read beyond the end of an array.

    >>> import scipy.sparse
    >>> check_sparse(scipy.sparse.csr_array([[0.0, 1.0]]))
    """
    if X.format == "coo":
        for axis, indices in enumerate(X.coords):
            _check_range(f"indices of axis {axis}", indices, X.shape[axis])
    if X.format not in ("csr", "csc", "bsr"):
        return  # the other formats have no indices, or are read by Python code
    n_major, n_minor = X.shape[::-1] if X.format == "csc" else X.shape
    if X.format == "bsr":
        n_major, n_minor = n_major // X.blocksize[0], n_minor // X.blocksize[1]
    indptr, n_entries = X.indptr, min(len(X.indices), len(X.data))
    if len(indptr) != n_major + 1 or indptr[0] != 0 or not _never_decreases(indptr):
        raise ValueError(
            f"indptr must be {n_major + 1} numbers that start with 0 and never decrease"
        )
    if indptr[-1] > n_entries:
        raise ValueError(
            f"indptr must end with at most {n_entries}, the number of entries, "
            f"got {indptr[-1]}"
        )
    _check_range("indices", X.indices[: indptr[-1]], n_minor)


def check_width(X: Any) -> None:
    """Refuse more features than the engine can number."""
    if X.shape[1] > MOST_FEATURES:
        raise ValueError(f"X has {X.shape[1]} features, more than 2**31 - 1.")


def csr_parts(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return indptr, indices, values and the number of features for the engine.

    Nothing is copied that has the right type; memory behind the last entry is left out.
    """
    if X.format != "csr":
        raise TypeError(f"sparse rows: expected the CSR format, got {X.format}")
    check_width(X)
    check_sparse(X)
    n_entries = X.indptr[-1]
    return (
        np.ascontiguousarray(X.indptr, dtype=np.int64),
        np.ascontiguousarray(X.indices[:n_entries], dtype=np.int32),
        np.ascontiguousarray(X.data[:n_entries], dtype=np.float32),
        X.shape[1],
    )


def _check_range(name: str, indices: np.ndarray, n: int) -> None:
    if len(indices) and not 0 <= indices.min() <= indices.max() < n:
        wrong = indices.min() if indices.min() < 0 else indices.max()
        raise ValueError(f"{name} must lie in [0, {n}), got {wrong}")


def _never_decreases(numbers: np.ndarray) -> bool:
    return bool((numbers[1:] >= numbers[:-1]).all())
