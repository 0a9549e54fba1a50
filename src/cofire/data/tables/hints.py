"""What looks odd in a user's table: notes for messages and errors."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cofire.data.tables.faults import TableFaults
from cofire.errors import listed

_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?")
_INSPECTED = 100
"""Values of a column whose format is inspected."""
_FEWEST_ROWS = 5
"""Fewer rows may be 0, 1, 2 by chance."""


@contextmanager
def hinted(path: Path, notes: Iterable[str]) -> Iterator[None]:
    """Add the file's name, and what looks odd in it, to a ValueError."""
    try:
        yield
    except TableFaults as error:
        error.path, error.notes = path, tuple(notes)
        raise
    except ValueError as error:
        text = str(error)
        named = text if str(path) in text else f"{path}: {text}"
        hints = "".join(f" Note: {note}." for note in notes)
        raise ValueError(named + hints) from error


def of_header(names: Sequence[str]) -> list[str]:
    """Note that a line of names looks like data: most names are numbers.

    >>> of_header(["5.1", "3.5", "setosa"])
    ["the first line looks like data ('5.1', '3.5'): pass `header=False` if it is"]
    >>> of_header(["0", "1", "2", "label"])  # as pandas numbers columns
    []
    """
    numbers = [name for name in names if _NUMBER.fullmatch(name)]
    counted = [str(i) for i in range(len(numbers) + 1)]
    if len(numbers) <= len(names) / 2 or numbers in (counted[:-1], counted[1:]):
        return []
    shown = listed(numbers)
    return [f"the first line looks like data ({shown}): pass `header=False` if it is"]


def of_decimal_commas(frame: Any, text: Iterable[str]) -> list[str]:
    """Note columns of numbers with decimal commas; those in `text` are left alone."""
    found = {}
    for name in frame.columns.difference(list(text), sort=False):
        if getattr(frame[name].dtype, "kind", "O") in "iufbmM":
            continue
        values = [str(v) for v in frame[name].dropna().head(_INSPECTED)]
        commas = [value for value in values if "," in value]
        if commas and all(_NUMBER.fullmatch(value) for value in values):
            found[name] = commas[0]
    if not found:
        return []
    return [
        f"numbers with commas, such as {next(iter(found.values()))!r}, are read as "
        f"words: `decimal=','` reads them as numbers (in {listed(list(found))})"
    ]


def of_row_numbers(frame: Any) -> list[str]:
    """Note columns that count the rows, and columns without a name in the file."""
    notes = []
    n = len(frame)
    for name in frame.columns:
        column, remedy = frame[name], f"`drop={[name]!r}` leaves it out"
        whole = getattr(column.dtype, "kind", "O") in "iu" and not column.isna().any()
        starts_low = whole and n >= _FEWEST_ROWS and column.iloc[0] in (0, 1)
        if starts_low and (column.diff().iloc[1:] == 1).all():
            notes.append(f"column {name!r} counts the rows; {remedy}")
        elif name.startswith("Unnamed: "):
            notes.append(f"column {name!r} has no name in the file; {remedy}")
    return notes
