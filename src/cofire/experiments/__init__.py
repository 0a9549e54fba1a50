"""Many runs: a grid of them, a store that keeps them, a runner, statistics."""

from cofire.experiments.grid import PROFILES, Cell, Run, grid
from cofire.experiments.results import Outcome, Result
from cofire.experiments.store import Store, StoreError

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
