"""Checks of X, y and sample_weight, whose errors name the argument."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.utils.validation import _check_sample_weight, validate_data

from cofire import engine
from cofire.engine.checks import check_sparse, check_width

NAMED = re.compile(r"\b(X|y|\w*weight)\b")
"""In an error that says already which argument it is about."""

_MISSING_LABEL = "Input contains NaN"
"""What scikit-learn says of a y that is not numbers; of X it says whose NaN it is."""

# How scikit-learn is to check and convert rows.
ROWS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": [np.float32, np.uint8],
    "order": "C",
}


class ScaledBytes(NamedTuple):
    """Rows of bytes (uint8): value f of a row is ``scale[f] * byte + offset[f]``."""

    bytes: np.ndarray
    scale: np.ndarray
    offset: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and features."""
        return self.bytes.shape

    def rows(self, row_ids: np.ndarray) -> "ScaledBytes":
        """Copy some of the rows."""
        return self._replace(bytes=self.bytes[row_ids])


def engine_rows(X: Any) -> engine.Rows:
    """Rows as the engine reads them."""
    if isinstance(X, ScaledBytes):
        return engine.Rows(X.bytes, scale=X.scale, offset=X.offset)
    return engine.Rows(X)


class Rows(NamedTuple):
    """Rows, encoded targets and weights, as the engine takes them."""

    X: Any
    """Dense or sparse float32, uint8, or `ScaledBytes`."""
    targets: np.ndarray
    weight: np.ndarray | None


def check_X(estimator: Any, X: Any) -> Any:
    """Check rows to predict: as many features as in fit, and by the same names."""
    refuse_disguised("X", X)
    with naming("X"), _hinting():
        X = validate_data(estimator, X, reset=False, **ROWS)
        _check_rows(X)
    return X


def check_inputs(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    reset: bool,
    numeric: bool,
) -> tuple[Any, Any, np.ndarray | None]:
    """Check rows, targets and weights.

    With `reset` the estimator learns the columns of X; `numeric` converts y to numbers.
    """
    refuse_disguised("X", X)
    refuse_disguised("y", y)
    with naming("X, y"), _hinting():
        X, y = validate_data(
            estimator,
            X,
            y,
            reset=reset,
            **ROWS,
            multi_output=True,
            y_numeric=numeric,
        )
        _check_rows(X)
    return X, y, None if sample_weight is None else check_weight(sample_weight, X)


def check_weight(sample_weight: Any, X: Any) -> np.ndarray:
    """Check one weight >= 0 per row: float32."""
    refuse_disguised("sample_weight", sample_weight)
    with naming("sample_weight"):
        return _check_sample_weight(
            sample_weight, X, dtype=np.float32, ensure_non_negative=True
        )


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
        if str(error) == _MISSING_LABEL:
            raise ValueError("Input y contains NaN. Leave these rows out.") from error
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{argument}: {error}") from error


@contextmanager
def _hinting() -> Iterator[None]:
    """Say in an error about missing values or text in X that they can be used."""
    try:
        yield
    except ValueError as error:
        message = str(error)
        if message.startswith("Input X contains NaN"):
            raise ValueError(
                "Input X contains NaN. standardize=True allows missing values in a "
                "dense X; or fill them in, or leave their rows out."
            ) from error
        if message.startswith("could not convert string to float"):
            raise ValueError(
                f"{message}. standardize=True takes columns of text in a DataFrame as "
                "categories."
            ) from error
        raise


def refuse_disguised(argument: str, value: Any, *, dates: bool = False) -> None:
    """Refuse what conversion to an array would silently take for other values.

    dates: whether columns of dates are welcome.
    """
    if np.ma.is_masked(value):
        raise ValueError(
            f"{argument} is a masked array that hides {np.ma.count_masked(value)} of "
            f"{value.size} values: fill them in, or leave their rows out."
        )
    refused = ("m",) if dates else ("m", "M")
    found = [getattr(kind, "kind", None) in refused for kind in _dtypes(value)]
    if any(found) and dates:
        name = value.columns[found.index(True)]
        raise TypeError(
            f"{argument}: column {name!r} holds durations: convert them to numbers, "
            "such as with .dt.total_seconds()."
        )
    if any(found):
        hint = "; dates of a DataFrame are taken with standardize=True"
        raise TypeError(
            f"{argument} holds dates or durations: convert them to numbers, in the "
            f"unit that you mean{hint if argument == 'X' else ''}."
        )
    if scipy.sparse.issparse(value):
        with naming(argument):
            check_sparse(value)


def _check_rows(X: Any) -> None:
    check_width(X)
    if scipy.sparse.issparse(X):
        check_sparse(X)


def _dtypes(value: Any) -> list[Any]:
    if hasattr(value, "dtypes") and hasattr(value, "columns"):  # a DataFrame
        return list(value.dtypes)
    return [getattr(value, "dtype", None)]
