import operator
from copy import deepcopy
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from cofire import METHODS, SparseMLPClassifier, engine
from cofire.callbacks import Callback
from cofire.core.optimizers import SGD, Adam
from cofire.errors import DivergenceError
from cofire.methods import Grown, Method, make_method
from cofire.methods.set import SET
from cofire.search import Exact
from cofire.topology.create import create_network
from cofire.training.loop import train
from cofire.training.progress import Progress, TrainingData
from cofire.training.record import new_record
from cofire.training.rewiring import rewire_network
from cofire.training.settings import Settings
from estimator_cases import METHODS_ALONE, classes, network_bits, same

SETTINGS = Settings(
    method=SET(),
    drop_fraction=0.3,
    batch_size=20,
    drop_last=False,
    shuffle=True,
    learning_rate="constant",
    learning_rate_init=0.05,
    max_epochs=10,
    restore_best=True,
    n_threads=1,
    similarity=Exact(),
    drop_schedule="constant",
    augmentation=None,
    label_smoothing=0.0,
    input_dropout=0.0,
)


def begin(optimizer=SGD, counts=(40, 20), seed=3, **how):
    """A network 12-10-3 at rest, and 90 rows to train it on."""
    X, y = classes(n=90, n_features=12, n_classes=3)
    network = create_network(
        [12, 10, 3],
        counts,
        init="normal",
        activation="relu",
        output="softmax",
        seed=seed,
    )
    progress = Progress(network, optimizer(), seed)
    progress.optimizer.start(network)
    data = TrainingData(
        engine.Rows(X), y.astype(np.int32), None, np.arange(len(y)), **how
    )
    return progress, data


class Recorder(Callback):
    """A callback that writes down what it was told, and stops at an epoch."""

    def __init__(self, log, name="", stop_at=None):
        self.log, self.name, self.stop_at = log, name, stop_at

    def on_epoch_end(self, progress, record):
        self.log.append((self.name, record["epoch"], progress.epoch))
        return record["epoch"] == self.stop_at


@dataclass(frozen=True)
class Telling(Method):
    """Drops the first connections, grows the first free places, and remembers when."""

    epochs: tuple[int, ...] = (1, 3)

    def rewires(self, point):
        return point.epoch in self.epochs

    def drop(self, layer, n, context):
        return layer.keys[:n]

    def grow(self, layer, dropped, n, context):
        free = np.setdiff1d(np.arange(layer.n_in * layer.n_out), layer.keys)
        return Grown(free[:n], n_random=1)


# ---- the loop ------------------------------------------------------------------------


def test_it_runs_the_epochs_asked_for_and_numbers_them_on():
    progress, data = begin()
    train(progress, data, SETTINGS, n_epochs=2)
    train(progress, data, SETTINGS, n_epochs=3)
    assert [record["epoch"] for record in progress.history] == [0, 1, 2, 3, 4]
    assert progress.epoch == 5


@pytest.mark.parametrize("optimizer", [SGD, Adam])
@pytest.mark.parametrize("name", METHODS_ALONE)
@pytest.mark.parametrize("schedule", ["constant", "cosine", "adaptive"])
def test_going_on_gives_the_bits_of_going_through(name, optimizer, schedule):
    settings = replace(SETTINGS, method=make_method(name), learning_rate=schedule)
    through, data = begin(optimizer)
    train(through, data, settings, n_epochs=5)
    resumed, _ = begin(optimizer)
    for n_epochs in (1, 3, 1):
        train(resumed, data, settings, n_epochs=n_epochs)
    assert same(network_bits(through.network), network_bits(resumed.network))
    assert [r["loss"] for r in through.history] == [r["loss"] for r in resumed.history]


def test_rewiring_opens_the_epochs_that_the_method_says():
    progress, data = begin()
    topologies = []

    class Watch(Callback):
        def on_epoch_end(self, progress, record):
            topologies.append([layer.keys for layer in progress.network.layers])

    first = [layer.keys for layer in progress.network.layers]
    settings = replace(SETTINGS, method=Telling(epochs=(0, 1, 3)))
    train(progress, data, settings, [Watch()], n_epochs=5)
    changed = [
        not same(a, b) for a, b in zip([first, *topologies], topologies, strict=False)
    ]
    assert changed == [True, True, False, True, False]
    assert [any(record["replaced"]) for record in progress.history] == changed


def test_all_callbacks_are_told_in_order_then_any_may_stop():
    progress, data = begin()
    log = []
    callbacks = [Recorder(log, "a", stop_at=1), Recorder(log, "b")]
    train(progress, data, SETTINGS, callbacks, n_epochs=5)
    assert log == [("a", 0, 1), ("b", 0, 1), ("a", 1, 2), ("b", 1, 2)]


def test_rows_come_in_a_new_order_in_each_epoch_unless_told_not_to(monkeypatch):
    orders = []
    train_epoch = engine.train_epoch

    def spy(*arguments, order, **more):
        orders.append(order)
        return train_epoch(*arguments, order=order, **more)

    monkeypatch.setattr(engine, "train_epoch", spy)
    progress, data = begin()
    train(progress, data, SETTINGS, n_epochs=3)
    train(progress, data, replace(SETTINGS, shuffle=False), n_epochs=1)
    for order in orders:
        assert sorted(order) == list(range(90))
    assert len({tuple(order) for order in orders}) == 4
    assert np.array_equal(orders[3], np.arange(90))


def test_only_the_rows_in_use_are_trained_on():
    progress, data = begin()
    used = np.arange(0, 90, 2)
    train(progress, replace(data, row_ids=used), SETTINGS, n_epochs=2)
    # Other targets elsewhere change nothing.
    other, _ = begin()
    targets = np.where(np.isin(np.arange(90), used), data.targets, 0).astype(np.int32)
    assert not np.array_equal(targets, data.targets)
    train(other, replace(data, row_ids=used, targets=targets), SETTINGS, n_epochs=2)
    assert same(network_bits(progress.network), network_bits(other.network))


# ---- what a record holds -------------------------------------------------------------


def test_a_record_without_validation():
    progress, data = begin()
    train(progress, data, SETTINGS, n_epochs=2)
    first, second = progress.history
    always = {
        "epoch",
        "loss",
        "learning_rate",
        "alive",
        "validation_score",
        "validation_loss",
        "train_seconds",
        "rewire_seconds",
        "evaluate_seconds",
    }
    assert always <= first.keys()
    assert always | {"replaced", "random_share"} <= second.keys()
    assert first["validation_score"] is first["validation_loss"] is None
    assert second["replaced"] == [12, 6]  # 30 % of 40 and of 20
    assert second["random_share"] == [1.0, 1.0]
    assert len(first["alive"]) == 1 and 0 < first["alive"][0] <= 10
    assert second["loss"] < first["loss"]


def test_validation_keeps_the_first_of_equal_bests_and_counts_the_stall():
    scores = [0.5, 0.7, 0.7, 0.6, 0.8, 0.8]
    seen = []

    def validate(network):
        seen.append(network.copy())
        return scores[len(seen) - 1], 0.1

    progress, data = begin(validate=validate)
    train(progress, data, SETTINGS, n_epochs=6)
    assert [r["validation_score"] for r in progress.history] == scores
    assert [r["stalled_epochs"] for r in progress.history] == [0, 0, 1, 2, 0, 1]
    assert progress.best_score == 0.8
    assert (progress.stalled_epochs, progress.longest_stall) == (1, 2)
    assert same(network_bits(progress.best_network), network_bits(seen[4]))
    assert not same(network_bits(progress.best_network), network_bits(seen[5]))
    assert not same(network_bits(progress.network), network_bits(seen[4]))


def test_no_best_network_is_kept_where_none_is_wanted():
    progress, data = begin(validate=lambda network: (0.5, 0.1))
    train(progress, data, replace(SETTINGS, restore_best=False), n_epochs=1)
    assert progress.best_score == 0.5
    assert progress.best_network is None


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
    rewire_network(progress, data, settings).note(record)
    assert record["replaced"] == [12, 6]
    assert record["random_share"] == [1 / 12, 1 / 6]
    for i, (old, new) in enumerate(zip(before, progress.network.layers, strict=True)):
        kept = np.isin(new.keys, old.keys)
        assert np.array_equal(new.keys[kept], old.keys[record["replaced"][i] :])
        assert np.array_equal(new.weights[kept], old.weights[record["replaced"][i] :])
        for k, moment in enumerate(progress.optimizer.state[i].weights):
            number = np.flatnonzero(np.isin(old.keys, new.keys[kept])) + 1 + 1000 * k
            assert np.array_equal(moment[kept], number)
            assert not moment[~kept].any()


def test_no_more_is_replaced_than_there_are_places_to_go_to():
    progress, data = begin(counts=(118, 30))  # of 120 and of 30
    train(progress, data, SETTINGS, n_epochs=2)
    assert progress.history[1]["replaced"] == [2, 0]
    assert progress.history[1]["random_share"] == [1.0, 0.0]


def test_similarity_is_that_of_the_network_before_the_drop(monkeypatch):
    calls = []
    best_places = engine.best_places

    def spy(search):
        calls.append((search.network.copy(), search))
        return best_places(search)

    monkeypatch.setattr(engine, "best_places", spy)
    progress, data = begin()
    weight = np.linspace(0.5, 2, 90, dtype=np.float32)
    data = replace(data, sample_weight=weight, row_ids=np.arange(5, 90))
    before, progress.epoch = progress.network.copy(), 1
    rewire_network(progress, data, replace(SETTINGS, method=make_method("ctre_sim")))
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
            rewire_network(progress, data, SETTINGS)
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
        rewire_network(progress, data, replace(SETTINGS, method=method))
    assert same(network_bits(progress.network), before)


# ---- leaving the finite numbers ------------------------------------------------------


def test_divergence_names_epoch_and_layer_and_keeps_the_finite_network():
    progress, data = begin()
    train(progress, data, replace(SETTINGS, method=make_method("static")), n_epochs=2)
    before = network_bits(progress.network.copy())
    settings = replace(SETTINGS, method=make_method("static"), learning_rate_init=1e30)
    with pytest.raises(DivergenceError, match=r"in epoch 2: layer \d has") as raised:
        train(progress, data, settings, n_epochs=2)
    assert raised.value.epoch == 2 and raised.value.layer in (0, 1)
    assert str(raised.value).endswith(
        "Scale the inputs (StandardScaler) or lower learning_rate_init."
    )
    assert same(network_bits(progress.network), before)
    assert progress.epoch == len(progress.history) == 2
    # It can go on with a rate that does not throw it out.
    train(progress, data, SETTINGS, n_epochs=1)
    progress.network.check()


# ---- a toy whose right topology is known ---------------------------------------------


def one_pair_among_noise(seed, n=400, n_features=40):
    """Inputs 0 and 1 are noisy copies of each other and decide; the rest is noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    X[:, 1] = X[:, 0] + 0.5 * rng.normal(size=n)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X.astype(np.float32), X[:, 0] + X[:, 1] > 0


def test_ctre_finds_the_inputs_that_belong_together_and_set_does_not():
    def on_the_pair(method):
        counts = []
        for seed in range(5):
            X, y = one_pair_among_noise(seed)
            model = SparseMLPClassifier(
                (30,), method=method, epsilon=1, max_iter=30, random_state=seed
            )
            indices = model.fit(X, y).network_.layers[0].indices
            counts.append(np.isin(indices, [0, 1]).sum())
        return np.mean(counts)

    chance = 70 * 2 / 40  # connections of the layer, shared by 40 inputs
    ctre, random = on_the_pair("ctre_sim"), on_the_pair("set")
    assert ctre > 2 * random
    assert ctre > 3 * chance


# ---- a warm start is a fit of its own ------------------------------------------------


def test_a_warm_start_runs_its_own_cosine():
    X, y = one_pair_among_noise(0)
    model = SparseMLPClassifier(
        (20,), epsilon=1, max_iter=3, learning_rate="cosine", warm_start=True
    )
    rates = [record["learning_rate"] for record in model.fit(X, y).fit(X, y).history_]
    assert len(rates) == 6
    assert rates[3:] == rates[:3]
    assert rates[0] > rates[1] > rates[2] > 0


def test_a_warm_start_forgets_what_was_best():
    X, y = one_pair_among_noise(0)
    model = SparseMLPClassifier(
        (20,), epsilon=1, max_iter=4, warm_start=True, random_state=0
    )
    model.fit(X, y, X_val=X, y_val=y)
    model.fit(X, y, X_val=X, y_val=1 - y)  # now everything is the other way round
    assert model.best_validation_score_ == max(model.validation_scores_[4:])
    assert model.history_[4]["stalled_epochs"] == 0


# ---- the record ----------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_record_tells_the_same_things(name):
    settings = replace(SETTINGS, method=METHODS[name]())
    progress, data = begin()
    train(progress, data, settings, n_epochs=3)
    scored, data = begin(validate=lambda network: (0.5, 1.0))
    train(scored, data, settings, n_epochs=3)
    for record in progress.history + scored.history:
        assert set(record) == {
            *("epoch", "loss", "learning_rate", "alive"),
            *("replaced", "random_share", "random_phase", "switched"),
            *("recall", "candidate_factor", "search_multiply_adds"),
            *("validation_score", "validation_loss", "stalled_epochs"),
            *("train_seconds", "rewire_seconds", "evaluate_seconds"),
        }
        assert len(record["replaced"]) == len(record["random_share"]) == 2
        assert len(record["alive"]) == 1
    assert progress.history[2]["stalled_epochs"] is None
    assert [r["stalled_epochs"] for r in scored.history] == [0, 1, 2]


# ---- the rows a search looks at ------------------------------------------------------


def rows_searched(monkeypatch, method, **how):
    """Row numbers of each search in four epochs, and the order of each epoch."""
    searched, orders = [], []
    best_places, train_epoch = engine.best_places, engine.train_epoch

    def search(wanted):
        searched.append(wanted.row_ids.tolist())
        return best_places(wanted)

    def epoch(*arguments, order, **more):
        orders.append(order.tolist())
        return train_epoch(*arguments, order=order, **more)

    monkeypatch.setattr(engine, "best_places", search)
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
