"""Tables of exported networks: which inputs, and weights as floats or integers."""

from dataclasses import dataclass, replace

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.export.plain import PlainModel

SHORT = 2**15 - 1
"""The largest `short` of C."""


@dataclass(frozen=True)
class Kind:
    """A kind of table."""

    weight: str
    """The type of a weight in C."""
    largest: int = 0
    """The largest whole number that stands for a weight."""
    sum: str = "float"
    """The type of a sum of products in C."""


TABLES = {
    "float": Kind("float"),
    "int16": Kind("short", SHORT, "long long"),
    "int8": Kind("signed char", 2**7 - 1, "long"),
}
"""By name."""

UNSIGNED = {1: "unsigned char", 2: "unsigned short", 4: "unsigned"}
"""The type in C of whole numbers >= 0, by their bytes."""


@dataclass(frozen=True, eq=False)
class LayerTables:
    """One layer.

    The sum of a neuron is bias + scale * (sum of weight * input); the scale is 1 for
    weights in float.
    """

    counts: np.ndarray
    """Connections of each neuron."""
    steps: np.ndarray
    """Of each connection: how far its input is from that of the one before, or from
    input 0. Where a step is too large for its type, connections of weight 0 are put
    between."""
    weights: np.ndarray
    """Float32 or whole numbers, one per step."""
    scale: np.ndarray | None
    """Of each neuron, float32."""
    bias: np.ndarray
    most: int = 0
    """Of whole numbers: how large inputs may be, which are whole numbers too."""

    @property
    def n_bytes(self) -> int:
        """Bytes of the tables."""
        tables = [self.counts, self.steps, self.weights, self.bias]
        tables += [] if self.scale is None else [self.scale]
        return sum(table.nbytes for table in tables)


def model_tables(model: PlainModel, tables: str) -> list[LayerTables]:
    """Return the tables of all layers of all networks, with steps of the same type.

    Bytes for the steps, unless two bytes take less room in all.
    """
    layers = [layer for network in model.networks for layer in network.layers]

    def with_steps(step: type) -> list[LayerTables]:
        found = [_layer_tables(layer, tables, step) for layer in layers]
        count = np.min_scalar_type(max(own.counts.max() for own in found))
        return [replace(own, counts=own.counts.astype(count)) for own in found]

    return min(
        (with_steps(step) for step in (np.uint8, np.uint16)),
        key=lambda found: sum(own.n_bytes for own in found),
    )


def _layer_tables(layer: SparseLayer, tables: str, step: type) -> LayerTables:
    weights, scale = _weights(layer, tables)
    starts, counts = layer.indptr[:-1], np.diff(layer.indptr)
    steps = np.diff(layer.indices.astype(np.int64), prepend=0)
    filled = starts[counts > 0]
    steps[filled] = layer.indices[filled]  # from 0 in each neuron
    # A step of 600 in bytes: 255, 255, 90; the first two have no weight.
    most = int(np.iinfo(step).max)
    between = np.maximum(steps - 1, 0) // most
    own = np.repeat(np.arange(len(steps)), between)
    split = np.insert(steps - between * most, own, most)
    more = np.bincount(layer.rows, between, layer.n_out).astype(np.int64)
    return LayerTables(
        counts + more,
        split.astype(step),
        np.insert(weights, own, 0),
        scale,
        layer.bias,
        most_of(layer, weights, tables),
    )


def _weights(layer: SparseLayer, tables: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Return weights, and the scale of each neuron for whole numbers."""
    if tables == "float":
        return layer.weights, None
    largest = TABLES[tables].largest
    most = np.zeros(layer.n_out)
    np.maximum.at(most, layer.rows, np.abs(layer.weights))
    scale = (np.where(most > 0, most, 1.0) / largest).astype(np.float32)
    scale = np.maximum(scale, np.finfo(np.float32).tiny)
    whole = np.rint(layer.weights / scale[layer.rows].astype(np.float64))
    kind = np.int16 if tables == "int16" else np.int8
    return np.clip(whole, -largest, largest).astype(kind), scale


def most_of(layer: SparseLayer, weights: np.ndarray, tables: str) -> int:
    """Return how large inputs may be: a sum of products must fit 32 bits, or 64."""
    if TABLES[tables].sum != "long":
        return SHORT
    sums = np.bincount(layer.rows, np.abs(weights.astype(np.int64)), layer.n_out)
    return int(min(SHORT, (2**31 - 1) // max(sums.max(), 1)))


def rounded(model: PlainModel, tables: str) -> PlainModel:
    """Return the model that computes with what the tables hold."""
    if tables == "float":
        return model
    networks = [
        replace(own, layers=[_rounded(layer, tables) for layer in own.layers])
        for own in model.networks
    ]

    def shortened(i: int, layer: SparseLayer, values: np.ndarray) -> np.ndarray:
        """Round the inputs of layer i, as the C file does; bytes are whole numbers."""
        if i == 0 and model.takes_bytes:
            return values
        most = most_of(layer, _weights(layer, tables)[0], tables)
        unit = np.abs(values).max(axis=1, keepdims=True) / most
        whole = values / np.where(unit > 0, unit, 1.0)
        return np.trunc(whole + np.copysign(0.5, whole)) * unit

    return replace(model, networks=tuple(networks), rounding=shortened)


def _rounded(layer: SparseLayer, tables: str) -> SparseLayer:
    whole, scale = _weights(layer, tables)
    assert scale is not None
    return replace(layer, weights=scale[layer.rows] * whole)
