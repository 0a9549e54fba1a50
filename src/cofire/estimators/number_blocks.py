"""Columns of numbers, read some at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from cofire.estimators.frames import is_frame, numbers, rounding
from cofire.estimators.scaling import eps_of

VALUES = 2**17
"""Values that are handled at a time, in float64."""


def neighbours(X: Any, columns: np.ndarray) -> Iterator[np.ndarray]:
    """Columns that are read together: a small part of X."""
    step = max(1, max(VALUES, X.shape[0] * X.shape[1] // 128) // X.shape[0])
    for start in range(0, len(columns), step):
        yield columns[start : start + step]


def number_block(X: Any, columns: np.ndarray, used: np.ndarray | None) -> np.ndarray:
    """Copy columns of numbers, for the rows in use: (n_columns, n_rows) float64."""
    if is_frame(X):
        block = np.stack([numbers(X, int(j)) for j in columns])
    else:  # all columns are numbers: these are neighbours
        own = X[:, columns[0] : columns[-1] + 1].T
        block = np.array(own, dtype=np.float64, order="C")
    return block if used is None else np.ascontiguousarray(block[:, used])


def rounding_of(X: Any, j: int) -> float:
    """Return the relative rounding of a column's numbers."""
    return rounding(X, int(j)) if is_frame(X) else eps_of(X.dtype)


def averages(flags: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Fraction of ones in each row of flags, by weight."""
    if weight is None:
        return flags.mean(axis=1)
    return (flags * weight).sum(axis=1) / weight.sum()
