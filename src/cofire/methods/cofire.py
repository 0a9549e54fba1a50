"""The house method: grow what is correlated beyond chance, and nothing else."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.methods.contract import Grown, Method, Moment, Search, UpdateContext


@dataclass(frozen=True)
class Cofire(Method):
    """Grow between neurons whose correlation chance does not explain (docs/method.md).

    Correlations are those over `rows` rows, drawn afresh each time. A pair passes if
    its correlation is so large that, were no two neurons of the layer related, not more
    than `false_alarms` pairs would be expected to pass. Of these, the places to
    grow are drawn with chances in proportion to the correlation to the power of
    `sharpness`. What does not pass is not grown: the density is an upper bound, and a
    layer shrinks until it has about half a connection for each of its outputs; from
    there on, and in the output layer, all pairs pass.
    """

    rows: str | float = 768
    false_alarms: float | None = 3.0
    sharpness: int = 2
    shrinks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._search()  # refuses what is wrong
        if self.rows == "next_batch":
            raise ValueError("rows='next_batch': only rows that were trained on")

    def search(self, moment: Moment) -> Search | None:
        """Look for correlations."""
        return self._search()

    def grow(
        self, layer: SparseLayer, dropped: np.ndarray, n: int, context: UpdateContext
    ) -> Grown:
        """Take the places that were drawn."""
        assert context.candidates is not None  # asked for by `search`
        return Grown(context.candidates, n_random=0)

    def _search(self) -> Search:
        return Search(
            "pearson",
            self.rows,
            false_alarms=self.false_alarms,
            sharpness=self.sharpness,
        )
