"""How figures look: the order of methods, size, files; strokes are the library's."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from cofire.lab.names import method_position
from cofire.persistence.atomic import write_atomically
from cofire.plot.look import (
    BASELINES,
    DASH_DOT,
    DASHED,
    DOTTED,
    LONG_DASHED,
    SOLID,
    STROKES,
    Dash,
    Stroke,
    on_dark,
    our_look,
    stroke_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "BASELINES",
    "DASHED",
    "DASH_DOT",
    "DOTTED",
    "LONG_DASHED",
    "SOLID",
    "STROKES",
    "WIDTH",
    "Dash",
    "Stroke",
    "in_order",
    "on_dark",
    "our_look",
    "save_figure",
    "stroke_of",
]

WIDTH = 7.0  # inches: a page's text


def in_order(methods: Iterable[str]) -> list[str]:
    """Return each method once, in the order of `METHODS`, unknown ones last.

    >>> in_order(["mine", "set", "ctre_sim", "set"])
    ['ctre_sim', 'set', 'mine']
    """
    return sorted(dict.fromkeys(methods), key=lambda m: method_position(m)[0])


def save_figure(figure: "Figure", folder: Path | str, name: str) -> list[Path]:
    """Write NAME.png (150 dpi) and NAME.svg; equal figures give equal bytes."""
    from matplotlib import rc_context

    written = []
    for ending, metadata in [
        ("png", {"Software": None}),
        ("svg", {"Date": None, "Creator": None}),
    ]:
        content = io.BytesIO()
        # Ids in an SVG file depend on the salt; without one they are random.
        with our_look(), rc_context({"svg.hashsalt": name}):
            figure.savefig(content, format=ending, dpi=150, metadata=metadata)
        written.append(Path(folder) / f"{name}.{ending}")
        write_atomically(written[-1], content.getvalue())
    return written
