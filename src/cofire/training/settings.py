"""Settings: what stays the same from the first epoch of a fit to the last."""

from collections.abc import Mapping
from dataclasses import dataclass

from cofire.engine import Augmentation
from cofire.methods import Method
from cofire.search import Similarity


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to train, with every name turned into the object that it stands for.

    There are no defaults here: those of a user are the estimators' parameters.
    """

    method: Method
    similarity: Similarity
    drop_fraction: float
    drop_schedule: str
    update_interval: int | None
    """Steps from one update of the topology to the next; None: one per epoch."""
    update_stop: float
    """The fraction of the fit after which no update is due."""
    batch_size: int
    steps_per_epoch: int | None
    """None: an epoch is one pass over the rows."""
    drop_last: bool
    shuffle: bool
    learning_rate: str | Mapping[int, float]
    learning_rate_init: float
    max_epochs: int
    augmentation: Augmentation | None
    label_smoothing: float
    input_dropout: float
    restore_best: bool
    n_threads: int
