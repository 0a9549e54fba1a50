"""What a run found, and what the store knows about it afterwards."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

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
"""The curves with one value per epoch."""


def noted_task(notes: Mapping[str, Any]) -> str:
    """Return the task of a run: classification (accuracy) or regression (R²).

    Older runs did not note it. Their sizes tell: a network for numbers has one output,
    one for classes two or more.

    >>> noted_task({"sizes": [4, 10, 1]}), noted_task({"task": "regression"})
    ('regression', 'regression')
    >>> noted_task({})
    'classification'
    """
    one_output = list(notes.get("sizes") or [])[-1:] == [1]
    known: str = notes.get("task", "regression" if one_output else "classification")
    return known


def _plain(value: float) -> str:
    return f"{value:.4g}"


def _seconds(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


@dataclass(frozen=True)
class Column:
    """A number of an outcome: the store, the exports and the results page have it.

    heading: in the page's table of all cells; "" leaves it out there. text formats the
    mean over seeds, after it is multiplied by `unit`. worded: the page's receipts have
    a sentence for it; any other column with a heading gets a line there. since: the
    version of the run store that has it first; from 2 on the field must allow None, as
    older runs have no value. name, kind (int or float) and optional: from the field.
    """

    heading: str = ""
    text: Callable[[float], str] = _plain
    unit: float = 1
    worded: bool = False
    since: int = 1
    name: str = ""
    kind: type = float
    optional: bool = False

    @property
    def sql(self) -> str:
        """The definition of the column in the store."""
        return f"{self.name} {'INTEGER' if self.kind is int else 'REAL'}"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one training found. A new column is a field here, and a value in `execute`.

    score is the test accuracy (or R^2) of `best_epoch`, counted from 1: the one that
    validated best, or without `restore_best` the last one. A baseline has 0 there, and
    0 connections. curves: `EPOCH_CURVES`, with one value per epoch each; `inputs`:
    connections of each input of the chosen network; what a study found.
    """

    score: Annotated[float, Column(worded=True)]
    validation_score: Annotated[float | None, Column(worded=True)]
    best_epoch: Annotated[int, Column("best epoch", "{:.0f}".format, worded=True)]
    connections: Annotated[int, Column("connections", "{:,.0f}".format, worded=True)]
    density: Annotated[
        float, Column("density %", "{:.3g}".format, unit=100, worded=True)
    ]
    seconds: Annotated[float, Column("seconds per run", _seconds, worded=True)]
    curves: Mapping[str, np.ndarray]
    receipt: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)


def plain_type(hint: Any) -> tuple[type, bool]:
    """Split an annotation into a plain type and whether None is allowed.

    >>> plain_type(float | None), plain_type(Annotated[int, "a count"])
    ((<class 'float'>, True), (<class 'int'>, False))
    """
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if isinstance(hint, UnionType):
        (own,) = [one for one in get_args(hint) if one is not type(None)]
        return own, True
    return hint, False


def columns_of(outcome: type) -> dict[str, Column]:
    """Collect the columns of an outcome's fields, by name and in their order."""
    found = {}
    for name, hint in get_type_hints(outcome, include_extras=True).items():
        for column in getattr(hint, "__metadata__", ()):
            kind, optional = plain_type(hint)
            if column.since > 1 and not optional:
                raise TypeError(f"{name} must allow None: older runs do not have it.")
            found[name] = replace(column, name=name, kind=kind, optional=optional)
    return found


COLUMNS = columns_of(Outcome)


@dataclass(frozen=True, eq=False)
class Result(Outcome):
    """A finished run as the store has it."""

    run: Run = None  # type: ignore[assignment]  # always given; fields before have defaults
    id: int = 0
    cofire: str = ""
    machine: Mapping[str, Any] = field(default_factory=dict)
    finished: str = ""
