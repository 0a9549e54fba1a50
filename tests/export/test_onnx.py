"""An ONNX file gives in ONNX Runtime what the estimator does."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cofire
from cofire import SparseMLPClassifier
from cofire.data import Preprocessing
from cofire.data.tables.table import Table
from cofire.export.onnx.layers import LAYERS
from cofire.export.onnx.model import to_onnx
from helpers.exported import CASES, case, table
from helpers.needs import needs_package
from helpers.onnx_programs import HOW, outputs, session

onnx = needs_package("onnx", HOW)
needs_package("onnxruntime", HOW)


@pytest.mark.parametrize("layers", LAYERS)
@pytest.mark.parametrize("name", CASES)
def test_it_gives_what_the_estimator_does(name, layers):
    own = case(name)
    found = outputs(to_onnx(own.model, layers=layers).proto, own.X)
    if not hasattr(own.model, "classes_"):
        np.testing.assert_allclose(found["variable"], own.expected, rtol=1e-5)
        return
    np.testing.assert_allclose(found["probabilities"], own.expected, atol=1e-5)
    predicted = own.model.predict(own.X)
    np.testing.assert_array_equal(found["label"], predicted)


@pytest.mark.parametrize("name", ["several networks", "categories", "missing values"])
def test_rows_one_at_a_time_are_the_same(name):
    own = case(name)
    rows = getattr(own.X, "iloc", own.X)
    proto = to_onnx(own.model).proto
    for i in range(0, 30, 3):
        found = outputs(proto, rows[i : i + 1])["probabilities"]
        np.testing.assert_allclose(found, own.expected[i : i + 1], atol=1e-5)


@pytest.mark.parametrize("layers", LAYERS)
def test_the_reference_evaluator_of_onnx_agrees(layers):
    from onnx.reference import ReferenceEvaluator

    own = case("several networks")
    proto = to_onnx(own.model, layers=layers).proto
    label, found = ReferenceEvaluator(proto).run(None, {"X": own.X})
    np.testing.assert_allclose(found, own.expected, atol=1e-5)
    np.testing.assert_array_equal(label, own.model.predict(own.X))


@pytest.mark.parametrize("layers", LAYERS)
def test_many_threads_change_nothing(layers):
    # ScatterND with reduction="add" loses sums there: docs/results/export-onnx.md.
    X = np.random.default_rng(0).normal(size=(64, 300)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    model = SparseMLPClassifier((1500, 1500), max_iter=1, n_networks=1, random_state=0)
    run = session(
        to_onnx(model.fit(X, y), layers=layers, features="float").proto, n_threads=4
    )
    expected = model.predict_proba(X)
    for _ in range(20):
        found = run.run(None, {"X": X})[1]
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_float32_rows_and_other_classes():
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32)
    model = SparseMLPClassifier((30,), max_iter=5, n_networks=2, random_state=0)
    for labels in (y == 1, y - 5, y * 2.0, np.array(["a", "b", "ü"], object)[y]):
        model.fit(X, labels)
        found = outputs(to_onnx(model, features="float").proto, X)
        np.testing.assert_array_equal(found["label"], model.predict(X))
        np.testing.assert_allclose(
            found["probabilities"], model.predict_proba(X), atol=1e-5
        )


def test_a_column_may_be_called_like_an_output():
    X, y = table()
    X = X.rename(columns={"shape": "label"})
    model = SparseMLPClassifier((30,), max_iter=5, n_networks=1, random_state=0)
    found = outputs(to_onnx(model.fit(X, y)).proto, X)
    np.testing.assert_array_equal(found["label_"], model.predict(X))


def test_a_column_may_be_called_like_a_value_inside():
    X, y = table()
    model = SparseMLPClassifier((30,), max_iter=5, n_networks=1, random_state=0)
    plain = [node.output[0] for node in to_onnx(model.fit(X, y)).proto.graph.node]
    X = X.rename(columns={"shape": plain[0], "age": plain[3]})
    found = outputs(to_onnx(model.fit(X, y)).proto, X)
    np.testing.assert_array_equal(found["label"], model.predict(X))


def test_a_model_of_cofire_train_takes_the_columns_of_its_file(tmp_path):
    X, y = table()
    preprocessing = Preprocessing.fit(Table(X, None), missing="mean")
    model = SparseMLPClassifier((40,), max_iter=10, n_networks=1, random_state=0)
    features = preprocessing.transform(X)[0]
    path = tmp_path / "m.cofire"
    described = preprocessing.to_dict()
    cofire.saving.save(model.fit(features, y), path, preprocessing=described)
    found = outputs(to_onnx(cofire.load(path)).proto, X)["probabilities"]
    np.testing.assert_allclose(found, model.predict_proba(features), atol=1e-5)


def test_the_file_says_where_it_comes_from(tmp_path):
    own = case("categories")
    path = tmp_path / "folder" / "model.onnx"
    proto = to_onnx(own.model, path).proto
    assert path.read_bytes() == proto.SerializeToString()
    stored = onnx.load(path)
    assert (stored.producer_name, stored.producer_version) == (
        "cofire",
        cofire.__version__,
    )
    notes = {entry.key: entry.value for entry in stored.metadata_props}
    assert json.loads(notes["feature_names"]) == ["size", "age", "colour", "shape"]
    names = [value.name for value in stored.graph.input]
    assert names == ["size", "age", "colour", "shape"]


@pytest.mark.parametrize("name", ["categories", "bytes", "labels", "two numbers"])
def test_it_says_what_was_written_and_compares(name, tmp_path):
    own = case(name)
    y = own.model.predict(own.X)
    export = to_onnx(own.model, tmp_path / "m.onnx", X=own.X, y=y)
    assert export.n_bytes == (tmp_path / "m.onnx").stat().st_size
    assert export.n_dense + export.n_sparse == sum(
        len(network.layers) for network in own.model.networks_
    )
    assert 0 < export.n_connections <= own.model.n_connections_
    assert export.loss.difference < 1e-5
    assert export.loss.n_other in (0, None)
    assert export.loss.after == pytest.approx(1, abs=1e-6)
    text = str(export)
    assert f"{export.n_bytes:,} bytes" in text and "outputs: " in text
    assert ("label (int64), probabilities (float)" in text) == (name != "two numbers")


def test_equal_models_give_equal_bytes():
    own = case("missing values")
    once, again = (to_onnx(own.model).proto.SerializeToString() for _ in range(2))
    assert once == again


def test_what_cannot_be_exported_is_refused_in_words(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = SparseMLPClassifier((9,), max_iter=1, n_networks=1, random_state=0)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    with pytest.raises(TypeError, match=r"model is a pipeline.*register_skl2onnx\(\)"):
        to_onnx(pipeline)
    with pytest.raises(ValueError, match="unknown layers 'spase'. Did you mean"):
        to_onnx(model, layers="spase")
    with pytest.raises(ValueError, match="unknown features 'single'"):
        to_onnx(model, features="single")
    dated = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=len(X))})
    with pytest.raises(ValueError, match="column 'when' holds dates"):
        to_onnx(SparseMLPClassifier((9,), max_iter=1, n_networks=1).fit(dated, y))
    with pytest.raises(OSError, match="folder"):
        (tmp_path / "folder").mkdir()
        to_onnx(model, tmp_path / "folder")


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match="need the package onnx: pip install onnx"):
        to_onnx(case("digits").model)


def test_the_command_line_writes_it_and_compares(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from cofire.cli import app

    monkeypatch.chdir(tmp_path)
    own = case("digits")
    own.model.save("digits.cofire")
    np.savez("rows.npz", X=own.X, y=own.model.predict(own.X))
    how = ["export", "digits.cofire", "rows.npz", "--to", "onnx", "--layers", "sparse"]
    said = CliRunner().invoke(app, how)
    assert said.exit_code == 0, said.output
    assert "digits.onnx: " in said.stdout
    assert "0 dense products, 3 connection by connection" in said.stdout
    assert "accuracy 1.0000 before, 1.0000 after" in said.stdout
    found = outputs(onnx.load("digits.onnx"), own.X)["probabilities"]
    np.testing.assert_allclose(found, own.expected, atol=1e-5)


def test_a_model_of_sparse_rows_takes_dense_ones():
    from scipy.sparse import random_array

    X = random_array((300, 40), density=0.1, rng=0, format="csr")
    y = (X[:, [0, 1, 2]].sum(axis=1) > 0.1).astype(int)
    model = SparseMLPClassifier((30,), max_iter=5, n_networks=1, random_state=0)
    found = outputs(to_onnx(model.fit(X, y)).proto, X.toarray())
    expected = model.predict_proba(X)
    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)


@pytest.mark.parametrize("layers", LAYERS)
def test_columns_of_categories_alone_and_numbers_as_categories(layers):
    rng = np.random.default_rng(0)
    kinds = pd.Categorical(rng.integers(0, 4, 300))
    X = pd.DataFrame({"a": rng.choice(["x", "y", None], 300), "b": kinds})
    y = (X["b"].astype(int) > 1).astype(int)
    model = SparseMLPClassifier((20,), max_iter=5, n_networks=1, random_state=0)
    found = outputs(to_onnx(model.fit(X, y), layers=layers).proto, X.astype({"b": str}))
    np.testing.assert_array_equal(found["label"], model.predict(X))
    expected = model.predict_proba(X)
    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of the fit, that it did not
def test_a_model_that_learnt_nothing():
    X, y = np.ones((50, 3)), np.arange(50) % 2
    model = SparseMLPClassifier((5,), max_iter=1, n_networks=1, random_state=0)
    found = outputs(to_onnx(model.fit(X, y)).proto, X)["probabilities"]
    np.testing.assert_allclose(found, model.predict_proba(X), atol=1e-5)
