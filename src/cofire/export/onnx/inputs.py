"""The columns of rows become the inputs of networks, in ONNX operators.

What is subtracted and divided before anything else is float64, as in `predict`: columns
may have large offsets. All that follows is float32.
"""

from dataclasses import dataclass

import numpy as np

from cofire.estimators.scaling import BEND, MOST
from cofire.export.onnx.graph import ML, Graph
from cofire.export.plain import Column, Inputs, Kind, PlainModel

FLOAT, UINT8, INT64, STRING, DOUBLE = 1, 2, 7, 8, 11  # onnx.TensorProto's numbers


@dataclass(frozen=True)
class Columns:
    """The names of values that hold the columns, and where each column is in them."""

    numbers: str
    """(n_rows, n_columns_of_numbers) float64, float32 for bytes; "": none."""
    codes: str
    """(n_rows, n_columns_of_categories) int64, the numbers of levels; "": none."""
    place: np.ndarray
    """Of each column of the model, in numbers or in codes."""


def one_tensor(graph: Graph, model: PlainModel, x: str) -> Columns:
    """Take all columns from one value: (n_rows, n_columns)."""
    kind = FLOAT if model.takes_bytes else DOUBLE
    numbers = _prepared(graph, graph.add("Cast", x, to=kind), model.columns, kind)
    return Columns(numbers, "", np.arange(len(model.columns)))


def tensor_per_column(graph: Graph, model: PlainModel, x: list[str]) -> Columns:
    """Take each column from a value of its own: (n_rows, 1) float64 or string."""
    place = np.zeros(len(x), np.int64)
    numbers: list[str] = []
    codes: list[str] = []
    owners: list[Column] = []
    for j, (column, name) in enumerate(zip(model.columns, x, strict=True)):
        here = numbers if column.levels is None else codes
        place[j] = len(here)
        if column.levels is None:
            owners.append(column)
            here.append(graph.add("Cast", name, to=DOUBLE))
        else:
            here.append(_codes(graph, column, name))
    joined = graph.add("Concat", *numbers, axis=1) if numbers else ""
    if numbers:
        joined = _prepared(graph, joined, tuple(owners), DOUBLE)
    return Columns(joined, graph.add("Concat", *codes, axis=1), place)


def input_order(inputs: Inputs) -> np.ndarray:
    """Return the inputs in the order in which `add_inputs` gives them."""
    measured = np.isin(inputs.kind, (Kind.NUMBER, Kind.PIECE))
    rank = np.where(measured, 0, np.where(inputs.kind == Kind.MISSING, 1, 2))
    return np.argsort(rank, kind="stable")


def add_inputs(graph: Graph, inputs: Inputs, columns: Columns, *, bytes_: bool) -> str:
    """Add the inputs of networks: (n_rows, n_inputs) float32, in `input_order`."""
    parts = []
    measured = np.flatnonzero(np.isin(inputs.kind, (Kind.NUMBER, Kind.PIECE)))
    if len(measured):
        parts.append(_measured(graph, inputs, columns, measured, bytes_))
    missing = np.flatnonzero(inputs.kind == Kind.MISSING)
    if len(missing):
        values = _taken(graph, columns.numbers, columns.place[inputs.column[missing]])
        parts.append(_flags(graph, inputs, missing, graph.add("IsNaN", values)))
    level = np.flatnonzero(inputs.kind == Kind.LEVEL)
    if len(level):
        codes = _taken(graph, columns.codes, columns.place[inputs.column[level]])
        own = graph.constant(inputs.level[level][None], np.int64)
        parts.append(_flags(graph, inputs, level, graph.add("Equal", codes, own)))
    return parts[0] if len(parts) == 1 else graph.add("Concat", *parts, axis=1)


def _prepared(graph: Graph, x: str, columns: tuple[Column, ...], kind: int) -> str:
    """Cut numbers off and fill in missing ones, where that is to be done."""
    numpy_kind = np.float32 if kind == FLOAT else np.float64
    least = np.array([own.least for own in columns], np.float64)
    most = np.array([own.most for own in columns], np.float64)
    if kind == FLOAT:  # of bytes, whose range is known
        least = np.where(least <= 0, -np.inf, least)
        most = np.where(most >= 255, np.inf, most)
    if np.isfinite(least).any():
        x = graph.add("Max", x, graph.constant(least[None], numpy_kind))
    if np.isfinite(most).any():
        x = graph.add("Min", x, graph.constant(most[None], numpy_kind))
    if any(own.fill is not None for own in columns):
        fill = [np.nan if own.fill is None else own.fill for own in columns]
        gaps = graph.add("IsNaN", x)
        x = graph.add("Where", gaps, graph.constant([fill], numpy_kind), x)
    return x


def _codes(graph: Graph, column: Column, name: str) -> str:
    """Turn text into the numbers of levels; an empty text is a missing value."""
    known = {text: i for i, text in enumerate(column.texts)}
    known.setdefault("", -1 if column.fill is None else int(column.fill))
    return graph.add(
        "LabelEncoder",
        name,
        domain=ML,
        keys_strings=list(known),
        values_int64s=list(known.values()),
        default_int64=column.other,
    )


def _taken(graph: Graph, x: str, places: np.ndarray) -> str:
    return graph.add("Gather", x, graph.constant(places, np.int64), axis=1)


def _flags(graph: Graph, inputs: Inputs, which: np.ndarray, flag: str) -> str:
    present = graph.constant(inputs.present[which][None])
    return graph.add("Where", flag, present, graph.constant(inputs.absent[which][None]))


def _measured(
    graph: Graph, inputs: Inputs, columns: Columns, which: np.ndarray, bytes_: bool
) -> str:
    """Standardise numbers and pieces; a missing value becomes 0."""
    kind = np.float32 if bytes_ else np.float64
    is_piece = inputs.kind[which] == Kind.PIECE
    centre, scale = inputs.centre[which], inputs.scale[which]
    x = _taken(graph, columns.numbers, columns.place[inputs.column[which]])
    low = np.where(is_piece, inputs.low[which], centre)
    width = np.where(is_piece, inputs.width[which], scale)
    as_it_is = not inputs.bent and not low.any() and (width == 1).all()
    if not as_it_is:
        x = graph.add("Sub", x, graph.constant(low[None], kind))
        x = graph.add("Div", x, graph.constant(width[None], kind))
    x = x if bytes_ else graph.add("Cast", x, to=FLOAT)
    if as_it_is:
        return x
    gaps = graph.add("IsNaN", x)
    if is_piece.any():
        x = _pieces(graph, x, is_piece, centre, scale)
    if inputs.bent:
        x = _bent(graph, x)
    return graph.add("Where", gaps, graph.constant(0.0, np.float32), x)


def _pieces(
    graph: Graph, x: str, is_piece: np.ndarray, centre: np.ndarray, scale: np.ndarray
) -> str:
    """Cut pieces off at 0 and 1 and standardise them; leave numbers as they are."""
    bounds = np.where(is_piece, [[0.0], [1.0]], [[-np.inf], [np.inf]])
    x = graph.add("Max", x, graph.constant(bounds[:1], np.float32))
    x = graph.add("Min", x, graph.constant(bounds[1:], np.float32))
    x = graph.add(
        "Sub", x, graph.constant(np.where(is_piece, centre, 0)[None], np.float32)
    )
    return graph.add(
        "Div", x, graph.constant(np.where(is_piece, scale, 1)[None], np.float32)
    )


def _bent(graph: Graph, x: str) -> str:
    """Let values beyond BEND grow like a logarithm, up to MOST."""

    def clipped(values: str, most: float) -> str:
        bounds = graph.constant(-most, np.float32), graph.constant(most, np.float32)
        return graph.add("Clip", values, *bounds)

    straight = clipped(x, BEND)
    beyond = graph.add("Abs", graph.add("Sub", x, straight))
    more = graph.add("Log", graph.add("Add", beyond, graph.constant(1.0, np.float32)))
    more = graph.add("Mul", more, graph.add("Sign", x))
    return clipped(graph.add("Add", straight, more), MOST)
