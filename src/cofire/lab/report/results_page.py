"""The page of `cofire report`: one self-contained HTML file, light and dark."""

import colorsys
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
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
from cofire.lab.report.look import in_order, stroke_of
from cofire.lab.report.results_cells import by_cell, is_dense, task_of_cell
from cofire.lab.report.results_curves import cell_curves, input_connections
from cofire.lab.report.results_receipts import receipts
from cofire.lab.report.results_summary import (
    best_table,
    cell_table,
    facts,
    lead,
    missing_list,
    rows_text,
)
from cofire.lab.report.results_tables import given_table
from cofire.lab.table import Table
from cofire.persistence.atomic import write_atomically

_FOLDER = Path(__file__).parent


def write_results_page(
    path: str | Path,
    results: Sequence[Result],
    tables: Iterable[Table] = (),
    *,
    title: str = "Results of cofire",
    missing: Sequence[str] = (),
) -> None:
    """Write results and tables as a page that needs no network.

    missing: lines about what has not been run yet.
    """
    page = results_page(results, tables, title=title, missing=missing)
    write_atomically(path, page.encode())


def results_page(
    results: Sequence[Result],
    tables: Iterable[Table] = (),
    *,
    title: str = "Results of cofire",
    missing: Sequence[str] = (),
) -> str:
    """Return the page as text."""
    plotly = _plotly()
    cells = dict(sorted(by_cell(results).items(), key=lambda item: _order(item[0])))
    names = in_order(sorted({cell.method for cell in cells}))
    methods = {name: i for i, name in enumerate(names)}
    looks = [_method(name) for name in names]
    parts = {
        "title": escape(title),
        "lead": escape(lead(cells)),
        "facts": facts(results, cells),
        "missing": missing_list(missing),
        "best": best_table(cells, methods),
        "tables": _given(list(tables), methods),
        "cells": cell_table(cells, methods),
        "n_cells": f"{len(cells):,}",
        "version": escape(cofire.__version__),
        "colours": _colour_rules(looks),
        "style": _read("results.css"),
        "script": _read("results.js"),
        "plotly": plotly,
        "data": _script_json(
            {
                "methods": looks,
                "cells": [
                    _drawn(cell, own, methods)
                    for cell, own in cells.items()
                    if cell.method not in BASELINES
                ],
                "useful": _useful({cell.data for cell in cells}),
                "runs": receipts(
                    sorted(results, key=_run_order),
                    methods,
                    data_titles(result.run for result in results),
                ),
            }
        ),
    }
    template = _read("results.html")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise ImportError(
            "the results page is drawn with plotly, which is not installed: "
            "pip install cofire[plot]"
        ) from None
    # Text inside a script must not end it.
    script: str = re.sub("</(?=script)", r"<\\/", get_plotlyjs(), flags=re.IGNORECASE)
    return script


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _script_json(value: Any) -> str:
    # Inside <script> nothing is unescaped: only "</" and "<!--" could end it early.
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _given(tables: list[Table], methods: Mapping[str, int]) -> str:
    if not tables:
        return (
            '<p class="note">None: the tables of the paper are made of the runs of '
            "<code>cofire reproduce</code>; <code>cofire compare</code> writes one for "
            "a file.</p>"
        )
    printed = {method_name(name): number for name, number in methods.items()}
    few = len(tables) <= 3
    return "".join(
        given_table(table, printed, is_open=few or i == 0)
        for i, table in enumerate(tables)
    )


def _method(name: str) -> dict[str, str]:
    stroke = stroke_of(name)
    dash = ",".join(f"{2 * length:g}px" for length in stroke.dashes) or "solid"
    colours = {"light": stroke.colour, "dark": _dark(stroke.colour)}
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


def _dark(colour: str) -> str:
    """Return the colour for a dark page: the same hue; black becomes nearly white.

    >>> _dark("#000000"), _dark("#0072B2")
    ('#ebebeb', '#56b3e7')
    """
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    hue, light, strength = colorsys.rgb_to_hls(red, green, blue)
    light = 0.92 - 0.5 * light if strength == 0 else 0.5 + 0.35 * light
    parts = colorsys.hls_to_rgb(hue, light, 0.75 * strength)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)
