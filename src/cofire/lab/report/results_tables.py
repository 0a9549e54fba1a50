"""Tables of the results page: escaped, with the values that a click sorts by."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from cofire.lab.table import MeanSpread, Table, Value

MISSING = "\N{EN DASH}"
LONGEST_NOTE = 240  # characters of a caption that is not folded
_NOTHING = {"", "-", MISSING, "\N{EM DASH}", "nan"}

_NUMBER = re.compile(
    r"""[~<>\N{ALMOST EQUAL TO}]?\s*
    (?P<number>[+-]?(\d{1,3}(,\d{3})+|\d+)?(\.\d+)?(e[+-]?\d+)?)
    (\s*(%|\N{PLUS-MINUS SIGN}|[(/]|[^\W\d]|\N{MULTIPLICATION SIGN}|\N{DAGGER}).*)?""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Shown:
    """The text of a cell, and the value it is sorted by if that is not the text."""

    text: str
    value: float | None = None
    method: int | None = None  # its number among the page's methods: gets its colour
    strong: bool = False


def sort_value(text: str) -> float | None:
    """Return the number that a text begins with, or None.

    >>> [sort_value(t) for t in ("82.4 ± 1.2", "1,102", "-3 %", "2026-01-01", "–")]
    [82.4, 1102.0, -3.0, None, None]
    """
    text = text.strip().replace("\N{MINUS SIGN}", "-")
    found = _NUMBER.fullmatch(text)
    if not found or not any(c.isdigit() for c in found["number"]):
        return None
    return float(found["number"].replace(",", ""))


def sortable(
    columns: Sequence[str], rows: Sequence[Sequence[Shown]], label: str, css: str = ""
) -> str:
    """Return a table that scrolls; columns are sorted as numbers or as text."""
    numeric = [_is_numeric([row[i] for row in rows]) for i in range(len(columns))]
    head = "".join(
        f'<th scope="col"{_kind(is_numeric)}>'
        f'<button type="button">{escape(column)}</button></th>'
        for column, is_numeric in zip(columns, numeric, strict=True)
    )
    body = "".join(
        "<tr>" + "".join(map(_cell, row, numeric, range(len(row)))) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroller"><div class="wide {css}" role="region" tabindex="0" '
        f'aria-label="{escape(label)}"><table class="sortable">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></div>"
    )


def given_table(
    table: Table, methods: Mapping[str, int], *, is_open: bool, title: bool = True
) -> str:
    """Return a table that can be folded; methods, by print name, have their colour.

    title: whether it has one; without, it is always open.
    """
    rows = [
        [
            Shown(text, _value(cell, text), methods.get(text), (i, j) in table.bold)
            for j, (cell, text) in enumerate(zip(row, _texts(table, i), strict=True))
        ]
        for i, row in enumerate(table.rows)
    ]
    content = sortable(table.columns, rows, table.title) + _caption(table.caption)
    mark = f'id="table-{escape(table.name)}"'
    if not title:
        return f'<div class="given" {mark}>{content}</div>'
    return (
        f'<details class="given" {mark}{" open" if is_open else ""}>'
        f"<summary>{escape(table.title)}</summary>{content}</details>"
    )


def _caption(text: str) -> str:
    """Return what stands below a table, folded if it is long."""
    if len(text) <= LONGEST_NOTE:
        return f'<p class="note below">{escape(text)}</p>' if text else ""
    return (
        '<details class="about"><summary>How this was measured</summary>'
        f'<p class="note">{escape(text)}</p></details>'
    )


def _texts(table: Table, row: int) -> list[str]:
    texts = [table.text(row, column) for column in range(len(table.columns))]
    return [MISSING if text in _NOTHING else text for text in texts]


def _value(cell: Value, text: str) -> float | None:
    if isinstance(cell, MeanSpread):
        return cell.mean
    return sort_value(text) if cell is None or isinstance(cell, str) else float(cell)


def _is_numeric(cells: list[Shown]) -> bool:
    known = [cell for cell in cells if cell.text != MISSING]
    return bool(known) and all(cell.value is not None for cell in known)


def _kind(is_numeric: bool) -> str:
    return ' class="n"' if is_numeric else ""


def _cell(cell: Shown, is_numeric: bool, column: int) -> str:
    value = "" if cell.value is None or not is_numeric else f' data-v="{cell.value!r}"'
    missing = ' data-missing=""' if cell.text == MISSING else ""
    text = escape(cell.text)
    if cell.method is not None:
        text = f'<span class="chip m{cell.method}"></span>{text}'
    if cell.strong:
        text = f"<b>{text}</b>"
    tag = 'th scope="row"' if column == 0 else "td"
    return f"<{tag}{_kind(is_numeric)}{value}{missing}>{text}</{tag[:2]}>"
