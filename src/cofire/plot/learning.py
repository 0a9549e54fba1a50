"""LearningCurveDisplay: loss and score, epoch by epoch."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from cofire.plot.display import (
    Display,
    End,
    in_our_look,
    label_ends,
    mean_curve,
    whole_ticks,
)
from cofire.plot.look import BLUE, ORANGE
from cofire.plot.models import check_model

History = Sequence[Mapping[str, Any]]


class LearningCurveDisplay(Display):
    """The training loss and, with validation data, loss and score on these, by epoch.

    A thin line is a network, a thick one their mean. `histories` are those of
    `histories_`: for each network a record per epoch.

    >>> from cofire import SparseMLPClassifier
    >>> from cofire.plot import LearningCurveDisplay
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SparseMLPClassifier(max_iter=5, early_stopping=True, random_state=0)
    >>> display = LearningCurveDisplay.from_estimator(model.fit(X, y))
    >>> [ax.get_title("left") for ax in display.axes_]
    ['Loss', 'Accuracy on validation rows']
    """

    def __init__(
        self, histories: Sequence[History], *, score_name: str = "Score"
    ) -> None:
        self.histories, self.score_name = [list(one) for one in histories], score_name
        if not any(self.histories):
            raise ValueError(
                "histories: no epoch was recorded; expected for each network a list "
                "of records, as in model.histories_"
            )

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> Self:
        """Draw what a fit recorded."""
        model = check_model(model, "LearningCurveDisplay.from_estimator")
        name = "Accuracy" if is_classifier(model) else "R²"
        return cls(model.histories_, score_name=name).plot(ax=ax)

    @classmethod
    def from_histories(
        cls, histories: Sequence[History], *, score_name: str = "Score", ax: Any = None
    ) -> Self:
        """Draw histories that were kept: a list of records for each network."""
        return cls(histories, score_name=score_name).plot(ax=ax)

    @in_our_look
    def plot(self, *, ax: Any = None) -> Self:
        """Draw; `ax`: None, one to be divided, or one for each panel."""
        scored = any(map(np.size, self._curves("validation_score")))
        axes = self._begin(ax, 2 if scored else 1, (9, 3.6) if scored else (6.4, 4))
        losses = {"training": ("loss", BLUE), "validation": ("validation_loss", ORANGE)}
        self._draw(axes[0], losses)
        both = any(self._curves("validation_loss"))
        axes[0].set_title("Loss" if both else "Training loss", loc="left")
        if scored:
            self._draw(axes[1], {"validation": ("validation_score", ORANGE)})
            axes[1].set_title(f"{self.score_name} on validation rows", loc="left")
        return self

    def _curves(self, key: str) -> list[list[float]]:
        """Return a curve per network that recorded it; NaN where it did not."""
        curves = [
            [np.nan if r.get(key) is None else r[key] for r in history]
            for history in self.histories
        ]
        return [curve for curve in curves if np.isfinite(curve).any()]

    def _draw(self, ax: Any, lines: Mapping[str, tuple[str, str]]) -> None:
        ends = []
        for name, (key, colour) in lines.items():
            curves = self._curves(key)
            if not curves:
                continue
            several = len(curves) > 1
            for curve in curves:
                style = {"alpha": 0.35, "lw": 0.9} if several else {"lw": 1.8}
                ax.plot(_epochs(curve), curve, color=colour, **style)
            mean = mean_curve(curves)
            if several:
                ax.plot(_epochs(mean), mean, color=colour, lw=1.8)
            ends.append(End(len(mean), float(mean[-1]), name, colour))
        ax.set_xlabel("Epoch")
        whole_ticks(ax.xaxis)
        if len(ends) > 1:
            label_ends(ax, ends)


def _epochs(curve: Any) -> np.ndarray:
    return np.arange(1, len(curve) + 1)
