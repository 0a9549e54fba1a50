"""One column of a table: what becomes of its values."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cofire.core.dates import part_names


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers: one feature, (value - origin) / unit."""

    name: str
    fill: float | None
    """What replaces a missing value; None: it is kept or refused."""
    origin: float
    unit: float
    missing: bool = False
    """Whether one more feature, the last, says that the value is missing."""

    @property
    def n_features(self) -> int:
        """One, and whether it is missing."""
        return 1 + self.missing

    @property
    def feature_names(self) -> list[str]:
        """The column's own name."""
        return [self.name] + [f"{self.name} missing"] * self.missing


@dataclass(frozen=True)
class WordColumn:
    """A column of words: one feature for each category, 1 where the row has it."""

    name: str
    fill: str | None
    categories: tuple[str, ...]
    missing: bool = False

    @property
    def n_features(self) -> int:
        """One for each category, and whether the value is missing."""
        return len(self.categories) + self.missing

    @property
    def feature_names(self) -> list[str]:
        """Name and category."""
        levels = [*self.categories] + ["(missing)"] * self.missing
        return [f"{self.name}={level}" for level in levels]


@dataclass(frozen=True)
class DateColumn:
    """A column of dates: a feature for each part of them, (part - origin) / unit."""

    name: str
    fill: tuple[float, ...] | None
    """What replaces the parts of a missing date; None: it is kept or refused."""
    origin: tuple[float, ...]
    unit: tuple[float, ...]
    day_first: bool
    """The order of day and month in dates such as 03/04/2020."""
    times: bool
    """Whether the time of day is among the parts."""
    missing: bool = False

    @property
    def n_features(self) -> int:
        """One for each part, and whether the date is missing."""
        return len(self.origin) + self.missing

    @property
    def feature_names(self) -> list[str]:
        """The column's own name for the days, then those of the other parts."""
        return part_names(self.name, self.times) + (
            [f"{self.name} missing"] * self.missing
        )


Column = NumberColumn | WordColumn | DateColumn


def restored(
    name: str,
    fill: Any,
    categories: Any = None,
    origin: Any = None,
    unit: Any = None,
    day_first: Any = None,
    times: Any = None,
    missing: Any = False,
) -> Column:
    """Return a column from plain values; wrong ones are a ValueError or TypeError."""
    if type(name) is not str:
        raise TypeError("a column's name is not text")
    if type(missing) is not bool:
        raise TypeError(f"column {name!r}: expected true or false")
    if categories is not None:
        known = tuple(str(category) for category in categories)
        return WordColumn(name, None if fill is None else str(fill), known, missing)
    if times is not None:
        dates = _restored_dates(name, fill, origin, unit, day_first, times)
        return replace(dates, missing=missing)
    values = float(origin), float(unit)
    if not np.isfinite(values).all() or values[1] == 0:
        raise ValueError(f"the scale of column {name!r} is not finite")
    return NumberColumn(name, None if fill is None else float(fill), *values, missing)


def _restored_dates(
    name: str, fill: Any, origin: Any, unit: Any, day_first: Any, times: Any
) -> DateColumn:
    if type(day_first) is not bool or type(times) is not bool:
        raise TypeError(f"column {name!r}: expected true or false")
    n_parts = len(part_names(name, times))
    parts = [tuple(map(float, own)) for own in (origin, unit)]
    parts += [] if fill is None else [tuple(map(float, fill))]
    right = all(len(own) == n_parts and np.isfinite(own).all() for own in parts)
    if not right or 0 in parts[1]:
        raise ValueError(f"the scale of column {name!r} is not finite")
    filled = None if fill is None else parts[2]
    return DateColumn(name, filled, parts[0], parts[1], day_first, times)
