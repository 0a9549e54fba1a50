"""Users' own files, and what is done to their rows before training."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse
from sklearn.compose import ColumnTransformer
from sklearn.datasets import dump_svmlight_file
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from cofire.data import load
from cofire.data.preprocessing.paper import paper_data, paper_rows
from cofire.data.preprocessing.preprocess import Preprocessing
from cofire.data.tables import Reading, Table, read_table, task_of
from helpers.needs import needs_package


def fruit(n=60, seed=0, gaps=True):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "length": rng.normal(5, 2, n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "ripe": rng.random(n) < 0.5,
            "weight": rng.integers(20, 90, n).astype(float),
        }
    )
    if gaps:
        frame.loc[[1, 5], "weight"] = np.nan
        frame.loc[[2], "colour"] = None
    frame["kind"] = np.where(frame.length > 5, "large", "small")
    return frame


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "fruit.csv"
    fruit().to_csv(path, index=False)
    return path


# ---- reading ------------------------------------------------------------------------


def test_the_target_of_a_csv_file_is_its_last_column(file):
    table = read_table(file)
    assert list(table.X.columns) == ["length", "colour", "ripe", "weight"]
    assert table.target == "kind" and set(table.y) == {"large", "small"}
    assert table.y.dtype.kind == "U"


@pytest.mark.parametrize("target", ["length", "0", "-5"])
def test_the_target_by_name_or_number(target, file):
    table = read_table(file, Reading(target))
    assert table.target == "length" and table.y.dtype == np.float64
    np.testing.assert_allclose(table.y, fruit().length)


def test_labels_keep_their_kind(tmp_path):
    path = tmp_path / "a.csv"
    for values, kind in (
        ("1 2 2", "i"),
        ("1.0 2.0 2.0", "i"),
        ("1.5 2 2", "f"),
        ("a b b", "U"),
        ("True False True", "U"),
        ("1 b 2", "U"),
    ):
        rows = "\n".join(f"{i},{v}" for i, v in enumerate(values.split()))
        path.write_text(f"x,y\n{rows}\n")
        y = read_table(path).y
        assert y.dtype.kind == kind, values
        if kind == "U":
            assert y.tolist() == values.split()


def test_what_labels_are_for():
    assert task_of(np.array(["a", "b"])) == "classification"
    assert task_of(np.arange(20)) == "classification"
    assert task_of(np.arange(21)) == "regression"
    assert task_of(np.array([0.5, 1])) == "regression"


def test_files_without_a_header(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,2,0\n3,4,1\n")
    with pytest.raises(ValueError, match="`header=False`"):
        read_table(path)
    table = read_table(path, Reading(header=False))
    assert table.y.tolist() == [0, 1] and list(table.X.columns) == ["0", "1"]
    words = read_table(path, Reading(header=False, text={"0"}))
    assert words.X["0"].tolist() == ["1", "3"]


def test_separators(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x;y\n1;a\n2;b\n")
    with pytest.raises(ValueError, match="only one column.*`separator`"):
        read_table(path)
    with pytest.raises(ValueError, match="only one column.*`separator`"):
        read_table(path, Reading("y"))
    assert read_table(path, Reading(separator=";")).y.tolist() == ["a", "b"]
    long = tmp_path / "long.csv"
    long.write_text("x::y\n1::a\n2::b\n")
    with pytest.warns(match="separators > 1 char"):
        assert read_table(long, Reading(separator="::")).y.tolist() == ["a", "b"]
    tabs = tmp_path / "a.tsv"
    tabs.write_text("x\ty\n1\ta\n2\tb\n")
    assert read_table(tabs).y.tolist() == ["a", "b"]


@pytest.mark.parametrize("header", [True, False])
def test_true_and_false_stay_the_words_of_the_file(header, tmp_path):
    """As a target, and with gaps: a model that learnt True would not know TRUE."""
    rows = "TRUE,1,TRUE\n,2,FALSE\nFALSE,3,TRUE\n"
    path = tmp_path / "a.csv"
    path.write_text(f"asked,n,churn\n{rows}" if header else rows)
    table = read_table(path, Reading(header=header))
    assert table.y.tolist() == ["TRUE", "FALSE", "TRUE"]
    assert table.X.iloc[:, 0].dropna().tolist() == ["TRUE", "FALSE"]
    assert table.X.iloc[:, 1].tolist() == [1, 2, 3]


def test_columns_of_true_and_false_are_numbers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("asked,y\nTRUE,1\nFALSE,0\n")
    assert read_table(path).X["asked"].dtype == bool


def test_words_are_words_in_all_parts_of_a_long_file(tmp_path):
    """pandas reads long files in parts: in some of them all words may be numbers."""
    path = tmp_path / "a.csv"
    n = 300_000
    path.write_text("zip,y\n" + "00700,1\n" * n + "K1A,0\n")
    assert set(read_table(path).X["zip"]) == {"00700", "K1A"}


def test_parquet(tmp_path):
    needs_package("pyarrow", "pip install cofire[data]")
    fruit().to_parquet(tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert table.target == "kind" and table.X.shape == (60, 4)


def test_parquet_without_its_package_says_what_to_install(tmp_path, monkeypatch):
    def refuse(path):
        raise ImportError("no engine")

    monkeypatch.setattr(pd, "read_parquet", refuse)
    (tmp_path / "a.parquet").write_bytes(b"")
    with pytest.raises(ImportError, match=r"needs pyarrow.*cofire\[data\]"):
        read_table(tmp_path / "a.parquet")


@pytest.mark.parametrize("kind", ["npz", "mat"])
def test_arrays(kind, tmp_path):
    X, y = np.arange(6, dtype=np.uint8).reshape(3, 2), np.array([1, 0, 1])
    path = tmp_path / f"a.{kind}"
    if kind == "npz":
        np.savez(path, X=X, y=y, other=y + 1)
    else:
        scipy.io.savemat(path, {"X": X, "Y": y[:, None], "other": y + 1})
    table = read_table(path)
    assert table.X.dtype == np.uint8 and np.array_equal(table.X, X)
    assert table.y.tolist() == [1, 0, 1]
    assert read_table(path, Reading("other")).y.tolist() == [2, 1, 2]
    with pytest.raises(ValueError, match="has no array 'z'; it has X"):
        read_table(path, Reading("z"))


@pytest.mark.parametrize("kind", ["npz", "mat"])
def test_the_samples_by_name(kind, tmp_path):
    arrays = {"data": np.eye(3), "target": np.array([1, 0, 1])}
    path = tmp_path / f"a.{kind}"
    save = np.savez if kind == "npz" else lambda path, **a: scipy.io.savemat(path, a)
    save(path, **arrays)
    table = read_table(path, Reading("target", samples="data"))
    assert np.array_equal(table.X, np.eye(3)) and table.y.tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="no array 'y'; it has .*`target='NAME'`"):
        read_table(path, Reading(samples="data"))


def test_arrays_of_objects_are_named(tmp_path):
    path = tmp_path / "a.npz"
    words = np.array(["a", "b"], dtype=object)
    np.savez(path, X=np.eye(2), y=words, more=words)
    with pytest.raises(ValueError, match=r"a.npz: the array 'y' holds .*astype\(str"):
        read_table(path)
    np.savez(path, X=np.eye(2), y=words.astype(str), more=words)  # more is not read
    assert read_table(path).y.tolist() == ["a", "b"]


def test_sparse_arrays_stay_sparse(tmp_path):
    X = scipy.sparse.random_array((5, 4), density=0.5, format="csc", rng=0)
    scipy.io.savemat(tmp_path / "a.mat", {"X": X, "y": np.arange(5)})
    table = read_table(tmp_path / "a.mat")
    assert table.X.format == "csr" and np.array_equal(table.X.toarray(), X.toarray())


@pytest.mark.parametrize("first", [0, 1])
def test_libsvm(first, tmp_path):
    X, y = np.array([[1.0, 0, 2], [0, 3, 0]]), np.array([1, -1])
    path = tmp_path / "a.libsvm"
    dump_svmlight_file(X, y, str(path), zero_based=first == 0)
    table = read_table(path)
    assert table.first_index == first and table.y.tolist() == [1, -1]
    assert np.array_equal(table.X.toarray(), X)
    again = read_table(path, Reading(labelled=False, first_index=first))
    assert again.y is None and np.array_equal(again.X.toarray(), X)


def test_what_is_wrong_with_a_file_is_said(tmp_path, file):
    def refused(name, content, match, reading=None):
        path = tmp_path / name
        if isinstance(content, str):
            path.write_text(content)
        elif content is not None:
            np.savez(path, **content)
        with pytest.raises((ValueError, OSError), match=match):
            read_table(path, reading)

    refused("a.xls", "", "unknown kind of file '.xls'.*csv")
    refused("none.csv", None, "none.csv: there is no such file")
    refused("a.csv", "x,y\n", "has no rows")
    refused("b.csv", "x,y\n1,a\n2,\n", "target 'y': 1 of 2 rows have no value")
    refused("c.csv", "x,y\n1,a\n", "unknown column .*'z'", Reading("z"))
    refused("d.libsvm", "hello world\n", "not in the format of libsvm")
    refused("e.npz", {"X": np.zeros(3), "y": np.zeros(3)}, "2 dimensions.*with 1")
    refused("f.npz", {"X": np.zeros((3, 2)), "y": np.zeros(2)}, "each of the 3 rows")
    refused("g.npz", {"data": np.zeros(3)}, "no array 'X'; it has data. .*`samples=")
    refused("h.csv", "y\na\nb\n", "has only one column, .y.")
    refused("l.npz", {"X": np.empty((2, 0)), "y": np.eye(2)[0]}, "no column besides")
    refused("i.npz", {"X": np.eye(2), "y": np.array([1, np.inf])}, "not finite")
    begins_with_1 = Reading(first_index=1)
    refused("j.libsvm", "1 0:2 3:4\n", "a feature 0; .* start at 1", begins_with_1)
    # How the header of MATLAB 7.3's files begins; the rest is HDF5.
    header = "MATLAB 7.3 MAT-file".ljust(124) + "\0\2IM"
    refused("k.mat", header + "\0" * 384, "MAT files of version 7.3 cannot be read")


# ---- preprocessing ------------------------------------------------------------------


def fitted(frame, **how):
    X = frame.drop(columns="kind")
    table = Table(X, frame.kind.to_numpy(), "kind")
    return Preprocessing.fit(table, **how), X


@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
@pytest.mark.parametrize("missing", ["mean", "median", "most_frequent"])
def test_it_does_what_scikit_learn_does(scale, missing):
    steps, X = fitted(fruit(), scale=scale, missing=missing)
    scalers = {"standard": [StandardScaler()], "minmax": [MinMaxScaler()], "none": []}
    numbers = make_pipeline(SimpleImputer(strategy=missing), *scalers[scale])
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    theirs = ColumnTransformer(
        [
            ("a", numbers, ["length"]),
            ("b", words, ["colour"]),
            ("c", numbers, ["ripe", "weight"]),
        ]
    )
    X = X.astype({"ripe": float, "colour": object})
    X["colour"] = X.colour.where(X.colour.notna(), np.nan)
    expected = theirs.fit(X).transform(X)
    ours, notes = steps.transform(X)
    assert notes == [] and ours.dtype == np.float32
    np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-6)
    new = fruit(30, seed=1).drop(columns="kind").astype({"ripe": float})
    new["colour"] = new.colour.astype(object).where(new.colour.notna(), np.nan)
    expected = theirs.transform(new)
    np.testing.assert_allclose(steps.transform(new)[0], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("missing", [None, "mean"])
def test_json_gives_the_same_bits(missing):
    steps, X = fitted(fruit(gaps=missing is not None), missing=missing)
    again = Preprocessing.from_dict(json.loads(json.dumps(steps.to_dict())))
    assert np.array_equal(again.transform(X)[0], steps.transform(X)[0])
    assert again.target == "kind" and again.text_columns == {"colour"}
    assert again.summary() == steps.summary()


def test_columns_go_by_their_names():
    steps, X = fitted(fruit(gaps=False))
    expected = steps.transform(X)[0]
    shuffled = X[["weight", "ripe", "length", "colour"]].assign(price=1)
    found, notes = steps.transform(shuffled)
    assert np.array_equal(found, expected)
    assert notes == ["columns that the model does not know: 'price'"]
    with pytest.raises(ValueError, match="missing: 'weight', 'ripe'|'ripe', 'weight'"):
        steps.transform(X[["length", "colour"]])
    with pytest.raises(ValueError, match="named columns"):
        steps.transform(np.zeros((2, 4)))


def test_an_unknown_category_is_none_of_the_known():
    steps, X = fitted(fruit(gaps=False))
    X.loc[[0, 3], "colour"] = "mauve"
    found, notes = steps.transform(X)
    assert found[0, 1:4].tolist() == [0, 0, 0] and found[1, 1:4].sum() == 1
    assert "'colour': 2 rows" in notes[0] and "'mauve'" in notes[0]


def test_missing_values_are_refused_unless_an_option_says_otherwise():
    with pytest.raises(ValueError, match=r"'weight' \(2 rows\).*`missing='mean'`"):
        fitted(fruit())
    steps, _ = fitted(fruit(gaps=False))
    with pytest.raises(ValueError, match=r"'colour' \(1 rows\)"):
        steps.transform(fruit()[["length", "colour", "ripe"]].assign(weight=1.0))
    with pytest.raises(ValueError, match="'weight' is empty"):
        fitted(fruit().assign(weight=np.nan), missing="mean")
    with pytest.raises(ValueError, match="unknown missing 'zero'"):
        fitted(fruit(), missing="zero")
    with pytest.raises(ValueError, match="unknown scale 'max'"):
        fitted(fruit(gaps=False), scale="max")


def test_columns_that_are_no_features_are_refused():
    frame = fruit(300, gaps=False)
    with pytest.raises(
        ValueError, match=r"'id' has 300 different words.*`drop=\['id'\]`"
    ):
        fitted(frame.assign(id=[f"n{i}" for i in range(300)]))
    spans = pd.to_timedelta(range(300), "h")
    with pytest.raises(ValueError, match=r"'span' holds durations.*`drop=\['span'\]`"):
        fitted(frame.assign(span=spans))
    with pytest.raises(ValueError, match="'length' has infinite"):
        fitted(frame.assign(length=np.inf))
    steps, X = fitted(frame)
    with pytest.raises(ValueError, match="'length' must hold numbers.*'long'"):
        steps.transform(X.assign(length="long"))


def test_numbers_may_be_words():
    frame = fruit(gaps=False).assign(ripe=lambda f: f.ripe.astype(int))
    steps, X = fitted(frame, text=["ripe"])
    assert steps.text_columns == {"colour", "ripe"} and steps.steps.n_features == 7


def test_many_categories_make_sparse_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=400), "word": rng.integers(0, 60, 400)})
    frame["word"] = "w" + frame.word.astype(str)
    found, _ = Preprocessing.fit(Table(frame, None)).transform(frame)
    assert scipy.sparse.issparse(found) and found.shape == (400, 61)
    assert found.dtype == np.float32 and found.format == "csr"
    assert (found[:, 1:].sum(axis=1) == 1).all()


@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
def test_sparse_rows_stay_sparse(scale):
    X = scipy.sparse.random_array((40, 6), density=0.4, format="csr", rng=0)
    steps = Preprocessing.fit(Table(X, None, None, 1), scale=scale)
    found, _ = steps.transform(X)
    assert found.format == "csr" and found.nnz == X.nnz
    narrow, _ = steps.transform(X[:, :4])  # a libsvm file whose last features are 0
    assert narrow.shape == (40, 6)
    with pytest.raises(ValueError, match="expects 6 features; these rows have 7"):
        steps.transform(scipy.sparse.csr_array((2, 7)))


def test_arrays_with_gaps():
    X = np.array([[1.0, 2], [np.nan, 4], [3, 6]])
    with pytest.raises(ValueError, match=r"'feature 0' \(1 rows\)"):
        Preprocessing.fit(Table(X, None))
    steps = Preprocessing.fit(Table(X, None), missing="mean", scale="none")
    assert steps.transform(X)[0].tolist() == [[1, 2], [2, 4], [3, 6]]
    again = Preprocessing.from_dict(json.loads(json.dumps(steps.to_dict())))
    assert np.array_equal(again.transform(X)[0], steps.transform(X)[0])


def test_bytes_that_are_not_scaled_stay_bytes():
    X = np.array([[1, 2], [3, 4]], np.uint8)
    steps = Preprocessing.fit(Table(X, None), scale="none")
    assert steps.transform(X)[0] is X


def test_the_papers_preprocessing_gives_the_papers_data():
    steps = Preprocessing.of_paper(paper_rows("madelon"))
    again = Preprocessing.from_dict(json.loads(json.dumps(steps.to_dict())))
    raw, expected = load("madelon"), paper_data("madelon")
    assert np.array_equal(again.transform(raw.X_test)[0], expected.X_test)


@pytest.mark.parametrize(
    "change",
    [
        {"scale": 3},
        {"columns": [{"name": 1, "fill": None, "origin": 0, "unit": 1}]},
        {"columns": [{"name": "a", "fill": None, "origin": 0, "unit": 0}]},
        {"columns": [{"name": "a", "fill": None, "origin": "b", "unit": 1}]},
        {"columns": [{"name": "a", "colour": None}]},
        {"columns": None, "features": None},
        {"columns": None, "features": {"fill": None, "origin": [0], "unit": [1, 2]}},
        {"more": 1},
        {"n_columns": "3"},
        {"samples": 3},
        {"dropped": [3]},
        {"dropped": None},
    ],
)
def test_a_forged_description_is_refused(change):
    steps, _ = fitted(fruit(gaps=False))
    with pytest.raises((ValueError, TypeError, LookupError)):
        Preprocessing.from_dict(steps.to_dict() | change)
