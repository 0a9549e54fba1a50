"""What a user gives as X, y or sample_weight: refused in words where it is no data."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse

from cofire.engine.checks import check_sparse

NAMED = re.compile(r"\b(X|y|\w*weight)\b")
"""In an error that says already which argument it is about."""


@contextmanager
def naming(argument: str) -> Iterator[None]:
    """Put the argument's name before an error that does not say what it is about.

    >>> with naming("X"):
    ...     float("red")
    Traceback (most recent call last):
    ValueError: X: could not convert string to float: 'red'
    """
    try:
        # What is too large becomes infinite, and is refused as such.
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ValueError) and NAMED.search(str(error)):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{argument}: {error}") from error


def refuse_disguised(argument: str, value: Any) -> None:
    """Refuse what conversion to an array would silently take for other values."""
    if np.ma.is_masked(value):
        raise ValueError(
            f"{argument} is a masked array that hides {np.ma.count_masked(value)} of "
            f"{value.size} values: fill them in, or leave their rows out."
        )
    if any(getattr(kind, "kind", None) in ("m", "M") for kind in _dtypes(value)):
        raise TypeError(
            f"{argument} holds points or spans of time: make numbers of them, in the "
            "unit that you mean."
        )
    if scipy.sparse.issparse(value):
        with naming(argument):
            check_sparse(value)


def _dtypes(value: Any) -> list[Any]:
    if hasattr(value, "dtypes") and hasattr(value, "columns"):  # a DataFrame
        return list(value.dtypes)
    return [getattr(value, "dtype", None)]
