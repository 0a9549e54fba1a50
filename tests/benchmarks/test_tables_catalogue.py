"""The tables of benchmarks/tables: the list, the split, and how a table is stored."""

import hashlib
import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

HERE = Path(__file__).parents[2] / "benchmarks" / "tables"
sys.path.insert(0, str(HERE))
catalogue = importlib.import_module("catalogue")
fetch = importlib.import_module("fetch")

TABLES = catalogue.TABLES
ALL = list(TABLES.values())


def of(task, half=None):
    return [t for t in ALL if t.task == task and half in (None, t.half)]


def test_each_table_has_its_own_name_and_complete_facts():
    assert len(TABLES) == len(catalogue.ROWS)
    for table in ALL:
        assert table.task in ("classes", "numbers")
        assert table.half in ("choosing", "proving")
        assert table.rows > 0 and table.features > 0
        assert (table.classes >= 2) == (table.task == "classes")
        assert re.fullmatch("[0-9a-f]{64}", table.checksum)
    assert len({t.checksum for t in ALL}) == len(ALL)


def test_checksums_name_no_table_that_is_not_in_the_catalogue():
    names = re.findall(r"^\[(\w+)\]", catalogue.CHECKSUMS.read_text(), re.MULTILINE)
    assert sorted(names) == sorted(TABLES)


@pytest.mark.parametrize("half", ["choosing", "proving"])
def test_each_half_has_enough_tables_of_each_size(half):
    classes = of("classes", half)
    assert len(classes) >= 30
    assert sum(t.features > 60 for t in classes) >= 15
    assert sum(t.features > 2000 for t in classes) >= 5
    assert sum(t.rows > 10_000 for t in classes) >= 5
    assert len(of("numbers", half)) >= 10


def test_fixed_tables_are_in_their_halves():
    assert {TABLES[name].half for name in catalogue.FIXED_CHOOSING} == {"choosing"}
    assert {TABLES[name].half for name in catalogue.FIXED_PROVING} == {"proving"}


def test_the_other_tables_alternate_by_name_in_each_class():
    fixed = {*catalogue.FIXED_CHOOSING, *catalogue.FIXED_PROVING}
    groups = {}
    for name in sorted(set(TABLES) - fixed):
        table = TABLES[name]
        size = catalogue.size_class(table.features, table.rows)
        groups.setdefault((table.task, size), []).append(table.half)
    for halves in groups.values():
        assert halves[::2] == ["proving"] * len(halves[::2])
        assert halves[1::2] == ["choosing"] * len(halves[1::2])


def test_no_table_has_more_rows_than_its_features_allow():
    for table in ALL:
        limits = [rows for more, rows in fetch.MOST_ROWS if table.features > more]
        # Constant columns are dropped after the choice of rows: mnist has 784 before.
        assert table.rows <= limits[0]


def test_the_plan_lists_every_table_in_its_half():
    plan = (HERE / "PLAN.md").read_text()
    start = plan.index("### Choosing half")
    middle = plan.index("### Proving half")
    end = plan.index("## Runs of the proving half")
    for half, text in (
        ("choosing", plan[start:middle]),
        ("proving", plan[middle:end]),
    ):
        rows = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+|-) \|$", text, re.M)
        expected = [
            (t.name, str(t.rows), str(t.features), str(t.classes or "-"))
            for t in ALL
            if t.half == half
        ]
        assert sorted(rows) == sorted(expected)


# --- storing and loading ------------------------------------------------------------


def frame():
    return pd.DataFrame(
        {
            "size": [1.5, np.nan, 3.0],
            "colour": pd.Categorical(["red", None, "blue"], ["blue", "red"]),
        }
    )


def stored(tmp_path, monkeypatch, X, y, checksum=None):
    """A tiny table named "tiny" in a folder of its own, known to the catalogue."""
    monkeypatch.setenv("COFIRE_TABLES", str(tmp_path))
    path = tmp_path / "tiny.npz"
    fetch.store(path, X, y)
    found = checksum or hashlib.sha256(path.read_bytes()).hexdigest()
    table = catalogue.Table("tiny", "classes", "a test", "y", checksum=found)
    monkeypatch.setitem(TABLES, "tiny", table)
    return path


def test_a_frame_comes_back_with_categories_and_gaps(tmp_path, monkeypatch):
    y = np.array(["a", "b", "a"])
    stored(tmp_path, monkeypatch, frame(), y)
    X, labels = catalogue.load("tiny")
    assert X["size"].tolist()[::2] == [1.5, 3.0] and np.isnan(X["size"][1])
    assert list(X["colour"].cat.categories) == ["blue", "red"]
    assert X["colour"].isna().tolist() == [False, True, False]
    assert X["colour"].astype(object)[0] == "red"
    assert labels.tolist() == ["a", "b", "a"]


def test_arrays_keep_their_type_and_sparse_rows_stay_sparse(tmp_path, monkeypatch):
    y = np.array([0.5, 1.5])
    pixels = np.array([[0, 255], [7, 8]], np.uint8)
    stored(tmp_path, monkeypatch, pixels, y)
    X, numbers = catalogue.load("tiny")
    assert X.dtype == np.uint8 and np.array_equal(X, pixels)
    assert numbers.dtype == np.float64

    counts = scipy.sparse.csr_matrix(np.array([[0, 2.0], [1.0, 0]], np.float32))
    stored(tmp_path, monkeypatch, counts, y)
    X, _ = catalogue.load("tiny")
    assert scipy.sparse.issparse(X) and X.dtype == np.float32
    assert np.array_equal(X.toarray(), counts.toarray())


def test_storing_twice_gives_the_same_bytes_and_no_pickle(tmp_path):
    y = np.array(["a", "b", "a"])
    one, two = tmp_path / "one.npz", tmp_path / "two.npz"
    fetch.store(one, frame(), y)
    fetch.store(two, frame(), y)
    assert one.read_bytes() == two.read_bytes()
    with np.load(one, allow_pickle=False) as file:
        assert all(file[name].dtype.kind in "fiU" for name in file)


def test_a_missing_file_says_how_to_make_it(tmp_path, monkeypatch):
    monkeypatch.setenv("COFIRE_TABLES", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"benchmarks/tables/fetch\.py glass"):
        catalogue.load("glass")


def test_a_changed_file_is_refused(tmp_path, monkeypatch):
    y = np.array(["a", "b", "a"])
    stored(tmp_path, monkeypatch, frame(), y, checksum="0" * 64)
    with pytest.raises(ValueError, match=r"expected 0000.*fetch\.py tiny"):
        catalogue.load("tiny")


def test_an_unknown_name_is_refused_with_the_names_there_are():
    with pytest.raises(KeyError, match="glass"):
        catalogue.load("no such table")


# --- making -------------------------------------------------------------------------


def raw():
    return pd.DataFrame(
        {
            "id": range(8),
            "x": [1, 2, 3, 4, 5, 6, 7, 8],
            "flag": [True, False] * 4,
            "same": 1.0,
            "y": ["a", "a", "a", "a", "a", "b", "b", None],
        }
    )


def made(monkeypatch, frame, task="classes", **more):
    table = catalogue.Table("tiny", task, "R: none::none", "y", ("id",), **more)
    monkeypatch.setitem(fetch.MAKERS, "tiny", lambda _: frame)
    return fetch.make(table)


def test_targets_ids_gaps_constants_and_tiny_classes_are_dropped(monkeypatch):
    X, y = made(monkeypatch, raw())
    assert list(X.columns) == ["x", "flag"]
    assert X["x"].tolist() == [1, 2, 3, 4, 5]  # b has 2 rows, fewer than 5
    assert list(X["flag"].cat.categories) == ["False", "True"]
    assert y.tolist() == ["a"] * 5


def test_numbers_keep_all_rows_with_a_target(monkeypatch):
    frame = raw().assign(y=[1, 2, 3, 4, 5, 6, 7, np.nan])
    X, y = made(monkeypatch, frame, "numbers", note="logarithm of the target")
    assert len(X) == 7
    np.testing.assert_allclose(y, np.log(np.arange(1, 8)))


def test_rows_beyond_the_limit_are_left_out_the_same_way_each_time(monkeypatch):
    monkeypatch.setattr(fetch, "MOST_ROWS", ((-1, 20),))
    frame = pd.DataFrame({"id": range(90), "x": np.arange(90.0), "y": ["a", "b"] * 45})
    one, labels = made(monkeypatch, frame)
    two, _ = made(monkeypatch, frame)
    assert len(one) == 20 and one.equals(two)
    assert one["x"].is_monotonic_increasing
    assert labels.tolist() == ["b" if x % 2 else "a" for x in one["x"]]


def test_an_unknown_column_is_named(monkeypatch):
    with pytest.raises(ValueError, match="'id'"):
        made(monkeypatch, raw().drop(columns="id"))


def test_words_counts_the_words_of_five_texts_or_more():
    texts = ["The cat saw the dog."] * 5 + ["A rare word"] * 4
    X = fetch.words(texts)
    assert X.shape == (9, 4)  # cat, dog, saw, the
    assert X[0].toarray().tolist() == [[1, 1, 1, 2]]
    assert X[8].nnz == 0


def test_a_missing_package_says_what_to_install(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COFIRE_TABLES", str(tmp_path))

    def absent(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr(fetch.subprocess, "run", absent)
    assert fetch.main(["glass"]) == 1
    assert "apt-get install r-base-core" in capsys.readouterr().out
    with pytest.raises(fetch.Missing, match="requirements-data"):
        fetch.place("no_such_package_at_all", "file")
