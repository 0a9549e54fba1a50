"""The default recipe: values for the parameters that a user leaves at None.

They follow from the number of rows and from the kind of target alone, laid out in
optimiser steps, so that 80 rows and 800,000 rows both get a sensible schedule
(docs/schedule.md). They were chosen by cross-validation (benchmarks/tables).
"""

from dataclasses import dataclass, fields
from typing import Any

BATCH = 64  # rows per step; with fewer rows, a step takes all of them
STEPS = 2000  # at least, of a fit
PASSES = 15  # over the rows, at least
EPOCH_STEPS = 100  # at least, of an epoch
EPOCHS = 50  # at most, where none are asked for
PARTIAL_EPOCHS = 200  # that schedules of partial_fit count with
UPDATES_PER_PASS = 3  # at most, where epochs are passes
PATIENCE, PATIENCE_IN_STEPS = 40, 10

# Connections: epsilon grows with the rows. With few rows, the inputs of a wide table
# get INPUT_CONNECTIONS at most, as long as epsilon is not below 1.
ROWS_PER_EPSILON = 800
LEAST_EPSILON, FEW_ROWS_EPSILON, MOST_EPSILON = 1.0, 3.0, 25.0
INPUT_CONNECTIONS = 15_000

# Pieces of columns of numbers (pieces.py): how many of each column, and of all.
ROWS_PER_PIECE = 250
LEAST_PIECES, MOST_PIECES = 4, 32
MOST_IN_ALL = 512
MOST_VALUES = 2**27  # of pieces in all rows: 512 MB

# By solver, for a rate that falls to 0; a constant rate is a third of it.
RATES = {"sgd": 0.15, "adam": 0.003}


@dataclass(frozen=True)
class Recipe:
    """A value for each parameter that may be None."""

    epsilon: float
    update_interval: int | str
    drop_schedule: str
    learning_rate: Any
    learning_rate_init: float
    batch_size: int
    alpha: float
    input_dropout: float
    max_iter: int
    n_iter_no_change: int

    n_pieces: int
    """What was found in the data: not more than was asked for."""

    steps_per_epoch: int | None = None
    """Not a parameter: the steps of an epoch, where an epoch is not one pass."""

    @property
    def chosen(self) -> dict[str, Any]:
        """The values by the names of the parameters."""
        names = [f.name for f in fields(self) if f.name != "steps_per_epoch"]
        return {name: getattr(self, name) for name in names}


def choose(
    parameters: Any,
    n_rows: int,
    *,
    n_pieces: int,
    numeric: bool,
    partial: bool,
    n_inputs: int = 1,
) -> Recipe:
    """Return what a user gave, and the recipe's values for the rest.

    n_pieces: what the encoder has; numeric: whether targets are numbers; partial:
    whether partial_fit asks, which does not know how long training will be; n_inputs:
    of the network.
    """
    schedule = "constant" if partial else "cosine"
    batch = int(_given(parameters.batch_size, BATCH))
    size = min(batch, n_rows)
    per_pass = -(-n_rows // size)
    rate = _given(parameters.learning_rate, schedule)
    initial = RATES[parameters.solver] / (3 if rate == "constant" else 1)
    in_steps = parameters.max_iter is None and not partial
    per_epoch = None
    if in_steps:
        steps = max(STEPS, PASSES * per_pass)
        per_epoch = max(EPOCH_STEPS, -(-steps // EPOCHS))
        n_epochs, interval = -(-steps // per_epoch), per_epoch
    else:
        n_epochs = int(_given(parameters.max_iter, PARTIAL_EPOCHS))
        interval = max(EPOCH_STEPS, -(-per_pass // UPDATES_PER_PASS))
    alpha = 5e-4
    if numeric and not partial:
        alpha = _within(5 / n_rows, 2e-4, 1e-2)
    return Recipe(
        epsilon=_given(parameters.epsilon, choose_epsilon(n_rows, n_inputs)),
        update_interval=_given(parameters.update_interval, interval),
        drop_schedule=_given(parameters.drop_schedule, schedule),
        learning_rate=rate,
        learning_rate_init=_given(parameters.learning_rate_init, initial),
        batch_size=batch,
        alpha=_given(parameters.alpha, alpha),
        input_dropout=_given(parameters.input_dropout, 0.05 if numeric else 0.1),
        max_iter=n_epochs,
        n_iter_no_change=_given(
            parameters.n_iter_no_change, PATIENCE_IN_STEPS if in_steps else PATIENCE
        ),
        n_pieces=n_pieces,
        steps_per_epoch=per_epoch,
    )


def choose_epsilon(n_rows: int, n_inputs: int) -> float:
    """Return epsilon: a layer gets epsilon * (n_in + n_out) connections.

    >>> [choose_epsilon(n_rows, 100) for n_rows in (200, 8_000, 100_000)]
    [3.0, 10.0, 25.0]
    >>> [choose_epsilon(200, n_inputs) for n_inputs in (5_000, 10_000, 50_000)]
    [3.0, 1.5, 1.0]
    """
    least = INPUT_CONNECTIONS / max(n_inputs, 1)
    least = _within(least, LEAST_EPSILON, FEW_ROWS_EPSILON)
    return _within(n_rows / ROWS_PER_EPSILON, least, MOST_EPSILON)


def choose_pieces(n_rows: int, n_columns: int) -> int:
    """Return how many pieces each column of numbers gets; 0: none.

    >>> choose_pieces(500, 10), choose_pieces(5_000, 10), choose_pieces(5_000, 60)
    (4, 20, 8)
    >>> choose_pieces(500, 1000)
    0
    """
    most = min(MOST_IN_ALL, MOST_VALUES // max(n_rows, 1)) // max(n_columns, 1)
    wanted = int(_within(n_rows / ROWS_PER_PIECE, LEAST_PIECES, MOST_PIECES))
    return min(wanted, most) if most >= LEAST_PIECES else 0


def most_columns_in_pieces() -> int:
    """Return how many columns of numbers there may be for any to get pieces."""
    return MOST_IN_ALL // LEAST_PIECES


def _given(value: Any, otherwise: Any) -> Any:
    return otherwise if value is None else value


def _within(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
