"""Columns of dates of a DataFrame: each becomes several columns of numbers."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from cofire.core.dates import has_times, moments, part_names, parts_of
from cofire.persistence.values import demand, whole

_DATES = ("datetime64", "datetime", "date")
"""What pandas calls a column of objects that are dates."""


@dataclass(frozen=True)
class DateColumn:
    """A column of dates; its days take its place, its other parts follow at the end."""

    column: int
    times: bool
    """Whether the time of day is among the parts."""

    @property
    def n_added(self) -> int:
        """Number of columns that follow at the end."""
        return len(part_names("", self.times)) - 1

    @classmethod
    def find(cls, frame: Any, used: np.ndarray | None) -> tuple[Self, ...]:
        """Find the columns of dates; rows that are not in use do not count."""
        found = []
        for j in range(frame.shape[1]):
            if _holds_dates(frame.iloc[:, j]):
                values = _moments(frame, j)
                values = values if used is None else values[used]
                found.append(cls(j, has_times(values)))
        return tuple(found)

    @classmethod
    def from_plain(cls, column: Any, times: Any) -> Self:
        """Undo what a model file holds of it."""
        demand(type(times) is bool, "dates: expected true or false")
        return cls(whole(column), times)


def expand(frame: Any, dates: tuple[DateColumn, ...]) -> Any:
    """Return a frame in which numbers stand for dates."""
    if not dates:
        return frame
    import pandas as pd

    columns = {j: frame.iloc[:, j] for j in range(frame.shape[1])}
    for own in dates:
        parts = parts_of(_moments(frame, own.column), own.times)
        columns[own.column] = pd.Series(parts[:, 0], index=frame.index)
        for part in parts.T[1:]:
            columns[len(columns)] = pd.Series(part, index=frame.index)
    expanded = pd.DataFrame(columns)
    expanded.columns = pd.Index(
        expanded_names(list(frame.columns), dates), dtype=object
    )
    return expanded


def expanded_names(names: list[Any], dates: tuple[DateColumn, ...]) -> list[Any]:
    """Names of the columns of an expanded frame."""
    more = [part_names(str(names[own.column]), own.times)[1:] for own in dates]
    return [*names, *(name for own in more for name in own)]


def _holds_dates(column: Any) -> bool:
    from pandas.api.types import infer_dtype

    if getattr(column.dtype, "kind", None) == "M":
        return True
    return column.dtype == object and infer_dtype(column, skipna=True) in _DATES


def _moments(frame: Any, j: int) -> np.ndarray:
    """Return a column as datetime64[us] in UTC; text is read as a date, year first."""
    column = frame.iloc[:, j]
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    if getattr(column.dtype, "kind", None) == "M":
        return column.to_numpy(dtype="datetime64[us]")
    gaps = column.isna().to_numpy()
    texts = [None if gap else str(v) for v, gap in zip(column, gaps, strict=True)]
    found = moments(texts, day_first=False)
    wrong = np.flatnonzero(np.isnat(found) & ~gaps)
    if len(wrong):
        i = int(wrong[0])
        raise ValueError(
            f"X: column {frame.columns[j]!r} must hold dates, as in fit, and has "
            f"{column.iloc[i]!r} in row {i} ({len(wrong)} such rows). Correct them, or "
            "use pandas.to_datetime."
        )
    return found
