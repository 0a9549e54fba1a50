"""Wrong arguments of the native searches are named."""

import numpy as np
import pytest

from cofire import engine
from cofire.core.network import SparseNetwork
from cofire.engine import _native
from helpers.search_cases import Case
from helpers.similarity_cases import pairs


def screen_with(**changes):
    case = Case.random(10, sizes=(4, 5), n_rows=20, fullness=0.0)
    how = {"sample_ids": case.row_ids, "row_weight": None, "factor": [4], "recall": 0.9}
    how |= {name: changes.pop(name) for name in how.keys() & changes.keys()}
    return engine.screened_pairs(pairs(case, **changes), **how)


def hash_with(**changes):
    case = Case.random(10, sizes=(4, 5), n_rows=20, fullness=0.0)
    how = {"row_weight": None, "n_tables": 8}
    how |= {name: changes.pop(name) for name in how.keys() & changes.keys()}
    return engine.hashed_pairs(pairs(case, **changes), **how)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"factor": [0]}, r"factor\[0\]: must be at least 1, got 0"),
        ({"factor": [-4]}, r"factor\[0\]: must be at least 1, got -4"),
        ({"factor": []}, "factor: expected 1, one per layer, got 0"),
        ({"factor": [4, 4]}, "factor: expected 1, one per layer, got 2"),
        ({"recall": 0.0}, r"recall: must lie in \(0, 1\], got 0"),
        ({"recall": 1.01}, r"recall: must lie in \(0, 1\], got 1.01"),
        ({"recall": float("nan")}, r"recall: must lie in \(0, 1\], got nan"),
        ({"score": "gradient"}, "score: 'gradient' cannot be screened"),
        ({"score": "sine"}, "^score: unknown 'sine'; expected one of cosine, pearson,"),
        ({"ties": "coin"}, "^ties: unknown 'coin'; expected one of random, index$"),
        ({"row_weight": np.ones(19, np.float32)}, "row_weight: expected 20, .* got 19"),
        ({"row_weight": np.ones(21, np.float32)}, "row_weight: expected 20, .* got 21"),
        ({"sample_ids": np.array([22])}, r"sample_ids: .*, but sample_ids\[0\] = 22"),
        ({"sample_ids": np.array([-1])}, r"sample_ids: .*, but sample_ids\[0\] = -1"),
        ({"row_ids": np.array([22])}, r"row_ids: must lie in \[0, 22\), but .* = 22"),
        ({"sample_weight": np.ones(3, np.float32)}, "sample_weight: .* 22, .* got 3"),
        ({"kept": []}, "kept: expected 1, one per layer, got 0"),
        ({"kept": [np.array([3, 2])]}, r"kept\[0\]: must ascend, .* = 3 and .* = 2"),
        ({"n_wanted": [21]}, r"n_wanted\[0\]: must lie in \[0, 20\], .* got 21"),
    ],
)
def test_a_wrong_argument_of_the_screened_search_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        screen_with(**changes)
    assert len(screen_with()) == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_tables": 0}, "n_tables: must be at least 1, got 0"),
        ({"n_tables": -1}, "n_tables: must be at least 1, got -1"),
        ({"score": "gradient"}, "score: 'gradient' cannot be hashed"),
        ({"row_weight": np.ones(19, np.float32)}, "row_weight: expected 20, .* got 19"),
        ({"row_ids": np.array([22])}, r"row_ids: must lie in \[0, 22\), but .* = 22"),
        ({"kept": []}, "kept: expected 1, one per layer, got 0"),
        ({"n_wanted": [21]}, r"n_wanted\[0\]: must lie in \[0, 20\], .* got 21"),
    ],
)
def test_a_wrong_argument_of_the_hashed_search_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        hash_with(**changes)
    found, _ = hash_with()
    assert len(found) == 1


def test_arrays_of_the_other_searches_are_not_converted():
    ids = np.arange(20, dtype=np.int32)
    weight = np.ones(20)
    for changes in ({"sample_ids": ids}, {"row_weight": weight}, {"row_ids": ids}):
        with pytest.raises(TypeError, match="contiguous .* got .* of shape"):
            screen_with(**changes)
    for changes in ({"row_weight": weight}, {"row_ids": ids}):
        with pytest.raises(TypeError, match="contiguous .* got .* of shape"):
            hash_with(**changes)


@pytest.mark.parametrize(
    ("ids", "size", "message"),
    [
        ([5], 1, r"row_ids: must lie in \[0, 5\), but row_ids\[0\] = 5"),
        ([-1], 1, r"row_ids: must lie in \[0, 5\), but row_ids\[0\] = -1"),
        ([0, 1], 1, "out: expected 2, one per row, got 1"),
    ],
)
def test_a_wrong_argument_of_rarity_is_named(ids, size, message):
    rows = engine.Rows(np.ones((5, 2), np.float32))
    with pytest.raises(ValueError, match=message):
        _native.rarity(rows.native, np.array(ids), np.empty(size, np.int64))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"row_ids": np.array([0, 99])}, r"row_ids: .*, but row_ids\[1\] = 99"),
        ({"kept": [np.array([3, 2])]}, r"kept\[0\]: must ascend, .* = 3 and .* = 2"),
        ({"kept": [np.array([2, 2])]}, r"kept\[0\]: must ascend, .* = 2 and .* = 2"),
        ({"kept": [np.array([-1, 2])]}, r"kept\[0\]: must lie in .* = -1"),
        ({"kept": [np.array([5, 20])]}, r"kept\[0\]: must lie in \[0, 20\)"),
        ({"kept": []}, "kept: expected 1, one per layer, got 0"),
        ({"n_wanted": [21]}, r"n_wanted\[0\]: must lie in \[0, 20\], .* got 21"),
        ({"n_wanted": [-1]}, r"n_wanted\[0\]: must lie in \[0, 20\], .* got -1"),
        ({"sample_weight": np.ones(3, np.float32)}, "sample_weight: .* got 3"),
        ({"score": "sine"}, "^score: unknown 'sine'; expected one of cosine, "),
        ({"score": ""}, "^score: unknown ''; expected one of cosine, "),
        ({"ties": "coin"}, "^ties: unknown 'coin'; expected one of random, index$"),
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
    with pytest.raises(TypeError, match="^row_ids: expected .* int64 .* int32"):
        case.search(row_ids=case.row_ids.astype(np.int32))


LABELS, VALUES = np.zeros(22, np.int32), np.zeros((22, 5), np.float32)


@pytest.mark.parametrize(
    ("output", "targets", "error", "message"),
    [
        ("softmax", None, TypeError, "expected a contiguous int32 array"),
        ("softmax", VALUES, TypeError, "expected a contiguous int32 array"),
        ("softmax", LABELS.astype(np.int64), TypeError, "expected .* int32 .* int64"),
        ("softmax", LABELS[:-1], ValueError, "expected 22, one per row, got 21"),
        ("softmax", np.append(LABELS, LABELS), ValueError, "expected 22, .* got 44"),
        ("softmax", LABELS - 1, ValueError, r"must lie in \[0, 5\), .* = -1"),
        ("softmax", LABELS + 5, ValueError, r"must lie in \[0, 5\), .* = 5"),
        ("sigmoid", None, TypeError, "expected a contiguous float32 array with 2"),
        ("identity", None, TypeError, "expected a contiguous float32 array with 2"),
        ("identity", LABELS, TypeError, "expected a contiguous float32 array with 2"),
        ("identity", VALUES.astype(np.float64), TypeError, "expected a contiguous"),
        ("identity", np.asfortranarray(VALUES), TypeError, "expected a contiguous"),
        ("identity", VALUES[:, 1:].copy(), ValueError, "expected 5 columns, .* got 4"),
        ("identity", VALUES[1:], ValueError, "expected 22, one per row, got 21"),
    ],
)
def test_wrong_targets_are_named(output, targets, error, message):
    case = Case.random(10, sizes=(4, 5), n_rows=20, score="gradient")
    case.network = SparseNetwork(case.network.layers, "relu", output)
    with pytest.raises(error, match=f"targets: {message}"):
        case.search(targets=targets)
    right = LABELS if output == "softmax" else VALUES
    assert len(case.search(targets=right)[0][0]) == case.n_wanted[0]
