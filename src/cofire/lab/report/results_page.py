"""The page of `cofire report` and `cofire compare`: one HTML file, light and dark."""

import base64
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import starmap
from pathlib import Path
from typing import Any

import cofire
from cofire.data import CATALOG
from cofire.lab.experiments import Cell, Result
from cofire.lab.experiments.labels import data_titles, options_text
from cofire.lab.names import (
    BASELINES,
    DATA_NAMES,
    data_name,
    method_name,
    method_position,
)
from cofire.lab.report.look import in_order, on_dark, stroke_of
from cofire.lab.report.results_cells import by_cell, is_dense, task_of_cell
from cofire.lab.report.results_curves import (
    cell_curves,
    input_connections,
    was_validated,
)
from cofire.lab.report.results_receipts import receipts
from cofire.lab.report.results_summary import (
    best_table,
    cell_table,
    facts,
    lead,
    missing_list,
    rows_text,
    verdict,
)
from cofire.lab.report.results_tables import given_table
from cofire.lab.table import Table
from cofire.persistence.atomic import write_atomically

_FOLDER = Path(__file__).parent
MOST_PLAIN = 400_000
"""Characters of data that are not compressed."""
_BEST = (
    "<h3>Best of each data set</h3>"
    '<p class="note">A row has what can be compared: the same rows and target, as many '
    "epochs, the same profile. Of these, the sparse network with the highest mean over "
    "seeds, if it has at least half as many seeds as the others. Mean ± standard "
    "deviation. Models of scikit-learn had the same test rows.</p>"
)
_MARKS = {
    **{"Summary": "summary", "Tables": "tables", "All settings": "cells"},
    **{"Curves": "curves", "Inputs": "inputs", "Runs": "receipts"},
}
_CELLS = (
    '<p class="note">Runs that differ only in their seed are one row: test scores as '
    "mean ± standard deviation over seeds, all else as means. epsilon says how many "
    "connections a layer has: epsilon times its inputs and outputs. A click on a "
    "heading sorts.</p>"
    '<p class="tools"><label>Filter <input type="search" id="cell-filter" '
    'placeholder="e.g. mnist ctre 1000" autocomplete="off"></label> '
    '<output id="cell-count"></output></p>'
)


def write_results_page(
    path: str | Path,
    results: Sequence[Result],
    tables: Iterable[Table] = (),
    *,
    title: str = "Results of cofire",
    missing: Sequence[str] = (),
    headline: str = "",
    command: str = "cofire report",
) -> None:
    """Write results and tables as a page that needs no network.

    missing: lines about what has not been run yet. headline: the verdict, if the page
    compares methods on one data set and the first table is the comparison; without it,
    the page finds one. command: what writes the page again.
    """
    about = {"title": title, "headline": headline, "command": command}
    page = results_page(results, tables, missing=missing, **about)
    write_atomically(path, page.encode())


def results_page(
    results: Sequence[Result],
    tables: Iterable[Table] = (),
    *,
    title: str = "Results of cofire",
    missing: Sequence[str] = (),
    headline: str = "",
    command: str = "cofire report",
) -> str:
    """Return the page as text."""
    cells = dict(sorted(by_cell(results).items(), key=lambda item: _order(item[0])))
    names = in_order(sorted({cell.method for cell in cells}))
    methods = {name: i for i, name in enumerate(names)}
    looks = [_method(name) for name in names]
    given = _given(list(tables), methods, is_comparison=bool(headline))
    about = facts(results, cells) + missing_list(missing)
    if headline:
        summary, sections = given + about, {}
    else:
        best = best_table(cells, methods)
        summary = about + (f"{_BEST}{best}" if best else "")
        sections = {"Tables": given} if given else {}
        sections["All settings"] = _CELLS + cell_table(cells, methods)
    parts = {
        "title": escape(title),
        "headline": escape(headline or verdict(cells)),
        "lead": escape(lead(cells)),
        "summary": summary,
        "sections": "".join(starmap(_section, sections.items())),
        "links": _links(sections),
        "version": escape(cofire.__version__),
        "command": escape(command),
        "colours": _colour_rules(looks),
        "style": _read("results.css"),
        "chart": _read("results_chart.js"),
        "script": _read("results.js"),
    }
    data = {
        "methods": looks,
        "cells": [
            _drawn(cell, own, methods)
            for cell, own in cells.items()
            if cell.method not in BASELINES
        ],
        "validated": any(was_validated(result.curves) for result in results),
        "useful": _useful({cell.data for cell in cells}),
        "runs": receipts(
            sorted(results, key=_run_order),
            methods,
            data_titles(result.run for result in results),
        ),
    }
    parts["data"] = _script_data(data)
    template = _read("results.html")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _script_data(value: Any) -> str:
    """Return the element with the data, compressed if that is worth it."""
    # Inside <script> nothing is unescaped: only "</" and "<!--" could end it early.
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    text, kind = text.replace("<", "\\u003c"), "application/json"
    if len(text) > MOST_PLAIN:
        kind = "application/x-deflate"
        text = base64.b64encode(zlib.compress(text.encode(), 9)).decode()
    return f'<script id="data" type="{kind}">{text}</script>'


def _section(title: str, content: str) -> str:
    return f'<section id="{_MARKS[title]}"><h2>{title}</h2>{content}</section>'


def _links(sections: Iterable[str]) -> str:
    """Return links to the parts that the page has."""
    titles = ["Summary", *sections, "Curves", "Inputs", "Runs"]
    return "".join(f'<a href="#{_MARKS[title]}">{title}</a>' for title in titles)


def _given(
    tables: list[Table], methods: Mapping[str, int], *, is_comparison: bool
) -> str:
    """Return the tables; the headline of a comparison is the title of the first."""
    printed = {method_name(name): number for name, number in methods.items()}
    few = len(tables) <= 3
    return "".join(
        given_table(
            table, printed, is_open=few or i == 0, title=not (is_comparison and i == 0)
        )
        for i, table in enumerate(tables)
    )


def _method(name: str) -> dict[str, str]:
    stroke = stroke_of(name)
    dash = ",".join(f"{2 * length:g}px" for length in stroke.dashes) or "none"
    colours = {"light": stroke.colour, "dark": on_dark(stroke.colour)}
    return {"title": method_name(name), "dash": dash, **colours}


def _colour_rules(methods: Sequence[Mapping[str, str]]) -> str:
    """Write a CSS class per method, by number: a name may not be legal in CSS."""
    return "\n".join(
        f".m{i} {{ --light: {method['light']}; --dark: {method['dark']}; }}"
        for i, method in enumerate(methods)
    )


def _drawn(
    cell: Cell, results: Sequence[Result], methods: Mapping[str, int]
) -> dict[str, Any]:
    return {
        "data": data_name(cell.data),
        "hidden": cell.hidden,
        "epsilon": cell.epsilon,
        "profile": cell.profile,
        "rows": rows_text(cell),
        "method": methods[cell.method],
        "options": options_text(cell.options),
        "seeds": len(results),
        "task": task_of_cell(results),
        "dense": is_dense(cell),
        **cell_curves(results),
        # Every input of a dense network has the same number of connections.
        "inputs": None if is_dense(cell) else input_connections(results),
    }


def _useful(data: set[str]) -> dict[str, list[int]]:
    """Return the inputs that carry the class, for data sets where they are known."""
    known = {name: CATALOG[name].relevant_features for name in CATALOG if name in data}
    return {data_name(name): list(found) for name, found in known.items() if found}


def _order(cell: Cell) -> tuple[Any, ...]:
    """Sort cells as in the paper's tables; other names follow in alphabetical order."""
    order = list(DATA_NAMES)
    data = order.index(cell.data) if cell.data in order else len(order)
    epsilon = float("inf") if cell.epsilon is None else cell.epsilon
    method = method_position(cell.method)
    rest = cell.profile, cell.epochs, cell.split or 0, cell.options
    is_baseline = cell.method in BASELINES
    return data, cell.data, is_baseline, cell.hidden, epsilon, method, *rest


def _run_order(result: Result) -> tuple[Any, ...]:
    return *_order(result.run.cell), result.run.seed
