"""The words and own tables of the results page: what was run, and what came of it."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from statistics import fmean, pstdev
from typing import Any

from cofire.experiments import Cell, Result
from cofire.experiments.names import data_name, method_name
from cofire.report.results_receipts import machine_text
from cofire.report.results_tables import MISSING, Shown, sortable

Cells = Mapping[Cell, Sequence[Result]]


def lead(cells: Cells) -> str:
    """One sentence on what there is, one on what a score is."""
    if not cells:
        return "No run has finished yet."
    data, methods = {c.data for c in cells}, {c.method for c in cells}
    return (
        f"{_counted(sum(map(len, cells.values())), 'run')} of "
        f"{_counted(len(methods), 'method')} on {_counted(len(data), 'data set')}, "
        "each with three hidden layers. A score is the test accuracy of the epoch that "
        "the validation rows chose; test rows choose nothing."
    )


def facts(results: Sequence[Result], cells: Cells) -> str:
    """How much was run, by what, on what."""
    seeds = [len(own) for own in cells.values()] or [0]
    hours = sum(result.seconds for result in results) / 3600
    versions = Counter(result.cofire for result in results)
    machines = Counter(machine_text(result.machine) for result in results)
    days = sorted(result.finished[:10] for result in results if result.finished)
    counts = {
        "runs": f"{len(results):,}",
        "data sets": str(len({cell.data for cell in cells})),
        "methods": str(len({cell.method for cell in cells})),
        "cells": f"{len(cells):,}",
        "seeds a cell": "–".join(map(str, sorted({min(seeds), max(seeds)}))),
        "hours of runs": f"{hours:,.1f}",
    }
    tiles = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in counts.items()
    )
    origins = {
        "cofire": _shares(versions),
        "machines": _shares(machines),
        "finished": " to ".join(dict.fromkeys(days[:1] + days[-1:])) or MISSING,
    }
    lines = "".join(
        f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in origins.items()
    )
    return f'<dl class="tiles">{tiles}</dl><dl class="origins">{lines}</dl>'


def _shares(counts: Counter[str]) -> str:
    if len(counts) == 1:
        return escape(next(iter(counts)) or MISSING)
    return "<br>".join(
        f"{escape(text or MISSING)} <small>({_counted(n, 'run')})</small>"
        for text, n in counts.most_common()
    )


def missing_list(missing: Sequence[str]) -> str:
    """What has not been run yet; folded where it is much."""
    if not missing:
        return ""
    items = "".join(f"<li>{escape(line)}</li>" for line in missing)
    return (
        f'<details class="missing"{" open" if len(missing) <= 6 else ""}><summary>'
        f"Not run yet: {_counted(len(missing), 'entry', 'entries')}</summary>"
        f"<ul>{items}</ul></details>"
    )


def best_table(cells: Cells, methods: Mapping[str, int]) -> str:
    """One row a data set: the best sparse cell by its mean, beside the best dense one.

    Cells with few seeds are left out: the best of many by luck would be one of them.
    """
    rows = []
    for data in dict.fromkeys(cell.data for cell in cells):
        own = {cell: found for cell, found in cells.items() if cell.data == data}
        enough = max(map(len, own.values())) / 2
        full = {cell: found for cell, found in own.items() if len(found) >= enough}
        sparse = _highest({c: r for c, r in full.items() if c.epsilon is not None})
        dense = _highest({c: r for c, r in full.items() if c.epsilon is None})
        nothing = Shown(MISSING)
        row = [Shown(data_name(data))]
        row += _best_of(*sparse, methods) if sparse else [nothing] * 6
        row += [_score(dense[1]) if dense else nothing]
        row += [_points(_mean(sparse[1]) - _mean(dense[1]))] if sparse and dense else []
        rows.append(row + [nothing] * (9 - len(row)))
    columns = "data set", "best sparse", "accuracy %", "n", "ε", "profile", "density %"
    return sortable(
        [*columns, "best dense %", "points above"], rows, "Best method of each data set"
    )


def cell_table(cells: Cells, methods: Mapping[str, int]) -> str:
    """One row a cell."""
    several = len({rows_text(cell) for cell in cells}) > 1
    columns = ["data set", "method", "n", "ε", "profile"] + ["rows"] * several
    columns += ["accuracy %", "seeds", "best epoch", "seconds a run", "connections"]
    rows = [
        [
            Shown(data_name(cell.data)),
            _method(cell, methods),
            *_setting(cell),
            *[Shown(rows_text(cell))] * several,
            _score(results),
            Shown(str(len(results)), len(results)),
            _average((r.best_epoch for r in results), ".0f"),
            _seconds(results),
            _average((r.connections for r in results), ",.0f"),
            _average((100 * r.density for r in results), ".3g"),
        ]
        for cell, results in cells.items()
    ]
    return sortable([*columns, "density %"], rows, "Every cell", "tall")


def rows_text(cell: Cell) -> str:
    """How often which rows were learnt from."""
    part = "" if cell.split is None else f", split {cell.split}"
    return f"{cell.epochs} epochs{part}"


def options_text(options: str) -> str:
    """A run's own options (JSON) for people.

    >>> options_text('{"alpha":0.1,"method_params":{"patience":20}}')
    'alpha 0.1, patience 20'
    """
    return ", ".join(
        f"{name} {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in _flat(json.loads(options))
    )


def _flat(options: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in options.items():
        if isinstance(value, dict) and value:
            yield from _flat(value)
        else:
            yield name, value


def _best_of(
    cell: Cell, results: Sequence[Result], methods: Mapping[str, int]
) -> list[Shown]:
    density = _average((100 * r.density for r in results), ".3g")
    score = replace(_score(results), strong=True)
    return [_method(cell, methods), score, *_setting(cell), density]


def _method(cell: Cell, methods: Mapping[str, int]) -> Shown:
    options = options_text(cell.options)
    name = method_name(cell.method) + (f" ({options})" if options else "")
    return Shown(name, method=methods[cell.method])


def _setting(cell: Cell) -> list[Shown]:
    epsilon = MISSING if cell.epsilon is None else f"{cell.epsilon:g}"
    return [
        Shown(str(cell.hidden), cell.hidden),
        Shown(epsilon, cell.epsilon),
        Shown(cell.profile),
    ]


def _score(results: Sequence[Result]) -> Shown:
    scores = [result.score for result in results]
    spread = f" ± {100 * pstdev(scores):.1f}" if len(scores) > 1 else ""
    mean = 100 * fmean(scores)
    return Shown(f"{mean:.1f}{spread}", mean)


def _points(difference: float) -> Shown:
    return Shown(f"{100 * difference:+.1f}", 100 * difference)


def _average(values: Iterable[float], form: str) -> Shown:
    mean = fmean(values)
    return Shown(format(mean, form), mean)


def _seconds(results: Sequence[Result]) -> Shown:
    mean = fmean(result.seconds for result in results)
    return Shown(f"{mean:.3g}" if mean < 100 else f"{mean:,.0f}", mean)


def _mean(results: Sequence[Result]) -> float:
    return fmean(result.score for result in results)


def _highest(cells: Cells) -> tuple[Cell, Sequence[Result]] | None:
    return max(cells.items(), key=lambda item: _mean(item[1]), default=None)


def _counted(n: int, thing: str, things: str = "") -> str:
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"
