"""What must not change a search: threads, other layers and rows, SIMD levels."""

import subprocess
import sys
from functools import cache

import numpy as np
import pytest

from cofire import engine
from helpers import processes, simd
from helpers.engine_cases import random_network, random_targets
from helpers.search_cases import (
    Case,
    as_rows,
    assert_same_indices,
    of_all_ties,
    of_every_score,
)


def real_case(seed=5, n_rows=2500, **more):
    """Rows and weights where every order of summing gives other bits."""
    rng = np.random.default_rng(seed)
    case = Case.random(seed, sizes=(40, 150, 90, 5), n_rows=n_rows, wish=0.02, **more)
    case.targets = random_targets(rng, "softmax", n_rows + 2, 5)
    case.network = random_network(rng, (40, 150, 90, 5), densities=[0.1, 0.05, 0.2])
    case.rows = engine.Rows(rng.normal(size=(n_rows + 2, 40)).astype(np.float32))
    return case


@of_every_score
@of_all_ties
@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_the_number_of_threads_changes_nothing(n_threads, ties, score):
    case = real_case(score=score, ties=ties)
    indices, n_firing = case.search(n_threads)
    expected, expected_firing = case.search(1)
    assert_same_indices(indices, expected)
    assert n_firing == expected_firing


@of_every_score
def test_a_layer_is_found_the_same_when_others_are_left_out(score):
    case = real_case(score=score)
    alone = case.search(n_wanted=[0, case.n_wanted[1], 0])[0]
    assert [len(p) for p in alone] == [0, case.n_wanted[1], 0]
    np.testing.assert_array_equal(alone[1], case.search()[0][1])


@of_every_score
def test_rows_that_are_not_asked_for_do_not_matter(score):
    case = Case.random(6, sizes=(9, 12, 5), n_rows=50, score=score)
    expected = case.search()[0]
    X = case.dense.copy()
    for array in (X, case.targets):
        array[np.setdiff1d(np.arange(len(X)), case.row_ids)] = np.nan
    case.rows = as_rows(X, "floats")
    assert_same_indices(case.search()[0], expected)


@of_every_score
def test_the_order_of_few_rows_does_not_matter(score):
    case = real_case(n_rows=256, score=score)
    expected = case.search()
    indices, n_firing = case.search(row_ids=case.row_ids[::-1].copy())
    assert_same_indices(indices, expected[0])
    assert n_firing == expected[1]


@of_every_score
def test_among_few_real_rows_one_of_weight_two_is_the_row_twice(score):
    case = real_case(n_rows=100, weighted=True, score=score)
    twice = np.repeat(case.row_ids, case.sample_weight[case.row_ids].astype(int))
    expected = case.search(row_ids=twice, sample_weight=None)
    indices, n_firing = case.search()
    assert_same_indices(indices, expected[0])
    assert n_firing == expected[1]


@of_every_score
def test_a_row_of_weight_two_is_the_row_twice(score):
    how = {"weighted": True, "score": score}
    case = Case.random(7, sizes=(20, 60, 40, 6), n_rows=500, **how)
    twice = np.repeat(case.row_ids, case.sample_weight[case.row_ids].astype(int))
    expected = case.search(row_ids=twice, sample_weight=None)
    indices, n_firing = case.search()
    assert_same_indices(indices, expected[0])
    assert n_firing == expected[1]


def test_seed_layer_and_epoch_decide_ties():
    # No rows: every pair has rank 0, and only the lots are left.
    case = Case.random(8, sizes=(30, 30, 30), n_rows=0, fullness=0.0, wish=0.1)
    indices = [
        p for how in ({}, {"seed": 1}, {"epoch": 99}) for p in case.search(**how)[0]
    ]
    assert len({p.tobytes() for p in indices}) == 6
    for p in indices:
        assert 200 < p.mean() < 700  # uniform over 900 indices


LEVEL_SCRIPT = """
import sys, zlib
from cofire import engine
from helpers.search_cases import SCORES, Case
print(engine.simd_level())
for n_rows in (200, 1500):
    case = Case.random(
        9, sizes=(40, 130, 90, 5), n_rows=n_rows, weighted=True, wish=0.03
    )
    for case.score in SCORES:
        for ties in engine.TIES:
            indices, n_firing = case.search(2, ties=ties)
            print(n_firing, [zlib.crc32(p.tobytes()) for p in indices])
"""


@cache
def run_level_script(**environment):
    command = [sys.executable, "-c", LEVEL_SCRIPT]
    environment = processes.environment(**environment)
    return subprocess.run(command, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("level", simd.LEVELS)
def test_every_simd_level_finds_the_same(level):
    simd.need(level)
    found = run_level_script(COFIRE_SIMD=level)
    name, *lines = found.stdout.splitlines()
    assert name == level, found.stderr
    assert len(lines) == 20, found.stderr
    assert lines == run_level_script().stdout.splitlines()[1:]
