"""The paper's own figures, looked up by cell."""

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cofire.lab.names import DATA_NAMES, method_name
from cofire.methods import METHODS

FOLDER = Path(__file__).parent / "published"
VARIANT_SEEDS, MAIN_SEEDS = 3, 15
# Methods whose figures in any table are those of the main one.
MAIN = ("snip", "rigl", "set", "ctre_seq", "ctre_sim")


class Place(NamedTuple):
    """What the paper's tables have an entry for; no epsilon: the dense network."""

    data: str
    method: str
    hidden: int
    epsilon: float | None


class Printed(NamedTuple):
    """Mean and spread in per cent, and of how many seeds."""

    mean: float
    spread: float
    seeds: int


@cache
def rows(file: str) -> list[dict[str, str]]:
    """The lines of one of the paper's tables."""
    with (FOLDER / f"{file}.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def place_of(row: dict[str, str]) -> Place:
    """Where a line belongs, in our own names.

    >>> place_of(rows("ablation_cosine")[0])
    Place(data='madelon', method='ctre_seq', hidden=100, epsilon=1.0)
    """
    epsilon = float(row["epsilon"]) if row["epsilon"] else None
    method = _METHODS.get(row["method"], row["method"]) if "method" in row else ""
    return Place(_DATA[row["dataset"]], method, int(row["hidden"]), epsilon)


@cache
def accuracies(file: str) -> dict[Place, Printed]:
    """A table of accuracies.

    >>> accuracies("results_main")["madelon", "ctre_sim", 1000, 1.0]
    Printed(mean=78.8, spread=2.2, seeds=15)
    """
    found = {}
    for row in rows(file):
        place = place_of(row)
        main = place.method in MAIN and file != "pure_sparse"
        seeds = MAIN_SEEDS if main else VARIANT_SEEDS
        found[place] = Printed(float(row["mean"]), float(row["std"]), seeds)
    return found


_DATA = {printed: ours for ours, printed in DATA_NAMES.items()}
# Our own methods come last: no plug-in takes a name of the paper from them.
_METHODS = {method_name(ours): ours for ours in reversed(METHODS.loaded())}
