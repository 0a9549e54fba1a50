"""Static: the random topology of the beginning, kept to the end."""

from dataclasses import dataclass

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.methods.contract import Grown, Method, UpdateContext


@dataclass(frozen=True)
class Static(Method):
    """Never rewire: the control that shows what rewiring is worth."""

    def rewires(self, epoch: int) -> bool:
        """Never."""
        return False

    def drop(self, layer: SparseLayer, n: int, context: UpdateContext) -> np.ndarray:
        """Drop nothing, however many may go."""
        return np.empty(0, dtype=np.int64)

    def grow(
        self, layer: SparseLayer, dropped: np.ndarray, n: int, context: UpdateContext
    ) -> Grown:
        """Grow nothing."""
        return Grown(np.empty(0, dtype=np.int64), n_random=0)
