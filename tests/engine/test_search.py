"""The search for the best places equals brute force, however it is cut up."""

import _thread
import os
import subprocess
import sys
import threading
import time
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cofire import engine
from cofire.core.layer import SparseLayer
from cofire.core.network import ACTIVATIONS, OUTPUTS, SparseNetwork
from helpers import naive, processes
from helpers.engine_cases import examples, random_network, random_targets
from helpers.oracle import DenseNetwork
from helpers.search_cases import (
    KINDS,
    SCORES,
    SIMD_LEVELS,
    Case,
    as_rows,
    assert_same_places,
    wide_case,
)

# Around the widths of a vector, of a tile (64) and of a chunk (768), and around the
# number up to which sums are made in double (256).
N_ROWS = (0, 1, 5, 8, 9, 16, 17, 63, 64, 65, 100, 129, 255, 256, 257, 767, 769, 1600)
of_every_score = pytest.mark.parametrize("score", SCORES)
of_all_ties = pytest.mark.parametrize("ties", engine.TIES)


def assert_as_brute_force(case, n_threads=1):
    places, n_firing = case.search(n_threads)
    assert_same_places(places, case.brute_force())
    used = case.weight > 0
    assert n_firing == [int((x[used] != 0).any(axis=0).sum()) for x in case.levels()]


# ---- equal to brute force ------------------------------------------------------------

widths = st.sampled_from([1, 2, 3, 4, 5, 7, 12, 25, 50])


@of_every_score
@of_all_ties
@examples(60)
@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(widths, min_size=2, max_size=5),
    n_rows=st.sampled_from(N_ROWS),
    kind=st.sampled_from(KINDS),
    weighted=st.booleans(),
    dead=st.sampled_from([0.0, 0.2, 0.9]),
    activation=st.sampled_from(ACTIVATIONS),
    fullness=st.sampled_from([0.0, 0.05, 0.5, 0.97, 1.0]),
    wish=st.sampled_from([0.0, 0.01, 0.1, 0.6, 1.0]),
    n_threads=st.sampled_from([1, 2, 3, 8]),
)
def test_the_places_are_those_of_brute_force(
    score, ties, seed, n_rows, n_threads, **how
):
    if how["activation"] == "leaky_relu":  # whole numbers that only double can sum
        n_rows = min(n_rows, 256)
    case = Case.random(seed, n_rows=n_rows, score=score, ties=ties, **how)
    assume(case.sums_are_exact())
    assert_as_brute_force(case, n_threads)


@of_every_score
@of_all_ties
def test_every_number_of_rows_gives_the_places_of_brute_force(ties, score):
    for seed, n_rows in enumerate(N_ROWS):
        activation = ("relu", "identity", "relu", "tanh")[seed % 4]
        case = Case.random(
            seed,
            sizes=(13, 26, 19, 7),
            n_rows=n_rows,
            kind=KINDS[(seed + engine.TIES.index(ties)) % 3],
            weighted=seed % 5 > 1,
            dead=0.0 if activation == "identity" else 0.2,  # -100 is no small number
            activation=activation,
            wish=0.3,
            score=score,
            ties=ties,
        )
        assert case.sums_are_exact()
        assert_as_brute_force(case, n_threads=1 + seed % 2)


def test_layers_of_several_windows_are_those_of_brute_force():
    # 1.9 million pairs in the middle: as good as every rank is taken, so also the
    # rounding of ranks shows.
    how = {"dead": 0.02, "wish": 0.1}
    case = Case.random(1, sizes=(30, 1500, 1300, 3), n_rows=300, **how)
    assert_same_places(case.search(2)[0], case.brute_force())


@of_every_score
@of_all_ties
def test_a_side_of_several_windows_is_ranked_as_one(score, ties):
    how = {"dead": 0.0, "wish": 0.1, "activation": "identity"}
    sizes = (1100, 60, 1070)
    case = Case.random(12, sizes=sizes, n_rows=40, score=score, ties=ties, **how)
    places, n_firing = case.search(2)
    assert n_firing == list(sizes)  # more than the 1056 of a window
    assert_same_places(places, case.brute_force())


@pytest.mark.parametrize("output", ["softmax", "sigmoid"])
def test_the_last_layer_is_judged_by_what_the_network_says(output):
    # Four equal probabilities, or halves: exact, and different from the sums of 0.
    case = Case.random(2, sizes=(12, 20, 4), n_rows=200, dead=0.0)
    last = case.network.layers[-1]
    last.weights[:] = 0
    last.bias[:] = 0
    case.network = SparseNetwork(case.network.layers, "relu", output)
    places, n_firing = case.search()
    assert_same_places(places, case.brute_force())
    assert n_firing[-1] == 4


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "tanh"])
@pytest.mark.parametrize("output", ["softmax", "sigmoid", "identity"])
def test_real_numbers_are_ranked_to_within_a_rounding(activation, output):
    rng = np.random.default_rng(3)
    case = Case.random(4, sizes=(23, 70, 50, 10), n_rows=3000, weighted=True)
    case.network = random_network(rng, (23, 70, 50, 10), activation, output)
    X = rng.normal(size=case.dense.shape).astype(np.float32)
    case.rows, case.dense = engine.Rows(X), X.astype(np.float64)
    case.n_wanted = [100, 300, 50]
    places, _ = case.search()
    for found, best, ranks in zip(
        places, case.brute_force(), case.ranks(), strict=True
    ):
        lowest = ranks.flat[best].min()
        assert len(np.unique(found)) == len(best)
        assert ranks.flat[np.setdiff1d(found, best)].min(initial=lowest) >= lowest - 1
        assert ranks.flat[np.setdiff1d(best, found)].max(initial=lowest) <= lowest + 1


def score_bounds(case, a, b):
    """Per pair the lowest and the highest score that float32 sums may come to.

    They are right to 2**-18 of what their terms could sum to at most; the last factor
    is the rounding of scores to 17 digits.
    """
    squares = [(case.weight[:, None] * x * x).sum(axis=0) for x in (a, b)]
    if case.score == "euclidean":
        square = naive.square_distances(a, b, case.weight)
        error = 2.0**-18 * (squares[0] + squares[1][:, None])
        roots = [np.sqrt(np.maximum(square + e, 0)) for e in (error, -error)]
        low, high = (1 / (1 + root) for root in roots)
    else:
        size = np.abs(naive.products(a, b, case.weight))
        error = 2.0**-18 * np.sqrt(squares[0] * squares[1][:, None])
        low, high = size - error, size + error
    return low.ravel() * (1 - 2.0**-17), high.ravel() * (1 + 2.0**-17)


def with_real_numbers(case, activation, output, seed=3):
    rng = np.random.default_rng(seed)
    sizes = [case.dense.shape[1], *(x.n_out for x in case.network.layers)]
    case.network = random_network(rng, sizes, activation, output)
    X = rng.normal(size=case.dense.shape).astype(np.float32)
    case.rows, case.dense = engine.Rows(X), X.astype(np.float64)
    case.targets = random_targets(rng, output, len(X), sizes[-1])
    if case.sample_weight is not None:
        case.sample_weight += np.float32(0.37)
    return case


@pytest.mark.parametrize("n_rows", [200, 1000])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("score", ["hebb", "euclidean", "gradient"])
def test_no_place_left_out_has_a_higher_score(score, output, activation, n_rows):
    how = {"n_rows": n_rows, "weighted": True, "wish": 0.15, "score": score}
    case = Case.random(13, sizes=(23, 40, 30, 10), **how)
    with_real_numbers(case, activation, output)
    for i, (found, (a, b)) in enumerate(
        zip(case.search(2)[0], case.pairs(), strict=True)
    ):
        low, high = score_bounds(case, a, b)
        free = np.setdiff1d(np.arange(low.size), case.kept[i])
        others = np.setdiff1d(free, found)
        assert len(np.intersect1d(found, free)) == case.n_wanted[i]
        assert high[found].min() >= low[others].max()
        # The bounds are narrow: as good as every place is either in or out.
        open_to_doubt = (high[free] > low[found].min()) & (
            low[free] < high[others].max()
        )
        assert open_to_doubt.sum() <= 0.05 * len(free)


# ---- answers known by eye ------------------------------------------------------------

# Four rows. Input 2 and output 1 are silent, outputs 0 and 2 repeat inputs 0 and 1.
EYE_INPUTS = np.array([[1, 2, 0], [1, 0, 0], [0, 2, 0], [0, 0, 0]])
EYE_DELTAS = np.array([[1, 0, 0], [0, -3, 0], [0, 0, 0], [0, 0, 0]])
# Place 3 o + i. The best first; among equals the lower input, then the lower output.
EYE_ORDER = {
    "cosine": [[0, 7], [6, 1], [3, 4, 2, 5, 8]],  # 1, 1/2, and the silent
    "lowest_cosine": [[3, 4, 2, 5, 8], [6, 1], [0, 7]],
    "hebb": [[7], [0, 6, 1], [3, 4, 2, 5, 8]],  # 8, 2, and the silent
    "euclidean": [[0, 7, 5], [3, 2], [6, 1], [4, 8]],  # squares 0, 2, 6, 8
    "gradient": [[3], [1], [0], [6, 4, 7, 2, 5, 8]],  # 3, 2, 1, 0
}


def eye_case(score, ties):
    layer = SparseLayer.from_keys([0, 7], [1, 1], np.zeros(3), 3, 3)
    network = SparseNetwork([layer], "relu", "identity")
    case = Case(
        network,
        as_rows(EYE_INPUTS, "floats"),
        EYE_INPUTS.astype(np.float64),
        np.arange(4),
        None,
        [np.empty(0, np.int64)],
        [9],
        score=score,
        ties=ties,
    )
    case.targets = (case.levels()[1] - EYE_DELTAS).astype(np.float32)
    return case


@of_every_score
@pytest.mark.parametrize("kept", [[], [0, 3, 5]])
def test_places_come_in_the_order_known_by_eye(score, kept):
    case = eye_case(score, "index")
    order = [p for p in sum(EYE_ORDER[score], []) if p not in kept]
    for n in range(len(order) + 1):
        places, n_firing = case.search(kept=[np.array(kept, np.int64)], n_wanted=[n])
        assert places[0].tolist() == sorted(order[:n])
        assert n_firing == [2, 2]


@of_every_score
def test_lots_decide_among_equals_and_only_there(score):
    case = eye_case(score, "random")
    for n in range(1, 9):
        found = {
            tuple(case.search(n_wanted=[n], seed=seed)[0][0].tolist())
            for seed in range(40)
        }
        best, rest = [], EYE_ORDER[score]
        while len(best) + len(rest[0]) <= n:
            best, rest = best + rest[0], rest[1:]
        n_open = n - len(best)
        for places in found:
            assert set(best) <= set(places) <= {*best, *rest[0]}
        # 40 throws: each of the equals is taken sometimes, and left out sometimes
        if n_open:
            assert set().union(*found) == {*best, *rest[0]}
            assert set(best) == set(found.pop()).intersection(*found)


@pytest.mark.parametrize("score", ["hebb", "gradient"])
def test_more_than_16_digits_are_looked_at_but_not_18(score):
    # Score = input: 2**16 + 1 has 17 binary digits, 2**17 + 1 has 18.
    X = np.array([[2**16, 2**16 + 1, 2**17, 2**17 + 1, 2**17 + 2]])
    layer = SparseLayer.from_keys([], [], [1], 5, 1)
    network = SparseNetwork([layer], "relu", "identity")
    kept = [np.empty(0, np.int64)]
    how = {"score": score, "ties": "index", "targets": np.zeros((1, 1), np.float32)}
    case = Case(network, as_rows(X, "floats"), X, np.arange(1), None, kept, [5], **how)
    found = [case.search(n_wanted=[n])[0][0].tolist() for n in range(1, 6)]
    assert found == [[3], [3, 4], [2, 3, 4], [1, 2, 3, 4], [0, 1, 2, 3, 4]]


# ---- gradients of places without a connection ----------------------------------------


def full_network(network):
    """The same network with a connection, of weight 0, in every other place."""
    layers = [naive.with_zeros(layer) for layer in network.layers]
    return SparseNetwork(layers, network.activation, network.output)


def absent_gradients(case):
    """|gradient| of each place, by the engine, as if it held a connection of 0."""
    found = engine.gradients(
        full_network(case.network),
        case.rows,
        case.targets,
        order=case.row_ids,
        batch_size=len(case.row_ids),
        sample_weight=case.sample_weight,
    )
    shapes = [(layer.n_out, layer.n_in) for layer in case.network.layers]
    return [
        np.abs(g.astype(np.float64)).reshape(shape) * case.weight.sum()
        for g, shape in zip(found, shapes, strict=True)
    ]


@of_all_ties
@pytest.mark.parametrize("activation", ["relu", "identity", "tanh"])
@pytest.mark.parametrize("seed", range(8))
def test_places_are_those_of_connections_of_weight_0(seed, activation, ties):
    # 64 rows: their mean gradient is as exact as the sum.
    how = {"activation": activation, "score": "gradient", "ties": ties, "wish": 0.4}
    case = Case.random(seed, sizes=(17, 21, 14, 6), n_rows=64, dead=0.3, **how)
    assert case.sums_are_exact()
    case.kept = [layer.keys for layer in case.network.layers]
    case.ranks = lambda: [naive.significant(g) for g in absent_gradients(case)]
    assert_same_places(case.search()[0], case.brute_force())


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("n_rows", [200, 1000])
def test_real_places_are_those_of_connections_of_weight_0(n_rows, activation, output):
    how = {"n_rows": n_rows, "weighted": True, "score": "gradient"}
    case = Case.random(14, sizes=(17, 30, 20, 6), **how)
    with_real_numbers(case, activation, output, seed=n_rows)
    case.kept = [layer.keys for layer in case.network.layers]
    case.n_wanted = [60, 80, 20]
    error = 2.0**-16 if n_rows == 200 else 2.0**-12  # double sums, float32 sums
    expected = absent_gradients(case)
    for found, kept, size in zip(case.search()[0], case.kept, expected, strict=True):
        others = np.setdiff1d(np.arange(size.size), np.union1d(kept, found))
        assert len(others) + len(kept) + len(found) == size.size
        assert size.flat[found].min() >= size.flat[others].max() * (1 - error)


@pytest.mark.parametrize("output", OUTPUTS)
def test_places_come_in_the_order_of_finite_differences(output):
    case = Case.random(15, sizes=(4, 5, 3), n_rows=30, score="gradient", weighted=True)
    with_real_numbers(case, "tanh", output)
    dense = DenseNetwork(case.network)
    batch = case.dense[case.row_ids], case.targets[case.row_ids], case.weight
    case.kept = [layer.keys for layer in case.network.layers]
    for i, (w, kept) in enumerate(zip(dense.weights, case.kept, strict=True)):
        free = np.setdiff1d(np.arange(w.size), kept)
        slopes = []
        for place in free:
            w.flat[place] = 1e-5
            above = dense.loss(*batch)
            w.flat[place] = -1e-5
            slopes.append(abs(above - dense.loss(*batch)))
            w.flat[place] = 0
        assert (np.diff(np.sort(slopes)) > 1e-4 * np.sort(slopes)[1:]).all()  # distinct
        best_first = free[np.argsort(slopes)[::-1]]
        for n in range(1, len(free) + 1):
            places = case.search(n_wanted=[n if j == i else 0 for j in range(2)])[0]
            assert places[i].tolist() == sorted(best_first[:n])


# ---- what rounding must not decide ---------------------------------------------------


@pytest.mark.parametrize("n_rows", [256, 300])
def test_gradients_whose_squares_float32_cannot_hold_are_ranked(n_rows):
    case = Case.random(16, sizes=(6, 8, 3), n_rows=n_rows, score="gradient", wish=0.3)
    with_real_numbers(case, "identity", "identity")
    case.network.layers[1].weights[:] *= np.float32(1e-25)
    found = case.search()[0][0]
    a, b = next(case.pairs())
    size = np.abs(naive.products(a, b, case.weight)).ravel()
    others = np.setdiff1d(np.arange(size.size), np.union1d(found, case.kept[0]))
    assert 0 < size.max() < 1e-20
    assert size[found].min() >= 0.999 * size[others].max()


@pytest.mark.parametrize("n_rows", [256, 1000])
def test_the_distance_of_equal_neurons_is_0(n_rows):
    n = 30
    layer = SparseLayer.from_keys(np.arange(n) * (n + 1), np.ones(n), np.zeros(n), n, n)
    X = 10 * np.random.default_rng(17).normal(size=(n_rows, n)).astype(np.float32)
    case = Case(
        SparseNetwork([layer], "relu", "identity"),
        engine.Rows(X),
        X.astype(np.float64),
        np.arange(n_rows),
        None,
        [np.empty(0, np.int64)],
        [5],
        score="euclidean",
        ties="index",
    )
    # 30 outputs repeat their inputs: equals, of which the first five are wanted.
    assert case.search()[0][0].tolist() == [0, 31, 62, 93, 124]


@pytest.mark.parametrize("output", ["softmax", "sigmoid"])
def test_an_output_fires_whatever_is_searched_for(output):
    # Without connections its sum is 0, but what it says is 1/4 or 1/2.
    case = Case.random(18, sizes=(5, 4), n_rows=20, score="gradient", dead=0.0)
    layer = SparseLayer.from_keys([], [], np.zeros(4), 5, 4)
    case.network = SparseNetwork([layer], "relu", output)
    case.targets = random_targets(np.random.default_rng(18), output, 22, 4)
    assert case.search(score="cosine")[1] == [5, 4]
    assert case.search()[1] == [5, 4]


# ---- nothing else matters ------------------------------------------------------------


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
    places, n_firing = case.search(n_threads)
    expected, expected_firing = case.search(1)
    assert_same_places(places, expected)
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
    assert_same_places(case.search()[0], expected)


@of_every_score
def test_the_order_of_few_rows_does_not_matter(score):
    case = real_case(n_rows=256, score=score)
    expected = case.search()
    places, n_firing = case.search(row_ids=case.row_ids[::-1].copy())
    assert_same_places(places, expected[0])
    assert n_firing == expected[1]


@of_every_score
def test_among_few_real_rows_one_of_weight_two_is_the_row_twice(score):
    case = real_case(n_rows=100, weighted=True, score=score)
    twice = np.repeat(case.row_ids, case.sample_weight[case.row_ids].astype(int))
    expected = case.search(row_ids=twice, sample_weight=None)
    places, n_firing = case.search()
    assert_same_places(places, expected[0])
    assert n_firing == expected[1]


@of_every_score
def test_a_row_of_weight_two_is_the_row_twice(score):
    how = {"weighted": True, "score": score}
    case = Case.random(7, sizes=(20, 60, 40, 6), n_rows=500, **how)
    twice = np.repeat(case.row_ids, case.sample_weight[case.row_ids].astype(int))
    expected = case.search(row_ids=twice, sample_weight=None)
    places, n_firing = case.search()
    assert_same_places(places, expected[0])
    assert n_firing == expected[1]


def test_seed_layer_and_epoch_decide_ties():
    # No rows: every pair has rank 0, and only the lots are left.
    case = Case.random(8, sizes=(30, 30, 30), n_rows=0, fullness=0.0, wish=0.1)
    places = [
        p for how in ({}, {"seed": 1}, {"epoch": 99}) for p in case.search(**how)[0]
    ]
    assert len({p.tobytes() for p in places}) == 6
    for p in places:
        assert 200 < p.mean() < 700  # uniform over 900 places


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
            places, n_firing = case.search(2, ties=ties)
            print(n_firing, [zlib.crc32(p.tobytes()) for p in places])
"""


@cache
def run_level_script(**environment):
    command = [sys.executable, "-c", LEVEL_SCRIPT]
    environment = processes.environment(**environment)
    return subprocess.run(command, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("level", SIMD_LEVELS)
def test_every_simd_level_finds_the_same(level):
    found = run_level_script(COFIRE_SIMD=level)
    if "this machine has no such level" in found.stderr:
        pytest.skip(f"no {level} here")
    name, *lines = found.stdout.splitlines()
    assert name == level, found.stderr
    assert len(lines) == 20, found.stderr
    assert lines == run_level_script().stdout.splitlines()[1:]


# ---- manners -------------------------------------------------------------------------


MEMORY_SCRIPT = """
from helpers.search_cases import wide_case
def peak():
    status = open("/proc/self/status").read()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024
case = wide_case(6000, 100)
wide_case(10, 100).search(2)
before = peak()
case.search(2)
case.search(2, score="gradient", ties="index", targets=case.targets)
print(peak() - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux")
def test_a_layer_of_36_million_pairs_needs_no_memory_for_them():
    found = subprocess.run(
        [sys.executable, "-c", MEMORY_SCRIPT],
        env=processes.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(found.stdout) < 40  # as floats they would be 144 MB


@pytest.mark.parametrize("score", ["cosine", "gradient"])
def test_an_interrupt_ends_the_search_within_a_second(score):
    case = wide_case(2000, 400_000)
    case.score = score
    started = []

    def interrupt():
        started.append(time.monotonic())
        _thread.interrupt_main()

    threading.Timer(0.3, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        case.search(2)
    assert time.monotonic() - started[0] < 1


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
        ({"score": "sine"}, "score: sine"),
        ({"score": ""}, "score: "),
        ({"ties": "coin"}, "ties: coin"),
    ],
)
def test_a_wrong_argument_is_named(changes, message):
    case = Case.random(10, sizes=(4, 5), n_rows=20, fullness=0.0)
    with pytest.raises(ValueError, match=message):
        case.search(**changes)


def test_arrays_are_not_converted():
    case = Case.random(11, sizes=(4, 5), n_rows=20)
    with pytest.raises(TypeError, match="kept"):
        case.search(kept=[case.kept[0].astype(np.int32)])
    with pytest.raises(TypeError):
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
