"""Wrong arguments of the native searches are named."""

import numpy as np
import pytest

from cofire import engine
from cofire.core.network import SparseNetwork
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
        ({"score": "sine"}, "^score: sine$"),
        ({"ties": "coin"}, "^ties: coin$"),
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


def test_arrays_of_the_other_searches_are_not_converted():
    ids = np.arange(20, dtype=np.int32)
    share = np.ones(20)
    for changes in ({"sample_ids": ids}, {"row_share": share}, {"row_ids": ids}):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _native.screened_places(**screened_arguments(**changes))
    for changes in ({"row_share": share}, {"row_ids": ids}):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _native.hashed_places(**hashed_arguments(**changes))


@pytest.mark.parametrize(
    ("ids", "size", "message"),
    [([5], 1, "does not exist"), ([-1], 1, "does not exist"), ([0, 1], 1, "not one")],
)
def test_a_wrong_argument_of_rarity_is_named(ids, size, message):
    rows = engine.Rows(np.ones((5, 2), np.float32))
    with pytest.raises(ValueError, match=message):
        _native.rarity(rows.native, np.array(ids), np.empty(size, np.int64))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"row_ids": np.array([0, 99])}, "row_ids: a row that does not exist"),
        ({"kept": [np.array([3, 2])]}, "kept: not ascending places"),
        ({"kept": [np.array([2, 2])]}, "kept: not ascending places"),
        ({"kept": [np.array([-1, 2])]}, "kept: not ascending places"),
        ({"kept": [np.array([5, 20])]}, "kept: not ascending places"),
        ({"kept": []}, "kept and places: not one array per layer"),
        ({"n_wanted": [21]}, "wanted: more places than are free"),
        ({"sample_weight": np.ones(3, np.float32)}, "sample_weight: not one per row"),
        ({"score": "sine"}, "^score: sine$"),
        ({"score": ""}, "^score: $"),
        ({"ties": "coin"}, "^ties: coin$"),
    ],
)
def test_a_wrong_argument_of_the_exact_search_is_named(changes, message):
    case = Case.random(10, sizes=(4, 5), n_rows=20, fullness=0.0)
    with pytest.raises(ValueError, match=message):
        case.search(**changes)


def test_arrays_of_the_exact_search_are_not_converted():
    case = Case.random(11, sizes=(4, 5), n_rows=20)
    with pytest.raises(TypeError, match="kept"):
        case.search(kept=[case.kept[0].astype(np.int32)])
    with pytest.raises(TypeError, match="incompatible function arguments"):
        case.search(row_ids=case.row_ids.astype(np.int32))


LABELS, VALUES = np.zeros(22, np.int32), np.zeros((22, 5), np.float32)


@pytest.mark.parametrize(
    ("output", "targets", "error", "message"),
    [
        ("softmax", None, TypeError, "expected int32 class numbers"),
        ("softmax", VALUES, TypeError, "expected int32 class numbers"),
        ("softmax", LABELS.astype(np.int64), TypeError, "expected int32 class"),
        ("softmax", LABELS[:-1], ValueError, "not one per row"),
        ("softmax", np.append(LABELS, LABELS), ValueError, "not one per row"),
        ("softmax", LABELS - 1, ValueError, "a class that has no output"),
        ("softmax", LABELS + 5, ValueError, "a class that has no output"),
        ("sigmoid", None, TypeError, "expected a contiguous float32 array of two"),
        ("identity", None, TypeError, "expected a contiguous float32 array of two"),
        ("identity", LABELS, TypeError, "expected a contiguous float32 array of two"),
        ("identity", VALUES.astype(np.float64), TypeError, "expected a contiguous"),
        ("identity", np.asfortranarray(VALUES), TypeError, "expected a contiguous"),
        ("identity", VALUES[:, 1:].copy(), ValueError, "not one column per output"),
        ("identity", VALUES[1:], ValueError, "not one per row"),
    ],
)
def test_wrong_targets_are_named(output, targets, error, message):
    case = Case.random(10, sizes=(4, 5), n_rows=20, score="gradient")
    case.network = SparseNetwork(case.network.layers, "relu", output)
    with pytest.raises(error, match=f"targets: {message}"):
        case.search(targets=targets)
    right = LABELS if output == "softmax" else VALUES
    assert len(case.search(targets=right)[0][0]) == case.n_wanted[0]
