"""FrontDisplay: how small a model can get at which score."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

from cofire.plot.display import Display, in_our_look
from cofire.plot.look import BLUE, FAINT, GREEN, INK, ORANGE, SOFT, needed, shown_on

Row = Mapping[str, Any]
AXES = {
    "connections": "Connections",
    "bytes": "Bytes of the networks",
    "microseconds": "Microseconds per row",
}
MARKS = {"default": ("D", INK), "best": ("*", ORANGE), "smallest": ("o", GREEN)}


class FrontDisplay(Display):
    """Scores against connections, bytes and microseconds, as `cofire.tune` found them.

    `rows` are those of `Tuning.rows_`: one per trial and number of networks. Each panel
    joins the rows that no other beats at the same size; only rows with the most fits
    behind their score count, those of the finalists. `marked` are rows by name:
    default, best, smallest. A dashed line shows `least`, the score down to which a row
    counts as good as the best.

    >>> from cofire.plot import FrontDisplay
    >>> more = {"bytes": 800, "microseconds": 30, "standard_error": 0.01, "fits": 5}
    >>> scores = {50: 0.9, 400: 0.95}
    >>> rows = [{"connections": n, "score": scores[n], **more} for n in scores]
    >>> display = FrontDisplay(rows, {"best": rows[1]}).plot()
    >>> [ax.get_xlabel() for ax in display.axes_][0]
    'Connections'
    """

    def __init__(
        self,
        rows: Iterable[Row],
        marked: Mapping[str, Row] | None = None,
        *,
        least: float | None = None,
        score_name: str = "score",
    ) -> None:
        self.rows, self.marked = list(rows), dict(marked or {})
        self.least, self.score_name = least, score_name
        if not self.rows:
            raise ValueError("rows: expected one row or more, got none.")
        unknown = set(self.marked) - set(MARKS)
        if unknown:
            raise ValueError(
                f"marked: expected rows by the names {', '.join(MARKS)}; got "
                f"{', '.join(sorted(unknown))}."
            )

    @classmethod
    def from_tuning(cls, tuning: Any, *, ax: Any = None) -> Self:
        """Draw what `cofire.tune` returned."""
        marked = {name: getattr(tuning, f"{name}_") for name in MARKS}
        least = tuning.best_["score"] - tuning.within
        return cls(
            tuning.rows_, marked, least=least, score_name=tuning.score_name
        ).plot(ax=ax)

    @in_our_look
    def plot(self, *, ax: Any = None) -> Self:
        """Draw three panels."""
        axes = self._begin(ax, n=3, size=(10, 3.6))
        for own, name in zip(axes, AXES, strict=True):
            self._panel(own, name)
        axes[0].set_ylabel(self.score_name[:1].upper() + self.score_name[1:])
        axes[-1].legend(loc="lower right", handlelength=1.2)
        return self

    def front(self, name: str) -> list[Row]:
        """Return the rows that no other beats at this size, the smallest first."""
        found: list[Row] = []
        for row in sorted(self._final(), key=lambda row: (row[name], -row["score"])):
            if not found or row["score"] > found[-1]["score"]:
                found.append(row)
        return found

    def _final(self) -> list[Row]:
        most = max(row["fits"] for row in self.rows)
        return [row for row in self.rows if row["fits"] == most]

    def _panel(self, ax: Any, name: str) -> None:
        if name != "microseconds":
            ax.set_xscale("log")
        final = self._final()
        once = [row for row in self.rows if row["fits"] < final[0]["fits"]]
        dots, grey = {"s": 12, "lw": 0.8}, shown_on(ax, FAINT)
        for rows, fill, label in (
            (once, "none", "trials"),
            (final, grey, "finalists"),
        ):
            x, y = [row[name] for row in rows], [row["score"] for row in rows]
            ax.scatter(x, y, facecolor=fill, edgecolor=grey, label=label, **dots)
        front = self.front(name)
        errors = [row["standard_error"] or 0 for row in front]
        ax.errorbar(
            [row[name] for row in front],
            [row["score"] for row in front],
            yerr=errors if any(errors) else None,
            color=BLUE,
            marker="o",
            markersize=4,
            elinewidth=0.8,
            lw=1.2,
            label="front",
        )
        for called, row in self.marked.items():
            marker, colour = MARKS[called]
            colour = shown_on(ax, colour)
            ax.plot(
                *(row[name], row["score"]),
                marker=marker,
                color=colour,
                markersize=11 if marker == "*" else 8,
                markerfacecolor="none" if marker == "o" else colour,
                markeredgewidth=1.6 if marker == "o" else 0.5,
                lw=0,
                label=called,
            )
        if self.least is not None:
            ax.axhline(self.least, color=shown_on(ax, SOFT), lw=0.8, ls=(0, (4, 3)))
        self._limits(ax)
        ax.set_xlabel(AXES[name])
        ticker = needed("matplotlib.ticker")
        ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda v, _: f"{v:,.0f}"))
        ax.xaxis.set_minor_formatter(ticker.NullFormatter())

    def _limits(self, ax: Any) -> None:
        """Leave out trials far below the front: they would press it together."""
        shown = [*self.front("connections"), *self.marked.values()]
        scores = [row["score"] for row in shown]
        errors = [row["standard_error"] or 0 for row in shown]
        low = min(s - e for s, e in zip(scores, errors, strict=True))
        high = max(s + e for s, e in zip(scores, errors, strict=True))
        room = 0.08 * (high - low) or 0.01
        ax.set_ylim(low - room, high + room)
