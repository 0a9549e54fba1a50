"""Which rows each step takes, how epochs are cut, when updates are due."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofire import engine
from cofire.core.random import stream
from cofire.methods.cofire import Cofire
from cofire.training.loop import train
from cofire.training.steps import Steps, Stretch
from helpers.engine_cases import examples
from helpers.training_cases import SETTINGS, begin


def make_steps(n=10, seed=3, row_ids=None, **how):
    """Steps over n rows, every second number of a larger table."""
    ids = 2 * np.arange(n) if row_ids is None else row_ids
    return Steps(ids, replace(SETTINGS, **how), seed)


LAYOUTS = st.fixed_dictionaries(
    {
        "n": st.integers(1, 30),
        "batch_size": st.integers(1, 40),
        "drop_last": st.booleans(),
        "shuffle": st.booleans(),
        "steps_per_epoch": st.none() | st.integers(1, 12),
        "seed": st.integers(0, 99),
    }
)


# ---- a slow oracle -------------------------------------------------------------------


def naive_batches(steps, n_steps):
    """The rows of the first steps, one batch after the other, each from the start."""
    ids, settings, n = steps.row_ids, steps.settings, len(steps.row_ids)
    size = min(settings.batch_size, n)
    batches, number = [], 0
    if settings.steps_per_epoch is None:
        while len(batches) < n_steps:
            order = ids
            if settings.shuffle:
                order = stream(steps.seed, "order", epoch=number).permutation(ids)
            cut = [order[k : k + size] for k in range(0, n, size)]
            if settings.drop_last and len(cut[-1]) < size:
                cut.pop()
            batches += cut
            number += 1
        return batches[:n_steps]
    drawn = []
    while len(drawn) < n_steps * size:
        passes = np.tile(ids, (max(1, 4096 // n), 1))
        if settings.shuffle:
            rng = stream(steps.seed, "order", epoch=number)
            passes = rng.permuted(passes, axis=1)
        drawn += passes.ravel().tolist()
        number += 1
    return [drawn[k * size : (k + 1) * size] for k in range(n_steps)]


def naive_stretches(per_epoch, interval, epoch):
    """Step by step: a new stretch begins with the epoch and where an update is due."""
    found = []
    for step in range(epoch * per_epoch, (epoch + 1) * per_epoch):
        due = step % interval == 0
        if due or not found:
            done = (step - epoch * per_epoch) / per_epoch
            number = step // interval if due else None
            found.append(Stretch(epoch, step, step + 1, done, number))
        else:
            found[-1] = replace(found[-1], end=step + 1)
    return found


@examples(80)
@given(layout=LAYOUTS)
def test_each_step_takes_the_rows_of_the_oracle(layout):
    steps = make_steps(**layout)
    for number, batch in enumerate(naive_batches(steps, 25)):
        assert steps.batch(number).tolist() == list(batch)


@examples(80)
@given(
    per_epoch=st.integers(1, 20),
    interval=st.integers(1, 50),
    epoch=st.integers(0, 30),
)
def test_epochs_are_cut_where_the_oracle_cuts(per_epoch, interval, epoch):
    steps = make_steps(steps_per_epoch=per_epoch, update_interval=interval)
    expected = naive_stretches(per_epoch, interval, epoch)
    assert list(steps.stretches(epoch)) == expected


# ---- what the layout promises --------------------------------------------------------


@examples(60)
@given(layout=LAYOUTS)
def test_every_row_comes_once_per_pass(layout):
    steps = make_steps(**layout)
    n, size = len(steps.row_ids), steps.batch_size
    if layout["steps_per_epoch"] is None:
        for epoch in range(3):
            first = epoch * steps.per_epoch
            rows = steps.order(first, first + steps.per_epoch)
            assert sorted(rows) == steps.row_ids.tolist()
            trained = [steps.batch(first + k) for k in range(steps.per_epoch)]
            n_left_out = n % size if layout["drop_last"] else 0
            assert len(np.unique(np.concatenate(trained))) == n - n_left_out
    else:
        n_steps = -(-3 * n // size)
        rows = np.concatenate([steps.batch(k) for k in range(n_steps)])
        for k in range(3):
            assert sorted(rows[k * n : (k + 1) * n]) == steps.row_ids.tolist()


@pytest.mark.parametrize("steps_per_epoch", [None, 7])
def test_passes_are_shuffled_differently_unless_told_not_to(steps_per_epoch):
    how = {"n": 40, "batch_size": 40, "steps_per_epoch": steps_per_epoch}
    shuffled, plain = make_steps(**how), make_steps(shuffle=False, **how)
    orders = {tuple(shuffled.batch(k)) for k in range(250)}
    assert len(orders) == 250  # those of three draws
    assert all(plain.batch(k).tolist() == plain.row_ids.tolist() for k in range(250))
    assert tuple(make_steps(seed=4, **how).batch(0)) not in orders


def test_rows_of_short_passes_come_in_any_order_and_together_evenly():
    steps = make_steps(n=3, batch_size=3, steps_per_epoch=10)
    orders = Counter(tuple(steps.batch(k).tolist()) for k in range(1200))
    assert len(orders) == 6
    assert all(140 < count < 260 for count in orders.values())  # 200 on average


@examples(60)
@given(layout=LAYOUTS, begin=st.integers(0, 40), cuts=st.lists(st.integers(0, 9)))
def test_steps_of_an_epoch_come_one_after_the_other(layout, begin, cuts):
    steps = make_steps(**layout)
    begin -= begin % steps.per_epoch
    end = begin + steps.per_epoch
    inner = sorted({min(begin + c, end) for c in cuts} | {begin, end})
    parts = [
        steps.order(a, b) for a, b in zip(inner[:-1], inner[1:], strict=True) if b > a
    ]
    whole = steps.order(begin, end)
    if layout["drop_last"] and layout["steps_per_epoch"] is None and len(parts) > 1:
        whole = whole[: steps.per_epoch * steps.batch_size]
    assert np.concatenate(parts).tolist() == whole.tolist()


@examples(60)
@given(layout=LAYOUTS, numbers=st.lists(st.integers(0, 10_000), min_size=1, max_size=6))
def test_a_step_depends_on_its_number_alone(layout, numbers):
    used = make_steps(**layout)
    for number in numbers:  # back and forth
        fresh = make_steps(**layout)
        assert used.batch(number).tolist() == fresh.batch(number).tolist()


def test_long_passes_are_drawn_one_at_a_time():
    n = 5000
    steps = make_steps(n=n, batch_size=64, steps_per_epoch=100)
    rows = np.concatenate([steps.order(k, k + 100) for k in range(0, 300, 100)])
    for k in range(3):
        assert sorted(rows[k * n : (k + 1) * n]) == steps.row_ids.tolist()
    assert rows[:n].tolist() == stream(3, "order").permuted(steps.row_ids).tolist()


@examples(60)
@given(layout=LAYOUTS, step=st.integers(0, 200))
def test_the_pass_of_a_step_and_its_place_in_it(layout, step):
    steps = make_steps(**layout)
    number, offset = steps.pass_of(step)
    if layout["steps_per_epoch"] is None:
        per_pass = len(naive_pass(steps))
        assert number == step // per_pass
        assert offset == step % per_pass * steps.batch_size
    else:
        rows_before = step * steps.batch_size
        assert number * len(steps.row_ids) + offset == rows_before
    assert 0 <= offset < len(steps.row_ids)


def naive_pass(steps):
    one = replace(steps.settings, shuffle=False, steps_per_epoch=None)
    batches, rows = [], steps.row_ids.tolist()
    while rows:
        batches.append(rows[: one.batch_size])
        rows = rows[one.batch_size :]
    full = min(one.batch_size, len(steps.row_ids))
    return [b for b in batches if len(b) == full or not one.drop_last]


def test_without_an_interval_each_epoch_opens_with_an_update():
    steps = make_steps(batch_size=3, update_interval=None)
    assert steps.per_epoch == 4
    for epoch in range(3):
        (only,) = steps.stretches(epoch)
        assert only == Stretch(epoch, 4 * epoch, 4 * epoch + 4, 0.0, epoch)


@pytest.mark.parametrize("steps_per_epoch", [None, 5])
def test_an_interval_of_an_epoch_is_an_update_per_epoch(steps_per_epoch):
    how = {"batch_size": 2, "steps_per_epoch": steps_per_epoch}
    by_steps = make_steps(update_interval=5, **how)
    by_epochs = make_steps(update_interval=None, **how)
    for epoch in range(4):
        assert list(by_steps.stretches(epoch)) == list(by_epochs.stretches(epoch))


# ---- in training ---------------------------------------------------------------------


@pytest.mark.parametrize("steps_per_epoch", [None, 5])
@pytest.mark.parametrize("which", ["last_batch", "next_batch"])
def test_a_search_sees_the_batch_before_it_or_after_it(
    which, steps_per_epoch, monkeypatch
):
    """The batch is one that the engine was given, or is given next."""
    told, trained = [], []
    best_pairs, train_epoch = engine.best_pairs, engine.train_epoch

    def searching(search):
        told.append((len(trained), search.row_ids.tolist()))
        return best_pairs(search)

    def training(*arguments, order, batch_size, **more):
        for k in range(0, len(order), batch_size):
            trained.append(order[k : k + batch_size].tolist())
        return train_epoch(*arguments, order=order, batch_size=batch_size, **more)

    monkeypatch.setattr(engine, "best_pairs", searching)
    monkeypatch.setattr(engine, "train_epoch", training)
    settings = replace(
        SETTINGS,
        method=Asking(which),
        batch_size=16,
        update_interval=4,
        steps_per_epoch=steps_per_epoch,
    )
    progress, data = begin()
    train(progress, data, settings, n_epochs=4)
    assert len(told) == (len(trained) - 1) // 4 > 3
    for n_before, rows in told:
        assert n_before % 4 == 0
        assert rows == trained[n_before - (which == "last_batch")]


class Asking(Cofire):
    """Grows by correlation over the rows of one batch."""

    def __init__(self, which):
        object.__setattr__(self, "which", which)
        super().__init__(rows="last_batch", false_alarms=None)

    def search(self, point):
        return replace(super().search(point), rows=self.which)
