"""What all forms of CTRE share: they look for neurons that fire alike."""

from dataclasses import dataclass

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.methods.contract import Method, Moment, Search, UpdateContext, check_choice
from cofire.topology.select import first_absent

FIRST_UPDATES = ("none", "index_order")


@dataclass(frozen=True)
class CTRE(Method):
    """Grow where two neurons fire alike (Atashgahi et al., 2022).

    score, rows, ties: what is searched for (see `Search`).
    first_update: "none", or in "index_order" one update before training, when no
    similarity exists yet and all pairs are equal, as in the authors' program.
    """

    score: str = "cosine"
    rows: str | float = "all"
    ties: str = "random"
    first_update: str = "none"

    def __post_init__(self) -> None:
        super().__post_init__()
        Search(self.score, self.rows, self.ties)  # refuses what is wrong
        if self.score == "gradient" or self.rows == "next_batch":
            raise ValueError(
                f"score={self.score!r}, rows={self.rows!r}: CTRE compares activations "
                "of rows that were trained on; for gradients there is the method rigl"
            )
        check_choice("first_update", self.first_update, FIRST_UPDATES)

    def rewires(self, epoch: int) -> bool:
        """Before each epoch; before the first one only by `first_update`."""
        return epoch > 0 or self.first_update == "index_order"

    def search(self, moment: Moment) -> Search | None:
        """Look for what fires alike, unless nothing was trained or chance decides."""
        if moment.epoch == 0 or self.random_phase(moment):
            return None
        return Search(self.score, self.rows, self.ties)

    def alike(
        self, layer: SparseLayer, dropped: np.ndarray, n: int, context: UpdateContext
    ) -> np.ndarray:
        """The n places that fire most alike; in the first update the first places."""
        if context.candidates is not None:
            return context.candidates
        return first_absent(layer, n, also=dropped)
