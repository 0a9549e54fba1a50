"""Weights of rows and of classes."""

import numpy as np
import pytest

from helpers.estimator_cases import (
    ESTIMATORS,
    METHODS_ALONE,
    classes,
    data_for,
    labels_of_columns,
    same_training,
    small,
)


def test_class_weights_are_sample_weights():
    X, y = classes()
    by_class = {0: 0.5, 1: 1.0, 2: 4.0}
    weight = np.array([by_class[label] for label in y])
    by_sample = small().fit(X, y, sample_weight=weight)
    assert same_training(small(class_weight=by_class).fit(X, y), by_sample)
    assert not same_training(small().fit(X, y), by_sample)


def test_balanced_means_inverse_to_the_frequency():
    X, y = classes()
    y = np.where(np.arange(len(y)) % 3 > 0, 0, y)
    weight = (len(y) / (3 * np.bincount(y)))[y]
    assert len(set(weight)) > 1
    balanced = small(class_weight="balanced").fit(X, y)
    assert same_training(balanced, small().fit(X, y, sample_weight=weight))


def test_class_weights_multiply_sample_weights():
    X, y = classes()
    weight = 2.0 ** np.random.default_rng(0).integers(-2, 3, size=len(y))
    both = small(class_weight={0: 2.0, 1: 1.0, 2: 0.5}).fit(X, y, sample_weight=weight)
    product = weight * np.array([2.0, 1.0, 0.5])[y]
    assert same_training(both, small().fit(X, y, sample_weight=product))


def test_class_weights_of_strings_and_of_labels():
    X, y = classes()
    words = np.array(["a", "b", "c"])[y]
    named = small(class_weight={"a": 1, "b": 2, "c": 3}).fit(X, words)
    assert same_training(named, small(class_weight={0: 1, 1: 2, 2: 3}).fit(X, y))
    labels = labels_of_columns(X)
    per_label = [{0: 1, 1: 2}, {0: 1, 1: 1}, {0: 3, 1: 1}]
    weight = np.where(labels[:, 0], 2, 1) * np.where(labels[:, 2], 1, 3)
    assert same_training(
        small(class_weight=per_label).fit(X, labels),
        small().fit(X, labels, sample_weight=weight),
    )


@pytest.mark.parametrize("method", METHODS_ALONE)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_a_row_of_weight_zero_does_not_exist(of, method):
    X, y = data_for(of)
    weight = np.ones(len(y))
    weight[::4] = 0
    there = weight > 0
    wild = X.copy()
    wild[~there] = 1e3
    how = {"method": method, "shuffle": False}
    weighted = small(of, **how).fit(wild, y, sample_weight=weight)
    fewer = small(of, **how).fit(X[there], y[there], sample_weight=weight[there])
    assert same_training(weighted, fewer)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_rows_of_weight_zero_are_not_held_out(of):
    X, y = data_for(of)
    weight = np.zeros(len(y))
    weight[:20] = 1
    model = small(of, early_stopping=True, validation_fraction=0.5)
    model.fit(X, y, sample_weight=weight)
    assert len(model._progress.history) == len(model.validation_scores_) > 0
    fewer = small(of, early_stopping=True, validation_fraction=0.5)
    fewer.fit(X[:20], y[:20], sample_weight=weight[:20])
    assert model.validation_scores_ == pytest.approx(fewer.validation_scores_)
