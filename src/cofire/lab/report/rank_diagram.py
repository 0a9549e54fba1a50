"""The critical-difference diagram: average ranks, and which differ (Demšar, 2006)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cofire.lab.names import method_name
from cofire.lab.report.look import WIDTH, our_look, stroke_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK = "#333333"


def groups_within(ranks: Mapping[str, float], cd: float) -> list[tuple[float, float]]:
    """Return the widest ranges of ranks, from best to worst, in which no pair differs.

    >>> groups_within({"a": 1.2, "b": 1.9, "c": 2.6, "d": 4.5}, cd=1.0)
    [(1.2, 1.9), (1.9, 2.6)]
    """
    order = sorted(ranks.values())
    found: list[tuple[float, float]] = []
    for i, low in enumerate(order):
        j = max(k for k, high in enumerate(order) if high - low <= cd)
        if j > i and (not found or order[j] > found[-1][1]):
            found.append((low, order[j]))
    return found


def critical_difference(
    ranks: Mapping[str, float], cd: float | None, *, title: str = ""
) -> "Figure":
    """Draw average ranks on a line, the best at the left; bars join equal methods.

    cd: from `nemenyi_critical_difference`; without it only the ranks are drawn.
    """
    from matplotlib.figure import Figure

    order = sorted(ranks, key=lambda method: ranks[method])
    left, right = order[: -(-len(order) // 2)], order[-(-len(order) // 2) :]
    groups = [] if cd is None else groups_within(ranks, cd)
    first_label = 0.55 + 0.22 * len(groups)
    depth = first_label + 0.5 * max(len(left) - 1, 0) + 0.3
    with our_look():
        figure = Figure(figsize=(WIDTH, 0.75 + 0.36 * depth + (0.2 if title else 0)))
        figure.set_layout_engine("constrained")
        axis = figure.subplots()
        axis.set_axis_off()
        last = max(len(ranks), 2)
        margin = 0.36 * (last - 1)
        right_end = max(last + margin, 1.1 + (cd or 0))
        axis.set(xlim=(1 - margin, right_end), ylim=(depth, -1.35))
        axis.set_title(title)
        _draw_scale(axis, last)
        if cd is not None:
            _draw_cd(axis, cd)
        for height, (low, high) in enumerate(groups):
            y, more = 0.36 + 0.22 * height, 0.008 * last
            axis.hlines(y, low - more, high + more, color=_INK, linewidth=3.2)
        for names, edge, side in [
            (left, 1 - 0.012 * last, "right"),
            (list(reversed(right)), last + 0.012 * last, "left"),
        ]:
            for i, method in enumerate(names):
                y = first_label + 0.5 * i
                _draw_method(axis, method, ranks[method], y, edge, side)
        return figure


def _draw_scale(axis: "Axes", last: int) -> None:
    axis.plot([1, last], [0, 0], color=_INK, linewidth=0.8)
    for rank in range(1, last + 1):
        axis.plot([rank, rank], [0, -0.14], color=_INK, linewidth=0.8)
        axis.text(rank, -0.2, str(rank), ha="center", va="bottom", fontsize=7)


def _draw_cd(axis: "Axes", cd: float) -> None:
    y = -0.95
    axis.plot([1, 1 + cd], [y, y], color=_INK, linewidth=0.8)
    for end in (1, 1 + cd):
        axis.plot([end, end], [y - 0.09, y + 0.09], color=_INK, linewidth=0.8)
    axis.text(
        1 + cd / 2, y - 0.1, f"CD = {cd:.2f}", ha="center", va="bottom", fontsize=7
    )


def _draw_method(
    axis: "Axes", method: str, rank: float, y: float, edge: float, side: str
) -> None:
    """Draw a line from the rank down and out to the name."""
    colour = stroke_of(method).colour
    axis.plot([rank, rank, edge], [0, y, y], color=colour, linewidth=1.0)
    axis.plot([rank], [0], marker="o", markersize=3.5, color=colour, clip_on=False)
    words = [method_name(method), f"{rank:.2f}"]
    text = "  ".join(words if side == "right" else reversed(words))
    axis.annotate(
        text,
        (edge, y),
        xytext=(-3 if side == "right" else 3, 0),
        textcoords="offset points",
        ha=side,
        va="center",
    )
