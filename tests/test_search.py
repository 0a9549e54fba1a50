"""The search for neurons that fire alike equals brute force, however it is cut up."""

import _thread
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import naive
from cofire import engine
from cofire.layer import SparseLayer
from cofire.network import SparseNetwork
from engine_cases import examples, random_network
from oracle import DenseNetwork, activate, finish

SIMD_LEVELS = ("baseline", "x86_64_v3", "x86_64_v4")
# Around the widths of a vector, of a tile (64) and of a chunk (768).
N_ROWS = (0, 1, 5, 8, 9, 16, 17, 63, 64, 65, 100, 129, 767, 769, 1600)


# ---- cases whose sums float32 holds exactly ------------------------------------------


def whole_layer(rng, n_in, n_out, dead):
    """At most two connections a neuron, weights 1 or -1; some neurons never fire."""
    mask = np.zeros((n_out, n_in), bool)
    mask[np.arange(n_out), rng.integers(n_in, size=n_out)] = True
    mask[np.arange(n_out), rng.integers(n_in, size=n_out)] = True
    mask[rng.random(n_out) < dead / 2] = False
    keys = np.flatnonzero(mask)
    weights = rng.choice([-1.0, 1.0], size=len(keys))
    bias = rng.integers(-1, 2, size=n_out).astype(np.float32)
    bias[rng.random(n_out) < dead] = -100
    return SparseLayer.from_keys(keys, weights, bias, n_in, n_out)


@dataclass
class Case:
    """A search; `dense` are the rows in float64, sample-major."""

    network: SparseNetwork
    rows: engine.Rows
    dense: np.ndarray
    row_ids: np.ndarray
    sample_weight: np.ndarray | None
    kept: list[np.ndarray]
    n_wanted: list[int]
    seed: int = 7
    epoch: int = 3

    @classmethod
    def random(
        cls,
        seed,
        *,
        sizes,
        n_rows,
        kind="floats",
        weighted=False,
        dead=0.2,
        activation="relu",
        fullness=0.3,
        wish=0.5,
    ):
        """Draw whole numbers; `wish` is the share of the free places that is wanted."""
        rng = np.random.default_rng(seed)
        shapes = zip(sizes[:-1], sizes[1:], strict=True)
        layers = [whole_layer(rng, *shape, dead) for shape in shapes]
        network = SparseNetwork(layers, activation, "identity")
        X = rng.integers(0 if kind == "bytes" else -3, 4, size=(n_rows + 2, sizes[0]))
        X[:, rng.random(sizes[0]) < dead] = 0
        if kind == "sparse":
            X[rng.random(X.shape) < 0.6] = 0
        weight = rng.integers(1, 4, size=len(X)).astype(np.float32)
        free = [rng.random(x.n_in * x.n_out) >= fullness for x in layers]
        return cls(
            network,
            as_rows(X, kind),
            X.astype(np.float64),
            rng.permutation(len(X))[:n_rows],
            weight if weighted else None,
            [np.flatnonzero(~f) for f in free],
            [int(wish * f.sum()) for f in free],
            int(rng.integers(2**31)),
            int(rng.integers(1000)),
        )

    def search(self, n_threads=1, **changes):
        how = {
            "row_ids": self.row_ids,
            "sample_weight": self.sample_weight,
            "kept": self.kept,
            "n_wanted": self.n_wanted,
            "seed": self.seed,
            "epoch": self.epoch,
        }
        how |= changes
        return engine.most_similar(self.network, self.rows, n_threads=n_threads, **how)

    def levels(self):
        """What each level shows for the rows in use: (n_used, n_neurons) each."""
        x = self.dense[self.row_ids]
        *hidden, last = DenseNetwork(self.network).sums(x)
        hidden = [activate(z, self.network.activation) for z in hidden]
        return [x, *hidden, finish(last, self.network.output)]

    def ranks(self):
        weight = np.ones(len(self.dense))
        if self.sample_weight is not None:
            weight = self.sample_weight.astype(np.float64)
        levels = self.levels()
        return [
            naive.cosine_ranks(a, b, weight[self.row_ids])
            for a, b in zip(levels[:-1], levels[1:], strict=True)
        ]

    def brute_force(self):
        return [
            naive.best_places(r, kept, n, seed=self.seed, layer=i, epoch=self.epoch)
            for i, (r, kept, n) in enumerate(
                zip(self.ranks(), self.kept, self.n_wanted, strict=True)
            )
        ]


def as_rows(X, kind):
    if kind == "bytes":
        return engine.Rows(X.astype(np.uint8))
    X = X.astype(np.float32)
    return engine.Rows(scipy.sparse.csr_array(X) if kind == "sparse" else X)


def assert_same_places(actual, expected):
    assert len(actual) == len(expected)
    for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
        np.testing.assert_array_equal(a, b, err_msg=f"layer {i}")


# ---- equal to brute force ------------------------------------------------------------

widths = st.sampled_from([1, 2, 3, 4, 5, 7, 12, 25, 50])


@examples(400)
@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(widths, min_size=2, max_size=5),
    n_rows=st.sampled_from(N_ROWS),
    kind=st.sampled_from(["floats", "bytes", "sparse"]),
    weighted=st.booleans(),
    dead=st.sampled_from([0.0, 0.2, 0.9]),
    activation=st.sampled_from(["relu", "identity"]),
    fullness=st.sampled_from([0.0, 0.05, 0.5, 0.97, 1.0]),
    wish=st.sampled_from([0.0, 0.01, 0.1, 0.6, 1.0]),
    n_threads=st.sampled_from([1, 2, 3, 8]),
)
def test_the_places_are_those_of_brute_force(seed, n_threads, **how):
    case = Case.random(seed, **how)
    places, n_firing = case.search(n_threads)
    assert_same_places(places, case.brute_force())
    assert n_firing == [int((x != 0).any(axis=0).sum()) for x in case.levels()]


def test_layers_of_several_windows_are_those_of_brute_force():
    # 1.9 million pairs in the middle: as good as every rank is taken, so also the
    # rounding of ranks shows.
    how = {"dead": 0.02, "wish": 0.1}
    case = Case.random(1, sizes=(30, 1500, 1300, 3), n_rows=300, **how)
    assert_same_places(case.search(2)[0], case.brute_force())


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


# ---- nothing else matters ------------------------------------------------------------


def real_case(seed=5, n_rows=2500):
    """Rows and weights where every order of summing gives other bits."""
    rng = np.random.default_rng(seed)
    case = Case.random(seed, sizes=(40, 150, 90, 5), n_rows=n_rows, wish=0.02)
    case.network = random_network(rng, (40, 150, 90, 5), densities=[0.1, 0.05, 0.2])
    case.rows = engine.Rows(rng.normal(size=(n_rows + 2, 40)).astype(np.float32))
    return case


@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_the_number_of_threads_changes_nothing(n_threads):
    case = real_case()
    places, n_firing = case.search(n_threads)
    expected, expected_firing = case.search(1)
    assert_same_places(places, expected)
    assert n_firing == expected_firing


def test_a_layer_is_found_the_same_when_others_are_left_out():
    case = real_case()
    alone = case.search(n_wanted=[0, case.n_wanted[1], 0])[0]
    assert [len(p) for p in alone] == [0, case.n_wanted[1], 0]
    np.testing.assert_array_equal(alone[1], case.search()[0][1])


def test_rows_that_are_not_asked_for_do_not_matter():
    case = Case.random(6, sizes=(9, 12, 5), n_rows=50)
    expected = case.search()[0]
    X = case.dense.copy()
    X[np.setdiff1d(np.arange(len(X)), case.row_ids)] = np.nan
    case.rows = as_rows(X, "floats")
    assert_same_places(case.search()[0], expected)


def test_a_row_of_weight_two_is_the_row_twice():
    case = Case.random(7, sizes=(20, 60, 40, 6), n_rows=500, weighted=True)
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
from test_search import Case
case = Case.random(9, sizes=(40, 130, 90, 5), n_rows=1500, weighted=True, wish=0.03)
places, n_firing = case.search(2)
print(engine.simd_level(), n_firing, [zlib.crc32(p.tobytes()) for p in places])
"""


@pytest.mark.parametrize("level", SIMD_LEVELS)
def test_every_simd_level_finds_the_same(level):
    def run(**environment):
        path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
        environment = os.environ | {"PYTHONPATH": path} | environment
        command = [sys.executable, "-c", LEVEL_SCRIPT]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    found = run(COFIRE_SIMD=level)
    if "this machine has no such level" in found.stderr:
        pytest.skip(f"no {level} here")
    assert found.stdout.split()[0] == level, found.stderr
    assert found.stdout.split()[1:] == run().stdout.split()[1:]


# ---- manners -------------------------------------------------------------------------


def wide_case(n, n_rows):
    rng = np.random.default_rng(0)
    layer = SparseLayer.from_keys(
        np.arange(n) * (n + 1), rng.normal(size=n), np.zeros(n), n, n
    )
    network = SparseNetwork([layer], "relu", "identity")
    X = rng.normal(size=(16, n)).astype(np.float32)
    kept = [np.empty(0, np.int64)]
    ids = np.resize(np.arange(16), n_rows)
    return Case(network, engine.Rows(X), X, ids, None, kept, [n])


MEMORY_SCRIPT = """
from test_search import wide_case
def peak():
    status = open("/proc/self/status").read()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024
case = wide_case(6000, 100)
wide_case(10, 100).search(2)
before = peak()
case.search(2)
print(peak() - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux")
def test_a_layer_of_36_million_pairs_needs_no_memory_for_them():
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    found = subprocess.run(
        [sys.executable, "-c", MEMORY_SCRIPT],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(found.stdout) < 40  # as floats they would be 144 MB


def test_an_interrupt_ends_the_search_within_a_second():
    case = wide_case(2000, 400_000)
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
