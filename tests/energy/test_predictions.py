"""The energy of 1,000 predictions, of any model with `predict`."""

import json

import numpy as np
import pandas as pd
import pytest

from cofire import SparseMLPClassifier, energy
from helpers.fake_rapl import FakeRapl


class Counting:
    """A model whose predictions of a row take 2 mJ each, as the counter says."""

    def __init__(self, fake):
        self.fake, self.rows, self.sizes = fake, 0, set()

    def predict(self, X):
        self.rows += len(X)
        self.sizes.add(len(X))
        self.fake.set("intel-rapl:0", 2000 * self.rows)


@pytest.fixture
def model(tmp_path):
    return Counting(FakeRapl(tmp_path / "p").add("intel-rapl:0", "package-0"))


@pytest.mark.parametrize("batch_size, size", [(None, 10), (1, 1), (4, 4), (10, 10)])
def test_joules_are_those_of_a_thousand_rows(batch_size, size, model):
    used = energy.of_predictions(
        model,
        np.zeros((10, 3)),
        batch_size=batch_size,
        seconds=0.01,
        folder=model.fake.folder,
    )
    assert used.source == "rapl"
    assert used.joules == pytest.approx(2.0)
    assert model.sizes == {size}


def test_one_call_is_made_however_little_time_there_is(model):
    how = {"seconds": 0, "folder": model.fake.folder}
    assert energy.of_predictions(model, np.zeros((10, 3)), **how).joules > 0
    assert model.rows == 20  # the first call is not measured


@pytest.mark.parametrize("rows", [pd.DataFrame({"a": range(6)}), [[1.0]] * 6])
def test_rows_of_a_frame_and_lists(rows, model):
    how = {"seconds": 0.0, "folder": model.fake.folder}
    energy.of_predictions(model, rows, batch_size=2, **how)
    assert model.sizes == {2}


@pytest.mark.parametrize("batch_size", [0, -1, 11])
def test_a_batch_that_does_not_fit(batch_size, model):
    with pytest.raises(ValueError, match=r"batch_size=.*from 1 to 10"):
        energy.of_predictions(model, np.zeros((10, 3)), batch_size=batch_size)


def test_no_rows(model):
    with pytest.raises(ValueError, match="X has no rows"):
        energy.of_predictions(model, np.zeros((0, 3)))


def test_a_receipt_takes_what_was_measured(tmp_path):
    fake = FakeRapl(tmp_path / "p").add("intel-rapl:0", "package-0")
    X = np.eye(8)
    fitted = SparseMLPClassifier((5,), max_iter=1, random_state=0).fit(X, [0, 1] * 4)
    how = {"seconds": 0.0, "folder": fake.folder}
    paid = fitted.receipt_.with_predictions(
        energy.of_predictions(Counting(fake), X, **how)
    )
    called = "1,000 predictions, with all that a call does: "
    assert f"{called}2 J, measured by RAPL: package-0" in str(paid)
    assert called not in str(fitted.receipt_)
    plain = json.loads(json.dumps(paid.to_dict()))["called_predictions"]
    assert (plain["joules"], plain["source"]) == (2.0, "rapl")
