"""The house method: grow what is correlated beyond chance, and nothing else."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cofire.layer import SparseLayer
from cofire.methods.base import Grown, Method, Moment, Search, UpdateContext
from cofire.topology.select import smallest_magnitude


@dataclass(frozen=True)
class Cofire(Method):
    """Grow between neurons whose correlation chance does not explain (docs/method.md).

    Of the places whose correlation over `rows` rows, drawn afresh each time, is more
    than `gate` standard errors from 0, those to grow are drawn with chances in
    proportion to its magnitude to the power of `sharpness`. What does not pass is not
    grown: the density is an upper bound, and a layer shrinks, but not below half a
    connection for each of its outputs. The output layer has no gate and never shrinks.
    """

    rows: str | float = 384
    gate: float | None = 4.0
    sharpness: int = 4
    shrinks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        Search(
            "pearson", self.rows, "random", self.gate, self.sharpness
        )  # or it raises
        if self.rows == "next_batch":
            raise ValueError("rows='next_batch': only rows that were trained on")

    def drop(self, layer: SparseLayer, n: int, context: UpdateContext) -> np.ndarray:
        """Choose about n connections, but leave half a connection an output."""
        n_spare = max(layer.nnz - layer.n_out // 2, 0)
        places = super().drop(layer, min(n, n_spare), context)
        if len(places) <= n_spare:
            return places
        return smallest_magnitude(layer, n_spare, context.rng("drop"))

    def search(self, moment: Moment) -> Search | None:
        """Look for correlations."""
        return Search("pearson", self.rows, "random", self.gate, self.sharpness)

    def grow(
        self, layer: SparseLayer, dropped: np.ndarray, n: int, context: UpdateContext
    ) -> Grown:
        """Take the places that were drawn."""
        assert context.candidates is not None  # asked for by `search`
        return Grown(context.candidates, n_random=0)
