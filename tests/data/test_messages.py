"""Errors and notes of the data package name Python arguments, never options."""

import ast
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cofire
from cofire.data import Preprocessing, Reading, Table, load, read_table
from cofire.data.catalog import locate
from cofire.data.preprocessing.training_rows import FileOptions, TrainingRows
from cofire.data.tables.readers import READERS

PACKAGE = Path(cofire.__file__).parent / "data"


def written(folder, text, name="a.csv"):
    path = folder / name
    path.write_text(text)
    return path


def said(call):
    with pytest.raises((ValueError, OSError)) as caught:
        call()
    return str(caught.value)


def rows(path, *, task="auto", **options):
    return TrainingRows.of_file(path, FileOptions(**options), task, 0)


def test_no_text_of_the_package_names_an_option():
    found = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if re.search(r"(^|\s|`|\()--[a-z]", node.value):
                    found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert not found


@pytest.mark.parametrize(
    ("text", "reading", "words"),
    [
        ("1,2\n3,4\n", Reading(), "Pass `header=False` if it is data"),
        ("x\n1\n2\n", Reading(), "Pass `separator` if values are not separated by ','"),
        ("x,y\n1,2\n", Reading(decimal="ab"), "`decimal` must be one punctuation"),
        ("x,y\n1,2\n", Reading("z"), "unknown column (`target`, in "),
        ("x,y\n1,2\n", Reading(drop=["z"]), "unknown column (`drop`) 'z'. Known: x."),
        ("x,y\n1,2\n", Reading(drop=["x"]), "has no column besides the target"),
        ("x,x,y\n1,2,3\n", Reading(), "two columns have the name 'x'"),
        ("x,y\n", Reading(), "has no rows"),
    ],
)
def test_what_a_csv_file_is_refused_for(text, reading, words, tmp_path):
    path = written(tmp_path, text)
    assert words in said(lambda: read_table(path, reading))


def test_what_arrays_are_refused_for(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, data=np.eye(2), y=np.arange(2))
    assert "Name the right one with `samples='NAME'`" in said(lambda: read_table(path))
    reading = Reading("z", samples="data")
    assert "with `target='NAME'`" in said(lambda: read_table(path, reading))
    reading = Reading(samples="data", drop=["a"])
    assert "`drop`: " in said(lambda: read_table(path, reading))


def test_columns_are_left_out_and_a_path_may_be_text(tmp_path):
    path = written(tmp_path, "id,x,y\n7,1,a\n9,2,b\n")
    table = read_table(str(path), Reading(drop=["id"]))
    assert list(table.X.columns) == ["x"] and table.dropped == ("id",)
    assert Preprocessing.fit(table).dropped == ("id",)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"test_fraction": 1.5}, "`test_fraction` must be in [0, 1), got 1.5"),
        ({"test_fraction": 0.9}, "`test_fraction=0.9` leaves none of 2 rows to train"),
        ({"test_fraction": 0.9}, "pass `test` (a file of test rows), or pass"),
        (
            {"test_fraction": 0.1, "test": Path("b")},
            "`test` and `test_fraction`: leave",
        ),
        (
            {"task": "regression"},
            "`task='regression'` needs numbers: the target 'y' is",
        ),
        ({"missing": "zero"}, "unknown missing 'zero'"),
        ({"scale": "max"}, "unknown scale 'max'"),
    ],
)
def test_what_rows_to_train_on_are_refused_for(options, words, tmp_path):
    path = written(tmp_path, "x,y\n1,a\n2,b\n")
    given = {"test_fraction": 0} | options
    given = {k: v for k, v in given.items() if "test" not in options or k in options}
    assert words in said(lambda: rows(path, **given))


@pytest.mark.parametrize("options", [{"scale": "minmax"}, {"header": False}])
def test_options_of_files_are_not_for_data_sets(options):
    text = said(lambda: TrainingRows.of_catalogue("madelon", FileOptions(**options)))
    assert text.startswith(f"`{next(iter(options))}` is for files")
    assert text.endswith("of madelon are those of the paper.")


def test_missing_values():
    table = Table(pd.DataFrame({"a": [1.0, np.nan]}), None)
    text = said(lambda: Preprocessing.fit(table))
    assert "missing in 'a' (1 rows)" in text and "`missing='mean'`" in text
    assert text.endswith("or `missing='most_frequent'`.")


def test_a_few_wrong_values_in_a_column_of_numbers_are_named():
    """Not advice to throw the column away."""
    values = [f"{i / 7:.3f}" for i in range(300)]
    values[5] = values[9] = "n.a.?"
    text = said(lambda: Preprocessing.fit(Table(pd.DataFrame({"a": values}), None)))
    assert text == (
        "column 'a' holds numbers, except for 'n.a.?' in row 6, 'n.a.?' in row 10 (298 "
        "other rows). Correct these cells; or pass `na=['n.a.?']` and "
        "`missing='mean'`: then they count as missing; or, if all of them are words, "
        "`categorical=['a']`."
    )


def test_names_and_dates_are_told_from_numbers():
    names = pd.DataFrame({"who": [f"n{i}" for i in range(300)]})
    assert "`drop=['who']`" in said(lambda: Preprocessing.fit(Table(names, None)))
    spans = pd.DataFrame({"a span": pd.to_timedelta(range(9), "h")})
    assert "`drop=['a span']`" in said(lambda: Preprocessing.fit(Table(spans, None)))


def test_notes(tmp_path):
    lines = "".join(f"{i},{i}.5,a\n" for i in range(9))
    found = rows(written(tmp_path, "id,x,y\n" + lines), test_fraction=0).notes
    assert found == ["column 'id' counts the rows; `drop=['id']` leaves it out"]
    path = written(tmp_path, "x;y\n1,5;a\n2,5;b\n")
    (note,) = read_table(path, Reading(separator=";")).notes
    assert "`decimal=','` reads them as numbers" in note
    (note,) = read_table(written(tmp_path, "5.1,3.5,a\n4,3,b\n")).notes
    assert note.endswith("pass `header=False` if it is")


def test_a_data_set_that_is_not_here_says_what_to_call(tmp_path, monkeypatch):
    monkeypatch.setenv("COFIRE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert "download it: `cofire.data.fetch('mnist')`" in said(lambda: locate("mnist"))
    (tmp_path / "mnist.npz").write_bytes(b"damaged")
    text = said(lambda: load("mnist"))
    assert "Remove it, then download it again: `cofire.data.fetch('mnist')`" in text


def test_a_new_format_is_one_row(tmp_path, monkeypatch):
    def read_pairs(path, reading):
        pairs = np.array([line.split() for line in path.read_text().splitlines()])
        return Table(pairs[:, :1].astype(float), pairs[:, 1])

    monkeypatch.setitem(READERS, ".pairs", read_pairs)
    path = written(tmp_path, "1 a\n2 b\n", "x.pairs")
    assert read_table(path).y.tolist() == ["a", "b"]
    assert rows(path, test_fraction=0).X.tolist() == [[-1.0], [1.0]]
