"""Three ways to search: what they promise, what they find, what they cost."""

import _thread
import copy
import os
import pickle
import resource
import subprocess
import sys
import threading
import time
import zlib
from dataclasses import FrozenInstanceError, replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone

import naive
from cofire import METHODS, SparseMLPClassifier, SparseMLPRegressor, engine, load
from cofire.core.layer import SparseLayer
from cofire.core.network import ACTIVATIONS, SparseNetwork
from cofire.core.optimizers import SGD
from cofire.engine import _native
from cofire.saving import save
from cofire.search import (
    SIMILARITIES,
    Deck,
    Exact,
    Found,
    Linear,
    Screened,
    Similarity,
    make_similarity,
    screened,
)
from cofire.search.sample import MOST_BYTES, RARE
from cofire.search.strategy import ENOUGH_FIRINGS, sample_rows
from cofire.topology.create import create_network
from cofire.training.loop import train
from cofire.training.progress import Progress, TrainingData
from cofire.training.settings import Settings
from engine_cases import examples, random_network
from estimator_cases import (
    network_bits,
    numbers,
    same,
    same_training,
    small,
)
from test_search import KINDS, SIMD_LEVELS, Case, assert_same_places, wide_case

# Correlations have their own tests (test_correlations.py).
SCORES = tuple(s for s in engine.SCORES if s not in ("gradient", "pearson"))

of_every_mode = pytest.mark.parametrize("mode", SIMILARITIES)
of_every_score = pytest.mark.parametrize("score", SCORES)


@pytest.fixture(autouse=True)
def nothing_is_too_small(monkeypatch):
    """Screen small networks too, which are searched exactly otherwise."""
    monkeypatch.setattr(screened, "FEW_PRODUCTS", 0)


# ---- searches, as the trainer makes them ---------------------------------------------


def pairs(case, **changes):
    names = ("network", "rows", "row_ids", "sample_weight", "kept", "n_wanted")
    how = {name: getattr(case, name) for name in names}
    how |= {name: getattr(case, name) for name in ("seed", "epoch", "score", "ties")}
    return engine.PairSearch(**how | changes)


def find(case, similarity, *, factor=None, **changes):
    """Search, with the rarity of the features known."""
    search = pairs(case, **changes)
    rarity = case.rows.rarity(search.row_ids)
    return make_similarity(similarity).find(search, lambda: rarity, factor)


class Screen(NamedTuple):
    """What the native search gives back."""

    places: list[np.ndarray]
    recall: list[float]
    factor: list[int]
    n_rows: int
    multiply_adds: int


def screen(case, *, factor=4, recall=0.99, **changes):
    """Call the native search itself, for any number of rows."""
    search = pairs(case, **changes)
    rarity = case.rows.rarity(search.row_ids)
    sample_ids, row_share = sample_rows(search, lambda: rarity, screened.SAMPLE)
    places, told = search.arguments()
    told["row_ids"] = np.random.default_rng(0).permutation(search.row_ids)
    how = {"factor": [factor] * len(places), "recall": recall}
    found = _native.screened_places(
        **told, sample_ids=sample_ids, row_share=row_share, **how
    )
    return Screen(places, *found)


def true_recall(case, places):
    """Per layer the share of places that score no less than the last of the best."""
    recall = []
    for ranks, kept, found in zip(case.ranks(), case.kept, places, strict=True):
        free = np.delete(ranks.ravel(), kept)
        last = np.sort(free)[len(free) - len(found)]
        recall.append(float((ranks.flat[found] >= last).mean()))
    return recall


def assert_places(case, places):
    """As many as wanted, ascending, each once, of the layer, and none that is kept."""
    assert len(places) == len(case.network.layers)
    for layer, kept, n, found in zip(
        case.network.layers, case.kept, case.n_wanted, places, strict=True
    ):
        assert found.dtype == np.int64 and found.shape == (n,)
        assert (np.diff(found) > 0).all()
        assert not n or (found[0] >= 0 and found[-1] < layer.n_in * layer.n_out)
        assert not np.isin(found, kept).any()


# ---- what they are tried on ----------------------------------------------------------


def no_places():
    return np.empty(0, np.int64)


def one_layer(keys, weights, X, n_out, *, bias=0.0, output="identity", **how):
    """A case of one layer from all of X's features, where every place is free."""
    n_in, bias = X.shape[1], np.broadcast_to(np.float32(bias), n_out).copy()
    weights = np.broadcast_to(np.float32(weights), len(keys)).copy()
    network = SparseNetwork(
        [SparseLayer.from_keys(keys, weights, bias, n_in, n_out)], "relu", output
    )
    dense = X.toarray() if scipy.sparse.issparse(X) else X
    how = {"kept": [no_places()], "n_wanted": [n_out]} | how
    kept, n_wanted = how.pop("kept"), how.pop("n_wanted")
    ids = np.arange(X.shape[0])
    dense = dense.astype(np.float64)
    return Case(network, engine.Rows(X), dense, ids, None, kept, n_wanted, **how)


@cache
def shared_causes(n_rows, seed=0):
    """300 features that are made of 25 causes and some noise, half of them 0."""
    rng = np.random.default_rng(seed)
    causes = rng.normal(size=(25, 300)) * (rng.random((25, 300)) < 0.3)
    X = rng.normal(size=(n_rows, 25)) @ causes + 0.7 * rng.normal(size=(n_rows, 300))
    X = np.maximum(X, 0).astype(np.float32)
    return engine.Rows(X), X.astype(np.float64)


@cache
def lifelike(n_rows, output="identity", *, score="cosine", weighted=False):
    """Such features, and a network 300-200-100 that is 5 % full."""
    rows, dense = shared_causes(n_rows)
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.2, 3, size=n_rows).astype(np.float32) if weighted else None
    network = random_network(rng, (300, 200, 100), output=output, densities=[0.05] * 2)
    kept = [layer.keys for layer in network.layers]
    n_wanted = [int(0.3 * layer.nnz) for layer in network.layers]
    how = {"seed": 0, "score": score}
    ids = np.arange(n_rows)
    case = Case(network, rows, dense, ids, weight, kept, n_wanted, **how)
    case.ranks = cache(case.ranks)
    return case


# ---- what every search promises ------------------------------------------------------

widths = st.sampled_from([1, 2, 3, 7, 12, 25, 50])
of_all_kinds = {
    "seed": st.integers(0, 2**32 - 1),
    "sizes": st.lists(widths, min_size=2, max_size=5),
    "kind": st.sampled_from(KINDS),
    "weighted": st.booleans(),
    "dead": st.sampled_from([0.0, 0.2, 0.9]),
    "activation": st.sampled_from(ACTIVATIONS),
    "fullness": st.sampled_from([0.0, 0.4, 1.0]),
    "wish": st.sampled_from([0.0, 0.02, 0.3, 1.0]),
    "score": st.sampled_from(SCORES),
    "ties": st.sampled_from(engine.TIES),
}


@of_every_mode
@examples(60)
@given(
    n_rows=st.sampled_from([0, 1, 70, 512, 513, 640, 1100]),
    n_threads=st.sampled_from([1, 2, 3, 8]),
    **of_all_kinds,
)
def test_as_many_free_places_as_wanted_are_found(mode, seed, n_threads, **how):
    case = Case.random(seed, **how)
    found = find(case, mode, n_threads=n_threads)
    assert_places(case, found.places)
    if mode == "screened":
        n_layers = len(case.n_wanted)
        assert len(found.recall) == len(found.factor) == n_layers
        assert all(0 < recall <= 1 for recall in found.recall)
        assert all(type(factor) is int and factor >= 1 for factor in found.factor)
    else:
        assert found.recall is None and found.factor is None


@of_every_mode
@pytest.mark.parametrize("n_rows", [100, 700])
def test_all_free_places_are_found_where_all_are_wanted(mode, n_rows):
    case = Case.random(1, sizes=(9, 40, 30, 5), n_rows=n_rows, wish=1.0)
    for layer, kept, found in zip(
        case.network.layers, case.kept, find(case, mode).places, strict=True
    ):
        free = np.setdiff1d(np.arange(layer.n_in * layer.n_out), kept)
        np.testing.assert_array_equal(found, free)


@of_every_mode
def test_a_layer_of_which_nothing_is_wanted_is_left_out(mode):
    case = lifelike(700)
    case = replace(case, n_wanted=[0, case.n_wanted[1]])
    found = find(case, mode)
    assert_places(case, found.places)
    if mode == "screened":
        assert found.recall[0] == 1 and found.factor[0] == screened.FIRST_FACTOR


def assert_same_found(one, two):
    assert_same_places(one.places, two.places)
    assert one.factor == two.factor
    if one.recall is not None:
        assert one.recall == pytest.approx(two.recall, rel=1e-9)


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
        assert_same_places(found.places, first.places)
        assert found.recall == first.recall


@of_every_mode
@pytest.mark.parametrize("n_rows", [0, 100, 700])
def test_among_equals_seed_and_epoch_decide(mode, n_rows):
    # All 3600 pairs are alike.
    X = np.ones((n_rows, 60), np.float32)
    case = one_layer(np.arange(60) * 61, 1.0, X, 60, n_wanted=[90])
    found = [
        find(case, mode, **how).places[0]
        for how in ({}, {"seed": 1}, {"epoch": 99}, {"seed": 1, "epoch": 99})
    ]
    assert len({places.tobytes() for places in found}) == 4


@of_every_mode
def test_nothing_is_changed(mode):
    case = lifelike(700)
    before = copy.deepcopy((case.row_ids, case.kept, network_bits(case.network)))
    find(case, mode)
    after = (case.row_ids, case.kept, network_bits(case.network))
    for ours, theirs in zip(before, after, strict=True):
        assert same(list(ours), list(theirs))


def print_places():
    """Print, for each search of some whole numbers, what was found."""
    screened.FEW_PRODUCTS = 0
    for n_rows in (640, 2048):
        case = Case.random(9, sizes=(40, 130, 90, 5), n_rows=n_rows, wish=0.03)
        for mode in ("screened", "linear"):
            for case.score in SCORES:
                found = find(case, mode)
                sums = [zlib.crc32(places.tobytes()) for places in found.places]
                sys.stdout.write(f"{mode} {sums} {found.factor}\n")


def run_here(call, **environment):
    """Call a function of this file in a process of its own."""
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    environment = os.environ | {"PYTHONPATH": path} | environment
    command = [sys.executable, "-c", f"import test_similarity as t; t.{call}"]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("level", SIMD_LEVELS)
def test_every_simd_level_finds_the_same_among_whole_numbers(level, capsys):
    if level == engine.simd_level():
        pytest.skip("what the others are compared with")
    run = run_here("print_places()", COFIRE_SIMD=level)
    if "this machine has no such level" in run.stderr:
        pytest.skip(f"no {level} here")
    print_places()
    assert run.stdout == capsys.readouterr().out, run.stderr
    assert len(run.stdout.splitlines()) == 16


# ---- screened: all rows and all places are the exact search --------------------------


def assert_screened_is_brute_force(case, n_threads=1):
    found = find(case, Screened(recall=1.0), n_threads=n_threads)
    assert_same_places(found.places, case.brute_force())
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
        assert_same_places(found.places, case.brute_force())
        assert found.recall == [1.0] * 3 and found.n_rows == n_rows


def test_few_rows_are_searched_exactly(monkeypatch):
    def refuse(*arguments, **more):
        raise AssertionError("screened all the same")

    case = lifelike(1000)
    few = {"row_ids": case.row_ids[: screened.FEW_ROWS]}
    with monkeypatch.context() as patch:
        patch.setattr(engine, "screened_places", refuse)
        found = find(case, "screened", factor=[64, 64], **few)
        with pytest.raises(AssertionError, match="all the same"):
            find(case, "screened", row_ids=case.row_ids[: screened.FEW_ROWS + 1])
    assert_same_places(found.places, find(case, "exact", **few).places)
    assert found.recall == [1.0, 1.0]
    assert found.factor == [screened.FIRST_FACTOR] * 2


def test_a_recall_of_1_is_exact_for_many_rows_too():
    for seed in range(6):
        how = {"dead": 0.0, "activation": "identity", "wish": 0.3}
        case = Case.random(seed, sizes=(13, 20, 9, 5), n_rows=12_800, **how)
        assert case.sums_are_exact()
        assert_screened_is_brute_force(case)


# ---- screened: nearly the best -------------------------------------------------------


def assert_recall(case, similarity, at_least):
    """The recall is as high as asked for, and what the search says it is."""
    found = find(case, similarity, n_threads=2)
    assert_places(case, found.places)
    truth = true_recall(case, found.places)
    assert min(truth) >= at_least
    assert found.recall == pytest.approx(truth, abs=0.03)


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
    unweighted = find(case, "screened", sample_weight=None).places
    assert min(true_recall(case, unweighted)) < 0.97


def test_where_nothing_is_alike_all_pairs_are_looked_at_and_none_held():
    rng = np.random.default_rng(0)
    n = 500
    X = rng.normal(size=(3000, n)).astype(np.float32)
    keys = np.arange(n) * n + rng.permutation(n)
    case = one_layer(keys, np.ones(n), X, n, kept=[keys], n_wanted=[100])
    found = find(case, "screened", factor=[700])
    assert found.recall == [1.0] and found.factor == [613]
    assert np.array_equal(found.places[0], find(case, "exact").places[0])


def test_a_lower_recall_may_be_asked_for():
    case = lifelike(8000)
    truth = true_recall(case, find(case, Screened(recall=0.8)).places)
    assert 0.75 < np.average(truth, weights=case.n_wanted) < 0.98
    assert_recall(case, Screened(recall=0.95), 0.93)


@pytest.mark.parametrize("recall", [0.9, 0.98])
def test_the_recall_that_is_asked_for_is_that_of_many_searches(recall):
    case, truth, told = lifelike(20_000), [], []
    for epoch in range(12):
        found = find(case, Screened(recall), epoch=epoch)
        truth.append(np.average(true_recall(case, found.places), weights=case.n_wanted))
        told.append(np.average(found.recall, weights=case.n_wanted))
    assert np.mean(truth) >= recall
    # Told is rather too little than too much.
    over = np.mean(told) - np.mean(truth)
    assert -0.4 * (1 - recall) < over < 0.2 * (1 - recall)


def rare_pairs(n_rows=24_000, n_pairs=40, n_others=100):
    """Pairs of features that are not 0 in the same 3 rows, and a unit for each.

    The unit listens to one of the two: the best places are those of the others.
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
    n_out, keys, weights = n_pairs + 60, [rare], [np.ones(n_pairs)]
    for unit in range(n_pairs, n_out):
        listens = 2 * n_pairs + rng.choice(n_others, 6, replace=False)
        keys.append(unit * X.shape[1] + np.sort(listens))
        weights.append(rng.normal(size=6))
    keys, weights = np.concatenate(keys), np.concatenate(weights)
    how = {"kept": [keys], "n_wanted": [2 * n_pairs]}
    return one_layer(keys, weights, X, n_out, **how), rare + 1


@pytest.mark.parametrize("n_rows", [6000, 24_000])
def test_units_that_listen_to_rare_features_are_found(n_rows):
    case, best = rare_pairs(n_rows)
    for similarity in (Screened(), Linear()):
        assert np.isin(best, find(case, similarity).places[0]).all()


def test_a_uniform_sample_would_miss_rare_features():
    case, best = rare_pairs()
    for similarity in (Screened(), Linear()):
        uniform = similarity.find(pairs(case), None, None)
        assert np.isin(best, uniform.places[0]).mean() < 0.7


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
    how = {"kept": [layer.keys], "n_wanted": [400]}
    case = one_layer(layer.keys, sizes, scipy.sparse.csr_array(X), 300, **how)
    assert_recall(case, Screened(recall=0.99), 0.9)


# ---- the race ------------------------------------------------------------------------


def diagonal(n=200, n_rows=40_000, bias=0.0):
    """Each of n outputs repeats an input, and is like no other: the best n places."""
    X = np.random.default_rng(0).normal(size=(n_rows, n)).astype(np.float32)
    return one_layer(np.arange(n) * (n + 1), 1.0, X, n, bias=bias)


def test_where_the_best_stand_out_few_rows_are_seen():
    case = diagonal(bias=np.linspace(0, -1, 200))
    found = screen(case, recall=0.99)
    assert found.places[0].tolist() == list(range(0, 40_000, 201))
    assert found.n_rows <= len(case.row_ids) // 8
    assert found.recall[0] >= 0.99


def test_equals_that_stand_out_together_need_few_rows():
    found = screen(diagonal(), recall=0.99)
    assert found.places[0].tolist() == list(range(0, 40_000, 201))
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
    # 1500 places that stand out, and two among 60,000 that are nearly equal.
    n_in, n_hidden, n_out = 300, 1500, 40
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(20_000, n_in)).astype(np.float32)
        repeats = np.arange(n_hidden) * n_in + rng.integers(n_in, size=n_hidden)
        ones, bias = np.ones(n_hidden), np.linspace(0, -1, n_hidden)
        first = SparseLayer.from_keys(repeats, ones, bias, n_in, n_hidden)
        second = random_network(rng, (n_hidden, n_out), densities=[0.002]).layers[0]
        second.weights[:] /= 100
        second.bias[:] = 1
        case = one_layer([], [], X, 1)
        case.network = SparseNetwork([first, second], "relu", "identity")
        case = replace(case, kept=[no_places()] * 2, n_wanted=[n_hidden, 2])
        assert min(screen(case, recall=0.99).recall) >= 0.5


# ---- what a search costs -------------------------------------------------------------


def always_firing(n_rows=1000, sizes=(12, 20, 9)):
    """Every neuron fires in every row, and every place but the connections is free."""
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, size=(n_rows, sizes[0])).astype(np.float32)
    network = random_network(rng, sizes, densities=[0.3, 0.3], output="identity")
    for layer in network.layers:
        layer.weights[:], layer.bias[:] = np.abs(layer.weights), 1
    kept, ids = [layer.keys for layer in network.layers], np.arange(n_rows)
    rows, dense = engine.Rows(X), X.astype(np.float64)
    case = Case(network, rows, dense, ids, None, kept, [30, 20])
    case.targets = np.zeros((n_rows, sizes[-1]), np.float32)
    return case


def parts_of(case):
    """Numbers of connections of each layer, of neurons, and of pairs of neurons."""
    layers = case.network.layers
    n_neurons = layers[0].n_in + sum(layer.n_out for layer in layers)
    n_pairs = sum(layer.n_in * layer.n_out for layer in layers)
    return [layer.nnz for layer in layers], n_neurons, n_pairs


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_exact_search_goes_forward_twice_and_takes_every_product(n_threads):
    case = always_firing()
    connections, n_neurons, n_pairs = parts_of(case)
    found = find(case, "exact", n_threads=n_threads)
    assert found.multiply_adds == 1000 * (2 * sum(connections) + n_neurons + n_pairs)


def test_a_search_of_gradients_goes_backward_as_well():
    case = always_firing()
    (first, second), n_neurons, n_pairs = parts_of(case)
    search = pairs(case, score="gradient", targets=case.targets)
    passes = 2 * (first + 3 * second)
    norms = 2 * n_neurons - case.network.layers[0].n_in
    found = Exact().find(search, None, None)
    assert found.multiply_adds == 1000 * (passes + norms + n_pairs)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_screened_search_counts_sketch_screen_and_race(n_threads):
    case = always_firing()
    connections, n_neurons, n_pairs = parts_of(case)
    forward = 1000 * sum(connections)
    sketch, screen = 1000 * n_neurons, 256 * (n_neurons + n_pairs)
    race = 1000 * (n_neurons + n_pairs - sum(connections))  # all free places
    found = find(case, Screened(recall=1.0), n_threads=n_threads)
    assert found.multiply_adds == 2 * forward + sketch + screen + race


def test_a_hashed_search_counts_the_sketch_and_the_pairs_that_meet():
    case = always_firing()
    connections, n_neurons, n_pairs = parts_of(case)
    least = 1000 * (sum(connections) + n_neurons) + 256 * n_neurons
    one, two = (find(case, Linear(tables)).multiply_adds for tables in (1, 8))
    assert least < one < two <= least + 256 * 8 * 2 * n_pairs
    assert (one - least) % 256 == (two - least) % 256 == 0


def test_a_screened_search_of_many_rows_takes_less_than_an_exact_one():
    case = lifelike(20_000)
    nearly, exact = (find(case, mode).multiply_adds for mode in ("screened", "exact"))
    assert 0 < nearly < exact / 3


# ---- the deck ------------------------------------------------------------------------


def deck_of(case, **changes):
    how = {"rarity": case.rows.rarity(case.row_ids), "weight": case.sample_weight}
    how |= changes
    return Deck.of(case.rows, case.row_ids, how["rarity"], how["weight"])


@examples(60)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    n_rows=st.sampled_from([1, 7, 8, 63, 64, 65, 200]),
    n_features=st.sampled_from([1, 2, 9, 40]),
)
def test_a_copy_in_tiles_holds_the_same_whole_numbers(seed, kind, n_rows, n_features):
    rng = np.random.default_rng(seed)
    X = rng.integers(-50, 50, size=(n_rows + 3, n_features))
    X[rng.random(X.shape) < 0.3] = 0
    if kind == "bytes":
        rows = engine.Rows(
            (X + 50).astype(np.uint8), offset=np.full(n_features, -50, np.float32)
        )
    else:
        X = X.astype(np.float32)
        rows = engine.Rows(scipy.sparse.csr_array(X) if kind == "sparse" else X)
    order = rng.permutation(len(X))[:n_rows]
    copy = rows.tiles(order)
    assert len(copy) == n_rows
    keys, n = np.arange(n_features) * (n_features + 1), n_features
    layer = SparseLayer.from_keys(keys, np.ones(n), np.zeros(n), n, n)
    network = SparseNetwork([layer], "relu", "identity")
    np.testing.assert_array_equal(engine.predict(network, copy), X[order])
    any_order = rng.permutation(n_rows)
    assert rows.rarity(order[any_order]).tolist() == copy.rarity(any_order).tolist()
    again = copy.tiles(any_order)
    np.testing.assert_array_equal(engine.predict(network, again), X[order][any_order])


def test_a_copy_in_tiles_is_as_exact_as_is_said_and_zeros_stay_zeros():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40)) * 10.0 ** rng.uniform(-6, 6, size=40)
    X[rng.random(X.shape) < 0.3] = 0
    X[:, 0], X[:, 1], X[:, 2] = 0, 1990.3, -1e-30
    X[0, 3] = 1e30
    X = X.astype(np.float32)
    keys = np.arange(40) * 41
    layer = SparseLayer.from_keys(keys, np.ones(40), np.zeros(40), 40, 40)
    network = SparseNetwork([layer], "relu", "identity")
    copy = engine.predict(network, engine.Rows(X).tiles(np.arange(300)))
    extent = np.maximum(X.max(axis=0), 0) - np.minimum(X.min(axis=0), 0)
    assert (np.abs(copy - X) <= extent * 2.0**-15).all()
    assert (copy[X == 0] == 0).all()


def test_a_deck_has_every_row_once_and_those_with_a_rare_feature_first():
    n, rng = 10_000, np.random.default_rng(0)
    rarity = rng.choice([9, RARE, RARE + 1, n], p=[0.02, 0.02, 0.06, 0.9], size=n)
    case = lifelike(n)
    deck = deck_of(case, rarity=rarity)
    n_rare = int((rarity <= RARE).sum())
    assert n_rare <= deck.n_sure < n_rare + 64 and deck.n_sure % 64 == 0
    first, again, other = (deck.deal(np.random.default_rng(s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    for dealt in (first, other):
        assert sorted(dealt) == list(range(n))
        assert dealt[: deck.n_sure].tolist() == list(range(deck.n_sure))
        tiles = dealt[: n // 64 * 64].reshape(-1, 64)
        assert (tiles % 64 == np.arange(64)).all()
        assert (tiles // 64 == tiles[:, :1] // 64).all()
    # No more than an eighth is rare, and none may be.
    assert deck_of(case, rarity=np.full(n, 3)).n_sure == n // 8 // 64 * 64
    assert deck_of(case, rarity=np.full(n, n)).n_sure == 0


def test_a_large_copy_is_not_made():
    rows = engine.Rows(np.zeros((64, 1024), np.float32))
    assert Deck.is_worthwhile(rows, MOST_BYTES // 2048)
    assert not Deck.is_worthwhile(rows, MOST_BYTES // 2048 + 1)
    assert not Deck.is_worthwhile(engine.Rows(np.zeros((64, 2), np.uint8)), 64)


def with_deck(case, similarity, **changes):
    deck = deck_of(case)
    return find(case, similarity, deck=lambda: deck, **changes)


@pytest.mark.parametrize("recall", [0.9, 0.98])
def test_a_search_of_a_deck_has_the_recall_that_is_asked_for(recall):
    case, truth, told = lifelike(20_000), [], []
    deck = deck_of(case)
    for epoch in range(12):
        found = find(case, Screened(recall), epoch=epoch, deck=lambda: deck)
        assert_places(case, found.places)
        truth.append(np.average(true_recall(case, found.places), weights=case.n_wanted))
        told.append(np.average(found.recall, weights=case.n_wanted))
    assert np.mean(truth) >= recall
    assert np.mean(told) == pytest.approx(np.mean(truth), abs=0.5 * (1 - recall))


@pytest.mark.parametrize("n_rows", [600, 1000, 5000, 20_000])
def test_a_search_of_a_deck_is_the_same_for_any_number_of_threads(n_rows):
    case = lifelike(n_rows, weighted=n_rows == 5000)
    alone = with_deck(case, "screened")
    for n_threads in (2, 3):
        assert_same_found(with_deck(case, "screened", n_threads=n_threads), alone)
    assert min(true_recall(case, alone.places)) > 0.95


def test_a_recall_of_1_looks_at_the_rows_themselves():
    def refuse():
        raise AssertionError("a deck")

    case = lifelike(3000)
    found = find(case, Screened(recall=1.0), deck=refuse)
    assert min(true_recall(case, found.places)) > 0.999
    with pytest.raises(AssertionError, match="a deck"):
        find(case, Screened(recall=0.999), deck=refuse)


@pytest.mark.parametrize("kind", ["floats", "sparse"])
def test_only_rows_of_floats_are_copied_and_once_a_fit(monkeypatch, kind):
    decks = []
    of = Deck.of
    monkeypatch.setattr(Deck, "of", lambda *told: decks.append(of(*told)) or decks[-1])
    X, y = many_rows()
    model("screened").fit(scipy.sparse.csr_array(X) if kind == "sparse" else X, y)
    assert len(decks) == (kind == "floats")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"order": np.array([5])}, "order: a row that does not exist"),
        ({"tiles": np.empty((2, 3, 64), np.uint16)}, "tiles: not 64 numbers"),
        ({"tiles": np.empty((1, 2, 64), np.uint16)}, "tiles: not 64 numbers"),
        ({"tiles": np.empty((1, 3, 32), np.uint16)}, "tiles: not 64 numbers"),
        ({"step": np.empty(2, np.float32)}, "step and zero: not one number"),
        ({"zero": np.empty(2, np.int32)}, "step and zero: not one number"),
    ],
)
def test_a_wrong_argument_of_a_copy_is_named(changes, message):
    rows = engine.Rows(np.ones((5, 3), np.float32)).native
    told = {"order": np.arange(5), "tiles": np.empty((1, 3, 64), np.uint16)}
    told |= {"step": np.empty(3, np.float32), "zero": np.empty(3, np.int32)}
    assert _native.tile_rows(rows, **told).n_rows == 5
    with pytest.raises(ValueError, match=message):
        _native.tile_rows(rows, **told | changes)


# ---- the sample ----------------------------------------------------------------------


def rows_only(n, **changes):
    """A search over n rows with other numbers than their positions."""
    case = one_layer([0], 1.0, np.ones((2 * n + 1, 1), np.float32), 1)
    return pairs(case, row_ids=2 * np.arange(n) + 1, **changes)


def test_few_rows_are_all_taken_in_a_random_order():
    search = rows_only(500)
    ids, share = sample_rows(search, None, 500)
    assert share is None
    assert sorted(ids) == search.row_ids.tolist() != ids.tolist()
    others = [replace(search, epoch=99), replace(search, seed=99)]
    orders = [sample_rows(other, None, 500)[0].tolist() for other in others]
    assert len({tuple(order) for order in [ids.tolist(), *orders]}) == 3


def test_a_sample_has_the_size_asked_for_and_stands_for_all_rows():
    search = rows_only(20_000)
    sizes = []
    for epoch in range(20):
        ids, share = sample_rows(replace(search, epoch=epoch), None, 1000)
        assert np.isin(ids, search.row_ids).all()
        assert len(set(ids.tolist())) == len(ids) == len(share)
        assert share.dtype == np.float32 and (share == 20).all()
        assert (np.diff(ids) < 0).any()  # in a random order
        sizes.append(len(ids))
    assert len(set(sizes)) > 1
    assert abs(np.mean(sizes) - 1000) < 4 * np.sqrt(1000 / 20)


def test_rows_with_a_rare_feature_are_likelier_and_stand_for_fewer():
    n, size = 20_000, 1000
    rng = np.random.default_rng(0)
    rarity = rng.choice([1, ENOUGH_FIRINGS, 20, 100, n], size=n).astype(np.int64)
    likely = np.maximum(size / n, np.minimum(ENOUGH_FIRINGS / rarity, 1))
    search, chosen = rows_only(n), np.zeros(n)
    for epoch in range(30):
        ids, share = sample_rows(replace(search, epoch=epoch), lambda: rarity, size)
        at = (ids - 1) // 2
        chosen[at] += 1
        np.testing.assert_allclose(share, 1 / likely[at], rtol=1e-6)
        variance = ((1 - likely) / likely).sum()
        assert abs(share.sum() - n) < 5 * np.sqrt(variance)
    assert (chosen[rarity <= ENOUGH_FIRINGS] == 30).all()
    for kind in (20, 100, n):
        those = rarity == kind
        expected = likely[those][0]
        assert chosen[those].mean() / 30 == pytest.approx(expected, rel=0.05)


def test_a_sample_is_one_of_seed_and_epoch():
    search = rows_only(5000)
    rarity = np.random.default_rng(1).integers(1, 5000, size=5000)

    def sample(**changes):
        ids, share = sample_rows(replace(search, **changes), lambda: rarity, 300)
        return ids.tobytes() + share.tobytes()

    assert sample() == sample()
    assert len({sample(), sample(seed=1), sample(epoch=1)}) == 3


@examples(60)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from([*KINDS, "scaled bytes", "sparse with zeros"]),
    n_rows=st.sampled_from([0, 1, 2, 30]),
    n_features=st.sampled_from([1, 2, 9, 40]),
    full=st.sampled_from([0.0, 0.05, 0.5, 1.0]),
)
def test_rarity_is_counted_among_the_rows_that_are_asked_for(
    seed, kind, n_rows, n_features, full
):
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 5, size=(n_rows + 5, n_features))
    X[rng.random(X.shape) >= full] = 0
    if kind == "scaled bytes":
        zero = rng.integers(5, size=n_features)  # the byte that stands for 0
        rows = engine.Rows(
            X.astype(np.uint8), scale=np.full(n_features, 0.5), offset=-zero / 2
        )
        X = X - zero
    elif kind == "bytes":
        rows = engine.Rows(X.astype(np.uint8))
    elif kind == "floats":
        rows = engine.Rows(-X.astype(np.float32))
    else:
        sparse = scipy.sparse.csr_array(X.astype(np.float32))
        if kind == "sparse with zeros" and sparse.nnz:
            sparse.data[rng.random(sparse.nnz) < 0.3] = 0
            X = sparse.toarray()
        rows = engine.Rows(sparse)
    ids = rng.permutation(len(X))[:n_rows]
    rarity = rows.rarity(ids)
    assert rarity.dtype == np.int64
    assert rarity.tolist() == naive.rarity(X[ids])


# ---- how many candidates -------------------------------------------------------------


def test_the_candidates_grow_as_far_as_needed_and_the_factor_says_so():
    case = lifelike(3000, score="lowest_cosine")
    few = screen(case, factor=1)
    assert min(true_recall(case, few.places)) >= 0.97
    assert min(few.factor) > 1
    enough = screen(case, factor=max(few.factor))
    assert max(enough.factor) <= max(few.factor)


def test_the_factor_is_halved_where_it_was_more_than_enough():
    case = lifelike(3000, score="hebb")
    factors = [[64, 64]]
    for _ in range(6):
        found = find(case, "screened", factor=factors[-1])
        assert min(true_recall(case, found.places)) >= 0.97
        factors.append(found.factor)
    assert factors[1] == [32, 32]
    for before, after in zip(factors[:-1], factors[1:], strict=True):
        for a, b in zip(before, after, strict=True):
            assert b in (a, a // 2, a - 1)
    assert min(factors[-1]) >= 2 and max(factors[-1]) <= 8


def test_more_candidates_than_free_places_do_no_harm():
    case = Case.random(3, sizes=(13, 40, 30, 5), n_rows=640, dead=0.0, wish=0.2)
    many = find(case, Screened(recall=1.0), factor=[2**40] * 3)
    assert_same_places(many.places, case.brute_force())
    assert many.recall == [1.0] * 3


class Calls:
    """Writes down the factors that screened searches begin with, and what they give."""

    def __init__(self, monkeypatch):
        self.begun, self.found = [], []
        search = engine.screened_places

        def spy(*arguments, factor, **more):
            self.begun.append(list(factor))
            found = search(*arguments, factor=factor, **more)
            self.found.append(found[1:3])
            return found

        monkeypatch.setattr(engine, "screened_places", spy)


def model(similarity, *, of=SparseMLPClassifier, **how):
    how = {"hidden_layer_sizes": (120, 100), "epsilon": 6, "max_iter": 4} | how
    how = {"learning_rate_init": 0.01} | how
    return small(of, similarity=similarity, **how)


@cache
def many_rows(n=800):
    """150 features that are made of 20 causes, which decide about three classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20)) @ rng.normal(size=(20, 150)) / 3
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    return np.maximum(X, 0).astype(np.float32), y


def test_history_tells_recall_and_factor_and_the_next_search_begins_there(monkeypatch):
    calls = Calls(monkeypatch)
    how = {"method": "ctre_wo_random", "max_iter": 6}
    history = model("screened", **how).fit(*many_rows()).history_
    assert len(calls.begun) == 5
    assert calls.begun[0] == [screened.FIRST_FACTOR] * 3
    assert history[0]["recall"] is history[0]["candidate_factor"] is None
    for k, (recall, factor) in enumerate(calls.found):
        assert history[k + 1]["recall"] == recall
        assert history[k + 1]["candidate_factor"] == factor
        assert len(recall) == len(factor) == 3
        assert k == 4 or calls.begun[k + 1] == factor
    assert len({tuple(begun) for begun in calls.begun}) > 1


def test_few_rows_are_recorded_as_exact():
    for record in model("screened").fit(*many_rows(400)).history_[1:]:
        assert record["recall"] == [1.0] * 3
        assert record["candidate_factor"] == [screened.FIRST_FACTOR] * 3


@pytest.mark.parametrize(
    "how",
    [
        {"similarity": "exact"},
        {"similarity": "linear"},
        {"method": "set"},
        {"method": "static"},
        {"method": "rigl"},
    ],
    ids=str,
)
def test_without_a_screened_search_there_is_no_recall_and_no_factor(how):
    fitted = model(**{"similarity": "screened"} | how).fit(*many_rows())
    for record in fitted.history_:
        assert record["recall"] is record["candidate_factor"] is None
        searched = sum(record["replaced"]) > 0 and fitted.method != "set"
        assert (record["search_multiply_adds"] is not None) == searched


def test_a_search_after_epochs_without_one_begins_anew(monkeypatch):
    calls = Calls(monkeypatch)
    fitted = model("screened", method="ctre_seq_abl2", max_iter=7).fit(*many_rows())
    told = [record["candidate_factor"] for record in fitted.history_]
    assert [record["random_phase"] for record in fitted.history_] == [
        factor is None for factor in told
    ]
    assert told[:3] == [None] * 3 and None not in told[-2:]
    assert calls.begun[0] == [screened.FIRST_FACTOR] * 3
    assert calls.begun[1:] == [factor for factor in told if factor is not None][:-1]


# ---- training goes on as if it had never stopped -------------------------------------


def in_training(similarity, seed=3):
    X, y = many_rows()
    network = create_network(
        [150, 120, 100, 3],
        [1600, 1300, 200],
        init="normal",
        activation="relu",
        output="softmax",
        seed=seed,
    )
    progress = Progress(network, SGD(learning_rate=0.05), seed)
    progress.optimizer.start(network)
    ids = np.arange(len(y))
    data = TrainingData(engine.Rows(X), y.astype(np.int32), None, ids)
    settings = Settings(
        method=METHODS["ctre_sim"](),
        drop_fraction=0.3,
        batch_size=50,
        drop_last=False,
        shuffle=True,
        learning_rate="constant",
        learning_rate_init=0.05,
        max_epochs=6,
        restore_best=True,
        n_threads=1,
        similarity=make_similarity(similarity),
        drop_schedule="constant",
        augmentation=None,
        label_smoothing=0.0,
        input_dropout=0.0,
    )
    return progress, data, settings


def told(history):
    return [{k: v for k, v in r.items() if "seconds" not in k} for r in history]


@of_every_mode
def test_going_on_gives_the_bits_of_going_through(mode):
    through, data, settings = in_training(mode)
    train(through, data, settings, n_epochs=6)
    resumed, _, _ = in_training(mode)
    for n_epochs in (1, 3, 2):
        train(resumed, data, settings, n_epochs=n_epochs)
    assert same(network_bits(through.network), network_bits(resumed.network))
    assert told(through.history) == told(resumed.history)


@of_every_mode
def test_another_number_of_threads_trains_the_same(mode):
    X, y = many_rows(832)
    one, two = (model(mode, n_jobs=n).fit(X, y) for n in (1, 2))
    assert same_training(one, two)


@of_every_mode
def test_saved_and_loaded_it_goes_on_to_the_bit(mode, tmp_path):
    X, y = many_rows()
    through, resumed = (model(mode).partial_fit(X, y) for _ in range(2))
    for _ in range(3):
        through.partial_fit(X, y)
        save(resumed, tmp_path / "model")
        resumed = load(tmp_path / "model").partial_fit(X, y)
    assert same_training(through, resumed)
    assert told(through.history_) == told(resumed.history_)
    assert same_training(through, model(mode, max_iter=4).fit(X, y))


def test_the_mode_that_is_asked_for_searches(monkeypatch):
    searched = []
    for name in ("best_places", "screened_places", "hashed_places"):
        search = getattr(engine, name)

        def spy(*arguments, search=search, name=name, **more):
            searched.append(name)
            return search(*arguments, **more)

        monkeypatch.setattr(engine, name, spy)
    for mode in SIMILARITIES:
        model(mode, max_iter=2).fit(*many_rows())
    assert searched == ["best_places", "screened_places", "hashed_places"]


@pytest.mark.parametrize("method", ["rigl", "rigl_uniform"])
def test_gradients_are_always_searched_exactly(method):
    X, y = many_rows()
    how = {"method": method, "batch_size": 600}
    first, *others = (model(mode, **how).fit(X, y) for mode in SIMILARITIES)
    assert sum(first.history_[1]["replaced"]) > 0
    for other in others:
        assert same_training(first, other)


def test_the_rarity_is_known_where_all_rows_are_searched():
    given = []

    class Spying(Exact):
        def find(self, search, rarity, factor):
            given.append((len(search.row_ids), rarity and rarity()))
            return super().find(search, rarity, factor)

    X, _ = many_rows()
    for rows in ("all", 0.5):
        method = METHODS["ctre_sim"](rows=rows)
        progress, data, settings = in_training("exact")
        settings = replace(settings, method=method, similarity=Spying())
        train(progress, data, settings, n_epochs=2)
    (n_all, rarity), (n_half, nothing) = given
    assert (n_all, n_half) == (800, 400)
    np.testing.assert_array_equal(rarity, naive.rarity(X))
    assert nothing is None


# ---- linear --------------------------------------------------------------------------


def copies(sign, n=2000, n_rows=400):
    """A hidden layer of which each of n outputs repeats a unit, times `sign`."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 60)).astype(np.float32)
    first = random_network(rng, (60, n), densities=[0.15]).layers[0]
    planted = np.arange(n) * n + rng.permutation(n)
    second = SparseLayer.from_keys(planted, np.full(n, sign), np.zeros(n), n, n)
    case = one_layer([], [], X, 1)
    case.network = SparseNetwork([first, second], "relu", "identity")
    units = case.levels()[1]
    planted = planted[(units != 0).sum(axis=0)[planted % n] > 9]
    return replace(case, kept=[no_places()] * 2, n_wanted=[0, n]), planted


def test_equal_neurons_among_thousands_are_found():
    case, planted = copies(1.0)
    assert len(planted) > 1500
    assert np.isin(planted, find(case, "linear").places[1]).mean() > 0.98


def test_opposite_neurons_are_alike_in_the_first_layer():
    # Inputs below 0, and outputs that turn them round: all cosines are -1.
    n, rng = 2000, np.random.default_rng(0)
    X = scipy.sparse.random_array(
        (400, n), density=0.05, format="csr", dtype=np.float32, rng=rng
    )
    X.data[:] = -0.1 - X.data
    planted = np.arange(n) * n + rng.permutation(n)
    case = one_layer(planted, -1.0, X, n)
    assert np.isin(planted, find(case, "linear").places[0]).mean() > 0.98


def test_opposite_neurons_are_alike_in_the_last_layer():
    case, planted = copies(-1.0)
    assert np.isin(planted, find(case, "linear").places[1]).mean() > 0.98


@of_every_score
def test_what_is_found_is_much_better_than_chance(score):
    case = lifelike(1500, score=score)
    found = find(case, "linear").places
    for ranks, kept, places in zip(case.ranks(), case.kept, found, strict=True):
        free = np.delete(ranks.ravel(), kept)
        share_below = np.searchsorted(np.sort(free), ranks.flat[places]) / len(free)
        assert share_below.mean() > (0.6 if score == "lowest_cosine" else 0.8)


def test_more_tables_find_better_pairs():
    case = lifelike(1500)
    mean = [
        np.mean([r.flat[p].mean() for r, p in zip(case.ranks(), found, strict=True)])
        for found in (find(case, Linear(tables)).places for tables in (1, 8, 64))
    ]
    assert mean[0] < mean[1] < mean[2]


def test_where_too_few_meet_random_places_join_them():
    case, planted = copies(1.0, n=300)
    case = replace(case, n_wanted=[60, 60_000])
    found = find(case, "linear")
    assert_places(case, found.places)
    search = pairs(case)
    sample = replace(search, row_ids=sample_rows(search, None, len(search.row_ids))[0])
    met, _ = engine.hashed_places(sample, row_share=None, n_tables=8)
    assert len(met[0]) == 60 and len(planted) < len(met[1]) < 60_000
    assert np.isin(met[1], found.places[1]).all()
    assert np.isin(planted, met[1]).mean() > 0.98
    others = np.setdiff1d(found.places[1], met[1])
    assert 44_000 < others.mean() < 46_000  # anywhere among 90,000
    again = find(case, "linear", epoch=case.epoch + 1).places[1]
    assert not np.array_equal(again, found.places[1])


def test_a_network_that_never_fires_grows_at_random():
    case = one_layer([], [], np.zeros((700, 50), np.float32), 40, n_wanted=[500])
    one, two = (find(case, "linear", epoch=epoch).places[0] for epoch in (0, 1))
    assert len(np.intersect1d(one, two)) < 250  # 125 expected
    for places in (one, two):
        assert 900 < places.mean() < 1100


def huge_layer(n=100_000, n_rows=64):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array(
        (n_rows, n), density=0.05, format="csr", dtype=np.float32, rng=rng
    )
    keys = np.arange(n) * (n + 1)
    layer = SparseLayer.from_keys(keys, np.ones(n), np.zeros(n), n, n)
    network = SparseNetwork([layer], "relu", "identity")
    ids, dense = np.arange(n_rows), None
    return Case(network, engine.Rows(X), dense, ids, None, [keys], [n])


def print_memory():
    """Print by how many megabytes the search of such a layer raises the peak."""

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    find(huge_layer(100), "linear")
    case = huge_layer()
    before = peak()
    found = find(case, Linear(tables=2))
    sys.stdout.write(f"{peak() - before}\n")
    assert_places(case, found.places)


@pytest.mark.skipif(sys.platform != "linux", reason="others count in other units")
def test_a_layer_of_ten_billion_pairs_is_searched_in_little_memory():
    run = run_here("print_memory()")
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < 600  # a bit for each pair would be 1250


# ---- names and objects ---------------------------------------------------------------


def test_names_stand_for_searches_with_their_defaults():
    assert make_similarity("exact") == Exact()
    assert make_similarity("screened") == Screened() == Screened(recall=0.99)
    assert make_similarity("linear") == Linear() == Linear(tables=8)
    own = Screened(recall=0.5)
    assert make_similarity(own) is own


@pytest.mark.parametrize("name", ["screend", "Screened", "SCREENED"])
def test_an_unknown_name_is_answered_with_a_known_one(name):
    with pytest.raises(ValueError, match="Did you mean 'screened'[?] Known: exact, li"):
        make_similarity(name)
    with pytest.raises(ValueError, match="unknown similarity"):
        model(name).fit(*many_rows(100))


@pytest.mark.parametrize("recall", [0, 0.0, -0.1, 1.5, 1.0000001, float("nan")])
def test_a_recall_that_none_can_have_is_refused(recall):
    with pytest.raises(ValueError, match=r"recall must lie in \(0, 1\], got "):
        Screened(recall=recall)


@pytest.mark.parametrize("tables", [0, -3])
def test_no_tables_are_refused(tables):
    with pytest.raises(
        ValueError, match=f"tables must be a whole number from 1 on, got {tables}"
    ):
        Linear(tables=tables)


OBJECTS = [Exact(), Screened(), Screened(recall=0.9), Screened(1.0), Linear(tables=3)]


@pytest.mark.parametrize("similarity", OBJECTS, ids=repr)
def test_a_search_prints_compares_and_is_pickled(similarity):
    assert eval(repr(similarity)) == similarity
    assert pickle.loads(pickle.dumps(similarity)) == similarity
    assert len({similarity, copy.deepcopy(similarity)}) == 1
    assert sum(similarity == other for other in OBJECTS) == 1
    with pytest.raises(FrozenInstanceError):
        similarity.recall = 0.5


@pytest.mark.parametrize("similarity", OBJECTS, ids=repr)
def test_an_estimator_is_cloned_saved_and_loaded_with_its_search(similarity, tmp_path):
    X, y = many_rows(600)
    fitted = clone(model(similarity, max_iter=2)).fit(X, y)
    assert fitted.similarity == similarity
    save(fitted, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.similarity == similarity
    assert type(loaded.similarity) is type(similarity)
    assert same_training(loaded.partial_fit(X, y), fitted.partial_fit(X, y))
    assert repr(similarity) in repr(loaded)


def test_a_search_of_ones_own_is_used_but_cannot_be_saved(tmp_path):
    class Last(Similarity):
        """The last free places."""

        def find(self, search, rarity, factor):
            places = [
                np.setdiff1d(np.arange(layer.n_in * layer.n_out), kept)[-n:]
                for layer, kept, n in zip(
                    search.network.layers, search.kept, search.n_wanted, strict=True
                )
            ]
            return Found(places)

    how = {"method": "ctre_wo_random", "max_iter": 2}
    fitted = model(Last(), **how).fit(*many_rows(100))
    for layer in fitted.network_.layers:
        assert layer.keys[-1] == layer.n_in * layer.n_out - 1
    assert fitted.history_[1]["recall"] is None
    with pytest.raises(ValueError, match="similarity: Last cannot be stored"):
        save(fitted, tmp_path / "model")


def test_a_regressor_takes_all_searches():
    X, y = numbers(n=700, n_features=20)
    for mode in SIMILARITIES:
        fitted = model(mode, of=SparseMLPRegressor).fit(X, y)
        assert (fitted.history_[1]["recall"] is not None) == (mode == "screened")


# ---- wrong arguments -----------------------------------------------------------------


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


# ---- Ctrl-C --------------------------------------------------------------------------


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("similarity", [Screened(1.0), Linear(tables=5000)], ids=repr)
def test_an_interrupt_ends_a_search_within_a_second(similarity, n_threads):
    case = wide_case(7000, 400_000)
    case.n_wanted, started = [70_000], []

    def interrupt():
        started.append(time.monotonic())
        _thread.interrupt_main()

    timer = threading.Timer(0.4, interrupt)
    search = pairs(case, n_threads=n_threads)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            similarity.find(search, None, None)
    finally:
        timer.cancel()
    assert time.monotonic() - started[0] < 1
