"""ConnectivityDisplay: which features the networks look at."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from cofire.plot.display import Display, in_our_look, whole_ticks
from cofire.plot.importances import ImportancesDisplay
from cofire.plot.look import BLUE, RAMP, needed
from cofire.plot.models import (
    check_model,
    columns_of_inputs,
    feature_names,
    per_feature,
)

FEW = 30
"""Features that have a bar with their name each."""


class ConnectivityDisplay(Display):
    """The connections of each feature: as an image, or as bars.

    `values` has a number per feature. `image_shape`: (rows, columns), or (rows,
    columns, colours), whose values are added up. Without it, up to 30 features are
    bars with names, the one with most first; more are bars in the order of X.

    >>> from cofire import SparseMLPClassifier
    >>> from cofire.plot import ConnectivityDisplay
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SparseMLPClassifier(max_iter=3, random_state=0).fit(X, y)
    >>> display = ConnectivityDisplay.from_estimator(model, image_shape=(8, 8))
    >>> display.ax_.images[0].get_array().shape
    (8, 8)
    """

    def __init__(
        self,
        values: ArrayLike,
        *,
        image_shape: tuple[int, ...] | None = None,
        names: Sequence[str] | None = None,
        label: str = "Connections",
    ) -> None:
        self.values = np.asarray(values, dtype=float)
        if self.values.ndim != 1 or not self.values.size:
            raise ValueError(
                "values: expected a number per feature, got an array of shape "
                f"{self.values.shape}"
            )
        self.image_shape, self.label = image_shape, label
        self.names = feature_names(None, self.values.size) if names is None else names
        if image_shape is not None:
            _check_shape(image_shape, self.values.size)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        image_shape: tuple[int, ...] | None = None,
        strength: bool = False,
        ax: Any = None,
        max_value: float | None = None,
    ) -> Self:
        """Draw the connections per feature, the mean over the model's networks.

        strength: the sum of the absolute weights, instead of their number.
        """
        model = check_model(model, "ConnectivityDisplay.from_estimator")
        columns, n = columns_of_inputs(model), model.n_features_in_
        values = np.mean(
            [per_feature(a, columns, n, strength=strength) for a in model.networks_],
            axis=0,
        )
        label = "Sum of |weights|" if strength else "Connections"
        names = feature_names(model, n)
        display = cls(values, image_shape=image_shape, names=names, label=label)
        return display.plot(ax=ax, max_value=max_value)

    @in_our_look
    def plot(self, *, ax: Any = None, max_value: float | None = None) -> Self:
        """Draw; max_value: where colours or bars end, to compare several pictures."""
        if self.image_shape is not None:
            self._draw_image(ax, max_value)
        elif self.values.size <= FEW:
            self._draw_names(ax, max_value)
        else:
            self._draw_strip(ax, max_value)
        return self

    def image(self) -> np.ndarray:
        """Return the values as an image; colours are added up."""
        assert self.image_shape is not None
        pixels = self.values.reshape(self.image_shape)
        return pixels if pixels.ndim == 2 else pixels.sum(axis=2)

    def _draw_image(self, ax: Any, max_value: float | None) -> None:
        colors = needed("matplotlib.colors")
        image = self.image()
        high = float(image.max()) if max_value is None else max_value
        (ax,) = self._begin(ax, size=(4.8, 4))
        shown = ax.imshow(
            image,
            cmap=colors.LinearSegmentedColormap.from_list("cofire", RAMP),
            vmin=0,
            vmax=high or 1,
            interpolation="nearest",
        )
        ax.set_xticks([])
        ax.set_yticks([])
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
        bar = self.figure_.colorbar(shown, ax=ax, shrink=0.82, pad=0.03)
        bar.outline.set_visible(False)
        bar.set_label(f"{self.label} per pixel")

    def _draw_names(self, ax: Any, max_value: float | None) -> None:
        bars = ImportancesDisplay(self.values, self.names)
        bars.plot(top=FEW, ax=ax)
        self.axes_, self.ax_, self.figure_ = bars.axes_, bars.ax_, bars.figure_
        self.ax_.set_xlabel(f"{self.label} per feature")
        if max_value is not None:
            self.ax_.set_xlim(0, 1.1 * max_value)

    def _draw_strip(self, ax: Any, max_value: float | None) -> None:
        (ax,) = self._begin(ax, size=(8, 3))
        n = self.values.size
        ax.stairs(self.values, np.arange(n + 1) - 0.5, fill=True, color=BLUE)
        ax.set_xlim(-0.5, n - 0.5)
        high = float(self.values.max()) if max_value is None else max_value
        ax.set_ylim(0, 1.05 * high or 1)
        ax.set_xlabel("Feature, in the order of X")
        ax.set_ylabel(f"{self.label} per feature")
        whole_ticks(ax.xaxis)
        ax.grid(axis="x", visible=False)


def _check_shape(image_shape: tuple[int, ...], n: int) -> None:
    right = len(image_shape) in (2, 3) and np.prod(image_shape) == n
    if not right:
        raise ValueError(
            f"image_shape={image_shape!r}: expected (rows, columns) or (rows, columns, "
            f"colours) with a product of {n}, the number of features"
        )
