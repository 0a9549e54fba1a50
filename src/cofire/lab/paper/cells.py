"""Finished runs, gathered by the cell of a table that they belong to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cofire.lab.experiments import Cell, Result, Run
from cofire.lab.experiments.statistics import selected_so_far
from cofire.lab.names import DATA_NAMES, METHOD_NAMES


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
    def index(names: dict[str, str], name: str) -> tuple[int, str]:
        known = list(names)
        return (known.index(name) if name in known else len(known)), name

    return (
        index(DATA_NAMES, cell.data),
        cell.hidden,
        cell.epsilon or 0.0,
        index(_METHOD_ORDER, cell.method),
        cell.options,
        cell.split or 0,
    )


# Rivals first, as the paper's tables have it.
_METHOD_ORDER = {
    name: ""
    for name in ("dense", "snip", "rigl", "set", "static", "ctre_seq", "ctre_sim")
} | METHOD_NAMES
