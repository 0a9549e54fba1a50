"""EpochRecord: what one epoch left behind; `history_` is a list of these."""

import math
from typing import Any, NotRequired, TypedDict


class EpochRecord(TypedDict):
    """One epoch. Lists have one entry per layer; `alive` has one per hidden layer.

    Records of models that version 0.1 stored lack `dropped`, `connections` and `rows`.
    """

    epoch: int
    """Its number, counted from 0."""

    # the update of the topology that opened the epoch
    dropped: list[int]
    """Connections that were removed."""
    replaced: list[int]
    """Connections that were grown."""
    random_share: list[float]
    """The fraction of these that was drawn at random."""
    random_phase: bool | None
    """Whether growth was at random in this phase; None: the method has no phases."""
    recall: list[float] | None
    """The estimated fraction of what the search found that is among the best."""
    candidate_factor: list[int] | None
    """How many candidates per connection wanted the next search begins with."""
    search_multiply_adds: int | None
    """What the search cost."""

    # training
    rows: int
    """Rows that the steps took; a row that came twice counts twice."""
    loss: float
    """The mean training loss, as the batches saw it."""
    learning_rate: float
    connections: list[int]
    """Connections at the end of the epoch."""
    alive: list[int]
    """Hidden units that were active for some row and have a path to an output.

    Of a stream, the most that were so in one of the blocks since the last update."""

    # validation; None without validation data
    validation_score: float | None
    validation_loss: float | None
    stalled_epochs: int | None
    """Epochs since the last better score."""
    switched: bool
    """Whether the method has changed its phase in this fit."""

    rewire_seconds: float
    train_seconds: float
    evaluate_seconds: float

    # what `cofire.callbacks.RewiringStudy` adds
    loss_before_rewiring: NotRequired[float]
    loss_after_rewiring: NotRequired[float]
    tried_share: NotRequired[list[float]]
    candidate_overlap: NotRequired[list[float | None] | None]


def new_record(epoch: int, n_layers: int, random_phase: bool | None) -> EpochRecord:
    """Return the record of an epoch that begins: nothing was replaced or trained."""
    return {
        "epoch": epoch,
        "dropped": [0] * n_layers,
        "replaced": [0] * n_layers,
        "random_share": [0.0] * n_layers,
        "random_phase": random_phase,
        "recall": None,
        "candidate_factor": None,
        "search_multiply_adds": None,
        "rows": 0,
        "loss": math.nan,
        "learning_rate": math.nan,
        "connections": [],
        "alive": [],
        "validation_score": None,
        "validation_loss": None,
        "stalled_epochs": None,
        "switched": False,
        "rewire_seconds": 0.0,
        "train_seconds": 0.0,
        "evaluate_seconds": 0.0,
    }


def is_record(value: Any) -> bool:
    """Whether a value read from a file can stand in a history.

    A record of another version may have more entries or fewer; those that are summed
    and plotted must be there.
    """
    needed = ("loss", "rewire_seconds", "train_seconds", "evaluate_seconds")
    return (
        isinstance(value, dict)
        and all(type(value.get(name)) is float for name in needed)
        and type(rows := value.get("rows", 0)) is int
        and 0 <= rows < 2**63
    )
