"""Finished runs, gathered by the cell of a table that they belong to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cofire.lab.experiments import Cell, Result, Run
from cofire.lab.experiments.statistics import selected_so_far
from cofire.lab.names import DATA_NAMES, is_full, method_position
from cofire.lab.paper.items import FIVE_METHODS


@dataclass(frozen=True, eq=False)
class Gathered:
    """The runs of a cell, by seed."""

    cell: Cell
    results: Sequence[Result]

    @property
    def percent(self) -> np.ndarray:
        """Test accuracies in per cent."""
        return 100.0 * np.array([result.score for result in self.results])

    @property
    def seeds(self) -> list[int]:
        return [result.run.seed for result in self.results]

    def curves(self, name: str) -> np.ndarray:
        """(seeds, epochs) of a curve; `selected_score`: test scores chosen so far."""
        if name != "selected_score":
            return np.array([result.curves[name] for result in self.results])
        return np.array(
            [
                selected_so_far(r.curves["validation_score"], r.curves["test_score"])
                for r in self.results
            ]
        )


def gather(results: Iterable[Result], runs: Iterable[Run]) -> dict[Cell, Gathered]:
    """What is there of the runs, in the order of the paper's tables."""
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
        (data.index(cell.data) if cell.data in data else len(data)),
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
