"""CTRE with one part changed: the score, the rows, the order of growth, no chance."""

from dataclasses import dataclass

from cofire.methods.contract import TrainingPoint
from cofire.methods.ctre.base import CTRE, RANDOM, SIMILAR
from cofire.methods.ctre.sequential import CTRESequential
from cofire.methods.ctre.simultaneous import CTRESimultaneous

# ---- another score -------------------------------------------------------------------


@dataclass(frozen=True)
class CTRESimLowToHigh(CTRESimultaneous):
    """CTRE_sim that grows the least similar pairs; inactive neurons come first."""

    title = "CTRE_sim/LTH"
    score: str = "lowest_cosine"


@dataclass(frozen=True)
class CTRESimHebb(CTRESimultaneous):
    """CTRE_sim by the plain product of activations: strong neurons win."""

    title = "CTRE_sim-Hebb"
    score: str = "hebb"


@dataclass(frozen=True)
class CTRESeqHebb(CTRESequential):
    """CTRE_seq by the plain product of activations."""

    title = "CTRE_seq-Hebb"
    score: str = "hebb"


@dataclass(frozen=True)
class CTRESimEuclidean(CTRESimultaneous):
    """CTRE_sim by distance; two inactive neurons have distance 0 and come first."""

    title = "CTRE_sim-euclidean"
    score: str = "euclidean"


# ---- fewer rows ----------------------------------------------------------------------


@dataclass(frozen=True)
class CTRESample2(CTRESimultaneous):
    """CTRE_sim with similarities from half of the rows, drawn at each update."""

    title = "CTRE_sample2"
    rows: str | float = 0.5


@dataclass(frozen=True)
class CTRESample4(CTRESimultaneous):
    """CTRE_sim with similarities from a quarter of the rows, drawn at each update."""

    title = "CTRE_sample4"
    rows: str | float = 0.25


# ---- another order of growth ---------------------------------------------------------


@dataclass(frozen=True)
class CTRESeqRandomFirst(CTRESequential):
    """Random growth until validation has stalled for `patience` epochs (abl1)."""

    title = "CTRE_abl1:seq"

    def phase(self, point: TrainingPoint) -> str:
        """Random, then similar."""
        return SIMILAR if self.has_stalled(point) else RANDOM


@dataclass(frozen=True)
class CTRESeqRandomHalf(CTRESequential):
    """Random growth in the first half of the epochs (abl2)."""

    title = "CTRE_abl2:seq"
    needs_validation = False

    def phase(self, point: TrainingPoint) -> str:
        """Random until more than half of the epochs are over, then similar."""
        done = point.epoch - point.first_epoch
        return SIMILAR if done > point.max_epochs // 2 else RANDOM


# ---- no chance -----------------------------------------------------------------------


@dataclass(frozen=True)
class CTREWithoutRandom(CTRE):
    """Similar growth from beginning to end: CTRE_seq that never switches."""

    title = "CTRE_w/oRandom"
