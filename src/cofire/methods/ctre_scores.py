"""CTRE with another idea of alike: lowest first, not normalised, a distance."""

from dataclasses import dataclass

from cofire.methods.ctre_seq import CTRESequential
from cofire.methods.ctre_sim import CTRESimultaneous


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
