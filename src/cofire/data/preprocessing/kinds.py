"""What the columns of a table hold: numbers, dates or words, and what is wrong."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cofire.core.dates import DateText, common_orders, date_text, has_times, moments
from cofire.data.preprocessing.scales import LARGEST, MISSING, gap_fault
from cofire.data.tables.faults import Fault
from cofire.errors import listed, unknown_name

FEW, FEW_SHARE, LARGEST_SHARE = 5, 0.01, 0.25
"""Cells that are taken for mistakes: up to FEW, or FEW_SHARE of a column, but no more
than LARGEST_SHARE of it."""
MOST_WORDS = 100
"""More different words than this, in half of the rows or more, are no categories."""


@dataclass(frozen=True)
class Dates:
    """A column of dates: the order of day and month, and whether it has times."""

    day_first: bool
    times: bool


Kind = str | Dates
"""Numbers are "numbers", words are "words"."""


def is_numeric(frame: Any, name: str) -> bool:
    """Whether pandas holds a column as numbers."""
    kind = frame[name].dtype
    plain = type(kind).__name__ != "CategoricalDtype"
    return getattr(kind, "kind", "O") in "iufb" and plain


def holds_moments(frame: Any, name: str) -> bool:
    """Whether pandas holds a column as points in time."""
    return getattr(frame[name].dtype, "kind", "O") == "M"


def find_kinds(
    frame: Any,
    *,
    missing: str | None = None,
    text: Collection[str] = (),
    day_first: bool | None = None,
) -> tuple[dict[str, Kind], list[Fault]]:
    """Say what each column holds, and what keeps columns from being used."""
    if missing is not None and missing not in MISSING:
        raise unknown_name("missing", missing, MISSING)
    kinds: dict[str, Kind] = {}
    faults: list[Fault] = []
    gaps: dict[str, np.ndarray] = {}
    for name in frame.columns:
        where = frame[name].isna().to_numpy()
        if len(where) and where.all():
            faults.append(_drop(name, "is empty"))
            kinds[name] = "numbers"
            continue
        gaps[name] = where
        kind, fault = _kind(frame, name, missing, text, day_first)
        kinds[name] = kind
        faults += [] if fault is None else [fault]
    if missing is None:
        found = gap_fault(gaps)
        faults += [] if found is None else [found]
    return kinds, faults


def _kind(
    frame: Any,
    name: str,
    missing: str | None,
    text: Collection[str],
    day_first: bool | None,
) -> tuple[Kind, Fault | None]:
    if name in text:
        return "words", None
    if is_numeric(frame, name):
        return "numbers", infinite_fault(frame, name)
    if holds_moments(frame, name):
        return Dates(False, has_times(instants(frame, name))), None
    if getattr(frame[name].dtype, "kind", "O") == "m":
        return "numbers", _drop(name, "holds durations: convert them to numbers, or")
    values = words(frame, name)
    if type(frame[name].dtype).__name__ == "CategoricalDtype":
        return "words", _words_fault(name, values)
    known = values[np.array([value is not None for value in values], bool)]
    unlike = {value: not is_number(value) for value in dict.fromkeys(known)}
    strange = [value for value in known if unlike[value]]
    if 0 < len(strange) <= _few(len(known)):
        return "numbers", _dirty(
            name, values, row_numbers(frame), unlike, "numbers", missing
        )
    if strange and len(strange) == len(known):
        dates = {value: date_text(value) for value in unlike}
        n_dates = sum(dates[value] is not None for value in known)
        if n_dates and len(known) - n_dates <= _few(len(known)):
            numbers = row_numbers(frame)
            return _dates(name, values, numbers, dates, missing, day_first)
    return "words", _words_fault(name, values)


def _few(n: int) -> float:
    return min(max(FEW, FEW_SHARE * n), LARGEST_SHARE * n)


def _dates(
    name: str,
    values: np.ndarray,
    numbers: np.ndarray,
    dates: Mapping[str, DateText | None],
    missing: str | None,
    day_first: bool | None,
) -> tuple[Kind, Fault | None]:
    read = [date for date in dates.values() if date is not None]
    orders = common_orders(read)
    unclear = any(date.is_ambiguous for date in read) and len(orders) == 2
    if not orders or (unclear and day_first is None):
        return Dates(False, False), _order_fault(name, dates, mixed=not orders)
    # What the dates say themselves comes first: the option is for those that do not.
    order = next(iter(orders)) if len(orders) == 1 else bool(day_first)
    kind = Dates(order, has_times(moments(values.tolist(), order)))
    unlike = {
        text: date is None or date.moment(order) is None for text, date in dates.items()
    }
    fault = None
    if any(unlike.values()):
        fault = _dirty(name, values, numbers, unlike, "dates", missing)
    return kind, fault


def _order_fault(
    name: str, dates: Mapping[str, DateText | None], *, mixed: bool
) -> Fault:
    shown = [text for text, date in dates.items() if date and "p" in date.fields]
    if mixed:
        return Fault(
            f"column {name!r} holds dates such as {shown[0]!r}, some with the day and "
            "some with the month first. Write them as YYYY-MM-DD."
        )
    return Fault(
        f"column {name!r} holds dates such as {shown[0]!r}, in which either number may "
        "be the day. Pass `day_first=True` or `day_first=False`, or write them as "
        "YYYY-MM-DD.",
        {"day_first": True},
    )


def _dirty(
    name: str,
    values: np.ndarray,
    numbers: np.ndarray,
    unlike: Mapping[str, bool],
    kind: str,
    missing: str | None,
) -> Fault:
    """Name the few cells that do not fit into their column."""
    rows = [i for i, v in enumerate(values) if v is not None and unlike[v]]
    found = list(dict.fromkeys(values[i] for i in rows))
    n_other = sum(value is not None for value in values) - len(rows)
    filled = "" if missing else " and `missing='mean'`"
    remedy: dict[str, Any] = {"na": found} | ({} if missing else {"missing": "mean"})
    cells = cells_of([(int(numbers[i]), values[i]) for i in rows])
    one = len(rows) == 1
    return Fault(
        f"column {name!r} holds {kind}, except for {cells} ({n_other} other rows). "
        f"Correct {'the cell' if one else 'these cells'}; or pass `na={found!r}`"
        f"{filled}: then {'it counts' if one else 'they count'} as missing; or, if all "
        f"of them are words, `categorical={[name]!r}`.",
        remedy,
    )


def cells_of(cells: list[tuple[int, Any]]) -> str:
    """Name cells by the row, counted from 1, and what stands there.

    >>> cells_of([(6, "n.a.?"), (9, "-")])
    "'n.a.?' in row 6, '-' in row 9"
    """
    shown = [f"{text!r} in row {row}" for row, text in cells[:8]]
    more = f", ... ({len(cells)} in all)" if len(cells) > 8 else ""
    return ", ".join(shown) + more


def row_numbers(frame: Any) -> np.ndarray:
    """Numbers of the rows in their file, from 1; parts of a table keep them."""
    index = np.asarray(frame.index)
    return (index if index.dtype.kind in "iu" else np.arange(len(index))) + 1


def infinite_fault(frame: Any, name: str) -> Fault | None:
    """Name the rows of numbers that float32 cannot hold, if there are any."""
    column = frame[name]
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    too_large = np.abs(values) > LARGEST
    if not too_large.any():
        return None
    rows = row_numbers(frame)[too_large].tolist()
    what = f"values beyond {LARGEST:.2g}"
    if np.isinf(values).any():
        what = "infinite values"
    return Fault(
        f"column {name!r} has {what}, in row {listed(rows)}. Correct them, or leave "
        "these cells empty."
    )


def _words_fault(name: str, values: np.ndarray) -> Fault | None:
    known = [value for value in values if value is not None]
    n_different = len(set(known))
    if n_different <= max(MOST_WORDS, len(values) // 2):
        return None
    return _drop(
        name,
        f"has {n_different} different words in {len(known)} rows, which looks like "
        "names or free text:",
    )


def _drop(name: str, why: str) -> Fault:
    colon = "" if why.endswith((":", "or")) else ":"
    return Fault(
        f"column {name!r} {why}{colon} leave it out with `drop={[name]!r}`.",
        {"drop": [name]},
    )


def words(frame: Any, name: str) -> np.ndarray:
    """Return a column as text; None is a missing value."""
    column = frame[name]
    pairs = zip(column, column.isna(), strict=True)
    return np.array([None if gap else str(v) for v, gap in pairs], dtype=object)


def instants(frame: Any, name: str) -> np.ndarray:
    """Return a column of points in time as datetime64[us], in UTC."""
    column = frame[name]
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return column.to_numpy(dtype="datetime64[us]")


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
