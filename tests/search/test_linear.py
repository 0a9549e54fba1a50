"""The linear search: neurons whose hashes meet."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from cofire import engine
from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.search import Linear
from cofire.search.strategy import sample_rows
from helpers import processes
from helpers.engine_cases import random_network
from helpers.similarity_cases import (
    assert_indices,
    find,
    lifelike,
    no_indices,
    of_every_score,
    one_layer,
    pairs,
)


def copies(sign, n=2000, n_rows=400):
    """A hidden layer of which each of n outputs repeats a unit, times `sign`."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 60)).astype(np.float32)
    first = random_network(rng, (60, n), densities=[0.15]).layers[0]
    planted = np.arange(n) * n + rng.permutation(n)
    second = SparseLayer.from_flat_indices(planted, np.full(n, sign), np.zeros(n), n, n)
    case = one_layer([], [], X, 1)
    case.network = SparseNetwork([first, second], "relu", "identity")
    units = case.levels()[1]
    planted = planted[(units != 0).sum(axis=0)[planted % n] > 9]
    return replace(case, kept=[no_indices()] * 2, n_wanted=[0, n]), planted


def test_equal_neurons_among_thousands_are_found():
    case, planted = copies(1.0)
    assert len(planted) > 1500
    assert np.isin(planted, find(case, "linear").indices[1]).mean() > 0.98


def test_opposite_neurons_are_alike_in_the_first_layer():
    # Inputs below 0, and outputs that turn them round: all cosines are -1.
    n, rng = 2000, np.random.default_rng(0)
    X = scipy.sparse.random_array(
        (400, n), density=0.05, format="csr", dtype=np.float32, rng=rng
    )
    X.data[:] = -0.1 - X.data
    planted = np.arange(n) * n + rng.permutation(n)
    case = one_layer(planted, -1.0, X, n)
    assert np.isin(planted, find(case, "linear").indices[0]).mean() > 0.98


def test_opposite_neurons_are_alike_in_the_last_layer():
    case, planted = copies(-1.0)
    assert np.isin(planted, find(case, "linear").indices[1]).mean() > 0.98


@of_every_score
def test_what_is_found_is_much_better_than_chance(score):
    case = lifelike(1500, score=score)
    found = find(case, "linear").indices
    for ranks, kept, indices in zip(case.ranks(), case.kept, found, strict=True):
        free = np.delete(ranks.ravel(), kept)
        share_below = np.searchsorted(np.sort(free), ranks.flat[indices]) / len(free)
        assert share_below.mean() > (0.6 if score == "lowest_cosine" else 0.8)


def test_more_tables_find_better_pairs():
    case = lifelike(1500)
    mean = [
        np.mean([r.flat[p].mean() for r, p in zip(case.ranks(), found, strict=True)])
        for found in (find(case, Linear(tables)).indices for tables in (1, 8, 64))
    ]
    assert mean[0] < mean[1] < mean[2]


def test_where_too_few_meet_random_indices_join_them():
    case, planted = copies(1.0, n=300)
    case = replace(case, n_wanted=[60, 60_000])
    found = find(case, "linear")
    assert_indices(case, found.indices)
    search = pairs(case)
    sample = replace(search, row_ids=sample_rows(search, None, len(search.row_ids))[0])
    met, _ = engine.hashed_pairs(sample, row_weight=None, n_tables=8)
    assert len(met[0]) == 60 and len(planted) < len(met[1]) < 60_000
    assert np.isin(met[1], found.indices[1]).all()
    assert np.isin(planted, met[1]).mean() > 0.98
    others = np.setdiff1d(found.indices[1], met[1])
    assert 44_000 < others.mean() < 46_000  # anywhere among 90,000
    again = find(case, "linear", epoch=case.epoch + 1).indices[1]
    assert not np.array_equal(again, found.indices[1])


def test_a_network_that_never_fires_grows_at_random():
    case = one_layer([], [], np.zeros((700, 50), np.float32), 40, n_wanted=[500])
    one, two = (find(case, "linear", epoch=epoch).indices[0] for epoch in (0, 1))
    assert len(np.intersect1d(one, two)) < 250  # 125 expected
    for indices in (one, two):
        assert 900 < indices.mean() < 1100


@pytest.mark.skipif(sys.platform != "linux", reason="others count in other units")
def test_a_layer_of_ten_billion_pairs_is_searched_in_little_memory():
    run = subprocess.run(
        processes.program("search_programs", "memory"),
        env=processes.environment(),
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < 600  # a bit for each pair would be 1250
