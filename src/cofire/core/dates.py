"""Dates as numbers: which text is a date, and what a network is told of one."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple

import numpy as np

PARTS = ("days", "year sin", "year cos", "week sin", "week cos")
"""What becomes of a date: days since 1970-01-01 and its place in the year and week."""
TIMES = ("day sin", "day cos")
"""And of the time of day, if a column has any but midnight."""

_FULL = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTHS = tuple(name[:3] for name in _FULL)
_TIME = (
    r"(?:(?:T|\s+)(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,](?P<f>\d{1,9}))?)?"
    r"\s*(?P<half>[AaPp][Mm])?\s*(?P<zone>Z|UTC|[+-]\d{2}:?\d{2})?)?"
)
_DATES = tuple(
    re.compile(rf"\s*{date}{_TIME}\s*")
    for date in (
        r"(?P<y>\d{4})(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})",
        r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})",
        r"(?P<p>\d{1,2})(?P<s>[-/])(?P<q>\d{1,2})(?P=s)(?P<y>\d{4})",
        r"(?P<d>\d{1,2})[-\s.]\s*(?P<b>[A-Za-z]{3,9})[-\s.,]\s*(?P<y>\d{4})",
        r"(?P<b>[A-Za-z]{3,9})\.?\s+(?P<d>\d{1,2}),?\s+(?P<y>\d{4})",
    )
)


class DateText(NamedTuple):
    """A text that is a date, before the order of day and month is known."""

    fields: dict[str, str]

    @property
    def orders(self) -> frozenset[bool]:
        """Which orders it allows, True for the day first; both if it names them."""
        if "p" not in self.fields:
            return frozenset((True, False))
        return frozenset(
            order
            for order in (True, False)
            if int(self.fields["q" if order else "p"]) <= 12
        )

    @property
    def is_ambiguous(self) -> bool:
        """Whether the order of day and month decides which date it is."""
        return "p" in self.fields and len(self.orders) == 2

    def moment(self, day_first: bool) -> datetime | None:
        """Return the moment in UTC; None if there is no such date."""
        fields = self.fields
        day, month = fields.get("d"), fields.get("m")
        if "p" in fields:
            p, q = fields["p"], fields["q"]
            day, month = (p, q) if day_first else (q, p)
        if "b" in fields:
            month = _month(fields["b"])
        if day is None or month is None:
            return None
        fraction = fields.get("f", "").ljust(6, "0")[:6]
        try:
            found = datetime(
                int(fields["y"]),
                int(month),
                int(day),
                _hour(fields),
                int(fields.get("M", 0)),
                int(fields.get("S", 0)),
                int(fraction),
                tzinfo=_zone(fields.get("zone")),
            )
            return found.astimezone(UTC).replace(tzinfo=None)
        except (ValueError, OverflowError):
            return None


def date_text(text: str) -> DateText | None:
    """Recognise a date: year first, day.month.year, a month's name, or both orders.

    >>> date_text("3 Jan 2020").moment(day_first=True)
    datetime.datetime(2020, 1, 3, 0, 0)
    >>> date_text("03/04/2020").is_ambiguous, date_text("2020-04-03").is_ambiguous
    (True, False)
    >>> date_text("soon")
    """
    if not any(map(str.isdigit, text[:40])) or len(text) > 60:
        return None
    for pattern in _DATES:
        found = pattern.fullmatch(text)
        if found is not None:
            fields = {k: v for k, v in found.groupdict().items() if v is not None}
            date = DateText(fields)
            exists = any(date.moment(order) is not None for order in date.orders)
            return date if exists else None
    return None


def moments(texts: Sequence[str | None], day_first: bool) -> np.ndarray:
    """Return texts as datetime64[us]; NaT for None and for what is not a date."""
    known: dict[str | None, datetime | None] = {None: None}
    for text in texts:
        if text not in known:
            found = None if text is None else date_text(text)
            known[text] = None if found is None else found.moment(day_first)
    return np.array([known[text] for text in texts], dtype="datetime64[us]")


def has_times(values: np.ndarray) -> bool:
    """Whether any date has a time of day."""
    known = values[~np.isnat(values)]
    return bool((known != known.astype("datetime64[D]")).any())


def parts_of(values: np.ndarray, times: bool) -> np.ndarray:
    """Return dates (datetime64[us]) as PARTS and TIMES: (n, 5 or 7); NaT is NaN.

    >>> parts_of(np.array(["1970-01-05"], "datetime64[us]"), False).round(2).tolist()
    [[4.0, 0.07, 1.0, 0.0, 1.0]]
    """
    day = np.timedelta64(1, "D")
    values = values.astype("datetime64[us]")
    with np.errstate(invalid="ignore"):
        days = (values - np.datetime64(0, "us")) / day
        year = values.astype("datetime64[Y]")
        next_year = (year + 1).astype("datetime64[us]")
        start = year.astype("datetime64[us]")
        in_year = (values - start) / (next_year - start)
    cycles = [in_year, (days + 3) / 7]  # a week begins on Monday
    cycles += [days] if times else []
    columns = [days]
    for cycle in cycles:
        angle = 2 * np.pi * (cycle % 1)
        columns += [np.sin(angle), np.cos(angle)]
    return np.column_stack(columns)


def part_names(name: str, times: bool) -> list[str]:
    """Names of what a column of dates becomes; the days have the column's own."""
    return [name, *(f"{name} {part}" for part in (*PARTS[1:], *(TIMES * times)))]


def common_orders(dates: Iterable[DateText]) -> frozenset[bool]:
    """Return the orders of day and month that all of the dates allow."""
    found = frozenset((True, False))
    for date in dates:
        found &= date.orders
    return found


def _month(name: str) -> str | None:
    name = name.lower()
    if name in _FULL:
        return str(_FULL.index(name) + 1)
    short = "sep" if name == "sept" else name
    return str(_MONTHS.index(short) + 1) if short in _MONTHS else None


def _hour(fields: dict[str, str]) -> int:
    hour, half = int(fields.get("H", 0)), fields.get("half", "").lower()
    if not half:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError("no such hour")
    return hour % 12 + 12 * (half == "pm")


def _zone(text: str | None) -> timezone:
    if text is None or text in ("Z", "UTC"):
        return UTC
    digits = text[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)
