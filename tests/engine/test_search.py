"""The search for the best indices equals brute force, however it is cut up."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cofire import engine
from cofire.core.layer import SparseLayer
from cofire.core.network import ACTIVATIONS, OUTPUTS, SparseNetwork
from helpers import naive, processes
from helpers.engine_cases import examples, random_network, random_targets
from helpers.search_cases import (
    KINDS,
    Case,
    as_rows,
    assert_same_indices,
    of_all_ties,
    of_every_score,
    with_real_numbers,
)

# Around the widths of a vector, of a tile (64) and of a chunk (768), and around the
# number up to which sums are made in double (256).
N_ROWS = (0, 1, 5, 8, 9, 16, 17, 63, 64, 65, 100, 129, 255, 256, 257, 767, 769, 1600)


def assert_as_brute_force(case, n_threads=1):
    indices, n_firing = case.search(n_threads)
    assert_same_indices(indices, case.brute_force())
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
def test_the_indices_are_those_of_brute_force(
    score, ties, seed, n_rows, n_threads, **how
):
    if how["activation"] == "leaky_relu":  # whole numbers that only double can sum
        n_rows = min(n_rows, 256)
    case = Case.random(seed, n_rows=n_rows, score=score, ties=ties, **how)
    assume(case.sums_are_exact())
    assert_as_brute_force(case, n_threads)


@of_every_score
@of_all_ties
def test_every_number_of_rows_gives_the_indices_of_brute_force(ties, score):
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
    assert_same_indices(case.search(2)[0], case.brute_force())


@of_every_score
@of_all_ties
def test_a_side_of_several_windows_is_ranked_as_one(score, ties):
    how = {"dead": 0.0, "wish": 0.1, "activation": "identity"}
    sizes = (1100, 60, 1070)
    case = Case.random(12, sizes=sizes, n_rows=40, score=score, ties=ties, **how)
    indices, n_firing = case.search(2)
    assert n_firing == list(sizes)  # more than the 1056 of a window
    assert_same_indices(indices, case.brute_force())


@pytest.mark.parametrize("output", ["softmax", "sigmoid"])
def test_the_last_layer_is_judged_by_what_the_network_says(output):
    # Four equal probabilities, or halves: exact, and different from the sums of 0.
    case = Case.random(2, sizes=(12, 20, 4), n_rows=200, dead=0.0)
    last = case.network.layers[-1]
    last.weights[:] = 0
    last.bias[:] = 0
    case.network = SparseNetwork(case.network.layers, "relu", output)
    indices, n_firing = case.search()
    assert_same_indices(indices, case.brute_force())
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
    indices, _ = case.search()
    for found, best, ranks in zip(
        indices, case.brute_force(), case.ranks(), strict=True
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


@pytest.mark.parametrize("n_rows", [200, 1000])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("score", ["hebb", "euclidean", "gradient"])
def test_no_index_left_out_has_a_higher_score(score, output, activation, n_rows):
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
        # The bounds are narrow: as good as every index is either in or out.
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
    layer = SparseLayer.from_flat_indices([0, 7], [1, 1], np.zeros(3), 3, 3)
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
def test_indices_come_in_the_order_known_by_eye(score, kept):
    case = eye_case(score, "index")
    order = [p for p in sum(EYE_ORDER[score], []) if p not in kept]
    for n in range(len(order) + 1):
        indices, n_firing = case.search(kept=[np.array(kept, np.int64)], n_wanted=[n])
        assert indices[0].tolist() == sorted(order[:n])
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
        for indices in found:
            assert set(best) <= set(indices) <= {*best, *rest[0]}
        # 40 throws: each of the equals is taken sometimes, and left out sometimes
        if n_open:
            assert set().union(*found) == {*best, *rest[0]}
            assert set(best) == set(found.pop()).intersection(*found)


@pytest.mark.parametrize("score", ["hebb", "gradient"])
def test_more_than_16_digits_are_looked_at_but_not_18(score):
    # Score = input: 2**16 + 1 has 17 binary digits, 2**17 + 1 has 18.
    X = np.array([[2**16, 2**16 + 1, 2**17, 2**17 + 1, 2**17 + 2]])
    layer = SparseLayer.from_flat_indices([], [], [1], 5, 1)
    network = SparseNetwork([layer], "relu", "identity")
    kept = [np.empty(0, np.int64)]
    how = {"score": score, "ties": "index", "targets": np.zeros((1, 1), np.float32)}
    case = Case(network, as_rows(X, "floats"), X, np.arange(1), None, kept, [5], **how)
    found = [case.search(n_wanted=[n])[0][0].tolist() for n in range(1, 6)]
    assert found == [[3], [3, 4], [2, 3, 4], [1, 2, 3, 4], [0, 1, 2, 3, 4]]


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
    layer = SparseLayer.from_flat_indices(
        np.arange(n) * (n + 1), np.ones(n), np.zeros(n), n, n
    )
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
    layer = SparseLayer.from_flat_indices([], [], np.zeros(4), 5, 4)
    case.network = SparseNetwork([layer], "relu", output)
    case.targets = random_targets(np.random.default_rng(18), output, 22, 4)
    assert case.search(score="cosine")[1] == [5, 4]
    assert case.search()[1] == [5, 4]


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
