"""The C file: tables, what turns features into inputs, networks, predictions."""

from dataclasses import dataclass
from string import Template

import numpy as np

from cofire.export.c import templates
from cofire.export.c.encoding import BENDING, encoding
from cofire.export.c.tables import TABLES, UNSIGNED, LayerTables, model_tables
from cofire.export.c.words import number, table, text_table
from cofire.export.plain import LEAKY_SLOPE, Classes, Labels, Numbers, PlainModel


@dataclass(frozen=True)
class Types:
    """What a file is called, how the names in it begin, and its types."""

    stem: str
    name: str
    feature: str
    """Of features, in C."""
    result: str
    """Of predicted numbers, in C."""


@dataclass(frozen=True)
class Source:
    """The text of a C file, and what it takes of a machine."""

    text: str
    table_bytes: int
    stack_bytes: int


def source(model: PlainModel, types: Types, tables: str) -> Source:
    """Return the C file of a simplified model."""
    layers = model_tables(model, tables)
    encoded = encoding(model, types.feature)
    n_units = max([1, *(n for net in model.networks for n in net.sizes[1:-1])])
    words = _words(model, types, n_units) | {
        "count": UNSIGNED[layers[0].counts.itemsize],
        "step": UNSIGNED[layers[0].steps.itemsize],
        "weight": TABLES[tables][0],
    }

    def filled(*templates: str) -> list[str]:
        return [Template(own).substitute(words) for own in templates if own]

    activation = model.networks[0].activation if n_units > 1 else "identity"
    parts = [
        *filled(templates.TOP, templates.INPUTS),
        *encoded.tables,
        *filled(encoded.functions, templates.NETWORKS),
        *_layer_tables(model, layers, words),
        *filled(
            templates.LAYER[tables == "float"],
            _rows_of_layers(model, layers, tables),
            templates.FORWARD[tables == "float"],
            templates.ACTIVATE[activation],
            templates.RUN[activation != "identity"],
        ),
        *filled(templates.PREDICTIONS),
        *_target_tables(model, types),
        *filled(*_predictions(model)),
    ]
    n_floats = len(model.inputs) + 2 * n_units + 2 * model.n_outputs
    n_bytes = sum(own.n_bytes for own in layers) + encoded.n_bytes
    return Source("\n".join(parts), n_bytes, 4 * n_floats)


def _words(model: PlainModel, types: Types, n_units: int) -> dict[str, object]:
    """Return what the words of the templates stand for."""
    n_layers, n_networks = len(model.networks[0].layers), len(model.networks)
    largest = max(len(model.inputs), *(n for net in model.networks for n in net.sizes))
    return BENDING | {
        "stem": types.stem,
        "name": types.name,
        "upper": types.name.upper(),
        "feature": f"{types.name}_feature",
        "result": f"{types.name}_result",
        "size": "unsigned" if largest < 2**16 else "unsigned long",
        "n_inputs": len(model.inputs),
        "n_units": n_units,
        "n_layers": n_layers,
        "n_networks": n_networks,
        "n_outputs": model.n_outputs,
        "slope": number(LEAKY_SLOPE, "float"),
        "share": number(1 / n_networks, "float"),
    }


# ---- networks ------------------------------------------------------------------------


def _layer_tables(
    model: PlainModel, layers: list[LayerTables], words: dict[str, object]
) -> list[str]:
    texts = []
    for i, own in enumerate(layers):
        place = _place(model, i)
        texts.append(table(str(words["count"]), f"counts_{place}", own.counts))
        texts.append(table(str(words["step"]), f"steps_{place}", _some(own.steps)))
        weights = _some(own.weights)
        texts.append(table(str(words["weight"]), f"weights_{place}", weights))
        if own.scale is not None:
            texts.append(table("float", f"scale_{place}", own.scale))
        texts.append(table("float", f"bias_{place}", own.bias))
    return texts


def _rows_of_layers(model: PlainModel, layers: list[LayerTables], tables: str) -> str:
    names = [n for n in _TABLE_NAMES if tables != "float" or n != "scale"]
    rows = []
    for i, own in enumerate(layers):
        pointers = [f"{name}_{_place(model, i)}" for name in names]
        rows.append(f"    {{{', '.join([str(len(own.bias)), *pointers])}}}")
    body = ",\n".join(rows)
    return f"static const layer layers[{len(rows)}] = {{\n{body}\n}};\n"


_TABLE_NAMES = ("counts", "steps", "weights", "scale", "bias")


def _some(values: np.ndarray) -> np.ndarray:
    """Return a table of one 0 for an empty one, which C does not have."""
    return values if len(values) else np.zeros(1)


def _place(model: PlainModel, i: int) -> str:
    """Return how the tables of a layer end: its number, and that of its network."""
    network, layer = divmod(i, len(model.networks[0].layers))
    return f"{layer + 1}" if len(model.networks) == 1 else f"{network + 1}_{layer + 1}"


# ---- predictions ---------------------------------------------------------------------


def _target_tables(model: PlainModel, types: Types) -> list[str]:
    target = model.target
    if isinstance(target, Classes):
        texts = [str(label) for label in target.labels.tolist()]
        size = f"{types.name.upper()}_CLASSES"
        return [text_table(f"{types.name}_class_names", size, texts)]
    if isinstance(target, Numbers):
        return [
            table(types.result, "result_scale", target.scale),
            table(types.result, "result_mean", target.mean),
        ]
    return []


def _predictions(model: PlainModel) -> list[str]:
    if isinstance(model.target, Numbers):
        return [
            templates.NUMBERS,
            templates.ONE_NUMBER if model.n_outputs == 1 else templates.ALL_NUMBERS,
        ]
    if isinstance(model.target, Labels):
        return [templates.SIGMOID, templates.PREDICT_PROBA, templates.PREDICT_LABELS]
    predict = (
        templates.PREDICT_CLASS
        if len(model.networks) == 1
        else templates.PREDICT_MEAN_CLASS
    )
    return [templates.SOFTMAX, templates.PREDICT_PROBA, templates.LARGEST, predict]
