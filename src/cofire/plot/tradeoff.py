"""AccuracyConnectionsDisplay: what connections buy."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from cofire.plot.display import Display, End, in_our_look, label_ends
from cofire.plot.look import needed, shown_on, stroke_of
from cofire.plot.models import check_model

Row = tuple[float, float, str]


class AccuracyConnectionsDisplay(Display):
    """Scores against the number of connections, on a logarithmic axis.

    `rows` are (connections, score, label). Rows with the same label have one colour,
    that of the method if the label is the name of one, and are joined by a line. Of
    rows that also have the same connections the means are drawn, with a line from the
    lowest to the highest score.

    >>> from cofire.plot import AccuracyConnectionsDisplay
    >>> rows = [(500, 0.91, "set"), (5000, 0.94, "set"), (20000, 0.95, "dense")]
    >>> display = AccuracyConnectionsDisplay.from_rows(rows)
    >>> sorted(text.get_text() for text in display.ax_.texts)
    ['dense', 'set']
    """

    def __init__(self, rows: Iterable[Row], *, score_name: str = "Accuracy") -> None:
        self.rows = [(float(n), float(score), str(name)) for n, score, name in rows]
        self.score_name = score_name
        if not self.rows or min(n for n, _, _ in self.rows) <= 0:
            raise ValueError(
                "rows: expected one (connections, score, label) or more, with "
                f"connections > 0, got {self.rows[:3]!r}"
            )

    @classmethod
    def from_rows(
        cls, rows: Iterable[Row], *, score_name: str = "Accuracy", ax: Any = None
    ) -> Self:
        """Draw numbers that were measured: (connections, score, label)."""
        return cls(rows, score_name=score_name).plot(ax=ax)

    @classmethod
    def from_estimators(
        cls,
        models: Sequence[Any] | Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        ax: Any = None,
    ) -> Self:
        """Score fitted models on (X, y); `models` may be a dict by label.

        Without labels a model is named after its method.
        """
        where = "AccuracyConnectionsDisplay.from_estimators"
        if isinstance(models, Mapping):
            named = list(models.items())
        else:
            named = [(_method(model), model) for model in models]
        rows = [
            (check_model(model, where).n_connections_, model.score(X, y), name)
            for name, model in named
        ]
        regresses = named and not is_classifier(named[0][1])
        return cls(rows, score_name="R²" if regresses else "Accuracy").plot(ax=ax)

    @in_our_look
    def plot(self, *, ax: Any = None) -> Self:
        """Draw."""
        (ax,) = self._begin(ax)
        ax.set_xscale("log")
        ends = []
        for name in dict.fromkeys(name for _, _, name in self.rows):
            points = self._points(name)
            x, mean, low, high = points.T
            stroke = stroke_of(name)
            colour = shown_on(ax, stroke.colour)
            spread = np.stack([mean - low, high - mean])
            ax.errorbar(
                x,
                mean,
                yerr=spread if spread.any() else None,
                marker=stroke.marker or "o",
                markersize=7,
                markeredgewidth=0,
                elinewidth=1,
                lw=1.2,
                **stroke.line | {"color": colour},
            )
            ends.append(End(x[-1], mean[-1], name, colour))
        ax.margins(x=0.08, y=0.12)
        _plain_numbers(ax)
        ax.set_xlabel("Connections")
        ax.set_ylabel(self.score_name)
        label_ends(ax, ends)
        return self

    def _points(self, name: str) -> np.ndarray:
        """Return (connections, mean, lowest, highest), ascending."""
        found: dict[float, list[float]] = {}
        for n, score, own in self.rows:
            if own == name:
                found.setdefault(n, []).append(score)
        return np.array(
            [(n, np.mean(s), min(s), max(s)) for n, s in sorted(found.items())]
        )


def _method(model: Any) -> str:
    method = getattr(model, "method", type(model).__name__)
    return method if isinstance(method, str) else type(method).__name__.lower()


def _plain_numbers(ax: Any) -> None:
    """Label powers of ten, and 2 and 5 times these, where few of them would show."""
    ticker = needed("matplotlib.ticker")
    low, high = ax.get_xlim()
    subs = (1,) if high / low > 1000 else (1, 2, 5)
    if high / low < 4:
        ax.xaxis.set_major_locator(ticker.MaxNLocator(5, steps=[1, 2, 5, 10]))
    else:
        ax.xaxis.set_major_locator(ticker.LogLocator(subs=subs))
    ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda v, _: f"{v:,.0f}"))
    ax.xaxis.set_minor_formatter(ticker.NullFormatter())
