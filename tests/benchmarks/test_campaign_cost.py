"""benchmarks/campaign_cost.py: the model finds constants that made the points."""

import importlib
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
ABOUT = {"processor": "p", "cores": 2, "system": "s", "python": "3", "packages": ["x"]}
ABOUT |= {"commit": "abc", "date": "today"}


@pytest.fixture(scope="module")
def cost():
    pytest.importorskip("distributed")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield importlib.import_module("campaign_cost")


def made(cost, model, noise=0.0):
    rng = np.random.default_rng(0)
    return [
        (runs, workers, t, model.seconds(runs, workers, t) * (1 + noise * rng.normal()))
        for workers, runs in ((1, 30), (2, 30), (4, 48), (8, 96))
        for t in (0.0, 0.1, 0.4)
    ]


def test_the_constants_are_found_again(cost):
    model = cost.Model(0.2, 0.008, 0.02)
    found = cost.fitted(made(cost, model))
    assert found.start == pytest.approx(0.2, rel=0.05)
    assert found.command == pytest.approx(0.008, rel=0.05)
    assert found.worker == pytest.approx(0.02, rel=0.05)


def test_noise_moves_a_forecast_little(cost):
    model = cost.Model(0.2, 0.008, 0.02)
    found = cost.fitted(made(cost, model, noise=0.03))
    asked = (192, 16, 0.2)
    assert found.seconds(*asked) == pytest.approx(model.seconds(*asked), rel=0.1)


def test_the_page_says_how_far_the_held_out_campaign_is_off(cost):
    model = cost.Model(0.2, 0.008, 0.02)
    held_out = (192, 16, 0.2, 2 * model.seconds(192, 16, 0.2))
    text = cost.page(made(cost, model), held_out, [1.0, 3.0], ABOUT)
    assert "192 runs of 0.2 s on 16 workers took" in text and "(-50 %)" in text
    assert "1.0 to 3.0 s longer" in text
