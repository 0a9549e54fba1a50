"""The house method: grow what is correlated beyond chance, and nothing else."""

from dataclasses import dataclass
from typing import ClassVar

from cofire.methods.contract import Method, TrainingPoint
from cofire.methods.requests import Correlated, Search


@dataclass(frozen=True)
class Cofire(Method):
    """Grow between neurons whose correlation chance does not explain (docs/method.md).

    Correlations are those over `rows` rows, drawn at each update. A pair passes if its
    correlation is so large that, if no two neurons of the layer were related, no more
    than `false_alarms` pairs would be expected to pass. Among these, the connections to
    grow are drawn with probabilities in proportion to the correlation to the power of
    `sharpness`. What does not pass is not grown: the density is an upper bound, and a
    layer shrinks until it has about half a connection per output neuron. From there on,
    and in the output layer, all pairs pass.
    """

    title = "cofire"
    rows: str | float = 768
    false_alarms: float | None = 3.0
    sharpness: int = 2
    shrinks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._request()  # refuses what is wrong
        if self.rows == "next_batch":
            raise ValueError(
                "rows='next_batch': correlations are those of rows that were trained "
                "on; give 'last_batch', 'random_batch', 'all', a fraction or a number"
            )

    def search(self, point: TrainingPoint) -> Search:
        """Look for correlations."""
        return self._request()

    def _request(self) -> Correlated:
        return Correlated(self.rows, self.false_alarms, self.sharpness)
