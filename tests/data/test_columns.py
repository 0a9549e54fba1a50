"""Columns of dates, cells that do not fit, and all faults of a table at once."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.preprocessing import OneHotEncoder

from cofire.core.dates import parts_of
from cofire.data import Preprocessing, Reading, Table, read_table
from cofire.data.preprocessing.column import DateColumn
from cofire.data.preprocessing.kinds import Dates, find_kinds
from cofire.data.preprocessing.row_sketch import MOST_KEPT, RowSketch
from cofire.data.preprocessing.training_rows import FileOptions, TrainingRows
from cofire.data.tables.faults import TableFaults


def kind_of(values, **how):
    kinds, faults = find_kinds(pd.DataFrame({"a": values}), **how)
    return kinds["a"], [fault.text for fault in faults]


def fitted(frame, **how):
    return Preprocessing.fit(Table(frame, None), **how)


def restored(steps):
    return Preprocessing.from_dict(json.loads(json.dumps(steps.to_dict())))


# ---- dates ---------------------------------------------------------------------------

DAYS = ["2021-01-05", "2020-12-24", "2019-07-01", "2022-02-28"]


def test_dates_become_their_parts():
    steps = restored(fitted(pd.DataFrame({"day": DAYS}), scale="none"))
    X, notes = steps.transform(pd.DataFrame({"day": ["2021-01-05", "3 Mar 2024"]}))
    when = np.array(["2021-01-05", "2024-03-03"], "datetime64[us]")
    np.testing.assert_allclose(X, parts_of(when, False), rtol=1e-6, atol=1e-6)
    assert notes == [] and "1 of dates, 5 features" in steps.summary()
    (column,) = steps.steps.columns
    assert isinstance(column, DateColumn)


def test_times_of_day_and_moments_of_parquet(tmp_path):
    when = pd.to_datetime(DAYS) + pd.to_timedelta([0, 6, 12, 18], "h")
    frame = pd.DataFrame({"t": when, "y": [0, 1, 0, 1]})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.assign(t=frame.t.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))[
        ["t", "y"]
    ].to_parquet(tmp_path / "b.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    steps = Preprocessing.fit(read_table(tmp_path / "a.parquet"))
    assert steps.steps.n_features == 7
    X = steps.transform(read_table(tmp_path / "a.parquet").X)[0]
    for name in ("a.csv", "b.parquet"):
        assert np.array_equal(steps.transform(read_table(tmp_path / name).X)[0], X)


def test_missing_dates_are_filled_or_refused():
    frame = pd.DataFrame({"day": [*DAYS, None]})
    with pytest.raises(ValueError, match=r"missing in 'day' \(1 rows\)"):
        fitted(frame)
    steps = restored(fitted(frame, missing="mean"))
    X, _ = steps.transform(frame)
    np.testing.assert_allclose(X[4], 0, atol=1e-6)  # the mean, scaled


def test_the_order_of_day_and_month_is_seen_or_asked_for():
    assert kind_of(["13/04/2021", "01/02/2021"])[0] == Dates(True, False)
    assert kind_of(["04/13/2021", "01/02/2021"])[0] == Dates(False, False)
    (text,) = kind_of(["03/04/2021", "01/02/2021"])[1]
    assert "either number may be the day. Pass `day_first=True` or" in text
    for day_first in (True, False):
        found = kind_of(["03/04/2021", "01/02/2021"], day_first=day_first)
        assert found == (Dates(day_first, False), [])
    (text,) = kind_of(["13/04/2021", "01/13/2021"])[1]
    assert "some with the day and some with the month first" in text


def test_a_word_that_is_no_date_is_named_by_row_and_column():
    (text,) = kind_of([*DAYS * 5, "soon"])[1]
    assert "column 'a' holds dates, except for 'soon' in row 21" in text
    steps = fitted(pd.DataFrame({"day": DAYS}))
    with pytest.raises(ValueError, match="'day' must hold dates.* 'soon' in row 2"):
        steps.transform(pd.DataFrame({"day": ["2021-01-01", "soon"]}))


def test_dates_can_be_words_and_words_are_no_dates():
    assert kind_of(DAYS, text=["a"]) == ("words", [])
    assert kind_of(["may", "june", "1.2.3", "x2020"]) == ("words", [])


def test_a_damaged_column_of_dates_is_refused():
    plain = fitted(pd.DataFrame({"day": DAYS})).to_dict()
    (column,) = plain["columns"]
    for change in ({"origin": [0.0]}, {"times": 1}, {"unit": [0.0] * 5}):
        with pytest.raises((ValueError, TypeError)):
            Preprocessing.from_dict(plain | {"columns": [column | change]})


# ---- missing values that are kept ----------------------------------------------------

GAPS = pd.DataFrame(
    {
        "a": [1.0, np.nan, 3.0, 5.0],
        "b": [1.0, 2.0, 3.0, 4.0],
        "word": ["x", None, "y", "x"],
        "day": [None, *DAYS[1:]],
    }
)


@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
def test_gaps_are_kept_for_the_estimator(scale):
    steps = restored(fitted(GAPS, scale=scale, missing="keep"))
    assert steps.summary().endswith("missing values kept")
    X, notes = steps.transform(GAPS)
    names = steps.feature_names
    assert X.dtype == np.float32 and X.shape == (4, len(names)) and notes == []
    assert names[2:5] == ["word=x", "word=y", "word=(missing)"]
    assert np.array_equal(X[:, 2:5], [[1, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]])
    where = np.argwhere(np.isnan(X)).tolist()
    assert where == [[0, names.index("day")], [1, 0]]  # a date is missing once
    assert (X[0, names.index("day") + 1 :] == 0).all()
    # The values that are there decide the scale.
    alone = fitted(GAPS[["a"]].dropna(), scale=scale).transform(GAPS[["a"]].dropna())[0]
    assert np.array_equal(X[[0, 2, 3], :1], alone)


def test_kept_gaps_may_come_in_any_column_later():
    steps = restored(fitted(GAPS.dropna(), missing="keep"))
    assert "word=(missing)" not in steps.feature_names
    assert "missing" not in json.dumps(steps.to_dict()["columns"])  # as in older files
    X, notes = steps.transform(GAPS.assign(b=np.nan, word=[None, "x", "z", None]))
    assert np.isnan(X[:, 1]).all() and (X[[0, 2, 3], 2:4] == 0).all()
    empty, strange = notes
    assert empty == "column 'b' is empty: all values are missing"
    assert strange.startswith("column 'word': 1 rows have a value") and "'z'" in strange


@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
def test_sparse_rows_have_flags_instead_of_gaps(scale):
    many = pd.concat([GAPS] * 10, ignore_index=True)
    many["code"] = [f"c{i}" for i in range(40)]
    steps = restored(fitted(many, scale=scale, missing="keep"))
    X, _ = steps.transform(many)
    assert scipy.sparse.issparse(X) and np.isfinite(X.data).all()
    assert X.indices.dtype == X.indptr.dtype == np.int32  # as forests need them
    names, rows = steps.feature_names, X.toarray()
    assert rows.shape[1] == len(names)
    for name, gap in (("a missing", 1), ("word=(missing)", 1), ("day missing", 0)):
        assert np.array_equal(rows[:, names.index(name)], np.arange(40) % 4 == gap)
    assert "b missing" not in names and "code=(missing)" not in names
    assert (rows[1::4, 0] == 0).all() and rows[0, 0] != rows[2, 0]
    filled = restored(fitted(many, scale=scale, missing="mean")).transform(many)[0]
    present = filled.toarray()[[2, 3]]
    shared = [i for i, name in enumerate(names) if "missing" not in name]
    assert np.array_equal(rows[[2, 3]][:, shared[2:4]], present[:, 2:4])


def test_a_matrix_keeps_its_gaps():
    X = GAPS[["a", "b"]].to_numpy()
    steps = restored(fitted(X, missing="keep"))
    found = steps.transform(X)[0]
    assert np.array_equal(np.isnan(found), np.isnan(X))
    assert found[0, 0] == np.float32((1 - 3) / np.std([1, 3, 5]))
    with pytest.raises(ValueError, match=r"missing in 'feature 0' \(1 rows\)"):
        restored(fitted(X[2:])).transform(X)


def test_gaps_are_refused_where_the_model_takes_none(tmp_path):
    path = tmp_path / "a.csv"
    GAPS.assign(y=[0, 1, 0, 1]).to_csv(path, index=False)
    none = FileOptions(test_fraction=0.0)
    with pytest.raises(TableFaults, match="values are missing in 'a'"):
        TrainingRows.of_file(path, none, "auto", 0)
    rows = TrainingRows.of_file(path, none, "auto", 0, takes_gaps=True)
    assert rows.preprocessing.missing == "keep" and rows.kept_gaps
    fill = FileOptions(test_fraction=0.0, missing="median")
    rows = TrainingRows.of_file(path, fill, "auto", 0, takes_gaps=True)
    assert rows.preprocessing.missing == "median" and not rows.kept_gaps
    with pytest.raises(ValueError, match=r"`missing='keep'`: a model with standardize"):
        TrainingRows.of_file(path, FileOptions(missing="keep"), "auto", 0)


def test_a_damaged_flag_is_refused():
    plain = fitted(GAPS, missing="keep").to_dict()
    for column in plain["columns"]:
        with pytest.raises(TypeError, match="expected true or false"):
            Preprocessing.from_dict(plain | {"columns": [column | {"missing": 1}]})


def test_words_are_encoded_as_scikit_learn_does():
    frame = pd.DataFrame({"w": ["b", "a", "c", "b"]})
    found = fitted(frame).transform(pd.DataFrame({"w": ["c", "d", "a"]}))[0]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(frame)
    assert np.array_equal(
        found, encoder.transform(pd.DataFrame({"w": ["c", "d", "a"]}))
    )


# ---- cells that do not fit -----------------------------------------------------------


@pytest.mark.parametrize(("n", "n_wrong"), [(30, 1), (30, 5), (2000, 20)])
def test_few_wrong_cells_are_named(n, n_wrong):
    values = [str(i % 7) for i in range(n)]  # few different ones: no words, though
    for i in range(n_wrong):
        values[3 * i] = "?"
    (text,) = kind_of(values)[1]
    assert "column 'a' holds numbers, except for '?' in row 1" in text
    assert "drop" not in text and "`na=['?']` and `missing='mean'`" in text
    (text,) = kind_of(values, missing="median")[1]
    assert "`na=['?']`: then" in text


def test_many_words_among_numbers_are_words():
    assert kind_of(["1", "2", "x"]) == ("words", [])
    assert kind_of(["1"] * 15 + ["x"] * 6) == ("words", [])
    assert kind_of(["1"] * 15 + ["x"] * 2, text=["a"]) == ("words", [])


def test_a_text_for_missing_values_is_kept_with_the_model(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "1.5,0\n2.5,1\n" * 9 + "n/k,0\n")
    options = FileOptions(na=("n/k",), missing="mean", test_fraction=0.0)
    rows = TrainingRows.of_file(path, options, "auto", 0)
    assert rows.X.shape == (19, 1) and rows.X[18] == pytest.approx(0, abs=1e-6)
    assert restored(rows.preprocessing).na == ("n/k",)


def test_a_wrong_cell_in_a_target_of_numbers_is_no_class(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(f"{i},{i}.5\n" for i in range(50)) + "1,?\n")
    with pytest.raises(ValueError, match=r"target 'y' holds numbers.*'\?' in row 51"):
        read_table(path)
    table = read_table(path, Reading(text=["y"]))
    assert table.y.dtype.kind == "U"


# ---- all faults at once --------------------------------------------------------------


def faulty(n=150):
    frame = pd.DataFrame({"x": np.arange(n) / 7.0, "dirty": np.arange(n).astype(str)})
    frame.loc[2, "x"] = np.nan
    frame.loc[5, "dirty"] = "n.a.?"
    frame["note"] = [f"n{i}" for i in range(n)]
    frame["empty"] = np.nan
    frame["when"] = "01/02/2020"
    frame["y"] = np.arange(n) % 2
    return frame


def test_all_faults_come_at_once_with_a_way_out(tmp_path):
    path = tmp_path / "a.csv"
    faulty().to_csv(path, index=False)
    with pytest.raises(TableFaults) as caught:
        TrainingRows.of_file(path, FileOptions(), "auto", 0)
    text = str(caught.value)
    assert text.startswith(f"{path}: 5 faults:\n  column 'dirty'")
    for part in ("'n.a.?' in row 6", "'x' (1 rows)", "'note' has 150", "'empty' is e"):
        assert part in text
    remedy = caught.value.remedy
    assert remedy == {
        "na": ["n.a.?"],
        "missing": "mean",
        "drop": ["note", "empty"],
        "day_first": True,
    }
    lists = {name: tuple(remedy[name]) for name in ("na", "drop")}
    TrainingRows.of_file(path, FileOptions(**remedy | lists), "auto", 0)


def test_faults_of_the_target_come_with_the_others(tmp_path):
    path = tmp_path / "a.csv"
    frame = faulty()
    frame["y"] = [None, *frame.y[1:]]
    frame.to_csv(path, index=False)
    with pytest.raises(TableFaults) as caught:
        TrainingRows.of_file(path, FileOptions(), "auto", 0)
    text = str(caught.value)
    assert (
        "6 faults" in text and "target 'y': 1 of 150 rows have no value (row 1)" in text
    )
    assert caught.value.remedy is None and "All of it" not in text


def test_faults_of_new_rows_come_at_once():
    steps = fitted(pd.DataFrame({"a": [1.0, 2.0], "day": DAYS[:2], "b": [1.0, 2.0]}))
    new = pd.DataFrame({"a": ["x", "2"], "day": ["soon", "soon"], "b": [np.inf, 1.0]})
    with pytest.raises(TableFaults) as caught:
        steps.transform(new)
    assert len(caught.value.faults) == 3
    for part in ("'x' in row 1", "'soon' in row 1", "infinite values, in row 1"):
        assert part in str(caught.value)


# ---- which rows a model knows --------------------------------------------------------


def test_a_sketch_knows_which_rows_it_has_seen():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 3)).astype(np.float32), np.arange(2000) % 3
    few = RowSketch.of(X[:100], y[:100])
    assert few.complete and few.share_of(X[50:250], y[50:250]) == 0.25
    many = RowSketch.of(X[:1600], y[:1600])
    assert len(many.hashes) == MOST_KEPT and not many.complete
    assert abs(many.share_of(X, y) - 0.8) < 0.1
    assert many.share_of(X[1600:], y[1600:]) == 0
    assert many.share_of(X[:1600], y[:1600]) == 1
    assert RowSketch.from_dict(json.loads(json.dumps(many.to_dict()))) == many
    with pytest.raises(ValueError, match="ascending"):
        RowSketch.from_dict(many.to_dict() | {"hashes": ["02", "01"]})


def test_a_sketch_knows_rows_with_gaps():
    X = np.array([[np.nan, 1], [2, np.nan], [3, 4]], np.float32)
    other = X.copy()
    other[np.isnan(X)] = -np.float32(np.nan)  # other bits
    assert other.tobytes() != X.tobytes()
    assert RowSketch.of(X, [0, 1, 0]).share_of(other, [0, 1, 0]) == 1
