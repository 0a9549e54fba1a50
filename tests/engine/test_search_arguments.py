"""Wrong arguments of the native searches are named."""

import numpy as np
import pytest

from cofire import engine
from cofire.engine import _native
from helpers.search_cases import Case
from helpers.similarity_cases import pairs


def screened_arguments(**changes):
    case = Case.random(10, sizes=(4, 5), n_rows=20, fullness=0.0)
    _, told = pairs(case).arguments()
    how = {"sample_ids": case.row_ids, "row_share": None, "factor": [4], "recall": 0.9}
    return told | how | changes


def hashed_arguments(**changes):
    case = Case.random(10, sizes=(4, 5), n_rows=20, fullness=0.0)
    _, told = pairs(case).arguments()
    return told | {"row_share": None, "n_tables": 8} | changes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"factor": [0]}, "factor: not one number from 1 on per layer"),
        ({"factor": [-4]}, "factor: not one number from 1 on per layer"),
        ({"factor": []}, "factor: not one number from 1 on per layer"),
        ({"factor": [4, 4]}, "factor: not one number from 1 on per layer"),
        ({"recall": 0.0}, r"recall: not in \(0, 1\]"),
        ({"recall": 1.01}, r"recall: not in \(0, 1\]"),
        ({"recall": float("nan")}, r"recall: not in \(0, 1\]"),
        ({"score": "gradient"}, "score: gradients are not screened"),
        ({"score": "sine"}, "score: sine"),
        ({"ties": "coin"}, "ties: coin"),
        ({"row_share": np.ones(19, np.float32)}, "row_share: not one per row"),
        ({"row_share": np.ones(21, np.float32)}, "row_share: not one per row"),
        ({"sample_ids": np.array([22])}, "a row that does not exist"),
        ({"sample_ids": np.array([-1])}, "a row that does not exist"),
        ({"row_ids": np.array([22])}, "row_ids: a row that does not exist"),
        ({"sample_weight": np.ones(3, np.float32)}, "sample_weight: not one per row"),
        ({"kept": []}, "kept and places: not one array per layer"),
        ({"kept": [np.array([3, 2])]}, "kept: not ascending places"),
        ({"places": [np.empty(21, np.int64)]}, "wanted: more places than are free"),
    ],
)
def test_a_wrong_argument_of_the_screened_search_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        _native.screened_places(**screened_arguments(**changes))
    assert len(_native.screened_places(**screened_arguments())) == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_tables": 0}, "n_tables: less than 1"),
        ({"n_tables": -1}, "n_tables: less than 1"),
        ({"score": "gradient"}, "score: gradients are not hashed"),
        ({"row_share": np.ones(19, np.float32)}, "row_share: not one per row"),
        ({"row_ids": np.array([22])}, "row_ids: a row that does not exist"),
        ({"kept": []}, "kept and places: not one array per layer"),
        ({"places": [np.empty(21, np.int64)]}, "wanted: more places than are free"),
    ],
)
def test_a_wrong_argument_of_the_hashed_search_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        _native.hashed_places(**hashed_arguments(**changes))
    n_found, _ = _native.hashed_places(**hashed_arguments())
    assert len(n_found) == 1


def test_arrays_are_not_converted():
    ids = np.arange(20, dtype=np.int32)
    share = np.ones(20)
    for changes in ({"sample_ids": ids}, {"row_share": share}, {"row_ids": ids}):
        with pytest.raises(TypeError):
            _native.screened_places(**screened_arguments(**changes))
    for changes in ({"row_share": share}, {"row_ids": ids}):
        with pytest.raises(TypeError):
            _native.hashed_places(**hashed_arguments(**changes))


@pytest.mark.parametrize(
    ("ids", "size", "message"),
    [([5], 1, "does not exist"), ([-1], 1, "does not exist"), ([0, 1], 1, "not one")],
)
def test_a_wrong_argument_of_rarity_is_named(ids, size, message):
    rows = engine.Rows(np.ones((5, 2), np.float32))
    with pytest.raises(ValueError, match=message):
        _native.rarity(rows.native, np.array(ids), np.empty(size, np.int64))
