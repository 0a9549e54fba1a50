"""CTRE_seq: similar growth, and random growth after it (Atashgahi et al., 2022)."""

from dataclasses import dataclass

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.methods.contract import Grown, Moment, UpdateContext
from cofire.methods.ctre.base import CTRE
from cofire.topology.select import random_absent


@dataclass(frozen=True)
class CTRESequential(CTRE):
    """Similar growth while validation improves; random growth once it stalled.

    patience: so many epochs in a row without a better validation score throw the
    switch, for good.
    """

    needs = frozenset({"validation"})
    patience: int = 40

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.patience < 1:
            raise ValueError(f"patience must be at least 1, got {self.patience!r}")

    def switched(self, moment: Moment) -> bool:
        """Whether validation stalled for `patience` epochs at any time."""
        return moment.longest_stall >= self.patience

    def random_phase(self, moment: Moment) -> bool | None:
        """After the switch."""
        return self.switched(moment)

    def grow(
        self, layer: SparseLayer, dropped: np.ndarray, n: int, context: UpdateContext
    ) -> Grown:
        """Choose the n most similar places, or n random ones."""
        if self.random_phase(context):
            rng = context.rng("grow")
            return Grown(random_absent(layer, n, rng, also=dropped), n_random=n)
        return Grown(self.alike(layer, dropped, n, context), n_random=0)
