"""CTRE_seq the other way round: random growth first, similar growth after it."""

from dataclasses import dataclass

from cofire.methods.base import Moment
from cofire.methods.ctre_seq import CTRESequential


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
