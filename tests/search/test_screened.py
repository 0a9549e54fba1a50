"""The screened search: equal to brute force, or nearly, and as good as it says."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from hypothesis import assume, given
from hypothesis import strategies as st

from cofire import engine
from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.search import Linear, Screened, screened
from helpers.engine_cases import examples, random_network
from helpers.search_cases import KINDS, Case, assert_same_indices
from helpers.similarity_cases import (
    assert_recall,
    find,
    lifelike,
    no_indices,
    of_all_kinds,
    of_every_score,
    one_layer,
    pairs,
    screen,
    true_recall,
)

pytestmark = pytest.mark.usefixtures("small_networks_are_screened")


# ---- screened: all rows and all indices are the exact search -------------------------


def assert_screened_is_brute_force(case, n_threads=1):
    found = find(case, Screened(recall=1.0), n_threads=n_threads)
    assert_same_indices(found.indices, case.brute_force())
    assert found.recall == [1.0] * len(case.n_wanted)


small_widths = st.sampled_from([1, 2, 3, 4, 7, 12, 25, 32])  # 1024 pairs at most


@examples(50)
@given(
    n_rows=st.sampled_from([513, 576, 640, 1000, 1024, 1600, 4096]),
    n_threads=st.sampled_from([1, 2, 3, 8]),
    **of_all_kinds | {"sizes": st.lists(small_widths, min_size=2, max_size=4)},
)
def test_a_race_of_all_pairs_over_all_rows_is_brute_force(
    seed, n_rows, n_threads, **how
):
    if how["activation"] == "relu" and n_rows % 64:
        how["dead"] = 0.0  # see the next test
    case = Case.random(seed, n_rows=n_rows, **how)
    assume(case.sums_are_exact())
    assert_screened_is_brute_force(case, n_threads)


@of_every_score
@pytest.mark.parametrize("n_rows", [513, 600, 1000])
def test_silent_neurons_stay_silent_in_the_last_tile(n_rows, score):
    for seed in range(6):
        how = {"dead": 0.3, "wish": 0.3, "score": score}
        case = Case.random(seed, sizes=(13, 20, 9, 5), n_rows=n_rows, **how)
        assert case.sums_are_exact()
        assert_screened_is_brute_force(case)


@pytest.mark.parametrize("n_rows", [0, 1, 7, 64, 128, 320, 512])
@pytest.mark.parametrize("kind", KINDS)
def test_the_native_race_takes_few_rows_as_well(n_rows, kind):
    for seed in range(6):
        how = {"dead": 0.0, "kind": kind, "weighted": seed % 2 == 1}
        case = Case.random(seed, sizes=(13, 20, 9, 5), n_rows=n_rows, **how)
        found = screen(case, recall=1.0)
        assert_same_indices(found.indices, case.brute_force())
        assert found.recall == [1.0] * 3 and found.n_rows == n_rows


def test_few_rows_are_searched_exactly(monkeypatch):
    def refuse(*arguments, **more):
        raise AssertionError("screened all the same")

    case = lifelike(1000)
    few = {"row_ids": case.row_ids[: screened.FEW_ROWS]}
    with monkeypatch.context() as patch:
        patch.setattr(engine, "screened_pairs", refuse)
        found = find(case, "screened", factor=[64, 64], **few)
        with pytest.raises(AssertionError, match="all the same"):
            find(case, "screened", row_ids=case.row_ids[: screened.FEW_ROWS + 1])
    assert_same_indices(found.indices, find(case, "exact", **few).indices)
    assert found.recall == [1.0, 1.0]
    assert found.factor == [screened.FIRST_FACTOR] * 2


def test_a_recall_of_1_is_exact_for_many_rows_too():
    for seed in range(6):
        how = {"dead": 0.0, "activation": "identity", "wish": 0.3}
        case = Case.random(seed, sizes=(13, 20, 9, 5), n_rows=12_800, **how)
        assert case.sums_are_exact()
        assert_screened_is_brute_force(case)


# ---- screened: nearly the best -------------------------------------------------------


@of_every_score
@pytest.mark.parametrize("n_rows", [2000, 5000])
def test_the_recall_is_what_was_asked_for_and_what_is_reported(n_rows, score):
    assert_recall(lifelike(n_rows, score=score), Screened(recall=0.99), 0.97)


@pytest.mark.parametrize("output", ["sigmoid", "softmax"])
@pytest.mark.parametrize("n_rows", [2000, 5000])
def test_the_recall_does_not_depend_on_what_follows_the_last_layer(n_rows, output):
    assert_recall(lifelike(n_rows, output), Screened(recall=0.99), 0.97)


def test_weights_of_rows_count_in_the_sample_and_in_the_race():
    case = lifelike(5000, weighted=True)
    assert_recall(case, Screened(recall=0.99), 0.97)
    unweighted = find(case, "screened", sample_weight=None).indices
    assert min(true_recall(case, unweighted)) < 0.97


def test_where_nothing_is_alike_all_pairs_are_looked_at_and_none_held():
    rng = np.random.default_rng(0)
    n = 500
    X = rng.normal(size=(3000, n)).astype(np.float32)
    indices = np.arange(n) * n + rng.permutation(n)
    case = one_layer(indices, np.ones(n), X, n, kept=[indices], n_wanted=[100])
    found = find(case, "screened", factor=[700])
    assert found.recall == [1.0] and found.factor == [613]
    assert np.array_equal(found.indices[0], find(case, "exact").indices[0])


def test_a_lower_recall_may_be_asked_for():
    case = lifelike(8000)
    truth = true_recall(case, find(case, Screened(recall=0.8)).indices)
    assert 0.75 < np.average(truth, weights=case.n_wanted) < 0.98
    assert_recall(case, Screened(recall=0.95), 0.93)


@pytest.mark.parametrize("recall", [0.9, 0.98])
def test_the_recall_that_is_asked_for_is_that_of_many_searches(recall):
    case, truth, told = lifelike(20_000), [], []
    for epoch in range(12):
        found = find(case, Screened(recall), epoch=epoch)
        truth.append(
            np.average(true_recall(case, found.indices), weights=case.n_wanted)
        )
        told.append(np.average(found.recall, weights=case.n_wanted))
    assert np.mean(truth) >= recall
    # Told is rather too little than too much.
    over = np.mean(told) - np.mean(truth)
    assert -0.4 * (1 - recall) < over < 0.2 * (1 - recall)


def rare_pairs(n_rows=24_000, n_pairs=40, n_others=100):
    """Pairs of features that are not 0 in the same 3 rows, and a unit for each.

    The unit listens to one of the two: the best indices are those of the others.
    """
    rng = np.random.default_rng(0)
    X = np.zeros((n_rows, 2 * n_pairs + n_others), np.float32)
    often = rng.random((n_rows, n_others))
    X[:, 2 * n_pairs :] = often * (rng.random((n_rows, n_others)) < 0.2)
    for pair in range(n_pairs):
        rows = rng.choice(n_rows, 3, replace=False)
        X[rows, 2 * pair] = X[rows, 2 * pair + 1] = rng.uniform(1, 2, size=3)
    units = np.arange(n_pairs)
    rare = units * X.shape[1] + 2 * units
    n_out, indices, weights = n_pairs + 60, [rare], [np.ones(n_pairs)]
    for unit in range(n_pairs, n_out):
        listens = 2 * n_pairs + rng.choice(n_others, 6, replace=False)
        indices.append(unit * X.shape[1] + np.sort(listens))
        weights.append(rng.normal(size=6))
    indices, weights = np.concatenate(indices), np.concatenate(weights)
    how = {"kept": [indices], "n_wanted": [2 * n_pairs]}
    return one_layer(indices, weights, X, n_out, **how), rare + 1


@pytest.mark.parametrize("n_rows", [6000, 24_000])
def test_units_that_listen_to_rare_features_are_found(n_rows):
    case, best = rare_pairs(n_rows)
    for similarity in (Screened(), Linear()):
        assert np.isin(best, find(case, similarity).indices[0]).all()


def test_a_uniform_sample_would_miss_rare_features():
    case, best = rare_pairs()
    for similarity in (Screened(), Linear()):
        uniform = similarity.find(pairs(case), None, None)
        assert np.isin(best, uniform.indices[0]).mean() < 0.7


def test_the_recall_reported_of_rare_neurons_is_true():
    # Each of 300 features is not 0 in about 12 of 16,000 rows; every other feature
    # shares some of its rows with the one before.
    rng = np.random.default_rng(0)
    X = np.zeros((16_000, 300), np.float32)
    for f in range(300):
        rows = rng.choice(len(X), 12, replace=False)
        X[rows, f] = rng.uniform(1, 2, size=12)
        if f % 2:
            shared = np.flatnonzero(X[:, f - 1])[: rng.integers(12)]
            X[shared, f] = rng.uniform(1, 2, size=len(shared))
    layer = random_network(rng, (300, 300), densities=[0.01]).layers[0]
    sizes = np.abs(layer.weights)
    how = {"kept": [layer.flat_indices], "n_wanted": [400]}
    case = one_layer(layer.flat_indices, sizes, scipy.sparse.csr_array(X), 300, **how)
    assert_recall(case, Screened(recall=0.99), 0.9)


# ---- the race ------------------------------------------------------------------------


def diagonal(n=200, n_rows=40_000, bias=0.0):
    """Each of n outputs repeats an input, and is like no other: the best n indices."""
    X = np.random.default_rng(0).normal(size=(n_rows, n)).astype(np.float32)
    return one_layer(np.arange(n) * (n + 1), 1.0, X, n, bias=bias)


def test_where_the_best_stand_out_few_rows_are_seen():
    case = diagonal(bias=np.linspace(0, -1, 200))
    found = screen(case, recall=0.99)
    assert found.indices[0].tolist() == list(range(0, 40_000, 201))
    assert found.n_rows <= len(case.row_ids) // 8
    assert found.recall[0] >= 0.99


def test_equals_that_stand_out_together_need_few_rows():
    found = screen(diagonal(), recall=0.99)
    assert found.indices[0].tolist() == list(range(0, 40_000, 201))
    assert found.n_rows <= 40_000 // 8


def test_a_recall_of_1_takes_all_rows():
    case = lifelike(6000)
    assert screen(case, recall=1.0).n_rows == 6000
    assert screen(diagonal(bias=np.linspace(0, -1, 200)), recall=1.0).n_rows == 40_000


def test_the_more_recall_is_asked_for_the_more_rows_are_seen():
    case = lifelike(20_000)
    seen = [screen(case, recall=recall).n_rows for recall in (0.5, 0.9, 0.97, 1.0)]
    assert seen == sorted(seen)
    assert seen[0] < seen[2] / 2 and seen[-1] == 20_000


def test_a_small_layer_beside_a_large_one_has_its_recall_too():
    # 1500 indices that stand out, and two among 60,000 that are nearly equal.
    n_in, n_hidden, n_out = 300, 1500, 40
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(20_000, n_in)).astype(np.float32)
        repeats = np.arange(n_hidden) * n_in + rng.integers(n_in, size=n_hidden)
        ones, bias = np.ones(n_hidden), np.linspace(0, -1, n_hidden)
        first = SparseLayer.from_flat_indices(repeats, ones, bias, n_in, n_hidden)
        second = random_network(rng, (n_hidden, n_out), densities=[0.002]).layers[0]
        second.weights[:] /= 100
        second.bias[:] = 1
        case = one_layer([], [], X, 1)
        case.network = SparseNetwork([first, second], "relu", "identity")
        case = replace(case, kept=[no_indices()] * 2, n_wanted=[n_hidden, 2])
        assert min(screen(case, recall=0.99).recall) >= 0.5


# ---- how many candidates -------------------------------------------------------------


def test_the_candidates_grow_as_far_as_needed_and_the_factor_says_so():
    case = lifelike(3000, score="lowest_cosine")
    few = screen(case, factor=1)
    assert min(true_recall(case, few.indices)) >= 0.97
    assert min(few.factor) > 1
    enough = screen(case, factor=max(few.factor))
    assert max(enough.factor) <= max(few.factor)


def test_the_factor_is_halved_where_it_was_more_than_enough():
    case = lifelike(3000, score="hebb")
    factors = [[64, 64]]
    for _ in range(6):
        found = find(case, "screened", factor=factors[-1])
        assert min(true_recall(case, found.indices)) >= 0.97
        factors.append(found.factor)
    assert factors[1] == [32, 32]
    for before, after in zip(factors[:-1], factors[1:], strict=True):
        for a, b in zip(before, after, strict=True):
            assert b in (a, a // 2, a - 1)
    assert min(factors[-1]) >= 2 and max(factors[-1]) <= 8


def test_more_candidates_than_free_indices_do_no_harm():
    case = Case.random(3, sizes=(13, 40, 30, 5), n_rows=640, dead=0.0, wish=0.2)
    many = find(case, Screened(recall=1.0), factor=[2**40] * 3)
    assert_same_indices(many.indices, case.brute_force())
    assert many.recall == [1.0] * 3
