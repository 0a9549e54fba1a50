"""The numbers that the paper prints, looked up by cell."""

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cofire.lab.names import DATA_NAMES, method_name
from cofire.lab.paper.blocks import FIVE_METHODS
from cofire.methods import METHODS

FOLDER = Path(__file__).parent / "published"
MAIN_TABLE, SPARSE_TABLE = "results_main", "pure_sparse"
# The five methods have the main table's accuracies in all tables but the sparse one.
VARIANT_SEEDS, MAIN_SEEDS = 3, 15


class PrintedCell(NamedTuple):
    """What the paper's tables have an entry for; no epsilon: the dense network."""

    data: str
    method: str
    hidden: int
    epsilon: float | None


class Printed(NamedTuple):
    """Mean and spread in per cent, and the number of seeds."""

    mean: float
    spread: float
    seeds: int


@cache
def rows(file: str) -> list[dict[str, str]]:
    """Return the lines of one of the paper's tables."""
    with (FOLDER / f"{file}.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def cell_of(row: dict[str, str]) -> PrintedCell:
    """Return the cell that a line is about, in our own names.

    >>> cell_of(rows("ablation_cosine")[0])
    PrintedCell(data='madelon', method='ctre_seq', hidden=100, epsilon=1.0)
    """
    epsilon = float(row["epsilon"]) if row["epsilon"] else None
    method = _METHODS.get(row["method"], row["method"]) if "method" in row else ""
    return PrintedCell(_DATA[row["dataset"]], method, int(row["hidden"]), epsilon)


@cache
def accuracies(file: str) -> dict[PrintedCell, Printed]:
    """Return a table of accuracies.

    >>> accuracies("results_main")["madelon", "ctre_sim", 1000, 1.0]
    Printed(mean=78.8, spread=2.2, seeds=15)
    """
    found = {}
    for row in rows(file):
        cell = cell_of(row)
        main = cell.method in FIVE_METHODS and file != SPARSE_TABLE
        seeds = MAIN_SEEDS if main else VARIANT_SEEDS
        found[cell] = Printed(float(row["mean"]), float(row["std"]), seeds)
    return found


_DATA = {printed: ours for ours, printed in DATA_NAMES.items()}
# Our own methods come last: no plug-in takes a name of the paper from them.
_METHODS = {method_name(ours): ours for ours in reversed(METHODS.loaded())}
