"""Parts of figures: a grid of panels, means with bands, one legend for all."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from cofire.lab.names import method_name
from cofire.lab.report.look import WIDTH, Stroke, in_order, stroke_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY = "#666666"
Band = Literal["sd", "range"]
Share = Literal["all", "row", "none"]


@dataclass(frozen=True, eq=False)
class Line:
    """values: (seeds, points), or (points) of one seed; x: (points), None: 1, 2, ..."""

    values: ArrayLike
    x: ArrayLike | None = None

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Return x and values as arrays, the latter (seeds, points)."""
        values = np.atleast_2d(np.asarray(self.values, dtype=float))
        n = values.shape[1]
        x = np.arange(1, n + 1) if self.x is None else np.asarray(self.x, dtype=float)
        if x.shape != (n,):
            raise ValueError(f"{n} points of a curve, but x has the shape {x.shape}.")
        return x, values


@dataclass(frozen=True)
class Panel:
    """Lines on the same axes, by method."""

    title: str
    lines: Mapping[Any, Line]


def empty_panels(
    titles: Iterable[str], columns: int, share_y: Share, row_height: float
) -> tuple["Figure", list["Axes"]]:
    """Return a figure with axes in rows; unused cells of the grid stay empty."""
    from matplotlib.figure import Figure

    titles = list(titles)
    columns = max(1, min(len(titles), columns))
    rows = max(1, -(-len(titles) // columns))
    figure = Figure(figsize=(WIDTH, 0.65 + row_height * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharey=share_y, squeeze=False)
    axes = list(grid.flat)
    for axis in axes[len(titles) :]:
        axis.remove()
    for axis, title in zip(axes, titles, strict=False):
        axis.set_title(title)
    return figure, axes[: len(titles)]


def draw_mean_and_band(axis: "Axes", line: Line, stroke: Stroke, band: Band) -> None:
    """Draw the mean over seeds, and around it a standard deviation or the range."""
    x, values = line.points()
    mean = values.mean(axis=0)
    if len(values) > 1:
        low, high = values.min(axis=0), values.max(axis=0)
        if band == "sd":
            low, high = mean - values.std(axis=0), mean + values.std(axis=0)
        x_band, low, high = (a[_enough_of(len(x))] for a in (x, low, high))
        axis.fill_between(x_band, low, high, color=stroke.colour, alpha=0.15, lw=0)
    axis.plot(x, mean, **stroke.line)


def _enough_of(n: int) -> np.ndarray:
    """Choose points to draw a band with, closer together than one can see.

    matplotlib simplifies lines but not filled areas: with all points of 500 epochs a
    figure of nine panels would be twice as large.
    """
    even, early = np.linspace(0, n - 1, 120), np.geomspace(1, n, 80) - 1
    return np.unique(np.rint(np.concatenate([even, early])).astype(int))


def seeds_note(panels: Iterable[Panel], spread: str) -> str:
    """Say how many seeds there are, and how their spread is drawn."""
    counts = {len(line.points()[1]) for p in panels for line in p.lines.values()}
    if not counts or max(counts) == 1:
        return ""
    few, many = min(counts), max(counts)
    return f"mean of {few if few == many else f'{few} to {many}'} seeds, {spread}"


def label_all(figure: "Figure", x_label: str, y_label: str, note: str = "") -> None:
    """Write the labels for all panels, and a note in the corner."""
    figure.supxlabel(x_label, fontsize=8)
    figure.supylabel(y_label, fontsize=8)
    figure.text(0.994, 0.01, note, ha="right", va="bottom", fontsize=6.5, color=GREY)


def note_below(figure: "Figure", note: str) -> None:
    """Write a red note in the other corner, for what must not be overlooked."""
    figure.text(0.006, 0.01, note, ha="left", va="bottom", fontsize=6.5, color="red")


def method_legend(
    figure: "Figure", panels: Iterable[Panel], *, markers: bool = False
) -> None:
    """Write one legend of all methods in the panels."""
    methods = in_order(method for panel in panels for method in panel.lines)
    strokes = {method_name(method): stroke_of(method) for method in methods}
    if not markers:
        strokes = {n: Stroke(s.colour, s.dashes) for n, s in strokes.items()}
    line_legend(figure, strokes)


def line_legend(figure: "Figure", strokes: Mapping[str, Stroke]) -> None:
    """Write a legend of lines above the panels."""
    from matplotlib.lines import Line2D

    place_legend(
        figure,
        {
            name: Line2D([], [], marker=stroke.marker, markeredgewidth=0, **stroke.line)
            for name, stroke in strokes.items()
        },
    )


def place_legend(figure: "Figure", handles: Mapping[str, Any]) -> None:
    """Write a legend above the panels, in rows of equal length that fit the page."""
    if not handles:
        return
    longest = max(len(name) for name in handles)
    fitting = max(1, int(WIDTH / (0.55 + 0.062 * longest)))
    rows = -(-len(handles) // fitting)
    figure.set_figheight(figure.get_figheight() + 0.17 * (rows - 1))
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside upper center",
        ncols=-(-len(handles) // rows),
    )
