"""RigL: drop the smallest weights, grow where the gradient is largest (Evci, 2020)."""

from dataclasses import dataclass, field

from cofire.methods.contract import Method, TrainingPoint
from cofire.methods.requests import Gradient, Search, check_choices

BATCHES = ("next_batch", "random_batch")


@dataclass(frozen=True)
class RigL(Method):
    """Grow where |gradient| is largest on one batch; new weights are zero.

    batch: the "next_batch" (the first one of the coming epoch) or a "random_batch".
    The gradients of connections that do not exist are searched, never held. They are
    those of the rows as they are, also where training augments them.
    """

    title = "RigL"
    new_values: str = field(default="zero", init=False)
    batch: str = "next_batch"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choices(self, batch=BATCHES)

    def rewires(self, point: TrainingPoint) -> bool:
        """At every update, also before the first step."""
        return True

    def search(self, point: TrainingPoint) -> Search:
        """Look for large gradients."""
        return Gradient(self.batch)


@dataclass(frozen=True)
class RigLUniform(RigL):
    """RigL whose new weights are random: a control.

    SET and CTRE bring in random weights at each update, RigL zeros; where signals
    vanish, that alone can decide.
    """

    title = "RigL-uniform"
    new_values: str = "he_uniform"
