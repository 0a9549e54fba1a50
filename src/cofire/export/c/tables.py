"""Tables of an exported network: links as bytes, weights as floats or integers."""

from dataclasses import dataclass, replace

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.export.plain import PlainModel

TABLES = {
    "float": ("float", 4, 0),
    "int16": ("short", 2, 2**15 - 1),
    "int8": ("signed char", 1, 2**7 - 1),
}
"""For each kind of table the type in C, the bytes of a weight and the largest one."""


@dataclass(frozen=True, eq=False)
class LayerTables:
    """One layer.

    The sum of a neuron is bias + scale * (sum of weight * input); the scale is 1 for
    weights in float.
    """

    links: np.ndarray
    """For each neuron how many connections it has, then their inputs, each as the step
    from the one before: uint8, see `as_bytes`."""
    weights: np.ndarray
    scale: np.ndarray | None
    bias: np.ndarray

    @property
    def n_bytes(self) -> int:
        """Bytes of the tables."""
        tables = [self.links, self.weights, self.bias]
        tables += [] if self.scale is None else [self.scale]
        return sum(table.nbytes for table in tables)


def layer_tables(layer: SparseLayer, tables: str) -> LayerTables:
    """Return the tables of a layer; integers have a scale per neuron."""
    links = as_bytes(_counts_and_steps(layer))
    if tables == "float":
        return LayerTables(links, layer.weights, None, layer.bias)
    largest = TABLES[tables][2]
    most = np.zeros(layer.n_out)
    np.maximum.at(most, layer.rows, np.abs(layer.weights))
    scale = (np.where(most > 0, most, 1.0) / largest).astype(np.float32)
    scale = np.maximum(scale, np.finfo(np.float32).tiny)
    whole = np.rint(layer.weights / scale[layer.rows].astype(np.float64))
    kind = np.int16 if tables == "int16" else np.int8
    whole = np.clip(whole, -largest, largest).astype(kind)
    return LayerTables(links, whole, scale, layer.bias)


def rounded(model: PlainModel, tables: str) -> PlainModel:
    """Return the model whose weights are those that the tables hold."""
    if tables == "float":
        return model
    networks = [
        replace(own, layers=[_rounded(layer, tables) for layer in own.layers])
        for own in model.networks
    ]
    return replace(model, networks=tuple(networks))


def n_units(network: SparseNetwork) -> int:
    """Return the number of neurons of the largest hidden layer, at least 1."""
    return max([1, *network.sizes[1:-1]])


def as_bytes(values: np.ndarray) -> np.ndarray:
    """Return whole numbers >= 0 in bytes of seven bits, the high ones first.

    The eighth bit says that more bytes of the number follow.

    >>> as_bytes(np.array([5, 300])).tolist()
    [5, 130, 44]
    """
    parts = [values & 127]
    present = [np.ones(len(values), bool)]
    rest = values >> 7
    while rest.any():
        parts.append(rest & 127 | 128)
        present.append(rest > 0)
        rest = rest >> 7
    every = np.column_stack(parts[::-1]).astype(np.uint8)
    return every[np.column_stack(present[::-1])]


def _counts_and_steps(layer: SparseLayer) -> np.ndarray:
    steps = np.diff(layer.indices.astype(np.int64), prepend=0)
    starts, counts = layer.indptr[:-1], np.diff(layer.indptr)
    filled = counts > 0
    steps[starts[filled]] = layer.indices[starts[filled]]  # from 0 in each neuron
    return np.insert(steps, starts, counts)


def _rounded(layer: SparseLayer, tables: str) -> SparseLayer:
    own = layer_tables(layer, tables)
    assert own.scale is not None
    return replace(layer, weights=own.scale[layer.rows] * own.weights)
