"""The target of a user's file as labels, and which task they are for."""

from typing import Any

import numpy as np

TASKS = ("auto", "classification", "regression")
MOST_CLASSES = 20
"""Whole numbers with more different values than this are taken for quantities."""


def task_of(y: np.ndarray) -> str:
    """Guess the task from the labels: words, or few whole numbers, are classes.

    >>> [task_of(np.array(y)) for y in (["no", "yes"], [0, 1, 1], [0.5, 1, 2])]
    ['classification', 'classification', 'regression']
    """
    few = y.dtype.kind == "i" and len(np.unique(y)) <= MOST_CLASSES
    return "classification" if few or y.dtype.kind == "U" else "regression"


def labels(values: np.ndarray, name: str) -> np.ndarray:
    """Return whole numbers as int64, other numbers as float64, all else as text."""
    missing = np.array([_is_missing(value) for value in values])
    if missing.any():
        raise ValueError(
            f"target {name!r}: {missing.sum()} of {len(values)} rows have no value. "
            "Remove these rows: missing targets are not filled in."
        )
    if not all(isinstance(v, int | float | np.number) for v in values) or any(
        isinstance(v, bool | np.bool_) for v in values
    ):
        return np.array([str(value) for value in values])
    try:
        numbers = values.astype(np.float64)
    except OverflowError:
        numbers = np.array([np.inf])
    if not np.isfinite(numbers).all():
        raise ValueError(f"target {name!r} has values that are not finite.")
    if (numbers != np.rint(numbers)).any() or (np.abs(numbers) >= 2**53).any():
        # Beyond 2**53 float64 merges neighbours: only integers are exact.
        exact = all(isinstance(value, int | np.integer) for value in values)
        fits = exact and all(-(2**63) <= value < 2**63 for value in values)
        return values.astype(np.int64) if fits else numbers
    return numbers.astype(np.int64)


def _is_missing(value: Any) -> bool:
    # pandas' own missing values are not equal to anything, not even to themselves.
    return value is None or type(value).__name__ == "NAType" or value != value
