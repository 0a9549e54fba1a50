"""Rewiring: what is kept, what is replaced, and which rows a search looks at."""

import operator
from copy import deepcopy
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from cofire import METHODS, engine
from cofire.core.optimizers import SGD, Adam
from cofire.methods import Grown, make_method
from cofire.methods.set import SET
from cofire.training.loop import train
from cofire.training.record import new_record
from helpers.estimator_cases import METHODS_ALONE, network_bits, same
from helpers.training_cases import SETTINGS, Telling, begin, rewire_now

# ---- rewiring ------------------------------------------------------------------------


@pytest.mark.parametrize("name", METHODS_ALONE)
def test_each_layer_keeps_its_number_of_connections(name):
    progress, data = begin()
    settings = replace(SETTINGS, method=make_method(name))
    for _ in range(4):
        train(progress, data, settings, n_epochs=1)
        progress.network.check()
        first, last = [layer.nnz for layer in progress.network.layers]
        assert (first <= 40 if settings.method.shrinks else first == 40) and last == 20


@pytest.mark.parametrize("name", METHODS_ALONE)
def test_replacing_nothing_is_static(name):
    method = METHODS[name]()
    nothing, data = begin()
    settings = replace(SETTINGS, method=method, drop_fraction=0.0)
    train(nothing, data, settings, n_epochs=4)
    static, _ = begin()
    train(static, data, replace(SETTINGS, method=make_method("static")), n_epochs=4)
    assert same(network_bits(nothing.network), network_bits(static.network))


@pytest.mark.parametrize("optimizer", [SGD, Adam])
def test_moments_stay_with_their_connections(optimizer):
    progress, data = begin(optimizer)
    for state in progress.optimizer.state:
        for k, moment in enumerate(state.weights):
            moment[:] = np.arange(1, len(moment) + 1) + 1000 * k
    before = list(progress.network.layers)
    settings = replace(SETTINGS, method=Telling())
    record = new_record(0, 2, None)
    rewire_now(progress, data, settings).note(record)
    assert record["replaced"] == [12, 6]
    assert record["random_share"] == [1 / 12, 1 / 6]
    for i, (old, new) in enumerate(zip(before, progress.network.layers, strict=True)):
        kept = np.isin(new.flat_indices, old.flat_indices)
        assert np.array_equal(
            new.flat_indices[kept], old.flat_indices[record["replaced"][i] :]
        )
        assert np.array_equal(new.weights[kept], old.weights[record["replaced"][i] :])
        for k, moment in enumerate(progress.optimizer.state[i].weights):
            number = (
                np.flatnonzero(np.isin(old.flat_indices, new.flat_indices[kept]))
                + 1
                + 1000 * k
            )
            assert np.array_equal(moment[kept], number)
            assert not moment[~kept].any()


def test_no_more_is_replaced_than_there_are_indices_to_go_to():
    progress, data = begin(counts=(118, 30))  # of 120 and of 30
    train(progress, data, SETTINGS, n_epochs=2)
    assert progress.history[1]["replaced"] == [2, 0]
    assert progress.history[1]["random_share"] == [1.0, 0.0]


def test_similarity_is_that_of_the_network_before_the_drop(monkeypatch):
    calls = []
    best_pairs = engine.best_pairs

    def spy(search):
        calls.append((search.network.copy(), search))
        return best_pairs(search)

    monkeypatch.setattr(engine, "best_pairs", spy)
    progress, data = begin()
    weight = np.linspace(0.5, 2, 90, dtype=np.float32)
    data = replace(data, sample_weight=weight, row_ids=np.arange(5, 90))
    before, progress.epoch = progress.network.copy(), 1
    rewire_now(progress, data, replace(SETTINGS, method=make_method("ctre_sim")))
    ((network, search),) = calls
    assert same(network_bits(network), network_bits(before))
    assert search.n_wanted == [12, 6]
    assert [len(kept) for kept in search.kept] == [40 - 12, 20 - 6]
    assert np.array_equal(search.row_ids, np.arange(5, 90))
    assert search.sample_weight is weight


@dataclass(frozen=True)
class Careless(SET):
    """Grows what it is told."""

    answer: object = None

    def grow(self, layer, dropped, n, context):
        return self.answer


def test_a_rewiring_that_finds_no_memory_changes_nothing(monkeypatch):
    progress, data = begin(Adam)
    train(progress, data, SETTINGS, n_epochs=1)
    before = [list(progress.network.layers), deepcopy(progress.optimizer.state)]
    arrays = iter(np.zeros((3, 100), np.float32))  # of the four it takes

    def zeros(n, dtype):
        array = next(arrays, None)
        if array is None:
            raise MemoryError
        return array[:n]

    with monkeypatch.context() as patch:
        numpy = SimpleNamespace(zeros=zeros, float32=np.float32, ndarray=np.ndarray)
        patch.setattr("cofire.core.optimizers.np", numpy)
        with pytest.raises(MemoryError):
            rewire_now(progress, data, SETTINGS)
    assert all(map(operator.is_, progress.network.layers, before[0]))
    for state, old in zip(progress.optimizer.state, before[1], strict=True):
        assert same(state.weights, old.weights)
    train(progress, data, SETTINGS, n_epochs=1)


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (np.arange(12), TypeError, "Careless.grow must return a Grown, got ndarray"),
        (Grown(np.arange(11), 0), ValueError, "12 whole numbers.* got 11 of int64"),
        (Grown(np.arange(12.0), 0), ValueError, "12 whole numbers.* got 12 of float64"),
        (Grown(np.arange(12), 13), ValueError, r"n_random must lie in \[0, 12\]"),
        (
            Grown(np.arange(12), 0),
            ValueError,
            "grown: the connection with index . still exists",
        ),
    ],
    ids=str,
)
def test_a_careless_method_is_told_and_changes_nothing(answer, error, message):
    progress, data = begin()
    before = network_bits(progress.network.copy())
    method = Careless(answer=answer)
    with pytest.raises(error, match=message):
        rewire_now(progress, data, replace(SETTINGS, method=method))
    assert same(network_bits(progress.network), before)


# ---- the rows a search looks at ------------------------------------------------------


def rows_searched(monkeypatch, method, **how):
    """Row numbers of each search in four epochs, and the order of each epoch."""
    searched, orders = [], []
    best_pairs, train_epoch = engine.best_pairs, engine.train_epoch

    def search(wanted):
        searched.append(wanted.row_ids.tolist())
        return best_pairs(wanted)

    def epoch(*arguments, order, **more):
        orders.append(order.tolist())
        return train_epoch(*arguments, order=order, **more)

    monkeypatch.setattr(engine, "best_pairs", search)
    monkeypatch.setattr(engine, "train_epoch", epoch)
    progress, data = begin()
    data = replace(data, row_ids=np.arange(3, 88))  # 85: four batches of 20 and 5 more
    train(progress, data, replace(SETTINGS, method=method, **how), n_epochs=4)
    return searched, orders


def test_ctre_looks_at_all_rows_or_at_a_fresh_share(monkeypatch):
    searched, _ = rows_searched(monkeypatch, make_method("ctre_sim"))
    assert searched == [list(range(3, 88))] * 3
    searched, _ = rows_searched(monkeypatch, make_method("ctre_sample4"))
    for rows in searched:
        assert len(set(rows)) == len(rows) == 21  # floor(85 / 4)
        assert set(rows) <= set(range(3, 88))
    assert len({tuple(sorted(rows)) for rows in searched}) == 3
    searched, _ = rows_searched(monkeypatch, make_method("ctre_sim", {"rows": 0.001}))
    assert [len(rows) for rows in searched] == [1, 1, 1]


@pytest.mark.parametrize("shuffle", [True, False])
def test_the_last_batch_is_that_of_the_epoch_before(monkeypatch, shuffle):
    method = make_method("ctre_sim", {"rows": "last_batch"})
    searched, orders = rows_searched(monkeypatch, method, shuffle=shuffle)
    assert searched == [order[80:] for order in orders[:3]]
    searched, orders = rows_searched(
        monkeypatch, method, shuffle=shuffle, drop_last=True
    )
    assert searched == [order[60:80] for order in orders[:3]]
    searched, orders = rows_searched(monkeypatch, method, batch_size=200)
    assert searched == orders[:3]


def test_rigl_looks_at_the_batch_to_come_or_at_a_random_one(monkeypatch):
    searched, orders = rows_searched(monkeypatch, make_method("rigl"))
    assert searched == [order[:20] for order in orders]
    method = make_method("rigl", {"batch": "random_batch"})
    searched, _ = rows_searched(monkeypatch, method, shuffle=False)
    assert all(len(set(rows)) == 20 for rows in searched)
    assert len({tuple(sorted(rows)) for rows in searched}) == 4
