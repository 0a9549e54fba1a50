"""What training is given, and all that it carries from epoch to epoch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cofire import engine
from cofire.core.network import SparseNetwork
from cofire.core.optimizers import Optimizer
from cofire.core.random import stream
from cofire.engine.augmentation import Augmentation
from cofire.methods import Method, Moment
from cofire.search import Deck, Exact, Similarity

Record = dict[str, Any]
"""What one epoch left behind; `history_` is a list of these."""


@dataclass(frozen=True)
class TrainingData:
    """The rows to learn from: a target and a weight each, `row_ids` those in use."""

    rows: engine.Rows
    targets: np.ndarray
    sample_weight: np.ndarray | None
    row_ids: np.ndarray
    validate: Callable[[SparseNetwork], tuple[float, float]] | None = None
    """Score and loss of a network on the validation data, where there are any."""
    measure: Callable[[SparseNetwork], tuple[float, float]] | None = None
    """The same on the rows to learn from, for those who ask."""

    @cached_property
    def rarity(self) -> np.ndarray:
        """Of the rows in use: how many of them share the rarest feature of each."""
        return self.rows.rarity(self.row_ids)

    @cached_property
    def deck(self) -> Deck:
        """The rows in use, shuffled and fast to read."""
        return Deck.of(self.rows, self.row_ids, self.rarity, self.sample_weight)

    def order(self, settings: "Settings", seed: int, epoch: int) -> np.ndarray:
        """The rows as the batches of an epoch take them."""
        if not settings.shuffle:
            return self.row_ids
        return stream(seed, "order", epoch=epoch).permutation(self.row_ids)


@dataclass(frozen=True)
class Settings:
    """What stays the same from the first epoch to the last."""

    method: Method
    drop_fraction: float
    batch_size: int
    drop_last: bool
    shuffle: bool
    learning_rate: str | Mapping[int, float]
    learning_rate_init: float
    max_epochs: int
    restore_best: bool
    n_threads: int
    alpha: float = 0.0
    similarity: Similarity = Exact()
    augmentation: Augmentation | None = None
    label_smoothing: float = 0.0
    input_dropout: float = 0.0
    drop_schedule: str = "constant"


@dataclass
class Progress:
    """All that training carries from epoch to epoch: with it, it resumes to the bit."""

    network: SparseNetwork
    optimizer: Optimizer
    seed: int
    epoch: int = 0
    history: list[Record] = field(default_factory=list)
    best_score: float | None = None
    best_network: SparseNetwork | None = None
    stalled_epochs: int = 0
    longest_stall: int = 0
    first_epoch: int = 0
    """Where the present fit began: a warm start counts its schedule from there."""

    def begin_fit(self) -> None:
        """Forget what was best: another fit may have other validation data."""
        self.first_epoch = self.epoch
        self.best_score = self.best_network = None
        self.stalled_epochs = self.longest_stall = 0

    def moment(self, settings: Settings) -> Moment:
        """Where training stands, as methods are told."""
        return Moment(
            epoch=self.epoch,
            first_epoch=self.first_epoch,
            max_epochs=settings.max_epochs,
            longest_stall=self.longest_stall,
        )
