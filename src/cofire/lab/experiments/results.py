"""What a run brings, and what the store knows of it afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cofire.lab.experiments.grid import Run

EPOCH_CURVES = (
    "loss",
    "validation_score",
    "validation_loss",
    "test_score",
    "test_loss",
    "train_seconds",
    "rewire_seconds",
    "evaluate_seconds",
    "multiply_adds",
)
"""The curves with one value an epoch."""


def task_of(notes: Mapping[str, Any]) -> str:
    """What a run's score is of: classification (accuracy) or regression (R²).

    Runs of before that was noted are told by their sizes: quantities have one output,
    classes two or more.

    >>> task_of({"sizes": [4, 10, 1]}), task_of({"task": "regression"}), task_of({})
    ('regression', 'regression', 'classification')
    """
    one_output = list(notes.get("sizes") or [])[-1:] == [1]
    known: str = notes.get("task", "regression" if one_output else "classification")
    return known


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one training brought.

    score is the test accuracy (or R^2) of `best_epoch`, counted from 1: the one that
    validated best, or without `restore_best` the last one. curves: `EPOCH_CURVES`, one
    value an epoch each; `inputs`: connections of each input of the network that was
    chosen; what a study found.
    """

    score: float
    validation_score: float | None
    best_epoch: int
    connections: int
    density: float
    seconds: float
    curves: Mapping[str, np.ndarray]
    receipt: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Result(Outcome):
    """A finished run as the store has it."""

    run: Run = None  # type: ignore[assignment]  # always given; fields before have defaults
    id: int = 0
    cofire: str = ""
    machine: Mapping[str, Any] = field(default_factory=dict)
    finished: str = ""
