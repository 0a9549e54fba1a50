"""What every method is, and what it is told when it may change a layer."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from cofire.errors import unknown_name
from cofire.layer import SparseLayer
from cofire.randomness import normal, stream, uniform
from cofire.topology.rewire import RETURNING
from cofire.topology.select import smallest_magnitude

NEW_VALUES = ("normal", "he_uniform", "zero")


class Grown(NamedTuple):
    """The places to grow, ascending, and how many of them chance alone chose."""

    places: np.ndarray
    n_random: int


@dataclass(frozen=True, kw_only=True)
class UpdateContext:
    """What a method may know when it drops and grows in one layer.

    `similar` are the places outside layer-minus-dropped, as many as are to be grown,
    whose two neurons fire most alike, ascending; only methods that need "activations"
    get them.
    """

    seed: int
    epoch: int
    max_epochs: int
    layer_index: int
    longest_stall: int = 0
    similar: np.ndarray | None = None

    def rng(self, purpose: str) -> np.random.Generator:
        """Return this layer's and epoch's stream, from its start at every call."""
        return stream(self.seed, purpose, self.layer_index, self.epoch)


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """How a topology changes; it says which places, and changes nothing itself.

    new_values: "normal" N(0, 0.1^2), "he_uniform" U(+-sqrt(6 / n_in)), or "zero".
    returning: a connection dropped and grown at once starts "fresh" or is "kept".
    """

    new_values: str = "normal"
    returning: str = "fresh"

    needs: ClassVar[frozenset[str]] = frozenset()  # what the trainer must gather
    full: ClassVar[bool] = False  # every connection exists, whatever the density

    def __post_init__(self) -> None:
        if self.new_values not in NEW_VALUES:
            raise unknown_name("new_values", self.new_values, NEW_VALUES)
        if self.returning not in RETURNING:
            raise unknown_name("returning", self.returning, RETURNING)

    def rewires(self, epoch: int) -> bool:
        """Whether the topology changes before this epoch."""
        return True

    def drop(self, layer: SparseLayer, n: int, context: UpdateContext) -> np.ndarray:
        """Choose n connections to drop: their places, ascending."""
        return smallest_magnitude(layer, n, context.rng("drop"))

    @abstractmethod
    def grow(
        self, layer: SparseLayer, dropped: np.ndarray, n: int, context: UpdateContext
    ) -> Grown:
        """Choose n places outside layer-minus-dropped; `layer` is as before drop."""

    def new_weights(
        self, layer: SparseLayer, n: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw the weights of n new connections: (n) float32."""
        if self.new_values == "normal":
            return normal(n, rng) * np.float32(0.1)
        if self.new_values == "he_uniform":
            return uniform(n, rng) * np.float32(np.sqrt(6 / layer.n_in))
        return np.zeros(n, dtype=np.float32)
