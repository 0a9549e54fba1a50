"""RewiringDisplay: what rewiring did, epoch by epoch."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from cofire.plot.display import (
    Display,
    End,
    in_our_look,
    label_ends,
    mean_curve,
    whole_ticks,
)
from cofire.plot.look import BLUE, GREEN, ORANGE, PURPLE, SOFT, shown_on
from cofire.plot.models import check_model

History = Sequence[Mapping[str, Any]]
LAYER_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SOFT)


class RewiringDisplay(Display):
    """Connections, how many of them moved, and which neurons live, by epoch.

    Left: connections of each layer. Middle: connections dropped and grown in all
    layers; with method "cofire" fewer grow where no pair of neurons passes the gate.
    Right: neurons of each hidden layer that fire and are heard. Means over networks.

    >>> from cofire import SparseMLPClassifier
    >>> from cofire.plot import RewiringDisplay
    >>> from sklearn.datasets import load_iris
    >>> model = SparseMLPClassifier(max_iter=5, random_state=0)
    >>> display = RewiringDisplay.from_estimator(model.fit(*load_iris(return_X_y=True)))
    >>> [ax.get_title("left") for ax in display.axes_]
    ['Connections', 'Moved per epoch', 'Living neurons']
    """

    def __init__(self, histories: Sequence[History]) -> None:
        self.histories = [list(history) for history in histories]
        if not any(self.histories):
            raise ValueError(
                "histories: no epoch was recorded; expected for each network a list "
                "of records, as in model.histories_"
            )

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> Self:
        """Draw what a fit recorded."""
        model = check_model(model, "RewiringDisplay.from_estimator")
        return cls(model.histories_).plot(ax=ax)

    @classmethod
    def from_histories(cls, histories: Sequence[History], *, ax: Any = None) -> Self:
        """Draw histories that were kept: a list of records for each network."""
        return cls(histories).plot(ax=ax)

    @in_our_look
    def plot(self, *, ax: Any = None) -> Self:
        """Draw; `ax`: None, one to be divided, or one for each of three panels."""
        connections, moved, living = self._begin(ax, 3, (11, 3.4))
        self._layers(connections, "connections")
        connections.set_title("Connections", loc="left")
        self._moved(moved)
        moved.set_title("Moved per epoch", loc="left")
        self._layers(living, "alive")
        living.set_title("Living neurons", loc="left")
        for panel in self.axes_:
            panel.set_xlabel("Epoch")
            whole_ticks(panel.xaxis)
            whole_ticks(panel.yaxis)
        return self

    def curves(self, key: str) -> np.ndarray:
        """Return the means over networks: (layers, epochs); empty if not recorded."""
        known = [r[key] for history in self.histories for r in history if r.get(key)]
        if not known:
            return np.empty((0, 0))
        n = len(known[0])
        nothing = [np.nan] * n
        found = [[r.get(key) or nothing for r in history] for history in self.histories]
        return np.stack(
            [mean_curve([[r[i] for r in h] for h in found]) for i in range(n)]
        )

    def _layers(self, ax: Any, key: str) -> None:
        ends = []
        for i, curve in enumerate(self.curves(key)):
            colour = shown_on(ax, LAYER_COLOURS[i % len(LAYER_COLOURS)])
            ax.plot(np.arange(1, len(curve) + 1), curve, color=colour, lw=1.6)
            ends.append(End(len(curve), float(curve[-1]), f"layer {i + 1}", colour))
        if ends:
            ax.set_ylim(0, 1.06 * ax.dataLim.y1 or 1)
            label_ends(ax, ends)
        else:
            _say_nothing(ax)

    def _moved(self, ax: Any) -> None:
        for key, name in (("replaced", "grown"), ("dropped", "dropped")):
            counts = self.curves(key).sum(axis=0)
            if not counts.size:
                continue
            how = {"fill": True, "color": BLUE, "alpha": 0.55}
            if key == "dropped":
                how = {"color": ORANGE, "lw": 1.2}
            ax.stairs(counts, np.arange(len(counts) + 1) + 0.5, label=name, **how)
        if ax.patches:
            ax.set_ylim(0, 1.06 * ax.dataLim.y1 or 1)
            ax.legend(loc="best")
        else:
            _say_nothing(ax)


def _say_nothing(ax: Any) -> None:
    where = {"transform": ax.transAxes, "ha": "center"}
    ax.text(0.5, 0.5, "not recorded", color=shown_on(ax, SOFT), **where)
