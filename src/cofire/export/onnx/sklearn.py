"""register_skl2onnx: pipelines of scikit-learn with our estimators become ONNX.

skl2onnx asks for two functions per estimator: one says what comes out, one writes the
operators.
"""

from typing import Any

import numpy as np

from cofire.estimators.classifier import SparseMLPClassifier
from cofire.estimators.regressor import SparseMLPRegressor
from cofire.export.onnx.graph import ML, ML_OPSET, Graph
from cofire.export.onnx.inputs import DOUBLE, FLOAT, one_tensor
from cofire.export.onnx.layers import LAYERS
from cofire.export.onnx.model import add_model, class_labels
from cofire.export.plain import Classes, Labels, PlainModel
from cofire.export.reading import plain_model
from cofire.export.simplify import simplify

_LEAST_OPSET = 13
"""The first in which the operators are as we use them."""


def register_skl2onnx() -> None:
    """Let skl2onnx convert our estimators, alone and in pipelines.

    To be called once, before `skl2onnx.to_onnx` or `convert_sklearn`: skl2onnx does not
    look for converters of other packages by itself. Options of a conversion: "zipmap"
    as for all classifiers, "layers" as in `cofire.export.to_onnx`.

    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skl2onnx import to_onnx
    >>> from cofire import SparseMLPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SparseMLPClassifier((20,), max_iter=5, random_state=0)
    >>> pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    >>> register_skl2onnx()
    >>> proto = to_onnx(pipeline, X[:1], options={"zipmap": False})
    >>> [value.name for value in proto.graph.output]
    ['label', 'probabilities']
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise ImportError(
            "pipelines become ONNX by the package skl2onnx: pip install skl2onnx"
        ) from error
    of_classifiers = {
        "zipmap": [True, False, "columns"],
        "nocl": [True, False],
        "output_class_labels": [False, True],
    }
    for kind, options in (
        (SparseMLPClassifier, of_classifiers),
        (SparseMLPRegressor, {}),
    ):
        alias = f"Cofire{kind.__name__}"
        options = {**options, "layers": list(LAYERS)}
        update_registered_converter(kind, alias, _shapes, _convert, options=options)


def _plain(operator: Any) -> PlainModel:
    """Return the model, if what comes before it in a pipeline can be its rows."""
    plain = plain_model(operator.raw_operator)
    for column in plain.columns:
        if column.levels is not None:
            raise ValueError(
                f"column {column.name!r} holds categories, and skl2onnx gives a model "
                "numbers alone: export the model with cofire.export.to_onnx, or encode "
                "categories before it (OneHotEncoder)."
            )
    return plain


def _is_double(operator: Any) -> bool:
    """Whether numbers come out as float64: as they came in, as skl2onnx expects."""
    from skl2onnx.common.data_types import DoubleTensorType

    if isinstance(operator.raw_operator, SparseMLPClassifier):
        usual = {"zipmap": True}
        chosen = operator.scope_inst.get_options(operator.raw_operator, usual)
        if chosen["zipmap"] is True:  # it makes a dictionary of float32 per row
            return False
    return any(isinstance(value.type, DoubleTensorType) for value in operator.inputs)


def _shapes(operator: Any) -> None:
    """Say what kinds of values come out, and their shapes."""
    from skl2onnx.common.data_types import (
        DoubleTensorType,
        FloatTensorType,
        Int64TensorType,
        StringTensorType,
    )

    plain = _plain(operator)
    rows = operator.inputs[0].get_first_dimension()
    several = [rows, plain.n_outputs]
    numbers = DoubleTensorType if _is_double(operator) else FloatTensorType
    operator.outputs[-1].type = numbers(several)
    if isinstance(plain.target, Classes):
        text = _labels(operator).dtype == object
        label = StringTensorType if text else Int64TensorType
        operator.outputs[0].type = label([rows])
    elif isinstance(plain.target, Labels):
        operator.outputs[0].type = Int64TensorType(several)


def _labels(operator: Any) -> np.ndarray:
    """Return labels as skl2onnx has them: int64 or text."""
    from skl2onnx.common.utils_classifier import get_label_classes

    found = get_label_classes(operator.scope_inst, operator.raw_operator)
    labels = class_labels(np.asarray(found))  # numbers instead, with the option "nocl"
    return labels if labels.dtype == object else labels.astype(np.int64)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the operators into the graph that skl2onnx makes."""
    opset = container.target_opset
    if opset < _LEAST_OPSET:
        raise ValueError(
            f"target_opset={opset}: cofire's models need {_LEAST_OPSET} or more."
        )
    plain = _plain(operator)
    chosen = container.get_options(operator.raw_operator, {"layers": "auto"})
    graph = Graph()
    given = [value.full_name for value in operator.inputs]
    if len(given) > 1:
        wide = [graph.add("Cast", name, to=DOUBLE) for name in given]
        given = [graph.add("Concat", *wide, axis=1)]
    columns = one_tensor(graph, plain, given[0])
    double = _is_double(operator)
    if isinstance(plain.target, Classes):
        target = Classes(_labels(operator))
        plain = PlainModel(**{**vars(plain), "target": target})
    outputs = add_model(
        graph, simplify(plain), columns, chosen["layers"], double=double
    )
    for (value, kind, _), own in zip(outputs.values(), operator.outputs, strict=True):
        if kind == FLOAT and double:
            value = graph.add("Cast", value, to=DOUBLE)
        graph.add("Identity", value, output=own.full_name)
    _copy(graph, scope, container)


def _copy(graph: Graph, scope: Any, container: Any) -> None:
    """Add nodes and constants, by names that are unique in the whole graph."""
    from onnx import numpy_helper

    own = {name: scope.get_unique_variable_name("cofire") for name in graph.constants}
    for name, values in graph.constants.items():
        tensor = numpy_helper.from_array(values, own[name])
        if values.dtype == object:
            kind, shape = tensor.data_type, list(values.shape)
            container.add_initializer(own[name], kind, shape, values.tolist())
        else:
            container.add_initializer(own[name], None, None, tensor)
    for node in graph.nodes:
        inputs = [own.get(name, name) for name in node.inputs]
        if node.output.startswith("cofire/"):
            own[node.output] = scope.get_unique_variable_name("cofire")
        container.add_node(
            node.kind,
            inputs,
            own.get(node.output, node.output),
            op_domain=node.domain,
            op_version=ML_OPSET if node.domain == ML else None,
            name=scope.get_unique_operator_name(f"cofire_{node.kind}"),
            **node.attributes,
        )
