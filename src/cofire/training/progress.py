"""Progress and TrainingData: what training carries along, and what it learns from."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from cofire import engine
from cofire.core.network import SparseNetwork
from cofire.core.optimizers import Optimizer
from cofire.methods import TrainingPoint
from cofire.search import Deck
from cofire.training.record import EpochRecord
from cofire.training.settings import Settings
from cofire.training.steps import Steps, Stretch

Scorer = Callable[[SparseNetwork], tuple[float, float]]
"""Gives the score (accuracy or R^2) and the mean loss of a network."""


@dataclass(frozen=True)
class TrainingData:
    """The rows to learn from, each with a target and a weight; `row_ids` are in use."""

    shares_rows: ClassVar[bool] = False
    """Whether networks read their rows together: then all of them train at once."""

    rows: engine.Rows
    targets: np.ndarray
    sample_weight: np.ndarray | None
    row_ids: np.ndarray
    validate: Scorer | None = None
    """Scores the validation data, where there are any."""
    measure: Scorer | None = None
    """Scores the rows to learn from; only callbacks use it."""
    outputs: Callable[[SparseNetwork, np.ndarray], np.ndarray] | None = None
    """Gives a network's outputs for some of the rows."""
    n_counted: float | None = None
    """How many rows those in use stand for, where equal rows were merged."""

    @cached_property
    def rarity(self) -> np.ndarray:
        """For each row in use, how many of them share its rarest feature."""
        return self.rows.rarity(self.row_ids)

    @cached_property
    def deck(self) -> Deck:
        """The rows in use, shuffled and fast to read."""
        return Deck.of(self.rows, self.row_ids, self.rarity, self.sample_weight)

    def steps(self, settings: Settings, seed: int) -> Steps:
        """Say which rows each step of a training takes."""
        return Steps(self.row_ids, settings, seed)

    def blocks(self, steps: Steps, stretch: Stretch) -> Iterator["Block"]:
        """Yield the rows that the steps of a stretch take: here all of them at once."""
        order = steps.order(stretch.begin, stretch.end)
        yield Block(self.rows, self.targets, self.sample_weight, order, stretch.begin)

    def join(self) -> None:
        """Say that a training is about to ask for blocks."""

    def leave(self) -> None:
        """Say that a training asks for no more blocks."""

    def abandon(self) -> None:
        """Let trainings that ask for the same blocks end: this one has failed."""


@dataclass(frozen=True, eq=False)
class Block:
    """Rows in memory, and the order in which some steps take them."""

    rows: engine.Rows
    targets: np.ndarray
    sample_weight: np.ndarray | None
    order: np.ndarray
    begin: int
    """The number of its first step."""
    row_numbers: np.ndarray | None = None
    """Of each row, where there are more rows than these: random numbers follow them."""


@dataclass
class Progress:
    """All that training carries from epoch to epoch: with it, it resumes to the bit."""

    network: SparseNetwork
    optimizer: Optimizer
    seed: int
    epoch: int = 0
    history: list[EpochRecord] = field(default_factory=list)
    best_score: float | None = None
    best_network: SparseNetwork | None = None
    stalled_epochs: int = 0
    longest_stall: int = 0
    first_epoch: int = 0
    """Where the present fit began: a warm start counts its schedules from there."""
    rate_factor: float = 1.0
    """What the learning rate is multiplied by: less than 1 after a restart."""

    def restart(self, other: "Progress", rate_factor: float) -> None:
        """Become another progress, one that has not begun; the object stays."""
        self.__dict__ = vars(other) | {"rate_factor": rate_factor}

    def done(self, settings: Settings, stretch: Stretch) -> float:
        """Say how much of the fit is done before this stretch: 0 to 1."""
        epochs = stretch.epoch - self.first_epoch + stretch.progress
        return epochs / settings.max_epochs

    def begin_fit(self) -> None:
        """Forget what was best: another fit may have other validation data."""
        self.first_epoch = self.epoch
        self.best_score = self.best_network = None
        self.stalled_epochs = self.longest_stall = 0

    def point(self, settings: Settings, stretch: Stretch) -> TrainingPoint:
        """Say where training stands before this stretch, as methods see it."""
        return TrainingPoint(
            update=stretch.update or 0,
            epoch=stretch.epoch,
            first_epoch=self.first_epoch,
            max_epochs=settings.max_epochs,
            longest_stall=self.longest_stall,
        )
