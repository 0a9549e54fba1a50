"""A network in ONNX: each layer as a dense product, or connection by connection.

ONNX has no sparse product that ONNX Runtime computes as one. The ways there are were
measured by benchmarks/bench_export_onnx.py (docs/results/export-onnx.md):

- Dense: Gemm. Its zeros are multiplied, but not stored: the file has the connections,
  and ONNX Runtime makes the matrix when it loads the file (constant folding).
- Sparse: gather what each connection reads, multiply, add up. Neurons of about as many
  connections make a table, a neuron per column; the table is summed by row. ScatterND
  with reduction="add" would need no tables, but with several threads ONNX Runtime loses
  some of its sums.
"""

from typing import Any

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.export.onnx.graph import Graph
from cofire.export.plain import LEAKY_SLOPE

LAYERS = ("auto", "sparse", "dense")
CELLS, START = 150, 1000
"""What `layers="auto"` weighs, for one row: a connection takes as long as CELLS cells
of a dense product, and a layer takes as long as START connections more."""
_STORED_BELOW = 0.5
"""The density below which connections take less space than the matrix."""
_TABLE = 250
"""How many connections take as long as the operators of one more table."""
_ACTIVATIONS = {"relu": "Relu", "leaky_relu": "LeakyRelu", "tanh": "Tanh"}
_OUTPUTS = {"softmax": "Softmax", "sigmoid": "Sigmoid"}


def add_network(graph: Graph, network: SparseNetwork, x: str, layers: str) -> str:
    """Add a network; return its outputs: (n_rows, n_outputs).

    x: its inputs, (n_rows, n_inputs) float32.
    """
    by_row = True  # else a value is (n_neurons, n_rows)
    order = np.arange(network.sizes[0])
    for i, layer in enumerate(network.layers):
        if is_sparse(layer, layers):
            x = graph.add("Transpose", x, perm=[1, 0]) if by_row else x
            x, order = _add_sparse(graph, layer, x, order)
            by_row = False
        else:
            x = _add_dense(graph, layer, x, order, by_row)
            by_row, order = True, np.arange(layer.n_out)
        if i < len(network.layers) - 1 and network.activation in _ACTIVATIONS:
            leaky = network.activation == "leaky_relu"
            slope: dict[str, Any] = {"alpha": LEAKY_SLOPE} if leaky else {}
            x = graph.add(_ACTIVATIONS[network.activation], x, **slope)
    if not by_row:
        places = graph.constant(_places(order), np.int32)
        x = graph.add("Transpose", graph.add("Gather", x, places, axis=0), perm=[1, 0])
    return add_output(graph, network.output, x)


def add_output(graph: Graph, output: str, x: str) -> str:
    """Add what follows the last layer."""
    if output not in _OUTPUTS:
        return x
    attributes: dict[str, Any] = {"axis": 1} if output == "softmax" else {}
    return graph.add(_OUTPUTS[output], x, **attributes)


def is_sparse(layer: SparseLayer, layers: str) -> bool:
    """Whether a layer is written connection by connection."""
    if layers == "auto":  # for many rows, sparse is faster above that too
        return CELLS * (layer.nnz + START) < layer.n_in * layer.n_out
    return layers == "sparse"


def _add_dense(
    graph: Graph, layer: SparseLayer, x: str, order: np.ndarray, by_row: bool
) -> str:
    """Add a layer as one product; `order` says which neuron each value of x is of."""
    shape = layer.n_out, layer.n_in
    flat = layer.rows * layer.n_in + _places(order)[layer.indices]
    if layer.density < _STORED_BELOW:
        n_cells = layer.n_out * layer.n_in
        kind = np.int32 if n_cells < 2**31 else np.int64
        matrix = graph.add("ConstantOfShape", graph.constant([n_cells]))
        places = graph.constant(flat, kind)
        weights = graph.constant(layer.weights)
        matrix = graph.add("ScatterElements", matrix, places, weights, axis=0)
        matrix = graph.add("Reshape", matrix, graph.constant(shape))
    else:  # dense indeed
        cells = np.zeros(layer.n_out * layer.n_in, np.float32)
        cells[flat] = layer.weights
        matrix = graph.constant(cells.reshape(shape))
    bias = graph.constant(layer.bias)
    return graph.add("Gemm", x, matrix, bias, transA=int(not by_row), transB=1)


def _add_sparse(
    graph: Graph, layer: SparseLayer, x: str, order: np.ndarray
) -> tuple[str, np.ndarray]:
    """Add a layer connection by connection; return which neuron each value is of."""
    places, sums, tables = _places(order), [], _tables(np.diff(layer.indptr))
    for neurons in tables:
        starts, ends = layer.indptr[neurons], layer.indptr[neurons + 1]
        which = starts + np.arange(max(1, (ends - starts).max()))[:, None]
        exists = which < ends
        which = np.minimum(which, max(0, layer.nnz - 1))
        nothing = np.zeros(1, np.int32)
        inputs = places[layer.indices if layer.nnz else nothing][which]
        weights = np.where(exists, (layer.weights if layer.nnz else nothing)[which], 0)
        read = graph.add("Gather", x, graph.constant(inputs, np.int32), axis=0)
        table = graph.add("Mul", read, graph.constant(weights[..., None], np.float32))
        sums.append(graph.add("ReduceSum", table, graph.constant([0]), keepdims=0))
    order = np.concatenate(tables)
    total = sums[0] if len(sums) == 1 else graph.add("Concat", *sums, axis=0)
    return graph.add("Add", total, graph.constant(layer.bias[order][:, None])), order


def _tables(counts: np.ndarray) -> list[np.ndarray]:
    """Group neurons by their number of connections so that little space is empty.

    >>> [group.tolist() for group in _tables(np.array([1000, 2, 3, 999, 2]))]
    [[1, 4, 2], [3, 0]]
    """
    order = np.argsort(counts, kind="stable")
    sizes, n_of = np.unique(counts, return_counts=True)
    ends = np.concatenate([[0], np.cumsum(n_of)])
    best, cuts = np.zeros(len(sizes) + 1), np.zeros(len(sizes) + 1, np.int64)
    for j in range(1, len(ends)):
        costs = best[:j] + (ends[j] - ends[:j]) * sizes[j - 1] + _TABLE
        cuts[j] = costs.argmin()
        best[j] = costs[cuts[j]]
    groups, j = [], len(sizes)
    while j > 0:
        groups.append(order[ends[cuts[j]] : ends[j]])
        j = cuts[j]
    return groups[::-1]


def _places(order: np.ndarray) -> np.ndarray:
    """Return where each neuron is, given which neuron is at each place."""
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places
