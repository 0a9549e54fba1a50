"""The texts and tables of the results page: what was run, and what came of it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from statistics import fmean, pstdev

from cofire.lab.experiments import Cell, Result
from cofire.lab.experiments.compare import standings
from cofire.lab.experiments.compare import verdict as verdict_of
from cofire.lab.experiments.grid import (
    BASELINE_PROFILE,
    keeps_last_epoch,
    n_hidden_layers,
)
from cofire.lab.experiments.labels import options_text
from cofire.lab.experiments.results import COLUMNS, Column
from cofire.lab.names import BASELINES, DATA_NAMES, data_name, method_name
from cofire.lab.report.results_cells import (
    ResultsByCell,
    is_dense,
    n_data_sets,
    task_of_cell,
    tasks,
)
from cofire.lab.report.results_receipts import machine_text
from cofire.lab.report.results_tables import MISSING, Shown, sortable

SCORES = {"classification": "accuracy %", "regression": "R²"}
NOTHING = Shown(MISSING)
NEURONS = "neurons per layer"
SHARED = {
    "data set": "{}",
    NEURONS: "{} neurons per layer",
    "epsilon": "epsilon {}",
    "profile": "profile {}",
    "epochs": "{}",
    "seeds": "{} seeds",
}
"""Columns that are left out where all settings agree, and how that is said."""
Show = Callable[[Cell, Sequence[Result]], Shown]


def verdict(cells: ResultsByCell) -> str:
    """Say in a sentence what came of the runs: the headline of the page."""
    rows = list(_comparable(cells))
    if not rows:
        return "No run has finished yet" if not cells else "Models of scikit-learn"
    data = data_name(rows[0].data)
    if len(rows) == 1 and len({cell.method for cell in cells}) == len(cells):
        results = [result for own in cells.values() for result in own]
        return f"{data}: {verdict_of(standings(results), task_of_cell(results))}"
    both = [row for row in rows if row.sparse and row.dense]
    if len(both) > 1:
        ahead = sum(
            _mean_score(row.sparse[1]) >= _mean_score(row.dense[1])
            for row in both
            if row.sparse and row.dense
        )
        several = len({row.data for row in both}) < len(both)
        n, things = len(both), "comparisons" if several else "data sets"
        every = "both" if n == 2 else f"all {n}"
        at = "in" if several else "on"
        if not ahead:
            return f"Dense is ahead of sparse {at} {every} {things}"
        share = every if ahead == n else f"{ahead} of {n}"
        return f"Sparse is as good as dense or better {at} {share} {things}"
    (row, *_) = both or rows
    candidates = [one for one in (row.sparse, row.dense, row.baseline) if one]
    cell, own = max(candidates, key=lambda one: _mean_score(one[1]))
    score = _score(own, "score").text
    return f"{data_name(row.data)}: {method_name(cell.method)} is best, {score}"


def lead(cells: ResultsByCell) -> str:
    """Say in one sentence what was run, and in one what a score is."""
    if not cells:
        return "No run has finished yet."
    runs = [result.run for own in cells.values() for result in own]
    methods = {cell.method for cell in cells} - BASELINES.keys()
    others = {cell.method for cell in cells} & BASELINES.keys()
    what = _counted(len(methods), "method")
    if others:
        what += f" and {_counted(len(others), 'model')} of scikit-learn"
    kinds = {"classification": "the test accuracy", "regression": "R² of the test rows"}
    score = " or, for quantities, ".join(kinds[task] for task in sorted(tasks(cells)))
    profiles = {run.profile for run in runs} - {BASELINE_PROFILE}
    names = sorted(name for name in profiles if keeps_last_epoch(name))
    epoch = "at the epoch that the validation rows chose"
    if profiles and len(names) == len(profiles):
        epoch = "at the last epoch"
    elif names:
        epoch += f" (profile {' and '.join(names)}: at the last epoch)"
    return (
        f"{_counted(len(runs), 'run')} of {what} on "
        f"{_counted(n_data_sets(runs), 'data set')}{_layers(cells)}. A score is "
        f"{score}, {epoch}; test rows choose nothing."
    )


def _layers(cells: ResultsByCell) -> str:
    """Say how many hidden layers networks have, if all have as many."""
    own = {cell.profile for cell in cells if cell.method not in BASELINES}
    found = {n_hidden_layers(profile) for profile in own}
    words = {2: "two", 3: "three"}
    return f", each with {words[found.pop()]} hidden layers" if len(found) == 1 else ""


def facts(results: Sequence[Result], cells: ResultsByCell) -> str:
    """Return the numbers of runs, methods and so on, the versions and the machines."""
    seeds = [len(own) for own in cells.values()] or [0]
    seconds = sum(result.seconds for result in results)
    versions = Counter(result.cofire for result in results)
    machines = Counter(machine_text(result.machine) for result in results)
    days = sorted(result.finished[:10] for result in results if result.finished)
    counts = {
        "runs": f"{len(results):,}",
        "data sets": str(n_data_sets(result.run for result in results)),
        "methods": str(len({cell.method for cell in cells} - BASELINES.keys())),
        "settings": f"{len(cells):,}",
        "seeds each": "–".join(map(str, sorted({min(seeds), max(seeds)}))),
        "time of all runs": duration(seconds),
    }
    tiles = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in counts.items()
    )
    origins = {
        "cofire": _with_counts(versions),
        "machines": _with_counts(machines),
        "finished": " to ".join(dict.fromkeys(days[:1] + days[-1:])) or MISSING,
    }
    lines = "".join(
        f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in origins.items()
    )
    return f'<dl class="tiles">{tiles}</dl><dl class="origins">{lines}</dl>'


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it.

    >>> duration(0.01), duration(0.4), duration(75), duration(5400), duration(4e5)
    ('< 0.1 s', '0.4 s', '1.2 min', '1.5 h', '111 h')
    """
    if seconds < 0.1:
        return "< 0.1 s"
    for unit, size in (("h", 3600), ("min", 60), ("s", 1)):
        if seconds >= size or size == 1:
            amount = seconds / size
            return f"{amount:,.0f} {unit}" if amount >= 10 else f"{amount:.1f} {unit}"
    raise AssertionError("unreachable")


def _with_counts(counts: Counter[str]) -> str:
    if len(counts) == 1:
        return escape(next(iter(counts)) or MISSING)
    return "<br>".join(
        f"{escape(text or MISSING)} <small>({_counted(n, 'run')})</small>"
        for text, n in counts.most_common()
    )


def missing_list(missing: Sequence[str]) -> str:
    """List what has not been run yet, folded if it is long."""
    if not missing:
        return ""
    items = "".join(f"<li>{escape(line)}</li>" for line in missing)
    return (
        f'<details class="missing"{" open" if len(missing) <= 6 else ""}><summary>'
        f"Not run yet: {_counted(len(missing), 'entry', 'entries')}</summary>"
        f"<ul>{items}</ul></details>"
    )


@dataclass(frozen=True)
class _Comparable:
    """The best sparse, dense and scikit-learn cells whose scores can be compared."""

    data: str
    conditions: str
    sparse: tuple[Cell, Sequence[Result]] | None
    dense: tuple[Cell, Sequence[Result]] | None
    baseline: tuple[Cell, Sequence[Result]] | None


def best_table(cells: ResultsByCell, methods: Mapping[str, int]) -> str:
    """Return one row for what can be compared: the best sparse and the best dense cell.

    Cells with few seeds are left out: the best of many by luck would be one of them.
    """
    score, density = _score_column(cells), COLUMNS["density"]

    def of_sparse(show: Show) -> Callable[[_Comparable], Shown]:
        return lambda row: show(*row.sparse) if row.sparse else NOTHING

    columns: dict[str, Callable[[_Comparable], Shown]] = {
        "data set": lambda row: Shown(data_name(row.data)),
        "best sparse": of_sparse(lambda cell, _: _method(cell, methods)),
        score: of_sparse(lambda _, own: replace(_score(own, score), strong=True)),
        "runs of": lambda row: Shown(row.conditions),
        NEURONS: of_sparse(lambda cell, _: _hidden(cell)),
        "epsilon": of_sparse(lambda cell, _: _epsilon(cell)),
        density.heading: of_sparse(partial(_mean, density)),
        "best dense": lambda row: _score(row.dense[1], score) if row.dense else NOTHING,
        "above dense": lambda row: _lead_of(row.sparse, row.dense),
    }
    if any(cell.method in BASELINES for cell in cells):
        columns |= {
            "best of scikit-learn": lambda row: (
                _baseline(row.baseline, score) if row.baseline else NOTHING
            ),
            "above it": lambda row: _lead_of(row.sparse, row.baseline),
        }
    rows = [[show(row) for show in columns.values()] for row in _comparable(cells)]
    if len(rows) < 2:  # the headline says it, and the table of all settings
        return ""
    return sortable(list(columns), rows, "Best method of each data set")


def _comparable(cells: ResultsByCell) -> Iterator[_Comparable]:
    """Group cells by data set; of each, the paper's rows and the longest runs first."""
    order = {data: i for i, data in enumerate(dict.fromkeys(c.data for c in cells))}
    groups: dict[tuple[str, str], dict[Cell, Sequence[Result]]] = {}
    networks = {c: r for c, r in cells.items() if c.method not in BASELINES}
    for cell, found in sorted(
        networks.items(),
        key=lambda item: (
            order[item[0].data],
            -1 if item[0].split is None else item[0].split,
            -item[0].epochs,
            item[0].profile,
        ),
    ):
        groups.setdefault((cell.data, _conditions(cell)), {})[cell] = found
    for (data, conditions), own in groups.items():
        enough = max(map(len, own.values())) / 2
        full = {cell: found for cell, found in own.items() if len(found) >= enough}
        sparse = _highest({c: r for c, r in full.items() if not is_dense(c)})
        dense = _highest({c: r for c, r in full.items() if is_dense(c)})
        split = next(iter(own)).split
        baseline = _highest(
            {
                cell: found
                for cell, found in cells.items()
                if cell.method in BASELINES and (cell.data, cell.split) == (data, split)
            }
        )
        yield _Comparable(data, conditions, sparse, dense, baseline)


def cell_table(cells: ResultsByCell, methods: Mapping[str, int]) -> str:
    """Return one row per setting; what all have in common stands above the table."""
    score = _score_column(cells)
    columns: dict[str, Show] = {
        "method": lambda cell, _: _method(cell, methods),
        score: lambda _, own: _score(own, score),
        "data set": lambda cell, _: Shown(data_name(cell.data)),
        NEURONS: lambda cell, _: _hidden(cell),
        "epsilon": lambda cell, _: _epsilon(cell),
        "profile": lambda cell, _: Shown(cell.profile),
        "epochs": lambda cell, _: _epochs(cell),
        "seeds": lambda _, own: Shown(str(len(own)), len(own)),
        **{c.heading: partial(_mean, c) for c in COLUMNS.values() if c.heading},
    }
    rows = [
        [show(cell, own) for show in columns.values()] for cell, own in cells.items()
    ]
    said = []
    for name, words in SHARED.items() if len(rows) > 1 else ():
        at = list(columns).index(name)
        texts = {row[at].text for row in rows}
        if len(texts) == 1:
            (text,) = texts
            said += [] if text == MISSING else [words.format(text)]
            columns.pop(name)
            rows = [row[:at] + row[at + 1 :] for row in rows]
    note = f'<p class="note">All: {escape(", ".join(said))}.</p>' if said else ""
    return note + sortable(list(columns), rows, "All settings", "tall")


def rows_text(cell: Cell) -> str:
    """Return the epochs, and the split if it is not the paper's."""
    part = "" if cell.split is None else f", split {cell.split}"
    return f"{_length(cell)}{part}"


def _length(cell: Cell) -> str:
    return f"{cell.epochs} epochs" if cell.epochs else "epochs by number of rows"


def _conditions(cell: Cell) -> str:
    """Return what runs must share so that their scores can be compared."""
    if cell.split is not None:
        rows = f"random split {cell.split}"
    else:
        rows = "paper's split" if cell.data in DATA_NAMES else "its own split per seed"
    return f"{_length(cell)}, {cell.profile}, {rows}"


def _score_column(cells: ResultsByCell) -> str:
    """Return the heading of the scores; if tasks are mixed, each cell names its own."""
    kinds = tasks(cells) or {"classification"}
    return SCORES[kinds.pop()] if len(kinds) == 1 else "score"


def _method(cell: Cell, methods: Mapping[str, int]) -> Shown:
    options = options_text(cell.options)
    name = method_name(cell.method) + (f" ({options})" if options else "")
    return Shown(name, method=methods[cell.method])


def _baseline(of: tuple[Cell, Sequence[Result]], column: str) -> Shown:
    shown = _score(of[1], column)
    return replace(shown, text=f"{shown.text} {method_name(of[0].method)}")


def _hidden(cell: Cell) -> Shown:
    return Shown(str(cell.hidden), cell.hidden) if cell.hidden else NOTHING


def _epochs(cell: Cell) -> Shown:
    return NOTHING if cell.method in BASELINES else Shown(rows_text(cell))


def _epsilon(cell: Cell) -> Shown:
    epsilon = MISSING if cell.epsilon is None else f"{cell.epsilon:g}"
    return Shown(epsilon, cell.epsilon)


def _score(results: Sequence[Result], column: str) -> Shown:
    """Show mean and spread, in per cent or as R²; named if the column mixes both."""
    is_share = task_of_cell(results) == "classification"
    unit, form = (100, ".1f") if is_share else (1, ".3f")
    scores = [unit * result.score for result in results]
    text = format(fmean(scores), form)
    text += f" ± {pstdev(scores):{form}}" if len(scores) > 1 else ""
    if column == "score":
        text = f"{text} %" if is_share else f"R² {text}"
    return Shown(text, fmean(scores))


def _lead_of(
    sparse: tuple[Cell, Sequence[Result]] | None,
    other: tuple[Cell, Sequence[Result]] | None,
) -> Shown:
    if not (sparse and other):
        return NOTHING
    difference = _mean_score(sparse[1]) - _mean_score(other[1])
    if task_of_cell(sparse[1]) == "regression":
        return Shown(f"{difference:+.3f}", difference)
    return Shown(f"{100 * difference:+.1f} points", 100 * difference)


def _mean(column: Column, cell: Cell, results: Sequence[Result]) -> Shown:
    """Show the mean of a column over the seeds that have a value.

    Of a baseline only its seconds: it is no network, and has no epochs.
    """
    if cell.method in BASELINES and column.name != "seconds":
        return NOTHING
    values = [getattr(result, column.name) for result in results]
    known = [column.unit * value for value in values if value is not None]
    return Shown(column.text(fmean(known)), fmean(known)) if known else NOTHING


def _mean_score(results: Sequence[Result]) -> float:
    return fmean(result.score for result in results)


def _highest(cells: ResultsByCell) -> tuple[Cell, Sequence[Result]] | None:
    return max(cells.items(), key=lambda item: _mean_score(item[1]), default=None)


def _counted(n: int, thing: str, things: str = "") -> str:
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"
