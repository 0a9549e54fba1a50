"""What `tune` takes: errors that name the argument, what came and what to give."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from cofire.estimators.base import BaseSparseMLP


def rows_to_search(estimator: Any, X: Any, y: Any) -> tuple[Any, np.ndarray]:
    """Return X, of which rows can be taken, and y as an array."""
    if not isinstance(estimator, BaseSparseMLP):
        kind = estimator.__name__ if isinstance(estimator, type) else ""
        hint = f" Give an object: {kind}()." if kind else ""
        raise TypeError(
            "estimator: expected a SparseMLPClassifier or a SparseMLPRegressor, got "
            f"{kind or type(estimator).__name__}.{hint} Of a pipeline, transform X "
            "first and pass the last step."
        )
    X = np.asarray(X) if isinstance(X, list | tuple) else X
    y = np.asarray(y)
    if not hasattr(X, "shape") or len(X.shape) != 2 or X.shape[0] != len(y):
        raise ValueError(
            "X: expected rows of features, as many as y has values: got "
            f"{getattr(X, 'shape', type(X).__name__)} and {len(y)}."
        )
    return X, y


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Refuse what is not a whole number from `least` to `most`."""
    known = isinstance(value, Integral) and not isinstance(value, bool)
    if not known or int(value) < least or (most is not None and int(value) > most):
        up = "or more" if most is None else f"to {most}"
        raise ValueError(
            f"{name}: expected a whole number, {least} {up}, got {value!r}."
        )


def check_number(name: str, value: Any) -> None:
    """Refuse what is not a number, or negative."""
    known = isinstance(value, Real) and not isinstance(value, bool)
    if not known or not float(value) >= 0:
        raise ValueError(f"{name}: expected a number, 0 or more, got {value!r}.")
