"""What y may be, and how it comes back."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from sklearn.metrics import accuracy_score

from cofire import SparseMLPRegressor
from helpers.estimator_cases import (
    classes,
    labels_of_columns,
    numbers,
    same_training,
    small,
)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1]),
        np.array([False, True]),
        np.array([-1.0, 1.0]),
        np.array([5, -7, 100]),
        np.array(["no", "yes, please", "maybe"]),
        np.array(["no", "yes", "maybe"], dtype=object),
        np.array([2, 1, 0], dtype=np.uint8),
    ],
    ids=lambda labels: f"{labels.dtype}-{len(labels)}",
)
def test_labels_come_back_as_they_were(labels):
    X, y = classes(n_classes=len(labels))
    model = small(max_iter=60).fit(X, labels[y])
    assert model.classes_.dtype == labels.dtype
    assert model.classes_.tolist() == sorted(labels.tolist())
    predicted = model.predict(X)
    assert predicted.dtype == labels.dtype
    assert model.score(X, labels[y]) == np.mean(predicted == labels[y]) > 0.8
    # The columns of the probabilities are the classes in their order.
    likely = model.predict_proba(X)
    assert likely.shape == (150, len(labels))
    np.testing.assert_allclose(likely.sum(axis=1), 1, rtol=1e-6)
    assert (model.classes_[likely.argmax(axis=1)] == predicted).all()


@pytest.mark.parametrize("kind", [list, pd.Series, pd.Categorical])
def test_labels_may_come_in_any_container(kind):
    X, y = classes()
    words = np.array(["a", "b", "c"])[y]
    model = small().fit(X, kind(words))
    assert same_training(model, small().fit(X, words))
    assert set(model.predict(X)) <= {"a", "b", "c"}


def test_binary_targets_have_two_outputs():
    X, y = classes(n_classes=2)
    assert small().fit(X, y).network_.sizes[-1] == 2


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, pd.DataFrame])
def test_multi_label(form):
    X, _ = classes(n=400)
    y = labels_of_columns(X)
    model = small(max_iter=150, epsilon=3).fit(X, form(y))
    assert model.network_.output == "sigmoid"
    assert model.classes_.tolist() == [0, 1, 2]
    likely, predicted = model.predict_proba(X), model.predict(X)
    assert likely.shape == predicted.shape == (400, 3)
    assert np.array_equal(predicted, likely > 0.5)
    assert np.mean(predicted == y) > 0.8
    assert model.score(X, y) == accuracy_score(y, predicted)
    # Each label stands for itself: the rows do not sum to 1.
    assert np.abs(likely.sum(axis=1) - 1).max() > 0.1


def test_multi_label_with_validation_scores_whole_rows():
    X, _ = classes()
    y = labels_of_columns(X)
    model = small(restore_best=False).fit(X, y, X_val=X, y_val=y)
    assert model.validation_scores_[-1] == pytest.approx(model.score(X, y))
    stopped = small(early_stopping=True).fit(X, y)
    assert len(stopped.validation_scores_) == stopped.n_iter_


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_regression(n_outputs):
    X, y = numbers(n=400, n_outputs=n_outputs)
    model = small(SparseMLPRegressor, max_iter=120, epsilon=3).fit(X, y)
    assert model.predict(X).shape == y.shape
    assert model.predict(X).dtype == np.float64
    assert model.score(X, y) > 0.7


def test_a_column_of_numbers_is_predicted_like_a_row_of_them():
    X, y = numbers()
    with pytest.warns(sklearn.exceptions.DataConversionWarning):
        column = small(SparseMLPRegressor).fit(X, y[:, None])
    assert np.array_equal(
        column.predict(X), small(SparseMLPRegressor).fit(X, y).predict(X)
    )


def test_columns_of_numbers_may_come_in_any_layout():
    X, y = numbers(n_outputs=2)
    model = small(SparseMLPRegressor).fit(X, y)
    frame = pd.DataFrame({"a": y[:, 0], "b": y[:, 1]})
    for same in (frame, np.asfortranarray(y), np.repeat(y, 2, axis=1)[:, ::2]):
        fitted = small(SparseMLPRegressor).fit(X, same)
        assert np.array_equal(fitted.predict(X), model.predict(X))
        small(SparseMLPRegressor).fit(X, same, X_val=X, y_val=same)


def test_the_unit_of_the_target_does_not_matter():
    X, y = numbers()
    plain = small(SparseMLPRegressor).fit(X, y)
    scaled = small(SparseMLPRegressor).fit(X, 1024 * y)  # a power of two: no rounding
    assert same_training(plain, scaled)
    np.testing.assert_allclose(scaled.predict(X), 1024 * plain.predict(X), rtol=1e-12)
    far = small(SparseMLPRegressor).fit(X, y + 1e6)
    np.testing.assert_allclose(far.predict(X) - 1e6, plain.predict(X), atol=1e-3)


def test_a_constant_target_is_learnt_as_it_is():
    X, _ = numbers()
    model = small(SparseMLPRegressor, max_iter=100).fit(X, np.full(len(X), 3.0))
    assert model.target_scale_ == 1
    np.testing.assert_allclose(model.predict(X), 3, atol=0.1)


def test_an_offset_far_above_the_spread_of_the_target_does_not_hide_it():
    X, y = numbers()
    far = small(SparseMLPRegressor, max_iter=60).fit(X, 1e8 + 1e-3 * y)
    assert far.target_scale_[0] < 0.1
    plain = small(SparseMLPRegressor, max_iter=60).fit(X, y)
    assert far.score(X, 1e8 + 1e-3 * y) == pytest.approx(plain.score(X, y), abs=0.01)


def test_a_column_of_labels_gets_one_warning():
    X, y = classes()
    with pytest.warns(sklearn.exceptions.DataConversionWarning) as caught:
        small().fit(X, y[:, None])
    assert len(caught) == 1


def test_whole_numbers_are_numbers_to_a_regressor():
    X, y = classes()
    model = small(SparseMLPRegressor).fit(X, y)
    assert same_training(model, small(SparseMLPRegressor).fit(X, y.astype(float)))
