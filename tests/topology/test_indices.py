import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from cofire.topology.indices import distinct, find, merge, without

few = st.lists(st.integers(0, 20), max_size=12)


@given(a=few, b=few)
def test_merge_is_the_union(a, b):
    merged = merge(np.array(a, int), np.array(b, int))
    assert merged.tolist() == sorted({*a, *b})


@given(a=st.sets(st.integers(0, 20)), b=few)
def test_find_gives_the_index_or_minus_one(a, b):
    a = sorted(a)
    found = find(np.array(a, int), np.array(b, int))
    assert found.tolist() == [a.index(x) if x in a else -1 for x in b]


@given(a=st.sets(st.integers(0, 20)), b=few)
def test_without_is_the_difference(a, b):
    left = without(np.array(sorted(a), int), np.array(b, int))
    assert left.tolist() == sorted(a - set(b))


@given(data=st.data(), total=st.integers(0, 30), seed=st.integers(0, 99))
def test_distinct_numbers_are_exactly_n_and_ascending(data, total, seed):
    n = data.draw(st.integers(0, total))
    drawn = distinct(total, n, np.random.default_rng(seed))
    assert drawn.dtype == np.int64
    assert len(drawn) == n
    assert set(drawn.tolist()) <= set(range(total))
    assert (np.diff(drawn) > 0).all()


@pytest.mark.parametrize("n", [1, 3, 4])
def test_every_set_of_distinct_numbers_is_equally_likely(n):
    rng = np.random.default_rng(1)
    counts = dict.fromkeys(itertools.combinations(range(6), n), 0)
    for _ in range(200 * len(counts)):
        counts[tuple(distinct(6, n, rng).tolist())] += 1
    assert chisquare(list(counts.values())).pvalue > 0.001


def test_of_nearly_all_numbers_the_missing_ones_are_drawn():
    asked = []

    class Watched(np.random.Generator):
        def integers(self, high, size):
            asked.append(size)
            return super().integers(high, size=size)

    n = 10**5 - 3
    tracemalloc.start()
    try:
        drawn = distinct(10**5, n, Watched(np.random.PCG64(0)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(np.unique(drawn)) == n
    assert asked == [3]  # drawn once: no two of these three are equal
    assert peak < 1.5 * 8 * n  # a byte for each number, beside those returned


@pytest.mark.parametrize("n", [-1, 4])
def test_distinct_refuses_more_than_there_are(n):
    with pytest.raises(ValueError, match="out of 3"):
        distinct(3, n, np.random.default_rng(0))
