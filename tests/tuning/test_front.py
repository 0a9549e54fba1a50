"""The front and the choices, beside slow definitions."""

from statistics import fmean, stdev

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


def row(trial, n_networks, scores, connections):
    return {
        "trial": trial,
        "n_networks": n_networks,
        "score": fmean(scores),
        "scores": list(scores),
        "folds": 2,
        "connections": connections,
    }


some = st.lists(
    st.builds(
        row,
        st.integers(0, 5),
        st.sampled_from([1, 2]),
        st.lists(st.integers(0, 9), min_size=4, max_size=4),
        st.integers(1, 9),
    ),
    min_size=1,
).map(lambda rows: [row(0, 2, [3, 4, 2, 3], 7), *rows])


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


def surely_behind(one, best):
    """How far, with the standard error of two folds' mean difference on top."""
    apart = [b - a for a, b in zip(one["scores"], best["scores"], strict=True)]
    return fmean(apart) + stdev(apart) / 2**0.5


@given(some, st.integers(0, 9))
def test_the_smallest_is_as_good_as_it_must_be(found, within):
    best, smallest = best_of(found), smallest_of(found, within)
    assert best["n_networks"] == 2
    assert all(r["score"] <= best["score"] for r in found if r["n_networks"] == 2)
    assert surely_behind(smallest, best) <= within + 1e-9
    assert all(
        one["connections"] >= smallest["connections"]
        for one in found
        if surely_behind(one, best) <= within - 1e-9
    )


def test_a_lucky_score_is_not_enough_to_be_the_smallest():
    best = row(1, 2, [0.9, 0.9, 0.9, 0.9], 100)
    lucky = row(2, 1, [1.0, 0.8, 1.0, 0.77], 5)  # 0.8925, from 0.77 to 1
    steady = row(3, 1, [0.895, 0.895, 0.895, 0.895], 50)
    assert smallest_of([best, lucky, steady], within=0.01) is steady


@given(some)
def test_finalists_have_the_default_the_front_and_the_best(found):
    chosen = finalists(found)
    needed = {0, best_of(found)["trial"], *(r["trial"] for r in front_of(found))}
    assert needed <= set(chosen) and chosen == sorted(set(chosen))


def test_few_connections_are_kept_to_with_fewer_networks():
    found = [
        row(0, 1, [8, 8], 50),
        row(0, 2, [9, 9], 100),
        row(1, 1, [6, 6], 20),
        row(1, 2, [7, 7], 40),
    ]
    assert best_of(found, 60) is found[0]
    assert smallest_of(found, 2, 60) is found[2]
    with pytest.raises(ValueError, match="`max_connections=5`: .* smallest has 20"):
        best_of(found, 5)


def trial(*scores):
    return Trial({"epsilon": 1.0}, [Ensemble(1, list(scores), 10, 80, 5.0)])


def test_rows_of_finalists_are_of_later_repeats_only():
    trials = {
        (0, 0): trial(0.1, 0.1),
        (0, 1): trial(0.8, 0.6),
        (0, 2): trial(0.7, 0.9),
        (1, 0): Trial({}, []),  # stopped
        (2, 0): trial(0.5, 0.7),
    }
    first, second = found = rows_of(trials)
    assert default_of(found) is first and second["trial"] == 2
    assert first["score"] == pytest.approx(0.75) and first["fits"] == 4
    assert first["scores"] == [0.8, 0.6, 0.7, 0.9]
    # The standard deviation of four scores, over the root of two folds.
    assert first["standard_error"] == pytest.approx(0.1290994 / 2**0.5)
    assert first["params"] == {"epsilon": 1.0}
    assert second["score"] == pytest.approx(0.6) and second["fits"] == 2


def test_a_default_that_diverges_in_all_repeats_is_an_error():
    trials = {(0, 0): trial(0.8, 0.6), (0, 1): Trial({}, []), (0, 2): Trial({}, [])}
    with pytest.raises(ValueError, match="estimator: its training diverges on these"):
        default_of(rows_of(trials))


def test_a_finalist_that_diverged_once_is_not_the_smallest():
    trials = {(0, r): trial(0.8, 0.6) for r in range(3)} | {
        (1, 0): trial(0.8, 0.6),
        (1, 1): trial(0.9, 0.9),
        (1, 2): Trial({}, []),
    }
    found = rows_of(trials)
    found[1]["connections"] = 1
    assert best_of(found)["trial"] == 1 and smallest_of(found, 9.0)["trial"] == 1
    assert smallest_of([found[0], {**found[1], "score": 0.1}], 9.0)["trial"] == 0
