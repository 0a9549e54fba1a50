"""How pictures look: colours, and a line for each method; fonts, grid."""

import colorsys
import zlib
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

# Of Okabe and Ito (2008), and the purple of the house method.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#6A00A8"
INK, SOFT, FAINT = "#222222", "#666666", "#C3C0B8"
RAMP = ("#FAFAF8", "#B2CDEC", "#407FCE", "#0A2C62")
"""From none to most, also where pixels are shown."""
_INK_ON_DARK = {INK: "#EEEEEE", SOFT: "#AAAAAA", FAINT: "#5C5A55"}

Dash = tuple[float, ...]
SOLID: Dash = ()
DASHED: Dash = (4, 1.5)
LONG_DASHED: Dash = (8, 1.5)
DOTTED: Dash = (1, 1)
DASH_DOT: Dash = (5, 1.5, 1, 1.5)


@dataclass(frozen=True)
class Stroke:
    """How a method is drawn: dashes are lengths on and off, in line widths."""

    colour: str
    dashes: Dash = SOLID
    marker: str = ""

    @property
    def line(self) -> dict[str, Any]:
        """Return the arguments with which matplotlib draws the line."""
        style = (0, self.dashes) if self.dashes else "solid"
        return {"color": self.colour, "linestyle": style}


# The palettes of Okabe and Ito (2008) and of Tol ("muted"), which colour-blind readers
# can tell apart. Methods in one figure of the paper differ in colour and dashes.
STROKES = {
    "cofire": Stroke("#6A00A8", LONG_DASHED, "*"),
    "ctre_sim": Stroke("#D55E00", SOLID, "o"),
    "ctre_seq": Stroke("#0072B2", SOLID, "s"),
    "set": Stroke("#009E73", DASHED, "^"),
    "rigl": Stroke("#CC79A7", DASH_DOT, "D"),
    "snip": Stroke("#E69F00", DOTTED, "v"),
    "static": Stroke("#888888", DASHED, "X"),
    "dense": Stroke("#000000", DASH_DOT, "P"),
    "ctre_wo_random": Stroke("#56B4E9", DASHED, "<"),
    "ctre_sim_lth": Stroke("#882255", DASH_DOT, ">"),
    "ctre_sim_hebb": Stroke("#CC6677", DASHED, "p"),
    "ctre_seq_hebb": Stroke("#44AA99", DASH_DOT, "h"),
    "ctre_sim_euclidean": Stroke("#117733", DASHED, "d"),
    "ctre_sample2": Stroke("#999933", DASHED, "H"),
    "ctre_sample4": Stroke("#AA4499", DOTTED, "8"),
    "ctre_seq_abl1": Stroke("#332288", DASHED, "*"),
    "ctre_seq_abl2": Stroke("#661100", DOTTED, "X"),
    "rigl_uniform": Stroke("#7A4F9A", DOTTED, "d"),
}
BASELINES = {
    "logistic_regression": Stroke("#8C6D31"),
    "ridge": Stroke("#8C6D31"),  # never beside logistic regression
    "random_forest": Stroke("#3B6E22"),
    "gradient_boosting": Stroke("#A63D40"),
}
_OTHERS = ("#5E4C1F", "#4477AA", "#999999", "#228833", "#EE6677")

# Everything else is matplotlib's default, whatever the user's own settings are: equal
# data give equal files everywhere.
_SETTINGS = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.titlelocation": "left",
    "axes.titlepad": 4,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.edgecolor": "#666666",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.xmargin": 0.01,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.color": "#666666",
    "ytick.color": "#666666",
    "xtick.labelcolor": "#222222",
    "ytick.labelcolor": "#222222",
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 0,
    "lines.linewidth": 1.3,
    "lines.markersize": 4,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.handlelength": 2.6,
    "legend.columnspacing": 1.6,
    "figure.constrained_layout.h_pad": 0.05,
    "figure.constrained_layout.w_pad": 0.05,
    "svg.fonttype": "path",
}


def stroke_of(method: str) -> Stroke:
    """Return the stroke of a method, the same in all figures.

    A method of another package gets one that none of ours has.

    >>> stroke_of("set").colour
    '#009E73'
    """
    known = STROKES | BASELINES
    if method in known:
        return known[method]
    number = zlib.crc32(method.encode())
    dashes = (SOLID, DASHED, DOTTED, DASH_DOT)[number // len(_OTHERS) % 4]
    return Stroke(_OTHERS[number % len(_OTHERS)], dashes, "o")


def on_dark(colour: str) -> str:
    """Return the colour for a dark ground: the same hue; greys stay away from white.

    >>> on_dark("#000000"), on_dark("#0072B2")
    ('#adadad', '#48b7f5')
    """
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    hue, light, strength = colorsys.rgb_to_hls(red, green, blue)
    light = 0.68 - 0.35 * light if strength == 0 else 0.5 + 0.35 * light
    parts = colorsys.hls_to_rgb(hue, light, 0.9 * strength)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


def shown_on(ax: Any, colour: str) -> str:
    """Return the colour as these axes need it: on a dark background a lighter one."""
    colors = needed("matplotlib.colors")
    face = ax.get_facecolor()
    behind = face if face[3] > 0 else ax.figure.get_facecolor()
    red, green, blue = colors.to_rgb(behind)
    if 0.3 * red + 0.59 * green + 0.11 * blue > 0.4:
        return colour
    return _INK_ON_DARK.get(colour) or on_dark(colour)


def our_look(**settings: Any) -> AbstractContextManager[Any]:
    """Return the context to draw in; settings of matplotlib may differ."""
    style = needed("matplotlib.style")

    return style.context(["default", _SETTINGS | settings])


def needed(module: str) -> Any:
    """Import a module of matplotlib, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"cofire.plot draws with matplotlib, and {module} cannot be imported "
            f"({error}): pip install 'cofire[plot]'"
        ) from None
