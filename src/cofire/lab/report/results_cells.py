"""What the results page has one entry for: runs that differ by chance alone."""

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

ResultsByCell = Mapping[Cell, Sequence[Result]]


def by_cell(results: Sequence[Result]) -> dict[Cell, list[Result]]:
    """The results that differ in their seed alone, side by side.

    Of somebody's own file each seed has a split of its own: these belong together, as
    in the table of `cofire compare`. The splits of the catalogue stay apart. `data` is
    the title of a file, its folder and checksum have no say.
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
    """Whether it has every connection; a share of them may take epsilon's place."""
    return cell.epsilon is None and "density" not in json.loads(cell.options)


def task_of_cell(results: Sequence[Result]) -> str:
    """What the scores of a cell are of."""
    return noted_task(results[0].notes)


def tasks(cells: ResultsByCell) -> set[str]:
    """What the scores of a page are of."""
    return {task_of_cell(own) for own in cells.values()}


def n_data_sets(runs: Iterable[Run]) -> int:
    """How many data sets; a file read in two ways is one."""
    return len({subject(run)[:2] for run in runs})
