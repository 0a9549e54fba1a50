"""Columns of DataFrames: kinds, values, levels."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from cofire.estimators import frames
from cofire.estimators.frames import (
    MOST_LEVELS,
    Levels,
    is_uniform,
    number_columns,
    numbers,
    rounding,
    texts,
)

NUMBERS = {
    "int": [1, 2, 3],
    "float": [1.5, np.nan, 3],
    "bool": [True, False, True],
    "object of numbers": np.array([1, 2.5, None], object),
    "object of bools": np.array([True, None, False], object),
    "object with NA": np.array([1, pd.NA, 3], object),
    "decimals": np.array([Decimal("1.5"), Decimal(2), None], object),
    "Int64": pd.array([1, None, 3], "Int64"),
    "Float32": pd.array([1, None, 3], "Float32"),
    "boolean": pd.array([True, None, False], "boolean"),
    "nothing": np.array([None, None, None], object),
}
CATEGORIES = {
    "text": ["a", "b", None],
    "object": np.array(["a", 1, np.nan], object),
    "string": pd.array(["a", None, "b"], "string"),
    "category": pd.Categorical(["a", "b", "a"]),
    "category of numbers": pd.Categorical([1, 2, None]),
    "spelt numbers": ["1", "2", "3"],
}


def test_kinds_of_columns():
    frame = pd.DataFrame(NUMBERS | CATEGORIES)
    found = number_columns(frame)
    assert found.tolist() == [True] * len(NUMBERS) + [False] * len(CATEGORIES)


def test_values_of_numbers():
    frame = pd.DataFrame(NUMBERS)
    nan = np.nan
    expected = [
        [1, 2, 3],
        [1.5, nan, 3],
        [1, 0, 1],
        [1, 2.5, nan],
        [1, nan, 0],
        [1, nan, 3],
        [1.5, 2, nan],
        [1, nan, 3],
        [1, nan, 3],
        [1, nan, 0],
        [nan, nan, nan],
    ]
    for j, values in enumerate(expected):
        found = numbers(frame, j)
        assert found.dtype == np.float64 and found.flags.writeable
        np.testing.assert_array_equal(found, values)


def test_values_of_categories():
    frame = pd.DataFrame(CATEGORIES)
    expected = [
        (["a", "b"], [0, 1, -1]),
        (["a", "1"], [0, 1, -1]),
        (["a", "b"], [0, -1, 1]),
        (["a", "b"], [0, 1, 0]),
        (["1", "2"], [0, 1, -1]),
        (["1", "2", "3"], [0, 1, 2]),
    ]
    for j, (words, codes) in enumerate(expected):
        found = texts(frame, j)
        assert found[1] == words
        assert found[0].tolist() == codes


def test_equal_numbers_are_the_same_category():
    whole = pd.DataFrame({"a": pd.Categorical([1, 2])})
    floating = pd.DataFrame({"a": pd.Categorical([1.0, 2.0])})
    parts = pd.DataFrame({"a": pd.Categorical([1.5, 2.0])})
    assert texts(whole, 0)[1] == texts(floating, 0)[1] == ["1", "2"]
    assert texts(parts, 0)[1] == ["1.5", "2"]
    yes = pd.DataFrame({"a": pd.Categorical([True, False])})
    assert texts(yes, 0)[1] == ["True", "False"]


def test_what_is_neither_number_nor_category_is_named():
    frame = pd.DataFrame({"day": np.array([date(2020, 1, 2)], object)})
    assert not number_columns(frame)[0]
    with pytest.raises(TypeError, match="'day' holds date values.*numbers or text"):
        texts(frame, 0)
    periods = pd.DataFrame({"month": pd.period_range("2020", periods=2, freq="M")})
    with pytest.raises(TypeError, match="'month' holds Period values"):
        texts(periods, 0)
    lists = pd.DataFrame({"tags": [None, ["a", "b"]]})
    message = r"'tags' holds list values, such as \['a', 'b'\]: convert them"
    with pytest.raises(TypeError, match=message):
        texts(lists, 0)


def test_numbers_that_are_none_are_named():
    frame = pd.DataFrame({"age": ["old", "5"], "size": [np.inf, 1], "z": [1j, 2]})
    with pytest.raises(ValueError, match="'age' must hold numbers.*'old'"):
        numbers(frame, 0)
    with pytest.raises(ValueError, match="Input X contains infinity.*'size'"):
        numbers(frame, 1)
    with pytest.raises(ValueError, match="Complex data not supported.*'z'"):
        numbers(frame, 2)


def test_uniform_frames():
    one = pd.DataFrame(np.ones((2, 3)))
    assert is_uniform(one)
    assert not is_uniform(one.assign(a=1))
    assert not is_uniform(one.assign(a="b"))
    assert is_uniform(one.astype(pd.SparseDtype(float, 0.0)))
    assert not is_uniform(one.astype("Float64"))


def test_rounding_of_a_column():
    frame = pd.DataFrame(
        {
            "a": np.ones(1, np.float32),
            "b": [1.0],
            "c": [1],
            "d": pd.array([1.0], "Float32"),
        }
    )
    single, double = np.finfo(np.float32).eps, np.finfo(np.float64).eps
    found = [rounding(frame, j) for j in range(4)]
    assert found == [single, double, double, single]


# ---- levels --------------------------------------------------------------------------


def levels_of(values, used=None):
    frame = pd.DataFrame({"a": np.array(values, object)})
    return Levels.learn(frame, 0, used)


def codes_of(levels, values):
    return levels.codes(pd.DataFrame({"a": np.array(values, object)})).tolist()


def test_levels_are_ascending_and_unseen_ones_are_none():
    levels = levels_of(["b", "a", "b"])
    assert levels == Levels(0, ("a", "b"), rare=False, missing=False)
    assert codes_of(levels, ["a", "b", "new", None]) == [0, 1, -1, -1]
    assert levels.names("colour") == ["colour=a", "colour=b"]


def test_a_missing_value_is_a_level_if_fit_saw_one():
    levels = levels_of(["b", None, "a", np.nan])
    assert levels == Levels(0, ("a", "b"), rare=False, missing=True)
    assert codes_of(levels, [None, "b", "new"]) == [2, 1, -1]
    assert levels.names("c") == ["c=a", "c=b", "c missing"]


def test_the_most_frequent_levels_are_kept():
    many = [f"{i:03d}" for i in range(MOST_LEVELS + 2)]
    levels = levels_of([*many, many[-1], None])
    assert levels.levels == (*many[: MOST_LEVELS - 1], many[-1])
    assert levels.rare and levels.missing
    assert levels.n_inputs == MOST_LEVELS + 2
    # Those that fit did not see are as rare.
    rare = MOST_LEVELS
    assert codes_of(levels, [many[-3], "new", None, many[0]]) == [
        rare,
        rare,
        rare + 1,
        0,
    ]
    assert levels.names("c")[-2:] == ["c=(rare)", "c missing"]


@pytest.mark.parametrize("n", [frames._LARGE - 1, frames._LARGE])
def test_levels_that_occur_once_in_a_large_table_are_rare(n):
    levels = levels_of(["a"] * (n - 3) + ["b", "b", "c"])
    large = n == frames._LARGE
    assert levels.levels == (("a", "b") if large else ("a", "b", "c"))
    assert levels.rare is large


def test_rows_that_are_not_in_use_do_not_count():
    levels = levels_of(["a", "b", "c", None], np.array([0, 2]))
    assert levels == Levels(0, ("a", "c"), rare=False, missing=False)
