"""RigL: drop the smallest weights, grow where the gradient is largest (Evci, 2020)."""

from dataclasses import dataclass, field

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.methods.contract import (
    Grown,
    Method,
    Moment,
    Search,
    UpdateContext,
    check_choice,
)

BATCHES = ("next_batch", "random_batch")


@dataclass(frozen=True)
class RigL(Method):
    """Grow where |gradient| is largest on one batch; new weights are zero.

    batch: the "next_batch" (the first one of the coming epoch) or a "random_batch".
    The gradients of places without a connection are searched, never held; they are
    those of the rows as they are, also where training augments them.
    """

    new_values: str = field(default="zero", init=False)
    batch: str = "next_batch"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("batch", self.batch, BATCHES)

    def rewires(self, epoch: int) -> bool:
        """Before each epoch, the first one included."""
        return True

    def search(self, moment: Moment) -> Search | None:
        """Look for large gradients."""
        return Search("gradient", rows=self.batch)

    def grow(
        self, layer: SparseLayer, dropped: np.ndarray, n: int, context: UpdateContext
    ) -> Grown:
        """Choose the n places with the largest gradients."""
        assert context.candidates is not None  # asked for by `search`
        return Grown(context.candidates, n_random=0)


@dataclass(frozen=True)
class RigLUniform(RigL):
    """RigL whose new weights are random: a control.

    SET and CTRE bring in random weights at each update, RigL zeros; where signals
    vanish, that alone can decide.
    """

    new_values: str = "he_uniform"
