"""CTRE without random growth: what similarity alone can find."""

from dataclasses import dataclass

import numpy as np

from cofire.layer import SparseLayer
from cofire.methods.base import Grown, UpdateContext
from cofire.methods.ctre import CTRE


@dataclass(frozen=True)
class CTREWithoutRandom(CTRE):
    """Similar growth from beginning to end: CTRE_seq that never switches."""

    def grow(
        self, layer: SparseLayer, dropped: np.ndarray, n: int, context: UpdateContext
    ) -> Grown:
        """Choose the n most similar places."""
        return Grown(self.alike(layer, dropped, n, context), n_random=0)
