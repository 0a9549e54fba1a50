import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from cofire.core.layer import SparseLayer
from cofire.topology.create import create_network
from cofire.topology.select import (
    first_absent,
    largest,
    random_absent,
    smallest_magnitude,
)
from helpers import naive
from helpers.strategies import layers


@given(data=st.data(), layer=layers(), seed=st.integers(0, 99))
def test_smallest_magnitude_takes_n_and_leaves_nothing_smaller(data, layer, seed):
    n = data.draw(st.integers(0, layer.nnz))
    chosen = smallest_magnitude(layer, n, np.random.default_rng(seed))

    assert chosen.dtype == np.int64
    assert len(chosen) == n
    assert (np.diff(chosen) > 0).all()
    assert set(chosen.tolist()) <= naive.flat_indices(layer)
    magnitude = np.abs(naive.to_dense(layer)).ravel()
    left = sorted(naive.flat_indices(layer) - set(chosen.tolist()))
    if n and left:
        assert magnitude[chosen].max() <= magnitude[left].min()


def test_smallest_magnitude_breaks_ties_evenly():
    layer = SparseLayer.from_flat_indices(
        range(6), [0.1, -3, 1, -1, 1, -1], [0, 0], n_in=3, n_out=2
    )
    rng = np.random.default_rng(0)
    counts = {(0, *pair): 0 for pair in itertools.combinations((2, 3, 4, 5), 2)}
    for _ in range(1200):
        counts[tuple(smallest_magnitude(layer, 3, rng).tolist())] += 1
    assert chisquare(list(counts.values())).pvalue > 0.001


@pytest.mark.parametrize("n", [-1, 2])
def test_smallest_magnitude_refuses_more_than_there_are_and_less_than_none(n):
    layer = SparseLayer.from_flat_indices([0], [1], [0], n_in=3, n_out=1)
    with pytest.raises(ValueError, match=f"cannot choose {n} of 1"):
        smallest_magnitude(layer, n, np.random.default_rng(0))


@given(data=st.data(), layer=layers(), seed=st.integers(0, 99))
def test_random_absent_draws_n_of_the_allowed_indices(data, layer, seed):
    every = set(range(layer.n_in * layer.n_out))
    also = data.draw(st.sets(st.sampled_from(sorted(every))))
    exclude = data.draw(st.sets(st.sampled_from(sorted(every))))
    allowed = (every - naive.flat_indices(layer) | also) - exclude
    n = data.draw(st.integers(0, len(allowed)))

    drawn = random_absent(
        layer,
        n,
        np.random.default_rng(seed),
        also=np.array(list(also), dtype=np.int64),
        exclude=np.array(list(exclude), dtype=np.int64),
    )

    assert drawn.dtype == np.int64
    assert len(drawn) == n
    assert (np.diff(drawn) > 0).all()
    assert set(drawn.tolist()) <= allowed


def test_random_absent_is_uniform():
    layer = SparseLayer.from_flat_indices([0, 2, 3, 8], np.ones(4), np.zeros(3), 3, 3)
    also, exclude = np.array([2]), np.array([5])
    rng = np.random.default_rng(0)
    counts = dict.fromkeys(itertools.combinations((1, 2, 4, 6, 7), 2), 0)
    for _ in range(2000):
        drawn = random_absent(layer, 2, rng, also=also, exclude=exclude)
        counts[tuple(drawn.tolist())] += 1
    assert chisquare(list(counts.values())).pvalue > 0.001


@given(layer=layers(), seed=st.integers(0, 99))
def test_random_absent_can_fill_a_layer_but_not_more(layer, seed):
    n_free = layer.n_in * layer.n_out - layer.nnz
    drawn = random_absent(layer, n_free, np.random.default_rng(seed))
    every = set(range(layer.n_in * layer.n_out))
    assert set(drawn.tolist()) == every - naive.flat_indices(layer)
    with pytest.raises(ValueError, match=f"only {n_free} indices are free"):
        random_absent(layer, n_free + 1, np.random.default_rng(seed))


def test_random_absent_of_a_huge_layer_costs_no_more_than_its_connections():
    n = 200_000
    layer = create_network(
        [10**6, 10**6], [n], init="normal", activation="relu", output="softmax", seed=0
    ).layers[0]
    tracemalloc.start()
    try:
        drawn = random_absent(layer, n, np.random.default_rng(0))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(np.union1d(drawn, layer.flat_indices)) == 2 * n
    assert drawn.max() > 0.99 * 10**12
    # Ten arrays of int64; the indices of 10**6 rows are counted too.
    assert peak < 10 * 8 * n + 2 * 8 * 10**6


@given(layer=layers(), data=st.data())
def test_first_absent_counts_input_by_input(layer, data):
    n_possible = layer.n_in * layer.n_out
    also = data.draw(st.sets(st.sampled_from(layer.flat_indices.tolist() or [0])))
    also = np.array(sorted(also & naive.flat_indices(layer)), np.int64)
    free = [
        o * layer.n_in + i
        for i in range(layer.n_in)
        for o in range(layer.n_out)
        if o * layer.n_in + i not in naive.flat_indices(layer) - set(also.tolist())
    ]
    n = data.draw(st.integers(0, len(free)))
    assert first_absent(layer, n, also=also).tolist() == sorted(free[:n])
    assert len(first_absent(layer, n_possible - layer.nnz)) == n_possible - layer.nnz


@given(
    scores=st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=1),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_the_largest_are_no_smaller_than_the_rest(scores, seed, data):
    n = data.draw(st.integers(0, len(scores)))
    chosen = largest(np.array(scores), n, np.random.default_rng(seed)).tolist()
    rest = [s for k, s in enumerate(scores) if k not in chosen]
    assert chosen == sorted(set(chosen)) and len(chosen) == n
    assert not chosen or not rest or min(scores[k] for k in chosen) >= max(rest)


def test_ties_among_the_largest_go_by_lot():
    chosen = {
        tuple(largest(np.array([1.0, 2, 1]), 2, np.random.default_rng(s)))
        for s in range(20)
    }
    assert chosen == {(0, 1), (1, 2)}
