"""What every method is, and what it is told when it may change a layer."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.core.random import normal, stream, uniform
from cofire.engine import SCORES, TIES
from cofire.errors import unknown_name
from cofire.topology.rewire import RETURNING
from cofire.topology.select import DROP_RULES, closest_to_zero, smallest_magnitude

NEW_VALUES = ("normal", "he_uniform", "zero", "layer_spread")
ROWS = ("all", "last_batch", "next_batch", "random_batch")


class Grown(NamedTuple):
    """The places to grow, ascending, and how many of them chance alone chose."""

    places: np.ndarray
    n_random: int


@dataclass(frozen=True)
class Search:
    """What the trainer shall look for in all layers: the places that score highest.

    score: see `cofire.engine.PairSearch`.
    rows: "all" rows to learn from, a share (0.5) or a number (384) of them, drawn anew
    each time, the "last_batch" of the epoch before, the "next_batch" or a
    "random_batch".
    ties: among equals "random" ones, or the lowest in the "index" order.
    false_alarms: of correlations (score "pearson"), what chance does not explain: they
    must be so large that if no two neurons of a layer were related, this many pairs of
    them would be expected to pass. So fewer may be found than were dropped. None: all
    may. The output layer has no such gate, and neither has a layer that would be left
    with less than half a connection for each of its outputs.
    sharpness: of correlations, 0 for the highest; else places are drawn with chances in
    proportion to this power of them.
    """

    score: str = "cosine"
    rows: str | float = "all"
    ties: str = "random"
    false_alarms: float | None = None
    sharpness: int = 0

    def __post_init__(self) -> None:
        check_choice("score", self.score, SCORES)
        check_choice("ties", self.ties, TIES)
        if not _says_rows(self.rows):
            raise ValueError(
                f"rows must be one of {', '.join(map(repr, ROWS))}, a share in (0, 1] "
                f"or a whole number of rows from 1 on, got {self.rows!r}"
            )
        if self.false_alarms is not None and not 0 < self.false_alarms < np.inf:
            raise ValueError(
                f"false_alarms must be None or above 0, got {self.false_alarms!r}"
            )
        if not isinstance(self.sharpness, int) or not 0 <= self.sharpness <= 64:
            raise ValueError(
                f"sharpness must be a whole number in [0, 64], got {self.sharpness!r}"
            )
        gated = self.false_alarms is not None
        if self.score != "pearson" and (gated or self.sharpness):
            raise ValueError(
                f"score={self.score!r}: false_alarms and sharpness are for "
                "correlations (score='pearson')"
            )


@dataclass(frozen=True, kw_only=True)
class Moment:
    """Where training stands before the epoch with number `epoch`.

    The present fit began with `first_epoch` and may run `max_epochs`. `longest_stall`
    is the largest number of epochs in a row without a better validation score.
    """

    epoch: int
    max_epochs: int
    first_epoch: int = 0
    longest_stall: int = 0


@dataclass(frozen=True, kw_only=True)
class UpdateContext(Moment):
    """What a method may know when it drops and grows in one layer.

    `candidates` are the places outside layer-minus-dropped, as many as were dropped (or
    as passed the gate), that the method's `search` found in this layer, ascending; None
    without a search.
    """

    seed: int
    layer_index: int
    drop_fraction: float = 0.0
    candidates: np.ndarray | None = None

    def rng(self, purpose: str) -> np.random.Generator:
        """Return this layer's and epoch's stream, from its start at every call."""
        return stream(self.seed, purpose, self.layer_index, self.epoch)


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """How a topology changes; it says which places, and changes nothing itself.

    drop_rule: the "magnitude" smallest in absolute value go, or by "signed" the same
    share of the negative and of the positive weights, those closest to zero (SETsp).
    new_values: "normal" N(0, 0.1^2), "he_uniform" U(+-sqrt(6 / n_in)), "zero", or
    "layer_spread" N(0, (half the layer's standard deviation)^2).
    returning: a connection dropped and grown at once starts "fresh" or is "kept".
    """

    drop_rule: str = "magnitude"
    new_values: str = "normal"
    returning: str = "fresh"

    needs: ClassVar[frozenset[str]] = frozenset()
    """{"validation"}: rows are held out and scored after each epoch."""
    full: ClassVar[bool] = False
    """Every connection exists, whatever the density."""
    shrinks: ClassVar[bool] = False
    """It may grow fewer connections than it dropped: the density is an upper bound."""
    starts_full: ClassVar[bool] = False
    """Training begins with every connection; `begin` chooses those that stay."""

    def __post_init__(self) -> None:
        check_choice("drop_rule", self.drop_rule, DROP_RULES)
        check_choice("new_values", self.new_values, NEW_VALUES)
        check_choice("returning", self.returning, RETURNING)

    # ---- when -----------------------------------------------------------------------

    def rewires(self, epoch: int) -> bool:
        """Whether the topology changes before this epoch; epochs count from 0."""
        return epoch > 0

    def random_phase(self, moment: Moment) -> bool | None:
        """Whether growth is random now; None: the method knows no such phases."""
        return None

    def switched(self, moment: Moment) -> bool:
        """Whether the switch from one phase to the other was thrown."""
        return False

    # ---- where ----------------------------------------------------------------------

    @property
    def first_batches(self) -> int:
        """How many of the first batches the gradients for `begin` come from."""
        return 1

    def begin(
        self,
        network: SparseNetwork,
        gradients: list[np.ndarray],
        counts: Sequence[int],
        seed: int,
    ) -> list[np.ndarray]:
        """Choose the places of each layer that stay; only asked if `starts_full`."""
        raise TypeError(f"{type(self).__name__} starts full but does not say begin()")

    def drop(self, layer: SparseLayer, n: int, context: UpdateContext) -> np.ndarray:
        """Choose about n connections to drop: their places, ascending."""
        if self.drop_rule == "signed":
            return closest_to_zero(layer, n, context.drop_fraction)
        return smallest_magnitude(layer, n, context.rng("drop"))

    def search(self, moment: Moment) -> Search | None:
        """What to look for before growing; None: nothing."""
        return None

    @abstractmethod
    def grow(
        self, layer: SparseLayer, dropped: np.ndarray, n: int, context: UpdateContext
    ) -> Grown:
        """Choose n places outside layer-minus-dropped; `layer` is as before drop.

        A method that `shrinks` may choose fewer.
        """

    # ---- with what ------------------------------------------------------------------

    def new_weights(
        self, layer: SparseLayer, n: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw the weights of n new connections: (n) float32."""
        if self.new_values == "normal":
            return normal(n, rng) * np.float32(0.1)
        if self.new_values == "he_uniform":
            return uniform(n, rng) * np.float32(np.sqrt(6 / layer.n_in))
        if self.new_values == "layer_spread" and n:
            return normal(n, rng) * np.float32(layer.weights.std(dtype=np.float64) / 2)
        return np.zeros(n, dtype=np.float32)


def _says_rows(rows: Any) -> bool:
    if isinstance(rows, float):
        return 0 < rows <= 1
    if isinstance(rows, int):
        return not isinstance(rows, bool) and rows >= 1
    return rows in ROWS


def check_choice(name: str, value: Any, known: Sequence[str]) -> None:
    """Refuse a setting that is not one of those known."""
    if value not in known:
        raise unknown_name(name, value, known)
