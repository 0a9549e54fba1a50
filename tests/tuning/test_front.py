"""The front and the choices, beside slow definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofire.tuning.front import (
    best_of,
    default_of,
    finalists,
    front_of,
    rows_of,
    smallest_of,
)
from cofire.tuning.trial import Ensemble, Trial


def rows(*values):
    """From (trial, n_networks, score, connections)."""
    names = ("trial", "n_networks", "score", "connections")
    return [dict(zip(names, value, strict=True)) for value in values]


some = st.lists(
    st.tuples(
        st.integers(0, 5), st.sampled_from([1, 2]), st.integers(0, 9), st.integers(1, 9)
    ),
    min_size=1,
).map(lambda values: rows((0, 2, 3, 7), *values))


def dominates(a, b):
    as_good = a["score"] >= b["score"] and a["connections"] <= b["connections"]
    return as_good and (a["score"], a["connections"]) != (b["score"], b["connections"])


@given(some)
def test_the_front_is_what_nothing_dominates(found):
    front = front_of(found)
    free = [r for r in found if not any(dominates(other, r) for other in found)]
    key = ("score", "connections")
    assert {tuple(r[k] for k in key) for r in front} == {
        tuple(r[k] for k in key) for r in free
    }
    assert len(front) == len({tuple(r[k] for k in key) for r in front})
    sizes = [row["connections"] for row in front]
    assert sizes == sorted(sizes)


@given(some, st.integers(0, 9))
def test_the_smallest_is_as_good_as_it_must_be(found, within):
    best, smallest = best_of(found), smallest_of(found, within)
    assert best["n_networks"] == 2
    assert all(r["score"] <= best["score"] for r in found if r["n_networks"] == 2)
    assert smallest["score"] >= best["score"] - within
    assert all(
        row["connections"] >= smallest["connections"]
        for row in found
        if row["score"] >= best["score"] - within
    )


@given(some)
def test_finalists_have_the_default_the_front_and_the_best(found):
    chosen = finalists(found)
    needed = {0, best_of(found)["trial"], *(r["trial"] for r in front_of(found))}
    assert needed <= set(chosen) and chosen == sorted(set(chosen))


def test_few_connections_are_kept_to_with_fewer_networks():
    found = rows((0, 1, 8, 50), (0, 2, 9, 100), (1, 1, 6, 20), (1, 2, 7, 40))
    assert best_of(found, 60) is found[0]
    assert smallest_of(found, 2, 60) is found[2]
    with pytest.raises(ValueError, match="`max_connections=5`: .* smallest has 20"):
        best_of(found, 5)


def test_rows_average_repeats_and_leave_out_stopped_trials():
    def trial(*scores):
        return Trial({"epsilon": 1.0}, [Ensemble(1, list(scores), 10, 80, 5.0)])

    trials = {(0, 0): trial(0.8, 0.6), (0, 1): trial(0.7, 0.9), (1, 0): Trial({}, [])}
    (row,) = found = rows_of(trials)
    assert default_of(found) is row
    assert row["score"] == pytest.approx(0.75) and row["fits"] == 4
    # The standard deviation of four scores, over the root of two folds.
    assert row["standard_error"] == pytest.approx(0.1290994 / 2**0.5)
    assert row["params"] == {"epsilon": 1.0}
