"""Pipelines of scikit-learn with our estimators become ONNX by skl2onnx."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from cofire import SparseMLPClassifier, SparseMLPRegressor
from cofire.export.onnx.sklearn import register_skl2onnx
from helpers.exported import case, table
from helpers.needs import needs_package
from helpers.onnx_programs import HOW, session

skl2onnx = needs_package("skl2onnx", HOW)
needs_package("onnxruntime", HOW)
PLAIN = {"zipmap": False}
HERE = {"max_iter": 5, "n_networks": 2, "random_state": 0, "n_jobs": 1}


@pytest.fixture(autouse=True)
def registered():
    register_skl2onnx()


def run(proto, feeds):
    own = session(proto)
    names = [value.name for value in own.get_outputs()]
    return dict(zip(names, own.run(None, feeds), strict=True))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("layers", ["auto", "sparse", "dense"])
def test_a_pipeline_of_numbers(kind, layers):
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(kind)
    model = SparseMLPClassifier((40,), **HERE)
    pipeline = make_pipeline(StandardScaler(), PCA(8), model).fit(X, y)
    options = {id(pipeline[-1]): PLAIN | {"layers": layers}}
    found = run(skl2onnx.to_onnx(pipeline, X[:1], options=options), {"X": X})
    expected = pipeline.predict_proba(X)
    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-4)
    np.testing.assert_array_equal(found["label"], pipeline.predict(X))
    assert found["probabilities"].dtype == kind


def test_a_pipeline_with_categories_and_gaps():
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    X, y = table()
    X = X[["age", "size", "shape"]]
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer(
        (numbers, ["age", "size"]), (OneHotEncoder(), ["shape"])
    )
    X = X.astype({"age": np.float32, "size": np.float32})  # its Imputer takes no others
    pipeline = make_pipeline(columns, SparseMLPClassifier((40,), **HERE)).fit(X, y)
    kinds = [
        ("age", FloatTensorType([None, 1])),
        ("size", FloatTensorType([None, 1])),
        ("shape", StringTensorType([None, 1])),
    ]
    proto = skl2onnx.to_onnx(
        pipeline, initial_types=kinds, options={id(pipeline[-1]): PLAIN}
    )
    feeds = {
        "age": X[["age"]].to_numpy(),
        "size": X[["size"]].to_numpy(),
        "shape": X[["shape"]].to_numpy(object),
    }
    found = run(proto, feeds)
    np.testing.assert_array_equal(found["label"], pipeline.predict(X))
    expected = pipeline.predict_proba(X)
    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)


def test_zipmap_gives_dictionaries_or_columns():
    X, y = load_breast_cancer(return_X_y=True)
    model = SparseMLPClassifier((40,), **HERE).fit(X, np.array(["bad", "good"])[y])
    expected = model.predict_proba(X)
    found = run(skl2onnx.to_onnx(model, X[:1]), {"X": X})
    assert found["output_label"].tolist() == model.predict(X).tolist()
    assert found["output_probability"][3]["good"] == pytest.approx(expected[3, 1], 1e-4)
    how = {"zipmap": "columns"}
    found = run(skl2onnx.to_onnx(model, X[:1], options=how), {"X": X})
    np.testing.assert_allclose(found["sgood"], expected[:, 1], atol=1e-5)
    how = {"nocl": True, "zipmap": False}
    found = run(skl2onnx.to_onnx(model, X[:1], options=how), {"X": X})
    assert found["label"].tolist() == expected.argmax(axis=1).tolist()


def test_a_regressor_and_labels():
    X, y = load_diabetes(return_X_y=True)
    model = SparseMLPRegressor((40,), **HERE)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    found = run(skl2onnx.to_onnx(pipeline, X[:1]), {"X": X})
    np.testing.assert_allclose(found["variable"][:, 0], pipeline.predict(X), rtol=1e-4)
    own = case("labels")
    found = run(skl2onnx.to_onnx(own.model, own.X[:1], options=PLAIN), {"X": own.X})
    np.testing.assert_array_equal(found["label"], own.model.predict(own.X))
    np.testing.assert_allclose(found["probabilities"], own.expected, atol=1e-5)


def test_several_inputs_are_columns_of_x():
    from skl2onnx.common.data_types import DoubleTensorType

    X, y = load_breast_cancer(return_X_y=True)
    model = SparseMLPClassifier((40,), **HERE).fit(X, y)
    kinds = [("a", DoubleTensorType([None, 10])), ("b", DoubleTensorType([None, 20]))]
    proto = skl2onnx.to_onnx(model, initial_types=kinds, options=PLAIN)
    found = run(proto, {"a": X[:, :10], "b": X[:, 10:]})
    np.testing.assert_array_equal(found["label"], model.predict(X))


def test_what_skl2onnx_cannot_have_is_refused_in_words():
    from skl2onnx.common.data_types import DoubleTensorType

    own = case("categories")
    kinds = [("X", DoubleTensorType([None, 4]))]
    with pytest.raises(ValueError, match="column 'colour' holds categories.*to_onnx"):
        skl2onnx.to_onnx(own.model, initial_types=kinds)
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match="target_opset=12: .* need 13 or more"):
        model = SparseMLPClassifier((9,), **HERE).fit(X, y)
        skl2onnx.to_onnx(model, X[:1], options=PLAIN, target_opset=12)
