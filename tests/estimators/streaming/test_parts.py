"""What a fit over a stream is made of: sample, moments, layout, feed."""

import threading

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from cofire.core.machine import in_words, parse_bytes
from cofire.core.random import held_out
from cofire.estimators.encoder import Encoder
from cofire.estimators.streaming.feed import Feed
from cofire.estimators.streaming.layout import Layout
from cofire.estimators.streaming.moments import (
    ColumnMoments,
    SparseMoments,
    with_moments,
)
from cofire.estimators.streaming.sample import Sample
from cofire.estimators.streaming.tables import Recut
from cofire.training.steps import Steps
from helpers.engine_cases import examples
from helpers.training_cases import SETTINGS

# ---- the sample ----------------------------------------------------------------------


def drawn(n, size, cuts, seed=0):
    sample = Sample(size, seed)
    for part in np.split(np.arange(n), sorted(cuts)):
        sample.add(part[:, None], part * 2, None)
    return sample


@examples(30)
@given(
    n=st.integers(1, 300),
    size=st.integers(1, 200),
    cuts=st.sets(st.integers(0, 300)),
)
def test_a_sample_does_not_depend_on_the_parts_in_which_rows_come(n, size, cuts):
    whole = drawn(n, size, ()).rows()
    sample = drawn(n, size, {c for c in cuts if c <= n})
    X, y, weight, numbers = sample.rows()
    assert (X[:, 0] == numbers).all() and (y == 2 * numbers).all() and weight is None
    assert numbers.tolist() == whole[-1].tolist() == sorted(set(numbers.tolist()))
    assert len(numbers) == min(n, size)
    assert sample.is_complete == (n <= size)


def test_each_row_is_as_likely_as_any_other():
    counts = np.zeros(100)
    for seed in range(400):
        counts[drawn(100, 10, (7, 50), seed).rows()[-1]] += 1
    assert counts.sum() == 4000
    # Each is drawn 40 times on average, with a deviation of 6.
    assert 15 < counts.min() and counts.max() < 65
    assert abs(counts[:50].sum() - 2000) < 200


@examples(20)
@given(size=st.integers(1, 9), parts=st.lists(st.integers(1, 12), min_size=1))
def test_rows_are_cut_again(size, parts):
    recut, found = Recut(size), []
    values = np.arange(sum(parts))
    for part in np.split(values, np.cumsum(parts)[:-1]):
        found += list(recut.add(part, None))
    found += list(recut.rest())
    assert [len(block) for block, _ in found[:-1]] == [size] * (len(found) - 1)
    assert np.concatenate([block for block, _ in found]).tolist() == values.tolist()
    assert all(nothing is None for _, nothing in found)


# ---- means and scales ----------------------------------------------------------------


def rows_of_all_kinds(n=6000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8)) * [1, 1e6, 1e-6, 1, 1, 1, 1, 1]
    X[:, 1] += 1e9
    X[:, 3] = 7.0  # constant
    X[:, 4] = rng.random(n) < 0.002  # rare
    X[rng.random(n) < 0.3, 5] = np.nan
    X[17, 6] = 1e30  # an outlier
    X[:, 7] = np.arange(n)  # drifts
    return X


@pytest.mark.parametrize("weighted", [False, True])
def test_scales_of_all_rows_are_those_of_memory(weighted):
    X = rows_of_all_kinds()
    weight = None
    if weighted:
        weight = np.random.default_rng(1).random(len(X)) + 0.5
    own = None if weight is None else weight[::3]
    expected = Encoder.learn(X, weight)
    moments = ColumnMoments(X)
    for i in range(0, len(X), 100):
        block = moments.block(X[i : i + 100])
        moments.add(block, None if weight is None else weight[i : i + 100])
    found = with_moments(Encoder.learn(X[::3], own), X[::3], own, moments)
    plain = [0, 1, 2, 3, 4, 5, 7]
    assert found.centre[plain] == pytest.approx(expected.centre[plain], rel=1e-9)
    assert found.scale[plain] == pytest.approx(expected.scale[plain], rel=1e-9)
    # A column with outliers has the clipped moments of the sample.
    assert found.scale[6] == pytest.approx(expected.scale[6], rel=0.1)
    assert found.scale[3] == 0


def test_a_column_that_is_constant_in_the_sample_is_not_lost():
    X = np.zeros((5000, 2))
    X[:, 0] = np.arange(5000)
    X[4321, 1] = 1
    sample = X[:1000]
    moments = ColumnMoments(X)
    moments.add(moments.block(X), None)
    assert Encoder.learn(sample, None).scale[1] == 0
    found = with_moments(Encoder.learn(sample, None), sample, None, moments)
    assert found.scale[1] == pytest.approx(Encoder.learn(X, None).scale[1])
    assert found.scale[1] > 0


@pytest.mark.parametrize("weighted", [False, True])
def test_scales_of_sparse_rows_are_those_of_memory(weighted):
    X = scipy.sparse.random_array((3000, 20), density=0.2, rng=0, format="csr")
    X = scipy.sparse.csr_array(X * 10.0 ** np.arange(-10, 10))
    weight = np.random.default_rng(1).random(3000) + 0.5 if weighted else None
    expected = Encoder.learn(X, weight)
    moments = SparseMoments()
    for i in range(0, 3000, 100):
        part = slice(i, i + 100)
        moments.add(X[part], None if weight is None else weight[part])
    own = None if weight is None else weight[::2]
    found = with_moments(Encoder.learn(X[::2], own), X[::2], own, moments)
    assert found.scale == pytest.approx(expected.scale, rel=1e-9)


# ---- blocks --------------------------------------------------------------------------


@examples(40)
@given(
    n_rows=st.integers(5, 60),
    batch=st.integers(1, 5),
    n_batches=st.integers(1, 4),
    per_epoch=st.one_of(st.none(), st.integers(1, 9)),
    interval=st.one_of(st.none(), st.integers(1, 7)),
    drop_last=st.booleans(),
)
def test_the_parts_of_blocks_are_the_rows_of_the_steps(
    n_rows, batch, n_batches, per_epoch, interval, drop_last
):
    from dataclasses import replace

    settings = replace(
        SETTINGS,
        batch_size=batch,
        steps_per_epoch=per_epoch,
        update_interval=interval,
        drop_last=drop_last and per_epoch is None,
        shuffle=False,
    )
    steps = Steps(np.arange(n_rows), settings, 0)
    layout = Layout(n_rows, batch * n_batches, by_pass=per_epoch is None)
    for epoch in range(4):
        for stretch in steps.stretches(epoch):
            expected = steps.order(stretch.begin, stretch.end)
            if settings.drop_last:
                expected = expected[: (stretch.end - stretch.begin) * batch]
            found, step = [], stretch.begin
            for part in layout.parts(steps, stretch):
                position, size = layout.block(part.block)
                assert 0 <= part.begin < part.end <= size
                assert part.first_step == step
                assert part.begin % batch == 0
                step += -(-(part.end - part.begin) // batch)
                rows = range(position + part.begin, position + part.end)
                found += [i % n_rows for i in rows]
                assert part.block < layout.n_blocks(epoch + 1, steps)
            assert step == stretch.end
            assert found == expected.tolist()


# ---- the feed ------------------------------------------------------------------------


class Blocks:
    """What a feed loads: says how often, and whether one is changed in use."""

    def __init__(self):
        self.loaded, self.places, self.lock = [], [None, None], threading.Lock()

    def load(self, number, place):
        with self.lock:
            self.loaded.append(number)
            self.places[place] = number
        return lambda: self.places[place]


def walk(feed, network, numbers, found, wait):
    try:
        for number in numbers:
            block = feed.get(network, number)
            wait()
            found.append((number, block()))
    finally:
        feed.leave(network)


@pytest.mark.parametrize("prefetch", [False, True])
@pytest.mark.parametrize("n_running", [1, 3])
@examples(15)
@given(
    plans=st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 3)), min_size=1, max_size=4
    ),
    seed=st.integers(0, 99),
)
def test_networks_get_the_blocks_that_they_ask_for(prefetch, n_running, plans, seed):
    """A plan: where a network begins, and after how many blocks it starts again."""
    limit, blocks = 10, Blocks()
    feed = Feed(blocks.load, limit=limit, prefetch=prefetch, n_running=n_running)
    waits = np.random.default_rng(seed).random(7) * 1e-3
    threads, everything = [], []
    for i, (first, again) in enumerate(plans):
        numbers = list(range(first, limit))
        if again:
            numbers = [*numbers[:again], *numbers]
        pause = threading.Event()
        found = []
        everything.append((numbers, found))
        wait = lambda seconds=waits[i], pause=pause: pause.wait(seconds)  # noqa: E731
        feed.join(i)
        args = feed, i, numbers, found, wait
        threads.append(threading.Thread(target=walk, args=args, daemon=True))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive(), "networks wait for each other"
    for numbers, found in everything:
        assert found == [(number, number) for number in numbers]


@pytest.mark.parametrize("prefetch", [False, True])
def test_a_block_is_loaded_once_for_all(prefetch):
    blocks = Blocks()
    feed = Feed(blocks.load, limit=9, prefetch=prefetch, n_running=2)
    threads = []
    for i in range(4):
        feed.join(i)
        args = feed, i, range(9), [], lambda: None
        threads.append(threading.Thread(target=walk, args=args))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert blocks.loaded == list(range(9))


@pytest.mark.parametrize("prefetch", [False, True])
def test_an_error_in_loading_is_told_to_all(prefetch):
    def load(number, place):
        if number == 2:
            raise OSError("the disk is gone")
        return number

    feed = Feed(load, limit=9, prefetch=prefetch, n_running=1)
    feed.join("a")
    assert [feed.get("a", 0), feed.get("a", 1)] == [0, 1]
    with pytest.raises(OSError, match="the disk is gone"):
        feed.get("a", 2)
    feed.leave("a")
    feed.join("b")  # from the beginning again
    assert feed.get("b", 0) == 0
    feed.leave("b")


def test_one_that_fails_ends_those_who_wait():
    feed = Feed(lambda number, place: number, limit=9, prefetch=True, n_running=1)
    feed.join("a")
    feed.join("b")  # asks for nothing: no block is loaded

    def fail():
        feed.stop()
        feed.leave("b")

    threading.Timer(0.05, fail).start()
    with pytest.raises(RuntimeError, match="another network has failed"):
        feed.get("a", 0)
    feed.leave("a")


# ---- amounts of memory, parts of rows ------------------------------------------------


@pytest.mark.parametrize("amount", [0, -1, "", "1 apple", "GB", None, True, [1]])
def test_what_is_no_amount_of_memory_is_refused(amount):
    with pytest.raises(ValueError, match="memory_budget=.*expected a number of bytes"):
        parse_bytes(amount, "memory_budget")


@examples(50)
@given(n=st.integers(1, 2**45))
def test_an_amount_in_words_is_enough(n):
    said = in_words(n)
    assert n <= parse_bytes(said, "x") <= max(1000, 2 * n)


def test_rows_are_held_out_in_runs_whatever_is_read_at_once():
    whole = held_out(5, 2, np.arange(1000), 0.3)
    parts = [held_out(5, 2, np.arange(i, i + 100), 0.3) for i in range(0, 1000, 100)]
    assert (np.concatenate(parts) == whole).all()
    assert (whole.reshape(-1, 8).min(axis=1) == whole.reshape(-1, 8).max(axis=1)).all()
    assert not held_out(5, 2, np.arange(1000), 0.0).any()
