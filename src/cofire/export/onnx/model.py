"""to_onnx: a fitted model as an ONNX file."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import cofire
from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.errors import unknown_name
from cofire.export.loss import Loss, loss_of
from cofire.export.onnx.graph import IR_VERSION, ML, ML_OPSET, OPSET, Graph
from cofire.export.onnx.inputs import (
    DOUBLE,
    FLOAT,
    INT64,
    STRING,
    UINT8,
    Columns,
    add_inputs,
    input_order,
    one_tensor,
    tensor_per_column,
)
from cofire.export.onnx.layers import LAYERS, add_network, is_sparse
from cofire.export.plain import Classes, Labels, PlainModel
from cofire.export.reading import plain_model, rows_of
from cofire.export.simplify import selected, simplify
from cofire.persistence.atomic import check_writable, make_folder, write_atomically

FEATURES = {"double": DOUBLE, "float": FLOAT}


@dataclass(frozen=True)
class OnnxExport:
    """What was written."""

    path: Path | None
    proto: Any
    """The file as an `onnx.ModelProto`."""
    n_connections: int
    """Of those that matter: the others are not written."""
    n_dense: int
    n_sparse: int
    """Layers that are one product, and layers written connection by connection."""
    loss: Loss | None
    """How far ONNX Runtime is from `predict` on X; None without X."""

    @property
    def n_bytes(self) -> int:
        """Size of the file."""
        return self.proto.ByteSize()

    def __str__(self) -> str:
        where = self.path or "not written"
        lines = [
            f"{where}: {self.n_connections} connections, {self.n_bytes:,} bytes",
            f"layers: {self.n_dense} dense products, {self.n_sparse} connection by "
            "connection",
            f"inputs: {_listed(self.proto.graph.input)}",
            f"outputs: {_listed(self.proto.graph.output)}",
        ]
        return "\n".join(lines + ([] if self.loss is None else [str(self.loss)]))


def to_onnx(
    model: Any,
    path: str | PathLike[str] | None = None,
    *,
    layers: str = "auto",
    features: str = "double",
    X: Any = None,
    y: Any = None,
) -> OnnxExport:
    """Write a fitted model as an ONNX file; None for `path` writes none.

    It takes rows as `predict` does, with nothing done before: one input "X" of shape
    (n_rows, n_features), or for a model with categories an input of shape (n_rows, 1)
    per column, by its name; categories are text, and an empty text is a missing value.
    Missing numbers are NaN. It gives "label" and "probabilities", or "variable" for a
    regressor.

    layers: "auto" chooses for each layer what is faster for one row: "sparse",
    connection by connection, for large layers with fewer than one connection in 150,
    else "dense", one product. The file holds connections either way; for dense layers
    ONNX Runtime makes matrices of them when it loads the file (docs/export.md).
    features: "double" for rows of float64, "float" for rows of float32; bytes stay
    bytes. X, y: rows, and maybe their targets, on which to compare ONNX Runtime with
    `predict`; what `predict` takes, or for a model that `cofire train` wrote, the
    columns of such a file.

    >>> from cofire import SparseMLPClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SparseMLPClassifier((20,), max_iter=5, random_state=0).fit(X, y)
    >>> [value.name for value in to_onnx(model).proto.graph.output]
    ['label', 'probabilities']
    """
    for name, value, known in (
        ("layers", layers, LAYERS),
        ("features", features, FEATURES),
    ):
        if value not in known:
            raise unknown_name(name, value, known)
    if hasattr(model, "steps"):
        raise TypeError(
            "model is a pipeline, which skl2onnx converts: call "
            "cofire.export.register_skl2onnx(), then skl2onnx.to_onnx(pipeline, X)."
        )
    needs_onnx()
    plain = plain_model(model)
    if path is not None:
        check_writable(path)
    small = simplify(plain)
    kind = UINT8 if plain.takes_bytes else FEATURES[features]
    proto = _proto(small, layers, kind)
    loss = None
    if X is not None:
        from cofire.export.onnx.run import OnnxRun

        loss = loss_of(plain, OnnxRun.of(plain, proto), rows_of(model, X), y)
    if path is not None:
        make_folder(path)
        write_atomically(path, proto.SerializeToString())
    every = [layer for network in small.networks for layer in network.layers]
    n_sparse = sum(is_sparse(layer, layers) for layer in every)
    return OnnxExport(
        None if path is None else Path(path),
        proto,
        small.n_connections,
        len(every) - n_sparse,
        n_sparse,
        loss,
    )


def _listed(values: Any) -> str:
    """Name inputs or outputs, the first ones if there are many."""
    from onnx import TensorProto

    kinds = [
        TensorProto.DataType.Name(own.type.tensor_type.elem_type) for own in values
    ]
    shown = [f"{v.name} ({k.lower()})" for v, k in zip(values, kinds, strict=True)]
    more = [f"and {len(shown) - 5} more"] if len(shown) > 5 else []
    return ", ".join(shown[:5] + more)


def needs_onnx() -> None:
    """Refuse in words where the package onnx is missing."""
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "ONNX files need the package onnx: pip install onnx"
        ) from error


def _proto(plain: PlainModel, layers: str, kind: int) -> Any:
    from onnx import helper, numpy_helper

    names = [column.name for column in plain.columns]
    graph = Graph(taken=frozenset(names))
    if any(column.levels is not None for column in plain.columns):
        _refuse_repeated(names)
        kinds = [DOUBLE if own.levels is None else STRING for own in plain.columns]
        given = [
            helper.make_tensor_value_info(name, of, [None, 1])
            for name, of in zip(names, kinds, strict=True)
        ]
        columns = tensor_per_column(graph, plain, names)
    else:
        given = [helper.make_tensor_value_info("X", kind, [None, len(names)])]
        columns = one_tensor(graph, plain, "X")
    taken = {value.name for value in given}
    outputs = add_model(graph, plain, columns, layers, double=kind == DOUBLE)
    shown = []
    for name, (value, of, shape) in outputs.items():
        while name in taken:
            name += "_"
        graph.add("Identity", value, output=name)
        shown.append(helper.make_tensor_value_info(name, of, [None, *shape]))
    nodes = [
        helper.make_node(
            own.kind, own.inputs, [own.output], domain=own.domain, **own.attributes
        )
        for own in graph.nodes
    ]
    tensors = [numpy_helper.from_array(a, name) for name, a in graph.constants.items()]
    proto = helper.make_model(
        helper.make_graph(nodes, "cofire", given, shown, tensors),
        opset_imports=[
            helper.make_opsetid("", OPSET),
            helper.make_opsetid(ML, ML_OPSET),
        ],
        ir_version=IR_VERSION,
        producer_name="cofire",
        producer_version=cofire.__version__,
    )
    helper.set_model_props(proto, {"feature_names": json.dumps(names)})
    return proto


def _refuse_repeated(names: Sequence[str]) -> None:
    for name in names:
        if not name or names.count(name) > 1:
            raise ValueError(
                f"column {name!r}: every column is an input of its own and needs a "
                "name of its own. Rename the columns, and fit again."
            )


def add_model(
    graph: Graph, plain: PlainModel, columns: Columns, layers: str, *, double: bool
) -> dict[str, tuple[str, int, list[int]]]:
    """Add inputs, networks and targets of a model that was simplified.

    Return outputs by name, with kind and shape.
    """
    order = input_order(plain.inputs)
    x = add_inputs(
        graph, selected(plain.inputs, order), columns, bytes_=plain.takes_bytes
    )
    each = [
        add_network(graph, _with_inputs(own, order), x, layers)
        for own in plain.networks
    ]
    mean = each[0] if len(each) == 1 else graph.add("Mean", *each)
    target, shape = plain.target, [plain.n_outputs]
    if isinstance(target, Classes):
        label, kind = _add_classes(graph, target, mean)
        return {"label": (label, kind, []), "probabilities": (mean, FLOAT, shape)}
    if isinstance(target, Labels):
        above = graph.add("Greater", mean, graph.constant(0.5, np.float32))
        label = graph.add("Cast", above, to=INT64)
        return {"label": (label, INT64, shape), "probabilities": (mean, FLOAT, shape)}
    wide = graph.add("Cast", mean, to=DOUBLE)
    scaled = graph.add("Mul", wide, graph.constant(target.scale[None], np.float64))
    value = graph.add("Add", scaled, graph.constant(target.mean[None], np.float64))
    if not double:
        value = graph.add("Cast", value, to=FLOAT)
    return {"variable": (value, DOUBLE if double else FLOAT, shape)}


def _add_classes(graph: Graph, target: Classes, probabilities: str) -> tuple[str, int]:
    from onnx import helper

    labels = class_labels(target.labels)
    best = graph.add("ArgMax", probabilities, axis=1, keepdims=0)
    text = labels.dtype == object
    kind = STRING if text else helper.np_dtype_to_tensor_dtype(labels.dtype)
    return graph.add("Gather", graph.constant(labels), best, axis=0), kind


def class_labels(labels: np.ndarray) -> np.ndarray:
    """Return labels as ONNX has them: int64, bool, float64 or text (as objects)."""
    if labels.dtype.kind in "iu":
        return labels.astype(np.int64)
    if labels.dtype.kind in "bf":
        return labels.astype(np.float64 if labels.dtype.kind == "f" else bool)
    if all(isinstance(label, str) for label in labels.tolist()):
        return labels.astype(object)
    kinds = sorted({type(label).__name__ for label in labels.tolist()})
    raise TypeError(
        f"the classes are of type {', '.join(kinds)}, which ONNX does not have: fit "
        "with classes that are whole numbers or text."
    )


def _with_inputs(network: SparseNetwork, order: np.ndarray) -> SparseNetwork:
    """Let the inputs come in another order."""
    first = network.layers[0]
    matrix = scipy.sparse.csr_array(first.to_scipy()[:, order])
    matrix.sort_indices()
    indices = matrix.indices.astype(np.int32)
    own = SparseLayer(first.indptr, indices, matrix.data, first.bias, first.n_in)
    return replace(network, layers=[own, *network.layers[1:]])
