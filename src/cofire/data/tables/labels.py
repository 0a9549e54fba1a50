"""The target of a user's file as labels, and which task they are for."""

from typing import Any

import numpy as np

from cofire.data.tables.faults import Fault, TableFaults
from cofire.errors import listed

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


def labels(values: np.ndarray, name: str, *, is_text: bool = False) -> np.ndarray:
    """Return whole numbers as int64, other numbers as float64, all else as text.

    is_text: they are words even if nearly all of them are numbers.
    """
    missing = np.array([_is_missing(value) for value in values], bool)
    if missing.any():
        rows = (np.flatnonzero(missing) + 1).tolist()
        raise TableFaults(
            [
                Fault(
                    f"target {name!r}: {missing.sum()} of {len(values)} rows have no "
                    f"value (row {listed(rows)}). Remove these rows: missing targets "
                    "are not filled in."
                )
            ]
        )
    if not is_text:
        _refuse_few_words(values, name)
    if not all(isinstance(v, int | float | np.number) for v in values) or any(
        isinstance(v, bool | np.bool_) for v in values
    ):
        return np.array([str(value) for value in values])
    try:
        numbers = values.astype(np.float64)
    except OverflowError:
        numbers = np.array([np.inf])
    if not np.isfinite(numbers).all():
        raise ValueError(
            f"target {name!r} has values that are not finite. Correct them, or remove "
            "their rows."
        )
    if (numbers != np.rint(numbers)).any() or (np.abs(numbers) >= 2**53).any():
        # Beyond 2**53 float64 merges neighbours: only integers are exact.
        exact = all(isinstance(value, int | np.integer) for value in values)
        fits = exact and all(-(2**63) <= value < 2**63 for value in values)
        return values.astype(np.int64) if fits else numbers
    return numbers.astype(np.int64)


def _refuse_few_words(values: np.ndarray, name: str) -> None:
    """Name a few words among many different numbers: they are mistakes."""
    if not any(isinstance(value, str) for value in values):
        return
    wrong = [i for i, value in enumerate(values) if not _is_number(value)]
    numbers = {str(value) for value in values} - {str(values[i]) for i in wrong}
    if 0 < len(wrong) <= max(5, 0.01 * len(values)) and len(numbers) > MOST_CLASSES:
        cells = [f"{str(values[i])!r} in row {i + 1}" for i in wrong[:8]]
        raise TableFaults(
            [
                Fault(
                    f"target {name!r} holds numbers, except for {', '.join(cells)}. "
                    "Correct these cells, or remove their rows; if all of them are "
                    f"words, pass `categorical={[name]!r}`."
                )
            ]
        )


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (ValueError, TypeError):
        return False
    return True


def _is_missing(value: Any) -> bool:
    # pandas' own missing values are not equal to anything, not even to themselves.
    return value is None or type(value).__name__ == "NAType" or value != value
