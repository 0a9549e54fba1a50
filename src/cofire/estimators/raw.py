"""Checks of rows that an encoder takes: missing values and categories are welcome."""

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_X_y, validate_data

from cofire.engine.checks import check_sparse, check_width
from cofire.estimators.encoder import Encoder
from cofire.estimators.frames import as_pandas, is_frame, is_uniform
from cofire.estimators.inputs import (
    check_inputs,
    check_weight,
    check_X,
    naming,
    refuse_disguised,
)

_SPARSE: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float32, np.float64]}
_DENSE: dict[str, Any] = {"dtype": "numeric", "ensure_all_finite": "allow-nan"}
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_FEW_VALUES = 2**17  # for more, the checks take a small part of the time
_ABSENT = "no_validation"  # scikit-learn's word for a y that is not there


def check_training(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    raw: bool,
    encoder: Encoder | None,
    reset: bool,
    numeric: bool,
) -> tuple[Any, Any, np.ndarray | None]:
    """Check rows, targets and weights: `check_inputs`, and with `raw` more of X.

    raw: whether an encoder takes the rows; `encoder` is the one that has learnt them.
    """
    if not raw:
        how: dict[str, bool] = {"reset": reset, "numeric": numeric}
        return check_inputs(estimator, X, y, sample_weight, **how)
    refuse_disguised("y", y)
    of_y = {"multi_output": True, "y_numeric": numeric}
    X, y = _checked(estimator, X, y, encoder, reset=reset, of_y=of_y)
    return X, y, None if sample_weight is None else check_weight(sample_weight, X)


def check_rows(estimator: Any, X: Any, encoder: Encoder | None) -> Any:
    """Check and encode rows to predict."""
    if encoder is None:
        if _passes(estimator, X) and X.dtype == np.float32 and np.isfinite(X).all():
            return np.ascontiguousarray(X)
        return check_X(estimator, X)
    if encoder.takes_text or not _passes(estimator, X) or np.isinf(X).any():
        X = _checked(estimator, X, _ABSENT, encoder)[0]
    return encoder.encode(X)


def _passes(estimator: Any, X: Any) -> bool:
    """Whether it is plain to see that all checks let X pass, if its values are finite.

    For few rows the checks of scikit-learn take longer than all the rest. True is said
    only where they would neither change X nor warn: for a small array of floats with
    the right number of columns, and an estimator that knows no names of columns. All
    else is for them to judge.
    """
    return (
        type(X) is np.ndarray  # what is derived from it may hide values
        and X.dtype in _FLOATS
        and X.ndim == 2
        and X.shape[1] == estimator.n_features_in_
        and 0 < X.size <= _FEW_VALUES
        and not hasattr(estimator, "feature_names_in_")
    )


def _checked(
    estimator: Any,
    X: Any,
    y: Any,
    encoder: Encoder | None,
    *,
    reset: bool = False,
    of_y: dict[str, bool] | None = None,
) -> tuple[Any, Any]:
    of_y = of_y or {}
    given = "X" if y is _ABSENT else "X, y"
    X = as_pandas(X)
    refuse_disguised("X", X, dates=is_frame(X))
    text = encoder is not None and encoder.takes_text
    if text or (is_frame(X) and not is_uniform(X)):
        _refuse_one_dimension(X)
        with naming(given):
            validate_data(estimator, X, y, reset=reset, skip_check_array=True)
            X = _frame(X)
            if y is not _ABSENT:
                stand_in = np.zeros((X.shape[0], 1))
                y = check_X_y(stand_in, y, estimator=estimator, **of_y)[1]
        return X, y
    with naming(given):
        how = _SPARSE if scipy.sparse.issparse(X) or _is_sparse_frame(X) else _DENSE
        X = _without_text(X)
        if how is _SPARSE:
            _refuse_missing(X)
        out = validate_data(estimator, X, y, reset=reset, **how, **of_y)
        X, y = (out, y) if y is _ABSENT else out
        check_width(X)
        if scipy.sparse.issparse(X):
            check_sparse(X)
    return X, y


def _refuse_one_dimension(X: Any) -> None:
    n = np.ndim(X)
    if n != 2:
        raise ValueError(
            f"Expected 2D array, got {n}D array instead: X must have rows and columns. "
            "One row of a DataFrame is frame.iloc[[0]]."
        )


def _frame(X: Any) -> Any:
    """Return rows as a DataFrame, also those of an array that holds text."""
    if scipy.sparse.issparse(X):
        raise TypeError(
            "X is sparse, but fit learnt from a DataFrame with columns of categories "
            "or dates: pass a DataFrame with the same columns."
        )
    if not is_frame(X):
        import pandas as pd

        X = pd.DataFrame(np.asarray(X, dtype=object))
    if X.shape[0] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is "
            "required."
        )
    if X.shape[1] == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is "
            "required. Give X columns."
        )
    return X


def _is_sparse_frame(X: Any) -> bool:
    return is_frame(X) and any(hasattr(kind, "fill_value") for kind in X.dtypes)


def _refuse_missing(X: Any) -> None:
    values = getattr(X, "data", None) if scipy.sparse.issparse(X) else None
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        n_missing = int(np.isnan(values).sum())
        if n_missing:
            raise ValueError(
                f"Input X contains NaN: {n_missing} entries. A sparse X must not have "
                "missing values: fill them in, or pass a dense X."
            )


def _without_text(X: Any) -> Any:
    """Refuse an array that holds text; text that spells numbers is converted."""
    if is_frame(X) or scipy.sparse.issparse(X):
        return X
    array = X if isinstance(X, np.ndarray) else np.asarray(X)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        return array.astype(np.float64)
    if array.dtype.kind in "US":
        _refuse_text(array)
        return array.astype(np.float64)
    if array.dtype == object:
        _refuse_text(array)
        gaps = np.frompyfunc(_is_na, 1, 1)(array).astype(bool)
        return np.where(gaps, np.nan, array) if gaps.any() else array
    return array


def _is_na(value: Any) -> bool:
    """Whether it is pandas' mark of a missing value; pandas need not be installed."""
    return type(value).__name__ == "NAType"


def _refuse_text(array: np.ndarray) -> None:
    for value in array.flat:
        if isinstance(value, str | bytes):
            try:
                float(value)
            except ValueError:
                shown = repr(value.item() if isinstance(value, np.generic) else value)
                raise ValueError(
                    f"X: could not convert string to float: {shown}. Pass a DataFrame: "
                    "its columns of text are taken as categories (in a pipeline, "
                    "`set_output(transform='pandas')` keeps it one)."
                ) from None
