"""CTRE with one part changed: the score, the rows, the order of growth, no chance."""

from dataclasses import dataclass

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.methods.contract import Grown, Moment, UpdateContext
from cofire.methods.ctre.base import CTRE
from cofire.methods.ctre.sequential import CTRESequential
from cofire.methods.ctre.simultaneous import CTRESimultaneous


@dataclass(frozen=True)
class CTRESimLowToHigh(CTRESimultaneous):
    """CTRE_sim that grows the least similar pairs; a silent neuron is like no other."""

    score: str = "lowest_cosine"


@dataclass(frozen=True)
class CTRESimHebb(CTRESimultaneous):
    """CTRE_sim by the plain product of activations: strong neurons win."""

    score: str = "hebb"


@dataclass(frozen=True)
class CTRESeqHebb(CTRESequential):
    """CTRE_seq by the plain product of activations."""

    score: str = "hebb"


@dataclass(frozen=True)
class CTRESimEuclidean(CTRESimultaneous):
    """CTRE_sim by distance; two silent neurons have none and come first."""

    score: str = "euclidean"


@dataclass(frozen=True)
class CTRESample2(CTRESimultaneous):
    """CTRE_sim with similarities from half of the rows."""

    rows: str | float = 0.5


@dataclass(frozen=True)
class CTRESample4(CTRESimultaneous):
    """CTRE_sim with similarities from a quarter of the rows."""

    rows: str | float = 0.25


@dataclass(frozen=True)
class CTRESeqRandomFirst(CTRESequential):
    """Random growth until validation stalled for `patience` epochs (abl1)."""

    def random_phase(self, moment: Moment) -> bool | None:
        """Before the switch."""
        return not self.switched(moment)


@dataclass(frozen=True)
class CTRESeqRandomHalf(CTRESeqRandomFirst):
    """Random growth in the first half of the epochs (abl2)."""

    needs = frozenset()

    def switched(self, moment: Moment) -> bool:
        """Once more than half of the epochs lie behind, whatever validation says."""
        return moment.epoch - moment.first_epoch > moment.max_epochs // 2


@dataclass(frozen=True)
class CTREWithoutRandom(CTRE):
    """Similar growth from beginning to end: CTRE_seq that never switches."""

    def grow(
        self, layer: SparseLayer, dropped: np.ndarray, n: int, context: UpdateContext
    ) -> Grown:
        """Choose the n most similar places."""
        return Grown(self.alike(layer, dropped, n, context), n_random=0)
