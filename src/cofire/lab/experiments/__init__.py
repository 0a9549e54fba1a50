"""Many runs: grids of them, a store that keeps them, a runner, statistics."""

from cofire.lab.experiments.grid import PROFILES, Cell, Run, grid
from cofire.lab.experiments.results import Outcome, Result
from cofire.lab.experiments.store import Store, StoreError

__all__ = [
    "PROFILES",
    "Cell",
    "Outcome",
    "Result",
    "Run",
    "Store",
    "StoreError",
    "grid",
]
