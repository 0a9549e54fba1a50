"""The features of a matrix, which have no names: gaps kept or filled, scaled."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse

from cofire.data.catalog.dataset import Samples
from cofire.data.preprocessing.kinds import is_numeric
from cofire.data.preprocessing.scales import (
    LARGEST,
    fill_values,
    note_of_squeezed,
    origin_and_unit,
    refuse_missing,
    scaled,
    squeezed,
)

Plain = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Features:
    """How a matrix becomes features: filled, then (x - origin) / unit."""

    fill: np.ndarray | None
    origin: np.ndarray
    unit: np.ndarray
    keep: bool = False
    """Whether missing values without a fill value stay missing; else refused."""

    @classmethod
    def fit(cls, X: Samples, scale: str, missing: str | None) -> Self:
        """Learn fill values and scales from the rows to train on."""
        X = _finite(X)
        if scipy.sparse.issparse(X):
            return cls(None, *origin_and_unit(X, scale))
        refuse_missing(_gaps(X), missing)
        fill = fill_values(X, missing)
        filled = X if fill is None else np.where(np.isnan(X), fill, X)
        return cls(fill, *origin_and_unit(filled, scale), missing == "keep")

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.origin)

    def scaling_notes(self, X: Samples) -> list[str]:
        """Note features of the training rows whose scaled values are nearly all equal.

        For a dense X; its values were checked.
        """
        return [
            note_of_squeezed(f"feature {j}", X[:, j], self.origin[j])
            for j in squeezed(X, self.origin, self.unit)
        ]

    def transform(self, X: Any) -> tuple[Samples, list[str]]:
        """Return rows as features, and notes for the user (there are none)."""
        X = _finite(self._matrix(X) if hasattr(X, "columns") else X)
        if scipy.sparse.issparse(X) and X.shape[1] < self.n_features:
            X = X.copy()
            X.resize((X.shape[0], self.n_features))  # the last ones are 0 in all rows
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"the model expects {self.n_features} features; these rows have "
                f"{X.shape[1]}. Give it the features that it was trained on."
            )
        if not scipy.sparse.issparse(X):
            if self.fill is not None:
                X = np.where(np.isnan(X), self.fill, X)
            elif not self.keep:
                refuse_missing(_gaps(X), None)
        if not self.origin.any() and (self.unit == 1).all():
            return (X if X.dtype == np.uint8 else X.astype(np.float32)), []
        return scaled(X, self.origin, self.unit), []

    def _matrix(self, frame: Any) -> np.ndarray:
        """Take columns in their order: the model was trained on unnamed features."""
        takes = f"the model expects {self.n_features} columns of numbers, in order"
        for name in frame.columns:
            if not is_numeric(frame, name):
                raise ValueError(
                    f"column {name!r} holds words, such as {str(frame[name].iloc[0])!r}"
                    f"; {takes}. Pass `target={name!r}` if it is the target."
                )
        if frame.shape[1] != self.n_features:
            raise ValueError(
                f"{takes}, and there are {frame.shape[1]}. Pass `target='NAME'` if one "
                "of them is the target."
            )
        return frame.to_numpy(np.float64, na_value=np.nan)

    def to_dict(self) -> Plain:
        """Return it as plain values, for JSON."""
        fill = None if self.fill is None else self.fill.tolist()
        return {
            "fill": fill,
            "origin": self.origin.tolist(),
            "unit": self.unit.tolist(),
        }

    @classmethod
    def from_dict(cls, plain: Plain, *, keep: bool = False) -> Self:
        """Undo `to_dict`; anything else is a ValueError, TypeError or LookupError."""
        origin, unit = (
            np.array(plain[k], dtype=np.float64) for k in ("origin", "unit")
        )
        fill = None if plain["fill"] is None else np.array(plain["fill"], np.float64)
        for array in (origin, unit, origin if fill is None else fill):
            if array.shape != (len(origin),) or not np.isfinite(array).all():
                raise ValueError(
                    "the scale of its features is not one finite number each"
                )
        return cls(fill, origin, unit, keep)


def refuse_gaps(X: Any) -> None:
    """Raise a ValueError that names all features with missing values."""
    if not scipy.sparse.issparse(X):
        refuse_missing(_gaps(X), None)


def _finite(X: Any) -> Any:
    values = X.data if scipy.sparse.issparse(X) else X
    if values.dtype.kind == "f":
        if (np.abs(values) > LARGEST).any():
            what = f"values beyond {LARGEST:.2g}"
            if np.isinf(values).any():
                what = "infinite values"
            raise ValueError(
                f"X has {what}: correct them, or make them NaN and pass "
                "`missing='mean'`."
            )
        if scipy.sparse.issparse(X) and np.isnan(values).any():
            raise ValueError("X is sparse and has missing values: fill them in.")
        return X
    return X if values.dtype == np.uint8 else X.astype(np.float64)


def _gaps(X: np.ndarray) -> dict[str, np.ndarray]:
    if X.dtype.kind != "f" or not np.isnan(X).any():
        return {}
    where = np.isnan(X)
    return {f"feature {i}": where[:, i] for i in np.flatnonzero(where.any(axis=0))}
