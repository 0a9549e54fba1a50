"""Static: the random topology of the beginning, kept to the end."""

from dataclasses import dataclass

from cofire.methods.contract import Method, TrainingPoint


@dataclass(frozen=True)
class Static(Method):
    """Never rewire: the control that shows what rewiring is worth."""

    title = "Static"

    def rewires(self, point: TrainingPoint) -> bool:
        """Never."""
        return False
