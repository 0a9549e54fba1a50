"""Results grouped by cell: the results page has one entry for each."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from cofire.lab.experiments import Cell, Result, Run
from cofire.lab.experiments.labels import (
    Subject,
    data_titles,
    own_file,
    settings,
    subject,
)
from cofire.lab.experiments.results import noted_task
from cofire.lab.names import BASELINES, is_full

ResultsByCell = Mapping[Cell, Sequence[Result]]


def by_cell(results: Sequence[Result]) -> dict[Cell, list[Result]]:
    """Group the results that differ only in their seed.

    For a file of the user each seed has its own split: these belong together, as in the
    table of `cofire compare`. The splits of the catalogue stay separate. `data` is the
    title of a file; its folder and checksum do not matter.
    """
    titles = data_titles(result.run for result in results)
    cells = defaultdict(list)
    for result in results:
        cells[_cell(result.run, titles)].append(result)
    return {
        cell: sorted(own, key=lambda result: result.run.seed)
        for cell, own in cells.items()
    }


def _cell(run: Run, titles: Mapping[Subject, str]) -> Cell:
    if own_file(run) is None:
        return run.cell
    return replace(
        run.cell,
        data=titles[subject(run)],
        split=None if run.split == run.seed else run.split,
        options=settings(run),
    )


def is_dense(cell: Cell) -> bool:
    """Whether it has every connection.

    Where no recipe chooses, it has neither epsilon nor a density.
    """
    if cell.method in BASELINES:
        return False
    if cell.profile == "default":
        return is_full(cell.method)
    return cell.epsilon is None and "density" not in json.loads(cell.options)


def task_of_cell(results: Sequence[Result]) -> str:
    """Return the task of a cell."""
    return noted_task(results[0].notes)


def tasks(cells: ResultsByCell) -> set[str]:
    """Return the tasks on a page."""
    return {task_of_cell(own) for own in cells.values()}


def n_data_sets(runs: Iterable[Run]) -> int:
    """Count the data sets; a file that was read in two ways is one."""
    return len({subject(run)[:2] for run in runs})
