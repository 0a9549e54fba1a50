"""Finished runs, grouped by the cell of a table that they belong to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cofire.lab.experiments import Cell, Result, Run
from cofire.lab.experiments.statistics import selected_so_far
from cofire.lab.names import DATA_NAMES, is_full, method_position
from cofire.lab.paper.blocks import FIVE_METHODS


@dataclass(frozen=True, eq=False)
class Gathered:
    """The finished runs of a cell, by seed."""

    cell: Cell
    results: Sequence[Result]

    @property
    def percent(self) -> np.ndarray:
        """Test accuracies in per cent."""
        return 100.0 * np.array([result.score for result in self.results])

    def recorded(self, *curves: str) -> "Gathered | None":
        """Keep the runs that have these curves: a run that was imported has none."""
        kept = [
            r for r in self.results if all(len(r.curves.get(c, ())) for c in curves)
        ]
        return Gathered(self.cell, kept) if kept else None

    def curves(self, name: str) -> np.ndarray:
        """Return a curve as (seeds, epochs).

        selected_score: the test score of the epoch that validated best so far.
        """
        if name != "selected_score":
            return np.array([result.curves[name] for result in self.results])
        return np.array(
            [
                selected_so_far(r.curves["validation_score"], r.curves["test_score"])
                for r in self.results
            ]
        )


Cells = dict[Cell, Gathered]
"""In the order of the paper's tables."""


def gather(results: Iterable[Result], runs: Iterable[Run]) -> Cells:
    """Return the results of these runs by cell, in the order of the paper's tables."""
    wanted = set(runs)
    cells: dict[Cell, list[Result]] = {}
    for result in results:
        if result.run in wanted:
            cells.setdefault(result.run.cell, []).append(result)
    return {
        cell: Gathered(cell, sorted(cells[cell], key=lambda r: r.run.seed))
        for cell in sorted(cells, key=_order)
    }


def _order(cell: Cell) -> tuple[object, ...]:
    data = list(DATA_NAMES)
    return (
        data.index(cell.data) if cell.data in data else len(data),
        cell.data,
        cell.hidden,
        cell.epsilon or 0.0,
        _method_order(cell.method),
        cell.options,
        cell.split or 0,
    )


def _method_order(method: str) -> tuple[object, ...]:
    """Sort dense first, then as the paper's main table has it, then as `METHODS`."""
    main = FIVE_METHODS.index(method) if method in FIVE_METHODS else len(FIVE_METHODS)
    return not is_full(method), main, method_position(method)
