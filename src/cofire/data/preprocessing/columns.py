"""The named columns of a table as features: numbers and dates scaled, words one-hot."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from cofire.core.dates import moments, parts_of
from cofire.data.catalog.dataset import Samples
from cofire.data.preprocessing.column import (
    Column,
    DateColumn,
    NumberColumn,
    WordColumn,
    restored,
)
from cofire.data.preprocessing.kinds import (
    Dates,
    Kind,
    cells_of,
    find_kinds,
    holds_moments,
    infinite_fault,
    instants,
    is_number,
    row_numbers,
    words,
)
from cofire.data.preprocessing.scales import (
    FILLS,
    fill_values,
    gap_fault,
    note_of_squeezed,
    origin_and_unit,
    refuse_missing,
    scaled,
    squeezed,
)
from cofire.data.tables.faults import Fault, TableFaults, refuse
from cofire.errors import listed

_SPARSE_BELOW = 0.3
"""Fraction of features that are not 0 below which rows become sparse."""


@dataclass(frozen=True)
class Columns:
    """How columns become features, in the order of the columns."""

    columns: tuple[Column, ...]
    keep: bool = False
    """Whether missing values without a fill value stay missing; else refused."""

    @classmethod
    def fit(
        cls,
        frame: Any,
        scale: str,
        missing: str | None,
        text: Collection[str],
        *,
        day_first: bool | None = None,
        kinds: Mapping[str, Kind] | None = None,
    ) -> "Columns":
        """Learn fill values, scales and categories from the rows to train on.

        kinds: what the columns hold, if that is known already.
        """
        if kinds is None:
            kinds, faults = find_kinds(
                frame, missing=missing, text=text, day_first=day_first
            )
            refuse(faults)
        names = [name for name in frame.columns if kinds[name] != "words"]
        values = {name: _values(frame, name, kinds[name]) for name in names}
        texts = {
            name: words(frame, name) for name in frame.columns if name not in names
        }
        gaps = {name: _is_nan(values[name][:, 0]) for name in names}
        gaps |= {name: _is_nan(column) for name, column in texts.items()}
        refuse_missing(gaps, missing)
        made: dict[str, Column] = {}
        if names:
            matrix = np.column_stack([values[name] for name in names])
            fill = fill_values(matrix, missing)
            if fill is not None:
                matrix = np.where(np.isnan(matrix), fill, matrix)
            origin, unit = origin_and_unit(matrix, scale)
            end = 0
            for name in names:
                start, end = end, end + values[name].shape[1]
                own = slice(start, end)
                filled = None if fill is None else fill[own]
                made[name] = _made(name, kinds[name], filled, origin[own], unit[own])
        for name, column in texts.items():
            made[name] = _word_column(name, column, missing)
        found = cls(tuple(made[name] for name in frame.columns), missing == "keep")
        if not (found.keep and found.is_sparse):
            return found
        # Sparse rows hold no NaN.
        return cls(
            tuple(replace(c, missing=bool(gaps[c.name].any())) for c in found.columns),
            keep=True,
        )

    def scaling_notes(self, frame: Any) -> list[str]:
        """Note columns of the training rows whose scaled values are nearly all equal.

        The values of the frame were checked.
        """
        notes = []
        for own in self.columns:
            if isinstance(own, NumberColumn):
                values = _numbers(frame, own.name)
                scale = np.array([own.origin]), np.array([own.unit])
                if len(squeezed(values[:, None], *scale)):
                    about = f"column {own.name!r}"
                    notes.append(note_of_squeezed(about, values, own.origin))
        return notes

    @property
    def n_features(self) -> int:
        """Number of features that the columns become."""
        return sum(column.n_features for column in self.columns)

    @property
    def is_sparse(self) -> bool:
        """Whether rows become sparse; what says "missing" does not count."""
        n_values = [own.n_features - own.missing for own in self.columns]
        stored = [
            1 if isinstance(own, WordColumn) else n
            for own, n in zip(self.columns, n_values, strict=True)
        ]
        return sum(stored) < _SPARSE_BELOW * sum(n_values)

    def transform(
        self, frame: Any, dropped: Collection[str] = ()
    ) -> tuple[Samples, list[str]]:
        """Return rows as features, float32, and notes for the user.

        Columns that training left out, the `dropped` ones, are not noted.
        """
        if not hasattr(frame, "columns"):
            raise ValueError(
                "the model was trained on a table with named columns (CSV, Parquet); "
                "these rows have none. Give it such a file."
            )
        names = [column.name for column in self.columns]
        absent = [name for name in names if name not in frame.columns]
        if absent:
            raise ValueError(
                f"columns that the model needs are missing: {listed(absent)}. "
                f"There are {listed(list(frame.columns))}. Add or rename them."
            )
        notes = []
        more = [name for name in frame.columns if name not in {*names, *dropped}]
        if more:
            notes.append(f"columns that the model does not know: {listed(more)}")
        faults: list[Fault] = []
        parts = [self._features(frame, own, notes, faults) for own in self.columns]
        refuse(faults)
        if self.is_sparse:
            stacked = [scipy.sparse.csr_array(part) for part in parts]
            return scipy.sparse.hstack(stacked, "csr", np.float32), notes
        return np.hstack(
            [p.toarray() if scipy.sparse.issparse(p) else p for p in parts]
        ), notes

    def _features(
        self, frame: Any, column: Column, notes: list[str], faults: list[Fault]
    ) -> Samples:
        if isinstance(column, WordColumn):
            texts = words(frame, column.name)
            missing = _is_nan(texts)
            if not self._may_be_missing(column, missing, notes, faults):
                return np.empty((0, 0))
            texts[missing] = column.fill
            return _with_flag(_one_hot(texts, column, notes), column, missing)
        kind: Kind = "numbers"
        if isinstance(column, DateColumn):
            kind = Dates(column.day_first, column.times)
        try:
            values = _values(frame, column.name, kind)
        except TableFaults as error:
            faults += error.faults
            return np.empty((0, 0))
        missing = _is_nan(values[:, 0])
        if not self._may_be_missing(column, missing, notes, faults):
            return np.empty((0, 0))
        if column.fill is not None:
            values = np.where(missing[:, None], np.array(column.fill), values)
        features = scaled(
            values, np.atleast_1d(column.origin), np.atleast_1d(column.unit)
        )
        if column.fill is None:  # a date has one gap, and sparse rows hold no NaN
            features[missing, 0 if self.is_sparse else 1 :] = 0.0
        return _with_flag(features, column, missing)

    def _may_be_missing(
        self,
        column: Column,
        missing: np.ndarray,
        notes: list[str],
        faults: list[Fault],
    ) -> bool:
        """Add a fault if values are missing and the model does not know what to do."""
        if self.keep and len(missing) > 1 and missing.all():
            notes.append(f"column {column.name!r} is empty: all values are missing")
        if self.keep or column.fill is not None:
            return True
        fault = gap_fault({column.name: missing})
        faults += [] if fault is None else [fault]
        return fault is None

    def to_list(self) -> list[dict[str, Any]]:
        """Return the columns as plain values, for JSON."""
        plain = [asdict(column) for column in self.columns]
        # As in older files, where nothing was missing.
        return [
            {name: v for name, v in own.items() if name != "missing" or v}
            for own in plain
        ]

    @classmethod
    def from_list(cls, plain: list[dict[str, Any]], *, keep: bool = False) -> "Columns":
        """Undo `to_list`; anything else is a ValueError, TypeError or LookupError."""
        return cls(tuple(restored(**column) for column in plain), keep)


def _made(
    name: str,
    kind: Kind,
    fill: np.ndarray | None,
    origin: np.ndarray,
    unit: np.ndarray,
) -> Column:
    if not isinstance(kind, Dates):
        filled = None if fill is None else float(fill[0])
        return NumberColumn(name, filled, float(origin[0]), float(unit[0]))
    fills = None if fill is None else tuple(fill.tolist())
    scale = tuple(origin.tolist()), tuple(unit.tolist())
    return DateColumn(name, fills, *scale, kind.day_first, kind.times)


def _values(frame: Any, name: str, kind: Kind) -> np.ndarray:
    """Return numbers, or the parts of dates: (n_rows, n_parts) float64."""
    if isinstance(kind, Dates):
        return parts_of(_moments(frame, name, kind), kind.times)
    return _numbers(frame, name)[:, None]


def _moments(frame: Any, name: str, kind: Dates) -> np.ndarray:
    if holds_moments(frame, name):
        return instants(frame, name)
    texts = words(frame, name)
    found = moments(texts.tolist(), kind.day_first)
    wrong = np.isnat(found) & ~_is_nan(texts)
    if wrong.any():
        rows = row_numbers(frame)
        cells = [(int(rows[i]), texts[i]) for i in np.flatnonzero(wrong)]
        raise TableFaults([_not(name, "dates", cells)])
    return found


def _numbers(frame: Any, name: str) -> np.ndarray:
    try:
        values = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
    except (ValueError, TypeError, OverflowError):
        texts = words(frame, name)
        rows = row_numbers(frame)
        cells = [
            (int(rows[i]), text)
            for i, text in enumerate(texts)
            if text is not None and not is_number(text)
        ]
        raise TableFaults([_not(name, "numbers", cells)]) from None
    fault = infinite_fault(frame, name)
    refuse([] if fault is None else [fault])
    return values


def _not(name: str, kind: str, cells: list[tuple[int, Any]]) -> Fault:
    """Name cells that are not what the model was trained on."""
    found = list(dict.fromkeys(text for _, text in cells))
    return Fault(
        f"column {name!r} must hold {kind}, as in training, and has {cells_of(cells)}. "
        "Correct the cells, or leave them empty if the model takes missing values: "
        f"`na={found[:8]!r}` reads them as empty.",
    )


def _is_nan(values: np.ndarray) -> np.ndarray:
    if values.dtype == object:
        return np.array([value is None for value in values])
    return np.isnan(values)


def _word_column(name: str, values: np.ndarray, missing: str | None) -> WordColumn:
    known = values[~_is_nan(values)].astype(str)
    categories, counts = np.unique(known, return_counts=True)
    # The most frequent one, or the first of several, as SimpleImputer does.
    fill = str(categories[counts.argmax()]) if missing in FILLS else None
    has_gaps = missing == "keep" and len(known) < len(values)
    return WordColumn(name, fill, tuple(categories.tolist()), has_gaps)


def _one_hot(values: np.ndarray, column: WordColumn, notes: list[str]) -> Samples:
    """Return a feature for each category; a missing value belongs to none."""
    unknown = sorted(set(values) - {*column.categories, None})
    if unknown:
        n_rows = int(np.isin(values.astype(str), np.array(unknown)).sum())
        notes.append(
            f"column {column.name!r}: {n_rows} rows have a value that did not occur in "
            f"training ({listed(unknown)}); they belong to none of its categories"
        )
    index = {category: i for i, category in enumerate(column.categories)}
    codes = np.array([index.get(value, -1) for value in values], np.int32)
    ends = np.concatenate([[0], np.cumsum(codes >= 0)]).astype(np.int32)
    codes = codes[codes >= 0]
    ones = np.ones(len(codes), np.float32)
    shape = len(values), len(index)
    return scipy.sparse.csr_array((ones, codes, ends), shape=shape)


def _with_flag(features: Samples, column: Column, missing: np.ndarray) -> Samples:
    """Add the feature that says which values are missing, if the column has one."""
    if not column.missing:
        return features
    flag = missing[:, None].astype(np.float32)
    if scipy.sparse.issparse(features):
        return scipy.sparse.hstack([features, flag], "csr")
    return np.hstack([features, flag])
