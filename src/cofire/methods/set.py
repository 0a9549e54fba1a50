"""SET: drop the smallest weights, grow at random (Mocanu et al., 2018)."""

from dataclasses import dataclass

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.methods.contract import Grown, Method, UpdateContext
from cofire.topology.select import random_absent


@dataclass(frozen=True)
class SET(Method):
    """Random growth everywhere, also where a connection was just dropped."""

    title = "SET"

    def grow(
        self, layer: SparseLayer, dropped: np.ndarray, n: int, context: UpdateContext
    ) -> Grown:
        """Choose n free indices at random."""
        indices = random_absent(layer, n, context.rng("grow"), also=dropped)
        return Grown(indices, n_random=n)
