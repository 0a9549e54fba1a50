"""The named columns of a table as features: numbers scaled, words one-hot."""

from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse

from cofire.data.catalog.dataset import Samples
from cofire.data.preprocessing.scales import (
    fill_values,
    origin_and_unit,
    refuse_missing,
    scaled,
)
from cofire.errors import listed

_SPARSE_BELOW = 0.3
"""Fraction of features that are not 0 below which rows become sparse."""


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers: one feature, (value - origin) / unit."""

    name: str
    fill: float | None
    """What replaces a missing value; None: it is refused."""
    origin: float
    unit: float

    n_features = 1


@dataclass(frozen=True)
class WordColumn:
    """A column of words: one feature for each category, 1 where the row has it."""

    name: str
    fill: str | None
    categories: tuple[str, ...]

    @property
    def n_features(self) -> int:
        """One for each category."""
        return len(self.categories)


@dataclass(frozen=True)
class Columns:
    """How columns become features, in the order of the columns."""

    columns: tuple[NumberColumn | WordColumn, ...]

    @classmethod
    def fit(
        cls, frame: Any, scale: str, missing: str | None, text: Collection[str]
    ) -> "Columns":
        """Learn fill values, scales and categories from the rows to train on."""
        words = [name for name in frame.columns if holds_words(frame, name, text)]
        numbers = [name for name in frame.columns if name not in words]
        values = {name: _numbers(frame, name) for name in numbers}
        texts = {name: _words(frame, name) for name in words}
        refuse_missing(
            {name: _is_nan(column) for name, column in (values | texts).items()},
            missing,
        )
        made: dict[str, NumberColumn | WordColumn] = {}
        if numbers:
            matrix = np.column_stack([values[name] for name in numbers])
            fill = fill_values(matrix, missing)
            if fill is not None:
                matrix = np.where(np.isnan(matrix), fill, matrix)
            origin, unit = origin_and_unit(matrix, scale)
            for i, name in enumerate(numbers):
                filled = None if fill is None else float(fill[i])
                made[name] = NumberColumn(
                    name, filled, float(origin[i]), float(unit[i])
                )
        for name in words:
            made[name] = _word_column(name, texts[name], missing)
        return cls(tuple(made[name] for name in frame.columns))

    @property
    def n_features(self) -> int:
        """Number of features that the columns become."""
        return sum(column.n_features for column in self.columns)

    def transform(
        self, frame: Any, dropped: Collection[str] = ()
    ) -> tuple[Samples, list[str]]:
        """Return rows as features, float32, and notes for the user.

        Columns that training left out, the `dropped` ones, are not noted.
        """
        if not hasattr(frame, "columns"):
            raise ValueError(
                "the model was trained on a table with named columns (CSV, Parquet); "
                "these rows have none."
            )
        names = [column.name for column in self.columns]
        absent = [name for name in names if name not in frame.columns]
        if absent:
            raise ValueError(
                f"columns that the model needs are missing: {listed(absent)}. "
                f"There are {listed(list(frame.columns))}."
            )
        notes = []
        more = [name for name in frame.columns if name not in {*names, *dropped}]
        if more:
            notes.append(f"columns that the model does not know: {listed(more)}")
        parts = [self._features(frame, column, notes) for column in self.columns]
        if len(self.columns) < _SPARSE_BELOW * self.n_features:
            stacked = [scipy.sparse.csr_array(part) for part in parts]
            return scipy.sparse.hstack(stacked, "csr", np.float32), notes
        return np.hstack(
            [p.toarray() if scipy.sparse.issparse(p) else p for p in parts]
        ), notes

    def _features(
        self, frame: Any, column: NumberColumn | WordColumn, notes: list[str]
    ) -> Samples:
        read: Callable[[Any, str], np.ndarray] = (
            _words if isinstance(column, WordColumn) else _numbers
        )
        values = read(frame, column.name)
        missing = _is_nan(values)
        if column.fill is None:
            refuse_missing({column.name: missing}, None)
        else:
            values = np.where(missing, column.fill, values)
        if isinstance(column, WordColumn):
            return _one_hot(values, column, notes)
        origin, unit = np.array([column.origin]), np.array([column.unit])
        return scaled(values.astype(np.float64)[:, None], origin, unit)

    def to_list(self) -> list[dict[str, Any]]:
        """Return the columns as plain values, for JSON."""
        return [asdict(column) for column in self.columns]

    @classmethod
    def from_list(cls, plain: list[dict[str, Any]]) -> "Columns":
        """Undo `to_list`; anything else is a ValueError, TypeError or LookupError."""
        return cls(tuple(_restored(**column) for column in plain))


def _restored(
    name: str, fill: Any, categories: Any = None, origin: Any = None, unit: Any = None
) -> NumberColumn | WordColumn:
    if type(name) is not str:
        raise TypeError("a column's name is not text")
    if categories is not None:
        known = tuple(str(category) for category in categories)
        return WordColumn(name, None if fill is None else str(fill), known)
    values = float(origin), float(unit)
    if not np.isfinite(values).all() or values[1] == 0:
        raise ValueError(f"the scale of column {name!r} is not finite")
    return NumberColumn(name, None if fill is None else float(fill), *values)


def holds_words(frame: Any, name: str, text: Collection[str] = ()) -> bool:
    """Return whether a column does not hold numbers; dates and times are refused."""
    kind = frame[name].dtype
    if getattr(kind, "kind", "O") in "mM" or type(kind).__name__ == "DatetimeTZDtype":
        raise ValueError(
            f"column {name!r} holds dates or times: convert them to numbers, or leave "
            f"it out with `drop={[name]!r}`."
        )
    numeric = getattr(kind, "kind", "O") in "iufb" and type(kind).__name__ != (
        "CategoricalDtype"
    )
    return name in text or not numeric


def _numbers(frame: Any, name: str) -> np.ndarray:
    try:
        values = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(
            f"column {name!r} must hold numbers, as in training: {error}"
        ) from None
    if np.isinf(values).any():
        raise ValueError(f"column {name!r} has infinite values.")
    return values


def _words(frame: Any, name: str) -> np.ndarray:
    column = frame[name]
    pairs = zip(column, column.isna(), strict=True)
    return np.array([None if gap else str(v) for v, gap in pairs], dtype=object)


def _is_nan(values: np.ndarray) -> np.ndarray:
    if values.dtype == object:
        return np.array([value is None for value in values])
    return np.isnan(values)


def _word_column(name: str, values: np.ndarray, missing: str | None) -> WordColumn:
    known = values[~_is_nan(values)].astype(str)
    categories, counts = np.unique(known, return_counts=True)
    if len(categories) > max(100, len(values) // 2):
        raise ValueError(_too_many_words(name, known, len(categories)))
    # The most frequent one, or the first of several, as SimpleImputer does.
    fill = None if missing is None else str(categories[counts.argmax()])
    return WordColumn(name, fill, tuple(categories.tolist()))


def _too_many_words(name: str, known: np.ndarray, n_different: int) -> str:
    """Tell a column of numbers with a few wrong values from one of names or dates."""
    strange = [value for value in known.tolist() if not _is_number(value)]
    if len(strange) < len(known) / 2:
        return (
            f"column {name!r} holds numbers, except for {len(strange)} of {len(known)} "
            f"values: {listed(list(dict.fromkeys(strange)))}. Correct them, or leave "
            "them empty and pass `missing='mean'`."
        )
    return (
        f"column {name!r} has {n_different} different words in {len(known)} rows, "
        f"which looks like names or dates: leave it out with `drop={[name]!r}`."
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _one_hot(values: np.ndarray, column: WordColumn, notes: list[str]) -> Samples:
    from sklearn.preprocessing import OneHotEncoder

    known = np.array(column.categories, dtype=object)
    unknown = sorted(set(values) - set(column.categories))
    if unknown:
        n_rows = int(np.isin(values.astype(str), np.array(unknown)).sum())
        notes.append(
            f"column {column.name!r}: {n_rows} rows have a value that did not occur in "
            f"training ({listed(unknown)}); they belong to none of its categories"
        )
    encoder = OneHotEncoder(
        categories=[known], handle_unknown="ignore", dtype=np.float32
    )
    encoder.fit(known[:, None])
    return scipy.sparse.csr_array(encoder.transform(values.astype(object)[:, None]))
