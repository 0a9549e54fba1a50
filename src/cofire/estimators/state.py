"""FittedState: all that a fit leaves on an estimator, besides the columns of X."""

from dataclasses import dataclass, field
from typing import Any

from cofire.core.network import SparseNetwork
from cofire.energy import Energy
from cofire.estimators.encoder import Encoder
from cofire.estimators.targets import Targets
from cofire.training.progress import Progress


@dataclass(frozen=True, eq=False)
class FittedState:
    """What the fitted attributes are read from, so that there is one of each."""

    trainings: tuple[Progress, ...]
    """One per network."""
    targets: Targets
    simd_level: str
    threads: int
    resumed_after: int = 0
    chosen: dict[str, Any] = field(default_factory=dict)
    """The values of the parameters that may be None."""
    preprocessing: dict[str, Any] | None = None
    """Of a loaded model: how rows became X."""
    encoder: Encoder | None = None
    """How X becomes the inputs of the networks, with standardize=True."""
    energy: Energy | None = None
    """What all its fits took; None: a file from before it was measured."""

    @property
    def networks(self) -> list[SparseNetwork]:
        """The networks that predict: all that were trained.

        After an interrupt some may not have begun; if none has, all of them predict.
        """
        begun = [t.network for t in self.trainings if t.epoch > 0]
        return begun or [t.network for t in self.trainings]
