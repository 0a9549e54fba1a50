"""Ways to write a sparse layer in ONNX. "dense" and "sparse" are those of cofire."""

import numpy as np
from onnx import helper, numpy_helper

from cofire.core.network import SparseNetwork
from cofire.export.onnx.graph import IR_VERSION, OPSET, Graph
from cofire.export.onnx.layers import _tables, add_network


class Form:
    """A network, layer by layer; values are (n_neurons, n_rows)."""

    def __init__(self):
        self.graph, self.sparse = Graph(), []

    def proto(self, network):
        add, x = self.graph.add, "x"
        x = add("Transpose", x, perm=[1, 0])
        for i, layer in enumerate(network.layers):
            x = self.layer(layer, x)
            x = add("Relu", x) if i < len(network.layers) - 1 else x
        add("Transpose", x, perm=[1, 0], output="y")
        return self.file(network)

    def file(self, network):
        graph = self.graph
        nodes = [
            helper.make_node(n.kind, n.inputs, [n.output], **n.attributes)
            for n in graph.nodes
        ]
        shapes = (("x", network.sizes[0]), ("y", network.sizes[-1]))
        ends = [helper.make_tensor_value_info(n, 1, [None, size]) for n, size in shapes]
        constants = graph.constants.items()
        tensors = [numpy_helper.from_array(a, name) for name, a in constants]
        made = helper.make_graph(
            nodes, "g", ends[:1], ends[1:], tensors, sparse_initializer=self.sparse
        )
        opset = [helper.make_opsetid("", OPSET)]
        return helper.make_model(made, opset_imports=opset, ir_version=IR_VERSION)

    def tables(self, layer):
        """Groups of neurons with what they read, and weights: (n_neurons, most)."""
        for neurons in _tables(np.diff(layer.indptr)):
            starts, ends = layer.indptr[neurons], layer.indptr[neurons + 1]
            which = starts[:, None] + np.arange(max(1, (ends - starts).max()))
            there = which < ends[:, None]
            which = np.minimum(which, layer.nnz - 1)
            weights = np.where(there, layer.weights[which], 0).astype(np.float32)
            yield neurons, layer.indices[which], weights

    def put_back(self, parts, groups):
        """Join groups and bring neurons back into their order."""
        joined = self.graph.add("Concat", *parts, axis=0)
        places = np.argsort(np.concatenate(groups)).astype(np.int32)
        return self.graph.add("Gather", joined, self.graph.constant(places), axis=0)


class Ours(Form):
    """As `to_onnx` writes it."""

    layers = "auto"

    def proto(self, network):
        x = add_network(self.graph, network, "x", self.layers)
        self.graph.add("Identity", x, output="y")
        return self.file(network)


class OursDense(Ours):
    layers = "dense"


class OursSparse(Ours):
    layers = "sparse"


class Matrix(Form):
    """Gemm with the matrix, zeros and all, in the file."""

    def proto(self, network):
        x = "x"
        for i, layer in enumerate(network.layers):
            matrix, bias = self.matrix(layer, i), self.graph.constant(layer.bias)
            x = self.graph.add("Gemm", x, matrix, bias, transB=1)
            x = self.graph.add("Relu", x) if i < len(network.layers) - 1 else x
        self.graph.add("Identity", x, output="y")
        return self.file(network)

    def matrix(self, layer, i):
        return self.graph.constant(layer.to_scipy().toarray())


class SparseInitializer(Matrix):
    """Gemm with the matrix as a SparseTensorProto, which ONNX Runtime makes dense."""

    def matrix(self, layer, i):
        values = numpy_helper.from_array(layer.weights, f"W{i}")
        places = numpy_helper.from_array(layer.flat_indices, f"W{i}_places")
        shape = [layer.n_out, layer.n_in]
        self.sparse.append(helper.make_sparse_tensor(values, places, shape))
        return f"W{i}"


class Scatter(Form):
    """Gather, multiply, ScatterND with reduction="add"."""

    def layer(self, layer, x):
        add, constant = self.graph.add, self.graph.constant
        read = add("Gather", x, constant(layer.indices), axis=0)
        product = add("Mul", read, constant(layer.weights[:, None]))
        n_rows = add("Shape", x, start=1, end=2)
        shape = add("Concat", constant([1]), n_rows, axis=0)
        start = add("Expand", constant(layer.bias[:, None]), shape)
        places = constant(layer.rows[:, None])
        return add("ScatterND", start, places, product, reduction="add")


class Differences(Form):
    """Gather, multiply, CumSum; a sum is the difference of two of its values."""

    def layer(self, layer, x):
        add, constant = self.graph.add, self.graph.constant
        read = add("Gather", x, constant(layer.indices), axis=0)
        product = add("Mul", read, constant(layer.weights[:, None]))
        sums = add("CumSum", product, constant(0, np.int64))
        sums = add("Pad", sums, constant([1, 0, 0, 0]))
        ends = [
            add("Gather", sums, constant(own.astype(np.int32)), axis=0)
            for own in (layer.indptr[1:], layer.indptr[:-1])
        ]
        return add("Add", add("Sub", *ends), constant(layer.bias[:, None]))


class Products(Form):
    """Gather by neuron, then a product of matrices per neuron."""

    def layer(self, layer, x):
        add, constant = self.graph.add, self.graph.constant
        parts, groups = [], []
        for neurons, inputs, weights in self.tables(layer):
            read = add("Gather", x, constant(inputs), axis=0)
            product = add("MatMul", constant(weights[:, None]), read)
            parts.append(add("Squeeze", product, constant([1])))
            groups.append(neurons)
        sums = self.put_back(parts, groups)
        return add("Add", sums, constant(layer.bias[:, None]))


class Convolution(Form):
    """Gather by neuron, then one convolution with a group per neuron."""

    def layer(self, layer, x):
        add, constant = self.graph.add, self.graph.constant
        parts, groups = [], []
        for neurons, inputs, weights in self.tables(layer):
            read = add("Gather", x, constant(inputs.reshape(-1)), axis=0)
            read = add("Unsqueeze", read, constant([0]))
            arguments = constant(weights[..., None]), constant(layer.bias[neurons])
            how = {"group": len(neurons), "kernel_shape": [1]}
            parts.append(
                add("Squeeze", add("Conv", read, *arguments, **how), constant([0]))
            )
            groups.append(neurons)
        return self.put_back(parts, groups)


GEMM, DENSE, SPARSE = "Gemm, the matrix in the file", "cofire: dense", "cofire: sparse"
SCATTER = "ScatterND, reduction add"
FORMS = {
    GEMM: Matrix,
    "Gemm, sparse_initializer": SparseInitializer,
    "cofire: auto": Ours,
    DENSE: OursDense,
    SPARSE: OursSparse,
    SCATTER: Scatter,
    "CumSum, differences": Differences,
    "MatMul per neuron": Products,
    "Conv, a group per neuron": Convolution,
}


def network(sizes, counts, seed=0):
    """A random network; counts: the connections of each layer."""
    from cofire.core.layer import SparseLayer

    rng, layers = np.random.default_rng(seed), []
    for n_in, n_out, count in zip(sizes[:-1], sizes[1:], counts, strict=True):
        flat = np.sort(rng.choice(n_in * n_out, count, replace=False))
        weights = rng.normal(size=count) * (2 * n_out / count) ** 0.5
        bias = 0.1 * rng.normal(size=n_out)
        layers.append(SparseLayer.from_flat_indices(flat, weights, bias, n_in, n_out))
    return SparseNetwork(layers, "relu", "identity")
