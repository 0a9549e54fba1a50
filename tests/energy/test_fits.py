"""The energy of fits: one meter for all networks, through pauses and files."""

import json

import numpy as np
import pytest

import cofire
from cofire import energy
from cofire.callbacks import Callback, Checkpoint
from cofire.estimators import base
from cofire.persistence import model_file
from helpers.estimator_cases import classes, small
from helpers.fake_rapl import FakeRapl

X, y = classes()


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A machine with a counter, which the tests move."""
    fake = FakeRapl(tmp_path / "powercap").add("intel-rapl:0", "package-0", energy=0)
    monkeypatch.setattr(base, "measure", lambda: energy.measure(folder=fake.folder))
    return fake


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine without counters."""
    monkeypatch.delenv("COFIRE_WATTS_PER_CORE", raising=False)
    monkeypatch.setattr(base, "measure", lambda: energy.measure(folder=tmp_path / "no"))


class Uses(Callback):
    """Each epoch of the first network uses a joule; after some of them, a power cut."""

    def __init__(self, fake, cut_off_after=None):
        self.fake, self.cut_off_after, self.joules = fake, cut_off_after, 0

    def on_epoch_end(self, progress, record):
        self.joules += 1
        counter = self.fake.folder / "intel-rapl:0" / "energy_uj"
        self.fake.set("intel-rapl:0", int(counter.read_text()) + 1_000_000)
        if progress.epoch == self.cut_off_after:
            raise KeyboardInterrupt


def test_all_networks_of_a_fit_are_measured_once(fake):
    model = small(n_networks=3, max_iter=4, callbacks=[Uses(fake)]).fit(X, y)
    used = model.receipt_.energy
    assert (used.joules, used.source, used.complete) == (4.0, "rapl", True)
    text = str(model.receipt_)
    assert " 4 J " in next(s for s in text.splitlines() if s.startswith("energy, "))
    assert "energy of training: measured by RAPL: package-0" in text


def test_without_counters_it_is_an_estimate_with_its_assumption(bare):
    model = small(n_networks=2, max_iter=4).fit(X, y)
    used = model.receipt_.energy
    assert used.source == "estimate" and used.core_seconds > 0
    assert used.joules == pytest.approx(12 * used.core_seconds)
    assert used.assumption == "12 W per core; this machine shows no RAPL counters"
    lines = str(model.receipt_).splitlines()
    assert used.amount.startswith("about ")
    assert used.amount in next(s for s in lines if s.startswith("energy, training"))
    assert f"energy of training: {used.basis}" in lines
    assert used.basis.startswith("estimated: ") and "12 W per core" in used.basis
    assert json.loads(json.dumps(model.receipt_.to_dict()))["energy"] == used.to_dict()


def test_the_dense_twin_is_an_estimate_from_counts(bare):
    model = small(n_networks=2, max_iter=3, batch_size=32).fit(X, y)
    paid = model.receipt_
    assert (
        paid.rows
        == 2 * 3 * len(X)
        == sum(record["rows"] for history in model.histories_ for record in history)
    )
    possible = 12 * 10 + 10 * 8 + 8 * 3
    twin = paid.dense_energy
    assert twin.source == "estimate"
    assert twin.core_seconds == pytest.approx(3 * possible * paid.rows / 50e9)
    assert twin.joules == pytest.approx(12 * twin.core_seconds)
    assert "multiply-adds at 50 billion per core-second" in twin.assumption
    ours, dense = paid.prediction_energy, paid.dense_prediction_energy
    assert ours.core_seconds == pytest.approx(1000 * paid.connections / 15e9)
    assert dense.core_seconds == pytest.approx(1000 * 2 * possible / 50e9)
    assert ours.source == dense.source == "estimate"


def test_the_twin_draws_the_power_that_was_measured(fake):
    paid = small(max_iter=4, callbacks=[Uses(fake)]).fit(X, y).receipt_
    watts = paid.energy.joules / paid.energy.core_seconds
    assert paid.dense_energy.joules == pytest.approx(
        watts * paid.dense_energy.core_seconds
    )


def test_rows_of_a_last_batch_that_is_left_out_are_not_counted():
    model = small(max_iter=2, batch_size=32, last_batch="drop").fit(X, y)
    assert model.receipt_.rows == 2 * (len(X) - len(X) % 32)


def test_bits_do_not_depend_on_a_counter(tmp_path, monkeypatch):
    plain = small(max_iter=4, n_networks=2, random_state=0).fit(X, y)
    fake = FakeRapl(tmp_path / "p").add("intel-rapl:0", "package-0")
    monkeypatch.setattr(base, "measure", lambda: energy.measure(folder=fake.folder))
    uses = [Uses(fake)]
    counted = small(max_iter=4, n_networks=2, random_state=0, callbacks=uses).fit(X, y)
    assert counted.receipt_.energy.source == "rapl"
    assert np.array_equal(plain.predict_proba(X), counted.predict_proba(X))


# ---- one part after the other --------------------------------------------------------


def test_parts_add_up(fake):
    model = small(callbacks=[Uses(fake)])
    for _ in range(3):
        model.partial_fit(X, y, classes=np.unique(y))
    assert model.receipt_.energy.joules == 3.0
    model.set_params(max_iter=2, warm_start=True).fit(X, y)
    assert model.receipt_.energy.joules == 5.0
    model.set_params(warm_start=False).fit(X, y)  # a new fit forgets the others
    assert model.receipt_.energy.joules == 2.0


def test_an_interrupted_fit_says_what_it_used(fake):
    model = small(max_iter=9, callbacks=[Uses(fake, cut_off_after=3)])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.receipt_.energy.joules == 3.0


@pytest.mark.parametrize("n_networks", [1, 2])
def test_a_fit_that_resumes_adds_what_its_checkpoints_say(n_networks, fake, tmp_path):
    def model(cut_off_after=None):
        uses = [Uses(fake, cut_off_after), Checkpoint(tmp_path / "c", every=1)]
        how = {"max_iter": 6, "n_networks": n_networks, "random_state": 0}
        return small(**how, callbacks=uses)

    with pytest.raises(KeyboardInterrupt):
        model(cut_off_after=4).fit(X, y)
    again = model().fit(X, y)
    assert again.resumed_after_ == 3
    # The joule of the epoch that was cut off is lost, like its seconds.
    assert again.receipt_.energy.joules == pytest.approx(3.0 + 3.0)
    assert again.receipt_.energy.complete
    finished = model().fit(X, y)  # to find out that nothing is left to do takes little
    assert 6.0 <= finished.receipt_.energy.joules < 7.0


def test_a_checkpoint_without_energy_is_missed(bare, tmp_path):
    def model():
        return small(max_iter=3, random_state=0, checkpoint=tmp_path / "c")

    model().fit(X, y)
    (path,) = (tmp_path / "c").rglob("epoch-00000003.cofire")
    document, tensors = model_file.read(path)
    del document["energy"]
    model_file.write(path, document, tensors)
    again = model().fit(X, y)
    assert again.resumed_after_ == 3
    assert not again.receipt_.energy.complete
    assert "without the part that was not recorded" in str(again.receipt_)


# ---- files ---------------------------------------------------------------------------


def test_a_loaded_model_still_says_it(fake, tmp_path):
    model = small(max_iter=4, callbacks=[Uses(fake)]).fit(X, y)
    model.save(tmp_path / "m")
    loaded = cofire.load(tmp_path / "m")
    assert loaded.receipt_ == model.receipt_
    assert str(loaded.receipt_) == str(model.receipt_)


def test_a_file_from_before_says_nothing_and_training_on_says_so(bare, tmp_path):
    small(max_iter=4).fit(X, y).save(tmp_path / "m")
    document, tensors = model_file.read(tmp_path / "m")
    del document["energy"]
    for record in document["progress"]["history"]:
        del record["rows"]
    model_file.write(tmp_path / "old", document, tensors)
    model = cofire.load(tmp_path / "old")
    paid = model.receipt_
    assert (
        paid.energy is paid.dense_energy is paid.prediction_energy is paid.rows is None
    )
    assert "energy" not in str(paid)
    model.set_params(max_iter=5).partial_fit(X, y)
    paid = model.receipt_
    assert not paid.energy.complete and paid.dense_energy is None
    assert "without the part that was not recorded" in str(paid)


def test_an_environment_that_makes_no_sense_stops_a_fit_before_it_begins(monkeypatch):
    monkeypatch.setenv("COFIRE_WATTS_PER_CORE", "much")
    model = small()
    with pytest.raises(ValueError, match="COFIRE_WATTS_PER_CORE='much'"):
        model.fit(X, y)
    assert not hasattr(model, "network_")
