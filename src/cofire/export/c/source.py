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
    words = _words(model, types) | {
        "count": UNSIGNED[layers[0].counts.itemsize],
        "step": UNSIGNED[layers[0].steps.itemsize],
        "weight": TABLES[tables].weight,
        "sum": TABLES[tables].sum,
        "input": "short" if _arithmetic(model, tables) == "bytes" else "float",
    }

    def filled(*templates: str) -> list[str]:
        return [Template(own).substitute(words) for own in templates if own]

    layer, *functions = _network_functions(model, tables)
    parts = [
        *filled(templates.TOP, templates.INPUTS),
        *encoded.tables,
        *filled(encoded.functions, templates.NETWORKS),
        *_layer_tables(model, layers, words),
        *filled(layer, _rows_of_layers(model, layers), *functions),
        *filled(templates.PREDICTIONS),
        *_target_tables(model, types),
        *filled(*_predictions(model)),
    ]
    n_bytes = sum(own.n_bytes for own in layers) + encoded.n_bytes
    return Source("\n".join(parts), n_bytes, _stack_bytes(model, tables))


def _arithmetic(model: PlainModel, tables: str) -> str:
    """Return how networks compute: "float", "whole" numbers, or those from "bytes"."""
    if tables == "float":
        return "float"
    return "bytes" if model.takes_bytes else "whole"


def _network_functions(model: PlainModel, tables: str) -> list[str]:
    """Return the type of layers and the functions of networks, in order."""
    network, how = model.networks[0], _arithmetic(model, tables)
    activate = templates.ACTIVATE[network.activation]
    run = {
        "float": templates.RUN,
        "whole": templates.WHOLE_RUN,
        "bytes": templates.BYTES_RUN,
    }[how]
    shorten = templates.SHORTEN
    if len(network.layers) == 1:
        activate, run = "", templates.ONE_LAYER_RUN[how]
        shorten = shorten if how == "whole" else ""
    if how == "float":
        return [templates.LAYER, templates.FORWARD, activate, run]
    layer, forward = templates.WHOLE_LAYER, templates.WHOLE_FORWARD
    return [layer, forward, activate, shorten, run]


def _stack_bytes(model: PlainModel, tables: str) -> int:
    """Return the bytes of the arrays of a call."""
    n_units, n_inputs = _n_units(model), len(model.inputs)
    n_bytes = {
        "float": 4 * (n_inputs + 2 * n_units),
        "whole": 4 * (n_inputs + n_units) + 2 * max(n_inputs, n_units),
        "bytes": 2 * (n_inputs + n_units) + 4 * n_units,
    }[_arithmetic(model, tables)]
    return n_bytes + 8 * model.n_outputs


def _n_units(model: PlainModel) -> int:
    """Return the number of neurons of the largest hidden layer, or 1."""
    return max([1, *(n for net in model.networks for n in net.sizes[1:-1])])


def _words(model: PlainModel, types: Types) -> dict[str, object]:
    """Return what the words of the templates stand for."""
    n_layers, n_networks = len(model.networks[0].layers), len(model.networks)
    n_units, n_inputs = _n_units(model), len(model.inputs)
    largest = max(n_inputs, *(n for net in model.networks for n in net.sizes))
    return BENDING | {
        "stem": types.stem,
        "name": types.name,
        "upper": types.name.upper(),
        "feature": f"{types.name}_feature",
        "result": f"{types.name}_result",
        "size": "unsigned" if largest < 2**16 else "unsigned long",
        "n_inputs": n_inputs,
        "n_units": n_units,
        "n_values": n_units if model.takes_bytes else max(n_inputs, n_units),
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


def _rows_of_layers(model: PlainModel, layers: list[LayerTables]) -> str:
    rows = []
    for i, own in enumerate(layers):
        names = ["counts", "steps", "weights", "scale", "bias"]
        sizes = [str(len(own.bias)), str(own.most)]
        if own.scale is None:
            names.remove("scale")
            sizes.pop()
        pointers = [f"{name}_{_place(model, i)}" for name in names]
        rows.append(f"    {{{', '.join([*sizes, *pointers])}}}")
    body = ",\n".join(rows)
    return f"static const layer layers[{len(rows)}] = {{\n{body}\n}};\n"


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
