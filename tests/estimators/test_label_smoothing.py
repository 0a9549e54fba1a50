"""Targets that are less sure; the arithmetic itself is in tests/engine/."""

import pickle

import numpy as np
import pytest

import cofire
from helpers.engine_cases import Case
from helpers.engine_checks import assert_same_bits
from helpers.estimator_cases import classes, same_training, small

SHARE = 0.2


def columns(y):
    """Three yes-or-no questions."""
    return np.stack([y > 0, y > 1, y == 1], axis=1).astype(int)


@pytest.mark.parametrize("output", ["softmax", "sigmoid"])
@pytest.mark.parametrize("batch_size", [16, 1000])  # of all rows: the exact sums
def test_nothing_smoothed_is_nothing_changed(output, batch_size):
    case = Case.random(3, output=output, batch_size=batch_size, n_used=100)
    plain = case.train(2)
    case.label_smoothing = 1e-60  # 0 in float32
    assert_same_bits(case.train(2), plain)


@pytest.mark.parametrize("form", [np.asarray, columns])
def test_partial_fits_are_a_fit_and_so_are_reloads(form, tmp_path):
    X, y = classes()
    y = form(y)
    whole = small(label_smoothing=SHARE, n_jobs=2).fit(X, y)
    parts = small(label_smoothing=SHARE, n_jobs=1)
    for _ in range(4):
        parts.partial_fit(X, y).save(tmp_path / "m")
        parts = pickle.loads(pickle.dumps(cofire.load(tmp_path / "m")))
        assert parts.label_smoothing == SHARE
    assert same_training(parts, whole)
    assert not same_training(whole, small(label_smoothing=0).fit(X, y))


@pytest.mark.parametrize("form", [np.asarray, columns])
@pytest.mark.parametrize("batch_size", [32, 1000])
def test_the_loss_told_is_that_of_the_smoothed_targets(form, batch_size):
    """At a rate of 0, it can be had from the probabilities."""
    X, y = classes()
    y = form(y)
    still = {"learning_rate_init": 1e-60, "method": "static", "batch_size": batch_size}
    model = small(label_smoothing=SHARE, **still).fit(X, y, X_val=X, y_val=y)
    p = model.predict_proba(X).astype(np.float64)
    if y.ndim == 1:
        wanted = (1 - SHARE) * np.eye(3)[y] + SHARE / 3
        smoothed = -(wanted * np.log(p)).sum(axis=1).mean()
        plain = -np.log(p[np.arange(len(y)), y]).mean()
    else:
        wanted = (1 - SHARE) * y + SHARE / 2
        each = wanted * np.log(p) + (1 - wanted) * np.log(1 - p)
        smoothed = -each.sum(axis=1).mean()
        plain = -np.log(np.where(y == 1, p, 1 - p)).sum(axis=1).mean()
    assert model.loss_ == pytest.approx(smoothed, rel=1e-5)
    assert model.history_[-1]["validation_loss"] == pytest.approx(plain, rel=1e-5)
    assert model.loss_ != pytest.approx(plain, rel=1e-3)


def test_a_network_ends_as_sure_as_it_was_told_to_be():
    X, y = classes(n=40, n_features=30)
    how = {"hidden_layer_sizes": (50,), "density": 1.0, "method": "dense"}
    model = small(label_smoothing=SHARE, max_iter=300, alpha=0, **how).fit(X, y)
    sure = model.predict_proba(X)[np.arange(len(y)), y]
    assert sure == pytest.approx(1 - SHARE + SHARE / 3, abs=0.02)
