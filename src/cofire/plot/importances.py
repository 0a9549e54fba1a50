"""ImportancesDisplay: the features that matter most."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from cofire.estimators.base import BaseSparseMLP
from cofire.estimators.importances import network_importances
from cofire.plot.display import Display, in_our_look
from cofire.plot.look import BLUE, INK, SOFT, shown_on
from cofire.plot.models import feature_names, short_names


class ImportancesDisplay(Display):
    """Bars of the most important features, by name.

    `importances` has a number per feature, or a row of them per network: then bars are
    means, and lines reach one standard deviation to both sides.

    >>> from cofire.plot import ImportancesDisplay
    >>> display = ImportancesDisplay([0.2, 0.7, 0.1], ["age", "income", "city"])
    >>> [t.get_text() for t in display.plot(top=2).ax_.get_yticklabels()]
    ['income', 'age']
    """

    def __init__(
        self, importances: ArrayLike, names: Sequence[str] | None = None
    ) -> None:
        values = np.atleast_2d(np.asarray(importances, dtype=float))
        if values.ndim != 2 or values.shape[1] == 0 or not np.isfinite(values).all():
            raise ValueError(
                "importances: expected finite numbers, one per feature or a row of "
                f"them per network, got an array of shape {np.shape(importances)}"
            )
        if names is None:
            names = [f"feature {i}" for i in range(values.shape[1])]
        if len(names) != values.shape[1]:
            raise ValueError(
                f"names: {len(names)} names for {values.shape[1]} importances; "
                "expected one per feature"
            )
        self.importances, self.names = values, [str(name) for name in names]

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        names: Sequence[str] | None = None,
        top: int = 15,
        ax: Any = None,
    ) -> Self:
        """Draw `feature_importances_` of a fitted model, of any that has them.

        Of a model of ours with several networks, lines show how they differ.
        """
        importances = getattr(model, "feature_importances_", None)
        if importances is None:
            raise AttributeError(
                f"ImportancesDisplay.from_estimator: {type(model).__name__} has no "
                "feature_importances_ (of a pipeline pass the last step, "
                "pipeline[-1]); pass importances of your own to "
                "ImportancesDisplay(importances, names), for example those of "
                "sklearn.inspection.permutation_importance"
            )
        if isinstance(model, BaseSparseMLP):
            importances = network_importances(model)
        if names is None:
            names = feature_names(model, np.shape(importances)[-1])
        return cls(importances, names).plot(top=top, ax=ax)

    @in_our_look
    def plot(self, *, top: int = 15, ax: Any = None) -> Self:
        """Draw the `top` features, the most important one first."""
        if top < 1:
            raise ValueError(f"top: expected a number of features >= 1, got {top!r}")
        mean, n = self.importances.mean(axis=0), min(top, len(self.names))
        first = np.argsort(-mean, kind="stable")[:n]
        (ax,) = self._begin(ax, size=(6.4, 0.9 + (0.27 if n <= 20 else 0.22) * n))
        several = len(self.importances) > 1
        spread = self.importances.std(axis=0)[first] if several else np.zeros(n)
        below = (
            np.minimum(spread, mean[first]) if self.importances.min() >= 0 else spread
        )
        ax.barh(
            np.arange(n),
            mean[first],
            0.68,
            xerr=np.stack([below, spread]) if several else None,
            color=BLUE,
            error_kw={"ecolor": shown_on(ax, INK), "elinewidth": 1, "capsize": 2},
        )
        digits = _digits(float(np.abs(mean).max()))
        for i, (value, more) in enumerate(zip(mean[first], spread, strict=True)):
            ax.annotate(
                f"{value:,.{digits}f}",
                (max(value + more, 0.0), i),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize="small",
                color=shown_on(ax, SOFT),
            )
        ax.set_yticks(np.arange(n), short_names([self.names[i] for i in first]))
        ax.set_ylim(n - 0.4, -0.6)
        ax.margins(x=0.1)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="y", visible=False)
        ax.set_xlabel("Importance")
        left = len(self.names) - n
        if left:
            others = "feature has" if left == 1 else "features have"
            ax.set_title(
                f"Top {n}; {left:,} other {others} less", fontsize="medium", loc="left"
            )
        return self


def _digits(most: float) -> int:
    """How many decimals show three digits of the largest number.

    >>> [_digits(n) for n in (0.2, 4.9, 250)]
    [3, 2, 0]
    """
    return int(np.clip(2 - np.floor(np.log10(most)), 0, 6)) if most > 0 else 0
