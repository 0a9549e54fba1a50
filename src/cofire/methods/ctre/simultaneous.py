"""CTRE_sim: similar and random growth at once (Atashgahi et al., 2022)."""

from dataclasses import dataclass

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.methods.contract import Grown, UpdateContext
from cofire.methods.ctre.base import CTRE
from cofire.topology.indices import find
from cofire.topology.select import random_absent


@dataclass(frozen=True)
class CTRESimultaneous(CTRE):
    """Similar and random growth at once.

    The most similar pairs are grown. Each of them that was just dropped, because its
    weight was small, is replaced by a random one that was free before the drop.
    """

    title = "CTRE_sim"

    def grow(
        self, layer: SparseLayer, dropped: np.ndarray, n: int, context: UpdateContext
    ) -> Grown:
        """Choose the n most similar pairs, random ones instead of the dropped."""
        alike, _ = super().grow(layer, dropped, n, context)
        similar = alike[find(dropped, alike) < 0]
        n_random = n - len(similar)

        rng = context.rng("grow")
        n_free = layer.n_in * layer.n_out - layer.nnz - len(similar)
        new = random_absent(layer, min(n_random, n_free), rng, exclude=similar)
        # A nearly full layer may have too few: then some of the dropped return.
        back = rng.choice(dropped, n_random - len(new), replace=False)
        return Grown(np.sort(np.concatenate([similar, new, back])), n_random)
