"""A file with missing values in every command, without an option about them."""

import csv
import ctypes
import io
import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cofire
from cofire import SparseMLPClassifier, SparseMLPRegressor
from cofire.cli.inputs import load_model
from cofire.export import to_c, to_onnx
from cofire.export.reading import plain_model, rows_of
from cofire.lab.experiments.store import Store
from helpers.c_programs import CModel
from helpers.commands import done, run
from helpers.needs import needs_package

SMALL = ("--hidden", 20, "--epochs", 5, "--n-jobs", 1)


def told(*arguments):
    return json.loads(done(*arguments, "--json").stdout)


def predicted(*arguments):
    found = csv.DictReader(io.StringIO(done("predict", *arguments, "--proba").stdout))
    return np.array(
        [[float(v) for k, v in row.items() if k.startswith("prob")] for row in found]
    )


def visits(n=400, seed=0, n_codes=0):
    """Where `age` is missing decides much; the words of `code` make rows sparse."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n).astype(np.float32),
            "colour": rng.choice(["red", "green", "blue"], n),
            "size": rng.normal(3, 1, n).astype(np.float32),
        }
    )
    if n_codes:
        frame["code"] = [f"c{i}" for i in rng.integers(0, n_codes, n)]
    gap = rng.random(n) < 0.3
    kind = np.where(gap | (frame.colour == "red"), "ill", "well")
    frame.loc[gap, "age"] = np.nan
    for name in ("size", "colour"):
        frame.loc[rng.random(n) < 0.1, name] = None
    return frame.assign(kind=kind)


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    visits().to_csv("a.csv", index=False)
    visits(200, seed=1).to_csv("new.csv", index=False)


# ---- as good as the estimator --------------------------------------------------------


def test_numbers_train_as_in_python_to_the_bit():
    visits().drop(columns="colour").to_csv("b.csv", index=False)
    done("train", "b.csv", "--scale", "none", "--test-fraction", 0, *SMALL)
    frame = pd.read_csv("b.csv")
    X = frame[["age", "size"]].to_numpy(np.float32)
    own = SparseMLPClassifier((20,), max_iter=5, random_state=0).fit(X, frame.kind)
    model = cofire.load("b.cofire")
    assert model.input_names_[2:4] == ["x0 missing", "x1 missing"]
    assert np.array_equal(model.predict_proba(X), own.predict_proba(X))


@pytest.mark.parametrize("n_codes", [0, 30])
def test_a_table_scores_as_well_as_in_python(n_codes):
    train, test = visits(800, n_codes=n_codes), visits(400, 1, n_codes)
    train.to_csv("b.csv", index=False)
    test.to_csv("t.csv", index=False)
    found = told("train", "b.csv", "--test", "t.csv", "--networks", 1, "--n-jobs", 1)
    X, y = train.drop(columns="kind"), train.kind
    own = SparseMLPClassifier(n_networks=1, random_state=0).fit(X, y)
    assert "missing values kept" in found["preprocessing"]
    assert found["test_score"] > own.score(test.drop(columns="kind"), test.kind) - 0.02
    assert found["test_score"] > 0.9
    filled = told("train", "b.csv", "--test", "t.csv", "--missing", "mean", *SMALL)
    assert "filled with the mean" in filled["preprocessing"]
    assert filled["test_score"] < 0.9  # the gaps themselves tell most


def test_the_same_bits_again_and_from_checkpoints():
    how = (*SMALL, "--epochs", 15)
    first = told("train", "a.csv", *how)
    expected = predicted("a.cofire", "new.csv")
    again = told("train", "a.csv", *how, "--checkpoint", "kept")
    newest = list(Path("kept").rglob("epoch-00000015.cofire"))
    for file in newest:
        file.unlink()
    resumed = told("train", "a.csv", *how, "--checkpoint", "kept")
    assert newest and cofire.load("a.cofire").resumed_after_ == 10
    assert first["test_score"] == again["test_score"] == resumed["test_score"]
    assert np.array_equal(predicted("a.cofire", "new.csv"), expected)


def test_keep_by_name_is_the_default():
    done("train", "a.csv", *SMALL)
    done("train", "a.csv", *SMALL, "--missing", "keep", "--out", "b.cofire")
    ours, named = predicted("a.cofire", "new.csv"), predicted("b.cofire", "new.csv")
    assert np.array_equal(ours, named)
    assert "missing values kept" in done("info", "a.cofire").stdout


# ---- the other commands --------------------------------------------------------------


@pytest.mark.parametrize("n_codes", [0, 30])
def test_evaluate_knows_rows_with_gaps(n_codes):
    visits(n_codes=n_codes).to_csv("b.csv", index=False)
    done("train", "b.csv", *SMALL, "--test-fraction", 0)
    assert "100 % of these rows" in done("evaluate", "b.cofire", "b.csv").stderr
    other = visits(50, 7, n_codes).dropna(subset=["age", "size"], how="all")
    other.to_csv("c.csv", index=False)  # rows without a number may be equal
    assert "trained on" not in done("evaluate", "b.cofire", "c.csv").stderr


@pytest.mark.parametrize("n_codes", [0, 30])
def test_gaps_may_come_where_training_saw_none(n_codes):
    whole = visits(n_codes=n_codes).dropna()
    whole.to_csv("b.csv", index=False)
    found = told("train", "b.csv", *SMALL)
    assert "missing values kept" in found["preprocessing"]
    visits(60, 1, n_codes).to_csv("c.csv", index=False)
    assert np.isfinite(predicted("b.cofire", "c.csv")).all()
    done("evaluate", "b.cofire", "c.csv")


def test_explain_adds_the_gaps_to_their_column():
    done("train", "a.csv", "--networks", 1, "--n-jobs", 1)
    found = told("explain", "a.cofire", "new.csv")
    names = [column["column"] for column in found["columns"]]
    assert sorted(names) == ["age", "colour", "size"]
    assert found["columns"][names.index("age")]["loss"] > 0.1
    inputs = [one["input"] for one in found["classes"]["ill"]]
    assert "age missing" in inputs


def test_a_regressor_and_dates():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 200), "D")
    frame = pd.DataFrame({"day": days.strftime("%Y-%m-%d"), "x": rng.normal(size=200)})
    frame["y"] = rng.normal(size=200)
    frame.loc[::5, "day"] = None
    frame.to_csv("d.csv", index=False)
    found = told("train", "d.csv", *SMALL)
    assert [one["name"] for one in found["baselines"]] == ["guess", "ridge"]
    model = load_model(Path("d.cofire"))
    assert isinstance(model.estimator, SparseMLPRegressor)
    named = model.estimator._state.encoder.input_names(
        model.preprocessing.feature_names
    )
    assert [name for name in named if "missing" in name] == ["day missing"]
    done("evaluate", "d.cofire", "d.csv")


def test_a_matrix():
    X = visits()[["age", "size"]].to_numpy(np.float64)
    np.savez("m.npz", X=X, y=np.isnan(X[:, 0]).astype(int))
    assert told("train", "m.npz", "--networks", 1, "--n-jobs", 1)["test_score"] > 0.9
    done("evaluate", "m.cofire", "m.npz")


@pytest.mark.parametrize("n_codes", [0, 30])
def test_compare_gives_all_methods_the_gaps(n_codes):
    visits(200, n_codes=n_codes).to_csv("b.csv", index=False)
    sizes = ("--hidden", 12, "--epochs", 3, "--seeds", 1, "--jobs", 1)
    arguments = ("compare", "b.csv", "--methods", "cofire", *sizes)
    found = told(*arguments)
    names = {one["method"]: one["mean"] for one in found["methods"]}
    assert len(names) == 4 and {"random_forest", "gradient_boosting"} < set(names)
    assert names["gradient_boosting"] > 0.8
    with Store(Path("cofire-results/runs.sqlite")) as store:
        before = [row["options"] for row in store.rows()]
    assert all(json.loads(own)["file"]["missing"] == "keep" for own in before)
    told(*arguments, "--missing", "keep")  # nothing is run again
    done("compare", "b.csv", "--methods", "cofire", *sizes, "--missing", "mean")
    with Store(Path("cofire-results/runs.sqlite")) as store:
        rows = [json.loads(row["options"])["file"]["missing"] for row in store.rows()]
    assert sorted(rows) == ["keep"] * 4 + ["mean"] * 4


def test_a_run_of_a_file_without_gaps_is_as_before():
    visits().dropna().to_csv("b.csv", index=False)
    sizes = ("--hidden", 12, "--epochs", 3, "--seeds", 1, "--jobs", 1)
    told("compare", "b.csv", "--methods", "set", "--no-baselines", *sizes)
    with Store(Path("cofire-results/runs.sqlite")) as store:
        (row,) = store.rows()
    assert sorted(json.loads(row["options"])["file"]) == ["header", "sha256", "target"]


def test_tune():
    needs_package("optuna", "pip install 'cofire[tune]'")
    fast = ("--trials", 2, "--folds", 2, "--networks", 1, "--option", "max_iter=3")
    first = told("tune", "a.csv", *fast)
    again = told("tune", "a.csv", *fast)
    assert first["trials"] == again["trials"] and first["best"] == again["best"]
    done("evaluate", "a.cofire", "new.csv")


def test_profiles_without_scaling_refuse_gaps_and_say_what_works():
    for more in (("--profile", "sparse"), ("--option", "standardize=false")):
        result = run("train", "a.csv", *SMALL, *more)
        assert result.exit_code == 1
        assert "values are missing in 'age'" in result.stderr
        line = result.stderr.splitlines()[-1].strip()
        assert line.endswith("--missing mean")
        done(*shlex.split(line)[1:])
        result = run("predict", "a.cofire", "new.csv")
        assert result.exit_code == 0  # filled with the mean


def test_a_model_that_refused_gaps_goes_on_refusing():
    whole = visits().dropna()
    whole.to_csv("b.csv", index=False)
    done("train", "b.csv", *SMALL, "--profile", "masked", "--epsilon", 1)
    result = run("predict", "b.cofire", "new.csv")
    assert result.exit_code == 1 and "values are missing in 'age'" in result.stderr


# ---- exported ------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
@pytest.mark.parametrize("gaps", [True, False], ids=["gaps", "later"])
@pytest.mark.parametrize("n_codes", [0, 30], ids=["dense", "sparse"])
def test_exported_models_take_gaps_as_predict_does(n_codes, gaps, scale, tmp_path):
    train = visits(n_codes=n_codes)
    (train if gaps else train.dropna()).to_csv("b.csv", index=False)
    done("train", "b.csv", "--scale", scale, "--no-baselines", *SMALL)
    new = visits(100, 1, n_codes).drop(columns="kind")
    new.loc[:5, "colour"] = "never seen"
    new.to_csv("c.csv", index=False)
    model, expected = cofire.load("b.cofire"), predicted("b.cofire", "c.csv")
    rows = rows_of(model, pd.read_csv("c.csv"))
    assert np.isnan(rows).any(axis=0).sum() == 3
    np.testing.assert_allclose(plain_model(model).evaluate(rows), expected, atol=2e-6)
    program = CModel(to_c(model, tmp_path / "net.c"), 2)
    found = program.each(rows, "predict_proba", ctypes.c_float)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("n_codes", [0, 30], ids=["dense", "sparse"])
def test_onnx_takes_gaps_as_predict_does(n_codes):
    ort = needs_package("onnxruntime", "pip install onnxruntime")
    visits(n_codes=n_codes).to_csv("b.csv", index=False)
    done("train", "b.csv", "--no-baselines", *SMALL)
    new = visits(100, 1, n_codes).drop(columns="kind")
    new.to_csv("c.csv", index=False)
    to_onnx(cofire.load("b.cofire"), "net.onnx")
    session = ort.InferenceSession("net.onnx")
    given = {}
    for name in new.columns:
        column = new[name]
        words = column.dtype.kind == "O" or str(column.dtype) in ("str", "string")
        values = column.fillna("") if words else column
        values = values.to_numpy(object if words else np.float64)
        given[name] = values[:, None]
    probabilities = session.run(None, given)[1]
    np.testing.assert_allclose(probabilities, predicted("b.cofire", "c.csv"), atol=2e-6)
