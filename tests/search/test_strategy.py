"""What every search promises: enough free indices, and the same ones again."""

import copy
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofire.search import Screened, screened
from helpers import processes, simd
from helpers.engine_cases import examples, random_network
from helpers.estimator_cases import network_bits, same
from helpers.search_cases import Case, assert_same_indices
from helpers.search_programs import indices
from helpers.similarity_cases import (
    assert_indices,
    assert_same_found,
    find,
    lifelike,
    of_all_kinds,
    of_every_mode,
    of_every_score,
    one_layer,
)

pytestmark = pytest.mark.usefixtures("small_networks_are_screened")


@of_every_mode
@examples(60)
@given(
    n_rows=st.sampled_from([0, 1, 70, 512, 513, 640, 1100]),
    n_threads=st.sampled_from([1, 2, 3, 8]),
    **of_all_kinds,
)
def test_as_many_free_indices_as_wanted_are_found(mode, seed, n_threads, **how):
    case = Case.random(seed, **how)
    found = find(case, mode, n_threads=n_threads)
    assert_indices(case, found.indices)
    if mode == "screened":
        n_layers = len(case.n_wanted)
        assert len(found.recall) == len(found.factor) == n_layers
        assert all(0 < recall <= 1 for recall in found.recall)
        assert all(type(factor) is int and factor >= 1 for factor in found.factor)
    else:
        assert found.recall is None and found.factor is None


@of_every_mode
@pytest.mark.parametrize("n_rows", [100, 700])
def test_all_free_indices_are_found_where_all_are_wanted(mode, n_rows):
    case = Case.random(1, sizes=(9, 40, 30, 5), n_rows=n_rows, wish=1.0)
    for layer, kept, found in zip(
        case.network.layers, case.kept, find(case, mode).indices, strict=True
    ):
        free = np.setdiff1d(np.arange(layer.n_in * layer.n_out), kept)
        np.testing.assert_array_equal(found, free)


@of_every_mode
def test_a_layer_of_which_nothing_is_wanted_is_left_out(mode):
    case = lifelike(700)
    case = replace(case, n_wanted=[0, case.n_wanted[1]])
    found = find(case, mode)
    assert_indices(case, found.indices)
    if mode == "screened":
        assert found.recall[0] == 1 and found.factor[0] == screened.FIRST_FACTOR


def tricky(score):
    """Cases with silent neurons, with sums that are rounded, with rounds of rows."""
    # 640 rows fill their tiles: see the test of rows that do not.
    how = {"weighted": True, "score": score}
    yield Case.random(2, sizes=(13, 80, 60, 5), n_rows=640, dead=0.4, wish=0.1, **how)
    yield lifelike(700, score=score)
    yield lifelike(5000, score=score, weighted=True)


@of_every_mode
@of_every_score
def test_the_number_of_threads_changes_nothing(mode, score):
    for case, counts in zip(tricky(score), [(2, 3, 8), (8,), (3,)], strict=True):
        alone = find(case, mode)
        for n_threads in counts:
            assert_same_found(find(case, mode, n_threads=n_threads), alone)


@of_every_mode
def test_the_same_search_finds_the_same_again(mode):
    for case in tricky("cosine"):
        first = find(case, mode, n_threads=2)
        for _ in range(2):
            assert_same_found(find(case, mode, n_threads=2), first)


def test_the_reported_recall_is_the_same_to_the_bit_for_any_number_of_threads():
    rng = np.random.default_rng(0)
    X = np.maximum(rng.normal(size=(9000, 25)) @ rng.normal(size=(25, 400)), 0)
    network = random_network(rng, (400, 600), output="identity", densities=[0.05])
    case = one_layer([], [], X.astype(np.float32), 600, n_wanted=[4000])
    case.network = network
    first = find(case, Screened(recall=0.9))
    for n_threads in [8] * 20:
        found = find(case, Screened(recall=0.9), n_threads=n_threads)
        assert_same_indices(found.indices, first.indices)
        assert found.recall == first.recall


@of_every_mode
@pytest.mark.parametrize("n_rows", [0, 100, 700])
def test_among_equals_seed_and_epoch_decide(mode, n_rows):
    # All 3600 pairs are alike.
    X = np.ones((n_rows, 60), np.float32)
    case = one_layer(np.arange(60) * 61, 1.0, X, 60, n_wanted=[90])
    found = [
        find(case, mode, **how).indices[0]
        for how in ({}, {"seed": 1}, {"epoch": 99}, {"seed": 1, "epoch": 99})
    ]
    assert len({indices.tobytes() for indices in found}) == 4


@of_every_mode
def test_nothing_is_changed(mode):
    case = lifelike(700)
    before = copy.deepcopy((case.row_ids, case.kept, network_bits(case.network)))
    find(case, mode)
    after = (case.row_ids, case.kept, network_bits(case.network))
    for ours, theirs in zip(before, after, strict=True):
        assert same(list(ours), list(theirs))


@pytest.mark.parametrize("level", simd.LEVELS)
def test_every_simd_level_finds_the_same_among_whole_numbers(level):
    simd.need(level)
    run = subprocess.run(
        processes.program("search_programs", "indices"),
        env=processes.environment(COFIRE_SIMD=level),
        capture_output=True,
        text=True,
    )
    lines = list(indices())
    assert len(lines) == 16
    assert run.stdout.splitlines() == lines, run.stderr
