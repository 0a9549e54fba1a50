"""DegreeDisplay: how many connections neurons have."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from cofire.plot.display import Display, in_our_look, whole_ticks
from cofire.plot.look import BLUE, ORANGE
from cofire.plot.models import check_model

MOST_BINS = 32
LOG_FROM = 50


class DegreeDisplay(Display):
    """How connections are spread over neurons, a panel per layer.

    Blue: connections that arrive at a neuron of the layer. Orange: connections that
    leave a neuron of the layer before (of layer 1: an input). `degrees` has for each
    layer (arriving, leaving), an array of counts each.

    >>> from cofire import SparseMLPClassifier
    >>> from cofire.plot import DegreeDisplay
    >>> from sklearn.datasets import load_iris
    >>> model = SparseMLPClassifier(max_iter=3, random_state=0)
    >>> display = DegreeDisplay.from_estimator(model.fit(*load_iris(return_X_y=True)))
    >>> [ax.get_title("left") for ax in display.axes_]
    ['Layer 1', 'Layer 2', 'Layer 3']
    """

    def __init__(self, degrees: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        self.degrees = [(np.asarray(a), np.asarray(b)) for a, b in degrees]

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> Self:
        """Draw the neurons of all networks of a model."""
        model = check_model(model, "DegreeDisplay.from_estimator")
        layers = list(zip(*(one.layers for one in model.networks_), strict=True))
        return cls(
            [
                (
                    np.concatenate([np.diff(one.indptr) for one in own]),
                    np.concatenate(
                        [np.bincount(one.indices, minlength=one.n_in) for one in own]
                    ),
                )
                for own in layers
            ]
        ).plot(ax=ax)

    @in_our_look
    def plot(self, *, ax: Any = None) -> Self:
        """Draw; counts that span decades get logarithmic axes."""
        n = len(self.degrees)
        axes = self._begin(ax, n, (min(3.1 * n + 0.4, 13), 3.2))
        for i, (panel, (arriving, leaving)) in enumerate(
            zip(axes, self.degrees, strict=True)
        ):
            _draw(panel, arriving, leaving)
            panel.set_title(f"Layer {i + 1}", loc="left")
            panel.set_xlabel("Connections of a neuron")
        axes[0].set_ylabel("Neurons")
        axes[0].legend(loc="best")
        return self


def _draw(ax: Any, arriving: np.ndarray, leaving: np.ndarray) -> None:
    edges, wide = _edges(int(max(arriving.max(), leaving.max())))
    found = []
    for counts, colour, name in (
        (arriving, BLUE, "arriving"),
        (leaving, ORANGE, "leaving"),
    ):
        heights, _ = np.histogram(counts, edges)
        ax.stairs(heights, edges, fill=True, color=colour, alpha=0.22)
        ax.stairs(heights, edges, color=colour, lw=1.4, label=name)
        found.append(heights)
    heights = np.concatenate(found)
    if heights.max() > LOG_FROM * heights[heights > 0].min():
        ax.set_yscale("log", nonpositive="clip")
        ax.set_ylim(0.7)
    if wide:
        ax.set_xscale("symlog", linthresh=1)
        ax.set_xlim(-0.5)
    else:
        whole_ticks(ax.xaxis)
    ax.grid(axis="x", visible=False)


def _edges(most: int) -> tuple[np.ndarray, bool]:
    """Return edges between whole numbers: of equal width, or growing if there are many.

    >>> _edges(3)[0].tolist()
    [-0.5, 0.5, 1.5, 2.5, 3.5]
    """
    if most < MOST_BINS:
        return np.arange(most + 2) - 0.5, False
    if most < 20 * MOST_BINS:
        step = -(-(most + 1) // MOST_BINS)
        return np.arange(0, most + step + 1, step) - 0.5, False
    growing = np.unique(np.rint(np.geomspace(1, most + 1, MOST_BINS)))
    return np.concatenate([[-0.5], growing - 0.5]), True
