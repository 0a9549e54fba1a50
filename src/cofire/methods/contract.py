"""What a method is: it says which connections go and come, and changes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.core.random import stream
from cofire.methods.requests import Search, check_choices
from cofire.methods.rules import DROP_RULES, NEW_VALUES
from cofire.topology.rewire import RETURNING


class Grown(NamedTuple):
    """The flat indices to grow, ascending, and how many of them were drawn at random.

    The connection from input i to output o has the flat index o * n_in + i.
    """

    indices: np.ndarray
    n_random: int = 0


@dataclass(frozen=True, kw_only=True)
class TrainingPoint:
    """Where training stands when an update of the topology is due.

    update: the number of this update; 0 is due before the first step. Where updates
    are due once per epoch, it is the number of the epoch.
    epoch: the number of the epoch that this update belongs to; a warm start continues
    the count. The present fit began with `first_epoch` and may run `max_epochs`.
    longest_stall: the largest number of epochs in a row without a better validation
    score.
    """

    update: int
    epoch: int
    max_epochs: int
    first_epoch: int = 0
    longest_stall: int = 0


@dataclass(frozen=True, kw_only=True)
class UpdateContext(TrainingPoint):
    """What a method may know when it drops and grows in one layer.

    candidates: what the method's `search` found in this layer: flat indices, ascending,
    free once the dropped connections are gone. As many as the layer may grow, or fewer
    where the request is one that not all pairs pass. None without a search.
    """

    seed: int
    layer_index: int
    drop_fraction: float = 0.0
    candidates: np.ndarray | None = None

    def rng(self, purpose: str) -> np.random.Generator:
        """Return the random numbers of this layer and update, always from the start."""
        return stream(self.seed, purpose, self.layer_index, self.update)


@dataclass(frozen=True, kw_only=True)
class Method:
    """How a topology changes. A method sees arrays and returns indices.

    An update of the topology goes like this: `drop` in every layer, `budgets`, one
    `search` over all layers, `grow` in every layer, `new_weights` for what was grown.

    drop_rule: by "magnitude" the smallest in absolute value go, by "signed" the same
    fraction of the negative and of the positive weights, those closest to zero (SET).
    new_values: "normal" N(0, 0.1^2), "he_uniform" U(+-sqrt(6 / n_in)), "zero", or
    "layer_spread" N(0, (half the layer's standard deviation)^2).
    returning: a connection that is dropped and grown at once starts "fresh" or is
    "kept".
    """

    drop_rule: str = "magnitude"
    new_values: str = "normal"
    returning: str = "fresh"

    title: ClassVar[str | None] = None
    """How tables and pictures print the method; None: its name in `METHODS`."""
    needs_validation: ClassVar[bool] = False
    """Rows are held out and scored after each epoch."""
    full: ClassVar[bool] = False
    """Every connection exists, whatever the density."""
    shrinks: ClassVar[bool] = False
    """It may grow fewer connections than it dropped: the density is an upper bound."""
    starts_full: ClassVar[bool] = False
    """Training begins with every connection; `begin` chooses those that stay."""

    def __post_init__(self) -> None:
        check_choices(
            self, drop_rule=DROP_RULES, new_values=NEW_VALUES, returning=RETURNING
        )

    # ---- when -----------------------------------------------------------------------

    def rewires(self, point: TrainingPoint) -> bool:
        """Whether the topology changes in this update; by default not before training.

        How often updates are due is not the method's choice but the training's.
        """
        return point.update > 0

    def phase(self, point: TrainingPoint) -> str | None:
        """Name the phase that training is in; None: the method has no phases.

        Growth is taken to be at random in a phase called "random".
        """
        return None

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
        """Choose which connections stay, counts[l] in layer l, if it `starts_full`."""
        raise TypeError(
            f"{type(self).__name__} has starts_full = True and must define begin()"
        )

    def drop(self, layer: SparseLayer, n: int, context: UpdateContext) -> np.ndarray:
        """Choose about n connections to drop: their flat indices, ascending."""
        rule = DROP_RULES[self.drop_rule]
        return rule(layer, n, context.drop_fraction, context.rng("drop"))

    def budgets(
        self,
        layers: Sequence[SparseLayer],
        n_dropped: Sequence[int],
        point: TrainingPoint,
    ) -> Sequence[int]:
        """Say how many connections each layer may grow; by default as many as it lost.

        A method that moves connections between layers returns other numbers, with the
        same sum or a smaller one. `layers` are as before the drop.
        """
        return n_dropped

    def search(self, point: TrainingPoint) -> Search | None:
        """Say what to look for before growing; None: nothing."""
        return None

    def grow(
        self, layer: SparseLayer, dropped: np.ndarray, n: int, context: UpdateContext
    ) -> Grown:
        """Choose n free indices; by default the candidates that `search` found.

        Free are those outside layer-minus-dropped; `layer` is as before the drop. A
        method that `shrinks` may choose fewer than n.
        """
        if context.candidates is None:
            raise TypeError(
                f"{type(self).__name__} must define search() or grow(): there are no "
                "candidates to grow"
            )
        return Grown(context.candidates)

    # ---- with what ------------------------------------------------------------------

    def new_weights(
        self, layer: SparseLayer, n: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw the weights of n new connections: (n) float32."""
        return NEW_VALUES[self.new_values](layer, n, rng)
