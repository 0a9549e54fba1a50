"""Validation data: what watches, what stops, and what is held out."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split

from cofire import SparseMLPRegressor
from helpers.estimator_cases import (
    ESTIMATORS,
    METHODS_ALONE,
    Snapshots,
    classes,
    data_for,
    moments,
    network_bits,
    same,
    same_training,
    small,
)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_validation_data_only_watch(of):
    X, y = data_for(of)
    X_val, y_val = data_for(of, seed=1)
    model = small(of, restore_best=False).fit(X, y, X_val=X_val, y_val=y_val)
    assert same_training(model, small(of).fit(X, y))
    assert model.n_iter_ == len(model.validation_scores_) == 4
    assert model.validation_scores_[-1] == pytest.approx(model.score(X_val, y_val))
    assert model.best_validation_score_ == max(model.validation_scores_)


def test_validation_rows_have_weights():
    X, y = classes()
    weight = np.random.default_rng(0).integers(0, 9, size=len(y)).astype(float)
    model = small(restore_best=False)
    model.fit(X, y, X_val=X, y_val=y, sample_weight_val=weight)
    expected = accuracy_score(y, model.predict(X), sample_weight=weight)
    assert model.validation_scores_[-1] == pytest.approx(expected)
    assert model.validation_scores_[-1] != model.score(X, y)
    assert same_training(model, small().fit(X, y))


@pytest.mark.parametrize("method", METHODS_ALONE)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_the_best_epoch_comes_back_with_its_topology(of, method):
    X, y = data_for(of)
    X_val, y_val = data_for(of, seed=0, n=30)
    snapshots = Snapshots()
    model = small(
        of, method=method, max_iter=25, learning_rate_init=0.2, callbacks=[snapshots]
    )
    model.fit(X, -y if of is SparseMLPRegressor else y, X_val=X_val, y_val=y_val)
    best = int(np.argmax(model.validation_scores_))
    assert best < 24, "the best epoch is the last: nothing is tested"
    assert model.best_validation_score_ == model.validation_scores_[best]
    assert same(network_bits(model.network_), network_bits(snapshots.networks[best]))
    assert not same(network_bits(model.network_), network_bits(snapshots.networks[-1]))
    assert model.n_iter_ == 25
    # Out of the best epoch's score comes the model that has it.
    assert model.score(X_val, y_val) == pytest.approx(
        model.best_validation_score_, rel=1e-4, abs=1e-5
    )
    # Training goes on from the network that was restored, and from rest.
    assert not any(bits.any() for bits in moments(model))
    model.partial_fit(X, y)
    model.network_.check()


def test_ties_keep_the_earlier_epoch():
    X, y = classes()
    snapshots = Snapshots()
    model = small(max_iter=30, callbacks=[snapshots])
    model.fit(X, y, X_val=X[:4], y_val=y[:4])  # four rows: few different scores
    scores = model.validation_scores_
    ties = [epoch for epoch, score in enumerate(scores) if score == max(scores)]
    assert len(ties) > 1, "no tie: nothing is tested"
    assert same(network_bits(model.network_), network_bits(snapshots.networks[ties[0]]))


@pytest.mark.parametrize("restore_best", [True, False])
@pytest.mark.parametrize("of", ESTIMATORS)
def test_early_stopping_waits_n_iter_no_change_epochs_after_the_best(of, restore_best):
    X, y = data_for(of)
    snapshots = Snapshots()
    model = small(
        of,
        max_iter=200,
        early_stopping=True,
        n_iter_no_change=6,
        restore_best=restore_best,
        learning_rate_init=0.1,
        callbacks=[snapshots],
    ).fit(X, y)
    best = int(np.argmax(model.validation_scores_))
    assert model.n_iter_ == best + 1 + 6 < 200
    assert [r["stalled_epochs"] for r in model.history_][-7:] == list(range(7))
    expected = snapshots.networks[best if restore_best else -1]
    assert same(network_bits(model.network_), network_bits(expected))


def test_n_iter_no_change_acts_only_with_early_stopping():
    X, y = classes()
    model = small(max_iter=30, n_iter_no_change=1).fit(X, y, X_val=X[:4], y_val=y[:4])
    assert model.n_iter_ == 30
    assert max(r["stalled_epochs"] for r in model.history_) > 1


def test_held_out_rows_are_a_stratified_share_that_training_never_sees():
    X, y = classes()
    model = small(early_stopping=True, validation_fraction=0.2, restore_best=False)
    model.fit(X, y)
    kept, held_out = train_test_split(
        np.arange(150), test_size=0.2, random_state=model.seed_, stratify=y
    )
    assert model.validation_scores_[-1] == pytest.approx(
        model.score(X[held_out], y[held_out])
    )
    wild = X.copy()
    wild[held_out] = 1e3
    blind = small(early_stopping=True, validation_fraction=0.2, restore_best=False)
    assert same(network_bits(blind.fit(wild, y).network_), network_bits(model.network_))
    wild[kept[:10]] = 1e3
    assert not same(
        network_bits(blind.fit(wild, y).network_), network_bits(model.network_)
    )


def test_held_out_rows_keep_their_weights():
    X, y = classes()
    weight = np.random.default_rng(0).uniform(0.1, 5, size=len(y))
    model = small(early_stopping=True, validation_fraction=0.2, restore_best=False)
    model.fit(X, y, sample_weight=weight)
    _, held_out = train_test_split(
        np.arange(150), test_size=0.2, random_state=model.seed_, stratify=y
    )
    assert model.validation_scores_[-1] == pytest.approx(
        model.score(X[held_out], y[held_out], sample_weight=weight[held_out])
    )
    assert model.validation_scores_[-1] != model.score(X[held_out], y[held_out])


@pytest.mark.parametrize("of", ESTIMATORS)
def test_nothing_is_held_out_where_validation_data_are_given(of):
    X, y = data_for(of)
    model = small(of, early_stopping=True, restore_best=False)
    model.fit(X, y, X_val=X, y_val=y)
    assert same_training(model, small(of).fit(X, y))
