"""What all forms of CTRE share: they look for neurons that fire alike."""

from dataclasses import dataclass

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.methods.contract import Grown, Method, TrainingPoint, UpdateContext
from cofire.methods.requests import Search, Similar, check_choices
from cofire.topology.select import first_absent

FIRST_UPDATES = ("none", "index_order")
RANDOM, SIMILAR = "random", "similar"  # the phases of CTRE_seq


@dataclass(frozen=True)
class CTRE(Method):
    """Grow where two neurons fire alike (Atashgahi et al., 2022).

    score, rows, ties: what is searched for (see `Similar`).
    first_update: "none", or in "index_order" one update before training, when no
    similarity exists yet and all pairs are equal, as in the authors' program.
    """

    score: str = "cosine"
    rows: str | float = "all"
    ties: str = "random"
    first_update: str = "none"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._request()  # refuses what is wrong
        if self.rows == "next_batch":
            raise ValueError(
                "rows='next_batch': CTRE compares activations of rows that were "
                "trained on; give 'last_batch', 'random_batch', 'all' or a fraction"
            )
        check_choices(self, first_update=FIRST_UPDATES)

    def rewires(self, point: TrainingPoint) -> bool:
        """At every update; before training only by `first_update`."""
        return point.update > 0 or self.first_update == "index_order"

    def search(self, point: TrainingPoint) -> Search | None:
        """Look for what fires alike, unless nothing was trained or growth is random."""
        if point.update == 0 or self.phase(point) == RANDOM:
            return None
        return self._request()

    def grow(
        self, layer: SparseLayer, dropped: np.ndarray, n: int, context: UpdateContext
    ) -> Grown:
        """Choose the n pairs that fire most alike; before training the first ones."""
        if context.candidates is None:
            return Grown(first_absent(layer, n, also=dropped))
        return Grown(context.candidates)

    def _request(self) -> Similar:
        return Similar(self.score, self.rows, self.ties)
