"""Settings for your rows: a search on Optuna, and how small a model can get."""

from cofire.tuning.result import Tuning
from cofire.tuning.search import Step, tune

__all__ = ["Step", "Tuning", "tune"]
