"""What all displays share: axes to draw on, labels at the ends of lines."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cofire.plot.look import INK, needed, our_look

FONTS = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.labelsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "axes.titlepad": 8,
}
_APART = 1.25  # lines of text between two labels
_WIDE = 8  # lines of text: labels further apart than this stand side by side

Plot = TypeVar("Plot", bound=Callable[..., Any])


def in_our_look(plot: Plot) -> Plot:
    """Let a method draw in our look, or, on axes of the user, in that of the user."""

    @wraps(plot)
    def drawn(self: Any, *, ax: Any = None, **how: Any) -> Any:
        if ax is not None:
            return plot(self, ax=ax, **how)
        with our_look(**FONTS):
            return plot(self, ax=ax, **how)

    return drawn  # type: ignore[return-value]


class Display:
    """A picture: `plot` draws it again. `ax_` (or `axes_`) and `figure_` are drawn."""

    ax_: Any
    axes_: Any
    figure_: Any

    def _begin(self, ax: Any, n: int = 1, size: tuple[float, float] = (6.4, 4)) -> Any:
        """Set `axes_`: n new ones side by side, those given, or parts of one given."""
        if ax is None:
            pyplot = needed("matplotlib.pyplot")
            _, grid = pyplot.subplots(
                1, n, figsize=size, layout="constrained", squeeze=False
            )
            axes = grid[0]
        else:
            axes = np.array([ax], dtype=object).ravel()
        if len(axes) == 1 < n:
            axes = _divided(axes[0], n)
        if len(axes) != n:
            raise ValueError(
                f"ax: {len(axes)} axes, but this display draws {n} panels; give {n} "
                "axes, one to be divided, or None for a new figure."
            )
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return axes


def _divided(ax: Any, n: int) -> Any:
    """Divide axes into n side by side, as scikit-learn does."""
    spec = ax.get_subplotspec()
    if spec is None:
        raise ValueError(
            f"ax: this display draws {n} panels, and axes without a subplot cannot be "
            f"divided; give {n} axes, or None for a new figure."
        )
    ax.set_axis_off()
    grid = spec.subgridspec(1, n, wspace=0.3)
    return np.array([ax.figure.add_subplot(part) for part in grid], dtype=object)


class End(NamedTuple):
    """The end of a line, with the text beside it."""

    x: float
    y: float
    text: str
    colour: str = INK


def label_ends(ax: Any, ends: Iterable[End]) -> list[Any]:
    """Write beside each line what it is; labels that would overlap move apart."""
    ends = [end for end in ends if np.isfinite([end.x, end.y]).all()]
    if not ends:
        return []
    ax.figure.canvas.draw()  # fixes where things are
    size = needed("matplotlib").rcParams["font.size"] * 0.95
    if ax.figure.get_layout_engine() is None:  # nobody else makes room
        _make_room(ax, ends, size)
    at = ax.transData.transform([(end.x, end.y) for end in ends]) / ax.figure.dpi * 72
    shifts = np.zeros(len(ends))
    # From left to right: only labels that begin at about the same place get in the way.
    order = np.argsort(at[:, 0], kind="stable")
    breaks = np.flatnonzero(np.diff(at[order, 0]) > _WIDE * size) + 1
    for group in np.split(order, breaks):
        group = group[np.argsort(at[group, 1], kind="stable")]
        shifts[group] = _apart(at[group, 1], size * _APART) - at[group, 1]
    return [
        ax.annotate(
            end.text,
            (end.x, end.y),
            xytext=(6, shift),
            textcoords="offset points",
            va="center",
            fontsize=size,
            color=end.colour,
            annotation_clip=False,
        )
        for end, shift in zip(ends, shifts, strict=True)
    ]


def _make_room(ax: Any, ends: Sequence[End], size: float) -> None:
    """Let the x axis reach so far that the labels end within the axes."""
    scale, (low, high) = ax.transScale, ax.get_xlim()
    at = scale.transform(
        [(x, ax.get_ylim()[1]) for x in (low, high, *(e.x for e in ends))]
    )
    left, right, xs = at[0, 0], at[1, 0], at[2:, 0]
    width = ax.get_window_extent().width / ax.figure.dpi * 72
    needed_points = np.array([6 + 0.62 * size * len(end.text) for end in ends])
    room = np.maximum(width - needed_points, 0.4 * width)
    reach = max(float(((xs - left) * width / room).max()), right - left)
    if reach > right - left:
        end = scale.inverted().transform((left + reach, at[0, 1]))[0]
        ax.set_xlim(low, end)


def _apart(heights: np.ndarray, least: float) -> np.ndarray:
    """Move ascending heights as little as keeps them `least` apart, about their middle.

    >>> _apart(np.array([0.0, 1.0, 30.0]), 10.0).tolist()
    [-4.5, 5.5, 30.0]
    """
    groups: list[tuple[float, int]] = []  # middle, members
    for height in heights:
        groups.append((float(height), 1))
        while len(groups) > 1:
            (a, n), (b, m) = groups[-2:]
            if b - a >= least * (n + m) / 2:
                break
            groups[-2:] = [((a * n + b * m) / (n + m), n + m)]
    return np.concatenate(
        [middle + least * (np.arange(n) - (n - 1) / 2) for middle, n in groups]
    )


def mean_curve(curves: Sequence[Sequence[float]]) -> np.ndarray:
    """Average curves of different lengths: each point over those that have it.

    >>> mean_curve([[1, 2, 3], [3]]).tolist()
    [2.0, 2.0, 3.0]
    """
    length = max(map(len, curves), default=0)
    padded = np.full((len(curves), length), np.nan)
    for row, curve in zip(padded, curves, strict=True):
        row[: len(curve)] = curve
    there = np.isfinite(padded)
    total = np.where(there, padded, 0).sum(axis=0)
    return np.divide(
        total, there.sum(axis=0), out=np.full(length, np.nan), where=there.any(axis=0)
    )


def whole_ticks(axis: Any) -> None:
    """Put ticks at whole numbers only, with a comma in thousands."""
    ticker = needed("matplotlib.ticker")
    axis.set_major_locator(ticker.MaxNLocator(6, steps=[1, 2, 5, 10], integer=True))
    axis.set_major_formatter(ticker.FuncFormatter(lambda v, _: f"{v:,.0f}"))
