"""Searches in training: what is recorded, and that training can be resumed."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from cofire import METHODS, engine, load
from cofire.core.optimizers import SGD
from cofire.saving import save
from cofire.search import SIMILARITIES, Deck, Exact, make_similarity, screened
from cofire.topology.create import create_network
from cofire.training.loop import train
from cofire.training.progress import Progress, TrainingData
from cofire.training.settings import Settings
from helpers import naive
from helpers.estimator_cases import network_bits, same, same_training
from helpers.similarity_cases import many_rows, model, of_every_mode

pytestmark = pytest.mark.usefixtures("small_networks_are_screened")


# ---- what is recorded, and what is kept from one search to the next ------------------


@pytest.mark.parametrize("kind", ["floats", "sparse"])
def test_only_rows_of_floats_are_copied_and_once_a_fit(monkeypatch, kind):
    decks = []
    of = Deck.of
    monkeypatch.setattr(Deck, "of", lambda *told: decks.append(of(*told)) or decks[-1])
    X, y = many_rows()
    model("screened").fit(scipy.sparse.csr_array(X) if kind == "sparse" else X, y)
    assert len(decks) == (kind == "floats")


class Calls:
    """Writes down the factors that screened searches begin with, and what they give."""

    def __init__(self, monkeypatch):
        self.begun, self.found = [], []
        search = engine.screened_pairs

        def spy(*arguments, factor, **more):
            self.begun.append(list(factor))
            found = search(*arguments, factor=factor, **more)
            self.found.append(found[1:3])
            return found

        monkeypatch.setattr(engine, "screened_pairs", spy)


def test_history_tells_recall_and_factor_and_the_next_search_begins_there(monkeypatch):
    calls = Calls(monkeypatch)
    how = {"method": "ctre_wo_random", "max_iter": 6}
    history = model("screened", **how).fit(*many_rows()).history_
    assert len(calls.begun) == 5
    assert calls.begun[0] == [screened.FIRST_FACTOR] * 3
    assert history[0]["recall"] is history[0]["candidate_factor"] is None
    for k, (recall, factor) in enumerate(calls.found):
        assert history[k + 1]["recall"] == recall
        assert history[k + 1]["candidate_factor"] == factor
        assert len(recall) == len(factor) == 3
        assert k == 4 or calls.begun[k + 1] == factor
    assert len({tuple(begun) for begun in calls.begun}) > 1


def test_few_rows_are_recorded_as_exact():
    for record in model("screened").fit(*many_rows(400)).history_[1:]:
        assert record["recall"] == [1.0] * 3
        assert record["candidate_factor"] == [screened.FIRST_FACTOR] * 3


@pytest.mark.parametrize(
    "how",
    [
        {"similarity": "exact"},
        {"similarity": "linear"},
        {"method": "set"},
        {"method": "static"},
        {"method": "rigl"},
    ],
    ids=str,
)
def test_without_a_screened_search_there_is_no_recall_and_no_factor(how):
    fitted = model(**{"similarity": "screened"} | how).fit(*many_rows())
    for record in fitted.history_:
        assert record["recall"] is record["candidate_factor"] is None
        searched = sum(record["replaced"]) > 0 and fitted.method != "set"
        assert (record["search_multiply_adds"] is not None) == searched


def test_a_search_after_epochs_without_one_begins_anew(monkeypatch):
    calls = Calls(monkeypatch)
    fitted = model("screened", method="ctre_seq_abl2", max_iter=7).fit(*many_rows())
    told = [record["candidate_factor"] for record in fitted.history_]
    assert [record["random_phase"] for record in fitted.history_] == [
        factor is None for factor in told
    ]
    assert told[:3] == [None] * 3 and None not in told[-2:]
    assert calls.begun[0] == [screened.FIRST_FACTOR] * 3
    assert calls.begun[1:] == [factor for factor in told if factor is not None][:-1]


# ---- resumed training, and other numbers of threads ----------------------------------


def in_training(similarity, seed=3):
    X, y = many_rows()
    network = create_network(
        [150, 120, 100, 3],
        [1600, 1300, 200],
        init="normal",
        activation="relu",
        output="softmax",
        seed=seed,
    )
    progress = Progress(network, SGD(learning_rate=0.05), seed)
    progress.optimizer.start(network)
    ids = np.arange(len(y))
    data = TrainingData(engine.Rows(X), y.astype(np.int32), None, ids)
    settings = Settings(
        method=METHODS["ctre_sim"](),
        drop_fraction=0.3,
        batch_size=50,
        drop_last=False,
        shuffle=True,
        learning_rate="constant",
        learning_rate_init=0.05,
        max_epochs=6,
        update_interval=None,
        update_stop=1.0,
        steps_per_epoch=None,
        restore_best=True,
        n_threads=1,
        similarity=make_similarity(similarity),
        drop_schedule="constant",
        augmentation=None,
        label_smoothing=0.0,
        input_dropout=0.0,
    )
    return progress, data, settings


def told(history):
    return [{k: v for k, v in r.items() if "seconds" not in k} for r in history]


@of_every_mode
def test_going_on_gives_the_bits_of_going_through(mode):
    through, data, settings = in_training(mode)
    train(through, data, settings, n_epochs=6)
    resumed, _, _ = in_training(mode)
    for n_epochs in (1, 3, 2):
        train(resumed, data, settings, n_epochs=n_epochs)
    assert same(network_bits(through.network), network_bits(resumed.network))
    assert told(through.history) == told(resumed.history)


@of_every_mode
def test_another_number_of_threads_trains_the_same(mode):
    X, y = many_rows(832)
    one, two = (model(mode, n_jobs=n).fit(X, y) for n in (1, 2))
    assert same_training(one, two)


@of_every_mode
def test_saved_and_loaded_it_goes_on_to_the_bit(mode, tmp_path):
    X, y = many_rows()
    through, resumed = (model(mode).partial_fit(X, y) for _ in range(2))
    for _ in range(3):
        through.partial_fit(X, y)
        save(resumed, tmp_path / "model")
        resumed = load(tmp_path / "model").partial_fit(X, y)
    assert same_training(through, resumed)
    assert told(through.history_) == told(resumed.history_)
    assert same_training(through, model(mode, max_iter=4).fit(X, y))


def test_the_mode_that_is_asked_for_searches(monkeypatch):
    searched = []
    for name in ("best_pairs", "screened_pairs", "hashed_pairs"):
        search = getattr(engine, name)

        def spy(*arguments, search=search, name=name, **more):
            searched.append(name)
            return search(*arguments, **more)

        monkeypatch.setattr(engine, name, spy)
    for mode in SIMILARITIES:
        model(mode, max_iter=2).fit(*many_rows())
    assert searched == ["best_pairs", "screened_pairs", "hashed_pairs"]


@pytest.mark.parametrize("method", ["rigl", "rigl_uniform"])
def test_gradients_are_always_searched_exactly(method):
    X, y = many_rows()
    how = {"method": method, "batch_size": 600}
    first, *others = (model(mode, **how).fit(X, y) for mode in SIMILARITIES)
    assert sum(first.history_[1]["replaced"]) > 0
    for other in others:
        assert same_training(first, other)


def test_the_rarity_is_known_where_all_rows_are_searched():
    given = []

    class Spying(Exact):
        def find(self, search, rarity, factor):
            given.append((len(search.row_ids), rarity and rarity()))
            return super().find(search, rarity, factor)

    X, _ = many_rows()
    for rows in ("all", 0.5):
        method = METHODS["ctre_sim"](rows=rows)
        progress, data, settings = in_training("exact")
        settings = replace(settings, method=method, similarity=Spying())
        train(progress, data, settings, n_epochs=2)
    (n_all, rarity), (n_half, nothing) = given
    assert (n_all, n_half) == (800, 400)
    np.testing.assert_array_equal(rarity, naive.rarity(X))
    assert nothing is None
