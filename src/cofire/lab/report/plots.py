"""The figures: each function takes numbers and returns a matplotlib `Figure`.

A method has the same colour and line in all of them (`cofire.lab.report.look`).
`save_figure` writes the files.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cofire.lab.names import method_name
from cofire.lab.report.look import (
    DASHED,
    SOLID,
    Stroke,
    in_order,
    our_look,
    save_figure,
    stroke_of,
)
from cofire.lab.report.panels import (
    Band,
    Line,
    Panel,
    Share,
    draw_mean_and_band,
    empty_panels,
    label_all,
    line_legend,
    method_legend,
    place_legend,
    seeds_note,
)
from cofire.lab.report.rank_diagram import critical_difference

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "Line",
    "Panel",
    "cost",
    "critical_difference",
    "curves",
    "removal",
    "save_figure",
    "tradeoff",
]

REMOVAL_STROKES = {
    ("magnitude", "ascending"): Stroke("#0072B2", SOLID),
    ("magnitude", "descending"): Stroke("#0072B2", DASHED),
    ("cosine", "ascending"): Stroke("#D55E00", SOLID),
    ("cosine", "descending"): Stroke("#D55E00", DASHED),
    ("random", "ascending"): Stroke("#777777", SOLID),
    ("random", "descending"): Stroke("#777777", DASHED),
}
"""By the score of a connection, and the order of removal."""

PART_COLOURS = {"training": "#0072B2", "growth": "#E69F00", "evaluation": "#BBBBBB"}


def curves(
    panels: Sequence[Panel],
    *,
    x_label: str = "Epoch",
    y_label: str = "Test accuracy (%)",
    columns: int = 3,
    log_x: bool = False,
    share_y: Share = "none",
    band: Band = "sd",
) -> "Figure":
    """Draw a grid of panels with a line and a band over seeds for each method.

    x may be epochs, seconds or multiply-adds. band: one standard deviation around the
    mean ("sd"), or from the smallest to the largest value ("range").
    """
    with our_look():
        figure, axes = empty_panels([p.title for p in panels], columns, share_y, 1.75)
        for axis, panel in zip(axes, panels, strict=True):
            for method in in_order(panel.lines):
                draw_mean_and_band(axis, panel.lines[method], stroke_of(method), band)
            if log_x:
                axis.set_xscale("log")
        spread = "band ± 1 sd" if band == "sd" else "band from least to largest"
        label_all(figure, x_label, y_label, seeds_note(panels, spread))
        method_legend(figure, panels)
        return figure


def tradeoff(
    panels: Sequence[Panel],
    *,
    x_label: str = "Density (%)",
    y_label: str = "Test accuracy (%)",
    columns: int = 3,
    log_x: bool = False,
    share_y: Share = "none",
) -> "Figure":
    """Draw accuracy against density, with error bars of one sd over seeds."""
    with our_look():
        figure, axes = empty_panels([p.title for p in panels], columns, share_y, 2.2)
        for axis, panel in zip(axes, panels, strict=True):
            for method in in_order(panel.lines):
                stroke = stroke_of(method)
                x, values = panel.lines[method].points()
                axis.errorbar(
                    x,
                    values.mean(axis=0),
                    yerr=values.std(axis=0) if len(values) > 1 else None,
                    marker=stroke.marker,
                    markeredgewidth=0,
                    elinewidth=0.8,
                    **stroke.line,
                )
            axis.margins(x=0.04)
            if log_x:
                _make_log(axis)
        label_all(figure, x_label, y_label, seeds_note(panels, "bars ± 1 sd"))
        method_legend(figure, panels, markers=True)
        return figure


def removal(
    panels: Sequence[Panel],
    *,
    x_label: str = "Connections removed (%)",
    y_label: str = "Test accuracy (%)",
    columns: int = 4,
) -> "Figure":
    """Draw accuracy while connections are removed, a panel per network and checkpoint.

    The key of a line is (score, order): "magnitude", "cosine" or "random"; "ascending"
    (the smallest first) or "descending". The panels share their y axis.
    """
    with our_look():
        figure, axes = empty_panels([p.title for p in panels], columns, "all", 1.75)
        for axis, panel in zip(axes, panels, strict=True):
            for key, stroke in REMOVAL_STROKES.items():
                if key in panel.lines:
                    draw_mean_and_band(axis, panel.lines[key], stroke, "sd")
            axis.set_xticks([0, 25, 50, 75, 100])
        label_all(figure, x_label, y_label, seeds_note(panels, "band ± 1 sd"))
        drawn = [k for k in REMOVAL_STROKES if any(k in p.lines for p in panels)]
        names = [_removal_name(*key) for key in drawn]
        strokes = [REMOVAL_STROKES[key] for key in drawn]
        line_legend(figure, dict(zip(names, strokes, strict=True)))
        return figure


def _removal_name(score: str, order: str) -> str:
    if score == "random":
        return "random" if order == "ascending" else "random, reversed"
    which = "smallest" if order == "ascending" else "largest"
    return f"{score}, {which} first"


def cost(
    panels: Mapping[str, Mapping[str, Mapping[str, float]]],
    *,
    x_label: str = "Seconds per epoch",
    columns: int = 3,
) -> "Figure":
    """Draw stacked bars of the cost of an epoch: {title: {method: {part: amount}}}.

    The parts are "training", "growth" and "evaluation". The number next to a bar is the
    sum of its parts.
    """
    from matplotlib.patches import Patch

    most = max((len(bars) for bars in panels.values()), default=1)
    with our_look():
        figure, axes = empty_panels(panels, columns, "none", 0.45 + 0.2 * most)
        for axis, bars in zip(axes, panels.values(), strict=True):
            _draw_bars(axis, bars)
        label_all(figure, x_label, "")
        rows = [row for bars in panels.values() for row in bars.values()]
        parts = {p: c for p, c in PART_COLOURS.items() if any(p in row for row in rows)}
        place_legend(figure, {p: Patch(facecolor=c) for p, c in parts.items()})
        return figure


def _draw_bars(axis: "Axes", bars: Mapping[str, Mapping[str, float]]) -> None:
    from matplotlib.ticker import EngFormatter

    methods = in_order(bars)
    heights = np.arange(len(methods))
    ends = np.zeros(len(methods))
    for part, colour in PART_COLOURS.items():
        lengths = np.array([bars[method].get(part, 0.0) for method in methods])
        axis.barh(heights, lengths, 0.64, ends, color=colour)
        ends += lengths
    longest = float(max(ends, default=0))
    if longest >= 1e4:  # multiply-adds: 1.5 G is shorter than 1500000000
        axis.xaxis.set_major_formatter(EngFormatter())
    for height, end in zip(heights, ends, strict=True):
        axis.annotate(
            _three_digits(end),
            (end, height),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
        )
    axis.set_yticks(heights, [method_name(method) for method in methods])
    axis.set(xlim=(0, 1.3 * longest or 1), ylim=(len(methods) - 0.4, -0.6))
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0)


def _three_digits(number: float) -> str:
    """Format a number with three digits.

    >>> [_three_digits(n) for n in (0, 0.13, 100.2, 2.2e9)]
    ['0', '0.130', '100', '2.20 G']
    """
    if number == 0:
        return "0"
    units = {"T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3}
    for prefix, unit in units.items() if number >= 1e4 else ():
        if number >= unit:
            return f"{_three_digits(number / unit)} {prefix}"
    return f"{number:#.3g}".rstrip(".")


def _make_log(axis: "Axes") -> None:
    """Make x logarithmic, with plain numbers as labels."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
