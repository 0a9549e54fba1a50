"""The loop of epochs: what runs, what is recorded, when it stops."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from cofire import METHODS, engine
from cofire.callbacks import Callback
from cofire.core.optimizers import SGD, Adam
from cofire.errors import DivergenceError
from cofire.methods import make_method
from cofire.methods.set import SET
from cofire.training.loop import train
from helpers.estimator_cases import METHODS_ALONE, earlier, network_bits, same
from helpers.training_cases import SETTINGS, Telling, begin


class Recorder(Callback):
    """A callback that writes down what it was told, and stops at an epoch."""

    def __init__(self, log, name="", stop_at=None):
        self.log, self.name, self.stop_at = log, name, stop_at

    def on_epoch_end(self, progress, record):
        self.log.append((self.name, record["epoch"], progress.epoch))
        return record["epoch"] == self.stop_at


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
            topologies.append([layer.flat_indices for layer in progress.network.layers])

    first = [layer.flat_indices for layer in progress.network.layers]
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


# ---- updates between steps -----------------------------------------------------------


@dataclass(frozen=True)
class Counting(SET):
    """Writes down at which updates it was asked, and how much it may drop."""

    log: list = field(default_factory=list)

    def drop(self, layer, n, context):
        if context.layer_index == 0:
            self.log.append((context.update, context.epoch, context.drop_fraction))
        return super().drop(layer, n, context)


def counted(n_epochs=6, **how):
    """What a method is told; an epoch has 5 steps of 20 rows."""
    method = Counting()
    progress, data = begin()
    settings = replace(SETTINGS, method=method, max_epochs=n_epochs, **how)
    train(progress, data, settings, n_epochs=n_epochs)
    return method.log, progress


@pytest.mark.parametrize("steps_per_epoch", [None, 5, 4])
@pytest.mark.parametrize("interval", [1, 2, 3, 5, 7, 12, 100])
def test_updates_are_due_each_so_many_steps(interval, steps_per_epoch):
    log, progress = counted(update_interval=interval, steps_per_epoch=steps_per_epoch)
    per_epoch = steps_per_epoch or 5
    n_steps = 6 * per_epoch
    expected = [
        (step // interval, step // per_epoch, 0.3)
        for step in range(1, n_steps)
        if step % interval == 0
    ]
    assert log == expected
    assert progress.optimizer.steps_done == n_steps
    # The records add up what the updates of an epoch did.
    for record in progress.history:
        n_updates = sum(epoch == record["epoch"] for _, epoch, _ in expected)
        assert record["replaced"] == [12 * n_updates, 6 * n_updates]


@pytest.mark.parametrize(
    ("stop", "interval", "updates"),
    [
        (1.0, None, [1, 2, 3, 4, 5]),
        (0.5, None, [1, 2]),  # none from the fourth epoch on
        (0.51, None, [1, 2, 3]),
        (0.0, None, []),
        (0.5, 4, [1, 2, 3]),  # before steps 4, 8 and 12 of 30
        (0.54, 4, [1, 2, 3, 4]),
        (0.53, 4, [1, 2, 3]),  # 16 / 30 is more
    ],
)
def test_the_topology_stays_once_a_part_of_the_fit_is_done(stop, interval, updates):
    log, _ = counted(update_stop=stop, update_interval=interval)
    assert [update for update, _, _ in log] == updates


def test_a_falling_fraction_reaches_zero_where_updates_stop():
    how = {"update_interval": 2, "drop_schedule": "cosine"}
    log, _ = counted(update_stop=0.5, **how)
    steps = np.array([2 * update for update, _, _ in log])
    assert steps.max() == 14  # of 30
    expected = 0.3 * (1 + np.cos(np.pi * steps / 15)) / 2
    assert [fraction for _, _, fraction in log] == pytest.approx(expected)


def test_a_warm_start_counts_its_part_of_the_fit_from_its_own_beginning():
    method = Counting()
    progress, data = begin()
    how = {"method": method, "max_epochs": 4, "update_stop": 0.5}
    settings = replace(SETTINGS, **how)
    train(progress, data, settings, n_epochs=4)
    progress.begin_fit()
    train(progress, data, settings, n_epochs=4)
    assert [epoch for _, epoch, _ in method.log] == [1, 4, 5]


def test_the_rate_falls_within_an_epoch_where_updates_cut_it(monkeypatch):
    rates = []
    train_epoch = engine.train_epoch

    def spy(network, optimizer, *arguments, **more):
        rates.append(optimizer.learning_rate)
        return train_epoch(network, optimizer, *arguments, **more)

    monkeypatch.setattr(engine, "train_epoch", spy)
    _, progress = counted(n_epochs=2, update_interval=3, learning_rate="cosine")
    done = np.array([0, 3, 5, 6, 9]) / 10
    assert rates == pytest.approx(0.05 * (1 + np.cos(np.pi * done)) / 2)
    # A record tells with which rate its epoch began.
    assert [r["learning_rate"] for r in progress.history] == [rates[0], rates[2]]


@pytest.mark.parametrize("steps_per_epoch", [None, 4])
def test_the_loss_of_an_epoch_is_that_of_its_steps(steps_per_epoch):
    how = {"method": make_method("static"), "batch_size": 18}  # 90 rows: all full
    how |= {"steps_per_epoch": steps_per_epoch}
    found = []
    for interval in (None, 1, 3):
        progress, data = begin()
        settings = replace(SETTINGS, update_interval=interval, **how)
        train(progress, data, settings, n_epochs=3)
        found.append([record["loss"] for record in progress.history])
        bits = network_bits(progress.network)
        if interval is None:
            whole = bits
        assert same(bits, whole)  # to cut an epoch changes nothing in itself
    assert found[1] == pytest.approx(found[0], rel=1e-6)
    assert found[2] == pytest.approx(found[0], rel=1e-6)


@pytest.mark.parametrize("steps_per_epoch", [None, 3])
@pytest.mark.parametrize("name", ["cofire", "ctre_sim", "rigl", "set"])
def test_going_on_between_updates_gives_the_bits_of_going_through(
    name, steps_per_epoch
):
    settings = replace(
        SETTINGS,
        method=make_method(name),
        update_interval=4,
        update_stop=0.8,
        drop_schedule="cosine",
        learning_rate="cosine",
        steps_per_epoch=steps_per_epoch,
        input_dropout=0.2,
    )
    through, data = begin()
    train(through, data, settings, n_epochs=6)
    resumed, _ = begin()
    for n_epochs in (1, 3, 2):
        train(resumed, data, settings, n_epochs=n_epochs)
    assert same(network_bits(through.network), network_bits(resumed.network))
    assert [r["loss"] for r in through.history] == [r["loss"] for r in resumed.history]


def test_divergence_between_updates_leaves_the_last_finite_network():
    """It comes in the second of three stretches: the first is kept, not the update."""
    seen = []

    class Raising(Counting):
        def drop(self, layer, n, context):
            if context.layer_index == 0:
                seen.append(network_bits(progress.network.copy()))
            if context.update == 1:
                progress.rate_factor = 1e30
            return super().drop(layer, n, context)

    progress, data = begin()
    settings = replace(SETTINGS, method=Raising(), update_interval=2)
    with pytest.raises(DivergenceError, match="in epoch 0: layer"):
        train(progress, data, settings, n_epochs=2)
    assert len(seen) == 1
    assert same(network_bits(progress.network), seen[0])
    assert progress.epoch == 0 and progress.history == []


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
        "Scale the inputs (standardize=True) or lower learning_rate_init."
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
            model = earlier(
                hidden_layer_sizes=(30,),
                method=method,
                epsilon=1,
                max_iter=30,
                random_state=seed,
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
    model = earlier(
        hidden_layer_sizes=(20,),
        epsilon=1,
        max_iter=3,
        learning_rate="cosine",
        warm_start=True,
    )
    rates = [record["learning_rate"] for record in model.fit(X, y).fit(X, y).history_]
    assert len(rates) == 6
    assert rates[3:] == rates[:3]
    assert rates[0] > rates[1] > rates[2] > 0


def test_a_warm_start_forgets_what_was_best():
    X, y = one_pair_among_noise(0)
    model = earlier(
        hidden_layer_sizes=(20,), epsilon=1, max_iter=4, warm_start=True, random_state=0
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
            *("epoch", "rows", "loss", "learning_rate", "alive", "connections"),
            "dropped",
            *("replaced", "random_share", "random_phase", "switched"),
            *("recall", "candidate_factor", "search_multiply_adds"),
            *("validation_score", "validation_loss", "stalled_epochs"),
            *("train_seconds", "rewire_seconds", "evaluate_seconds"),
        }
        assert len(record["replaced"]) == len(record["random_share"]) == 2
        assert len(record["connections"]) == len(record["dropped"]) == 2
        assert len(record["alive"]) == 1
    assert progress.history[2]["stalled_epochs"] is None
    assert [r["stalled_epochs"] for r in scored.history] == [0, 1, 2]
