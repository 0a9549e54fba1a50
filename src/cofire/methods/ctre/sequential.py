"""CTRE_seq: similar growth, then random growth (Atashgahi et al., 2022)."""

from dataclasses import dataclass

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.methods.contract import Grown, TrainingPoint, UpdateContext
from cofire.methods.ctre.base import CTRE, RANDOM, SIMILAR
from cofire.topology.select import random_absent


@dataclass(frozen=True)
class CTRESequential(CTRE):
    """Similar growth while validation improves; random growth once it has stalled.

    patience: after this many epochs in a row without a better validation score, growth
    is random for the rest of the fit.
    """

    title = "CTRE_seq"
    needs_validation = True
    patience: int = 40

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.patience < 1:
            raise ValueError(f"patience must be at least 1, got {self.patience!r}")

    def has_stalled(self, point: TrainingPoint) -> bool:
        """Whether validation has ever stalled for `patience` epochs."""
        return point.longest_stall >= self.patience

    def phase(self, point: TrainingPoint) -> str:
        """Similar, then random."""
        return RANDOM if self.has_stalled(point) else SIMILAR

    def grow(
        self, layer: SparseLayer, dropped: np.ndarray, n: int, context: UpdateContext
    ) -> Grown:
        """Choose the n most similar pairs, or n at random."""
        if self.phase(context) == RANDOM:
            rng = context.rng("grow")
            return Grown(random_absent(layer, n, rng, also=dropped), n_random=n)
        return super().grow(layer, dropped, n, context)
