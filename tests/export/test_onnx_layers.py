"""Layers in ONNX: all forms give the dense product, and files hold connections."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.export.onnx.graph import IR_VERSION, OPSET, Graph
from cofire.export.onnx.layers import CELLS, LAYERS, START, add_network, is_sparse
from helpers import naive
from helpers.needs import needs_package
from helpers.onnx_programs import HOW, session
from helpers.strategies import layers as any_layer

onnx = needs_package("onnx", HOW)
needs_package("onnxruntime", HOW)


def proto_of(network, form):
    graph = Graph()
    last = add_network(graph, network, "x", form)
    graph.add("Identity", last, output="y")
    nodes = [
        onnx.helper.make_node(own.kind, own.inputs, [own.output], **own.attributes)
        for own in graph.nodes
    ]
    tensor = onnx.helper.make_tensor_value_info
    given_ = [tensor("x", onnx.TensorProto.FLOAT, [None, network.sizes[0]])]
    shown = [tensor("y", onnx.TensorProto.FLOAT, [None, network.sizes[-1]])]
    constants = [
        onnx.numpy_helper.from_array(a, name) for name, a in graph.constants.items()
    ]
    return onnx.helper.make_model(
        onnx.helper.make_graph(nodes, "g", given_, shown, constants),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )


def forward(layer, x):
    return x @ naive.to_dense(layer).T + layer.bias


def random_layer(n_in, n_out, nnz, seed=0):
    rng = np.random.default_rng(seed)
    flat = np.sort(rng.choice(n_in * n_out, nnz, replace=False))
    weights, bias = rng.normal(size=nnz), rng.normal(size=n_out)
    return SparseLayer.from_flat_indices(flat, weights, bias, n_in, n_out)


@pytest.mark.parametrize("form", LAYERS)
@settings(max_examples=15)
@given(layer=any_layer(), n_rows=st.integers(1, 5), seed=st.integers(0, 99))
def test_a_layer_equals_the_dense_product(form, layer, n_rows, seed):
    x = np.random.default_rng(seed).normal(size=(n_rows, layer.n_in)).astype("f4")
    network = SparseNetwork([layer], "relu", "identity")
    found = session(proto_of(network, form)).run(None, {"x": x})[0]
    expected = forward(layer, x)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("first", [1, 2000])
@pytest.mark.parametrize("second", [1, 2000])
@pytest.mark.parametrize("third", [1, 20])
def test_forms_may_follow_each_other(first, second, third):
    sizes = 50, 80, 60, 5
    counts = first, second, third
    layers = [
        random_layer(a, b, n, seed=i)
        for i, (a, b, n) in enumerate(zip(sizes[:-1], sizes[1:], counts, strict=True))
    ]
    x = np.random.default_rng(9).normal(size=(7, 50)).astype("f4")
    network = SparseNetwork(layers, "tanh", "identity")
    value = x
    for i, layer in enumerate(layers):
        value = forward(layer, value)
        value = np.tanh(value) if i < 2 else value
    for form in LAYERS:
        found = session(proto_of(network, form)).run(None, {"x": x})[0]
        np.testing.assert_allclose(found, value, rtol=1e-4, atol=1e-5)


def test_auto_is_sparse_where_that_is_faster():
    most = 400 * 500 // CELLS - START
    few, many = random_layer(400, 500, most - 1), random_layer(400, 500, most + 1)
    assert is_sparse(few, "auto") and not is_sparse(many, "auto")
    kinds = [
        {node.op_type for node in proto_of(network, "auto").graph.node}
        for network in (
            SparseNetwork([few], "relu", "identity"),
            SparseNetwork([many], "relu", "identity"),
        )
    ]
    assert "Gemm" not in kinds[0] and "Gemm" in kinds[1]
    assert "ScatterND" not in kinds[0] | kinds[1]


@pytest.mark.parametrize("form", LAYERS)
def test_a_file_has_the_size_of_its_connections(form):
    layer = random_layer(1000, 1000, 10_000)
    network = SparseNetwork([layer], "relu", "identity")
    size = len(proto_of(network, form).SerializeToString())
    assert size < 16 * layer.nnz + 4 * layer.n_out + 2000  # the matrix: 4,000,000


def test_a_dense_layer_is_stored_as_the_matrix_that_it_is():
    layer = random_layer(30, 20, 600)
    network = SparseNetwork([layer], "relu", "identity")
    size = len(proto_of(network, "auto").SerializeToString())
    assert size < 4 * layer.nnz + 4 * layer.n_out + 500


def test_onnx_runtime_makes_the_matrix_once(tmp_path):
    runtime = needs_package("onnxruntime", HOW)
    layer = random_layer(100, 100, 1000)
    proto = proto_of(SparseNetwork([layer], "relu", "identity"), "dense")
    options = runtime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "loaded.onnx")
    options.log_severity_level = 3
    providers = ["CPUExecutionProvider"]
    runtime.InferenceSession(proto.SerializeToString(), options, providers)
    loaded = onnx.load(tmp_path / "loaded.onnx")
    assert "ScatterElements" not in {node.op_type for node in loaded.graph.node}


def test_without_onnx_runtimes_changes_it_is_right_too():
    runtime = needs_package("onnxruntime", HOW)
    layer = random_layer(100, 100, 1000)
    x = np.random.default_rng(1).normal(size=(3, 100)).astype("f4")
    proto = proto_of(SparseNetwork([layer], "relu", "identity"), "dense")
    level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    found = session(proto, level=level).run(None, {"x": x})[0]
    expected = forward(layer, x)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
