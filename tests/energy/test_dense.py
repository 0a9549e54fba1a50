"""The smallest dense network that is as accurate, beside the receipt."""

import json

import numpy as np
import pytest
import scipy.sparse

from cofire import SparseMLPClassifier, SparseMLPRegressor, energy
from helpers.estimator_cases import classes, numbers, small


class Scores:
    """A model that scores what it is told to."""

    _estimator_type = "classifier"

    def __init__(self, score):
        self._score = score

    def score(self, X, y):
        return self._score

    def __sklearn_tags__(self):
        return SparseMLPClassifier().__sklearn_tags__()


@pytest.fixture(scope="module")
def data():
    """Two rings: too round for a narrow network."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = (np.hypot(*X.T) > 1.18).astype(int)
    return X[::2], y[::2], X[1::2], y[1::2]


HOW = {"max_iter": 300, "widths": (1, 2, 16, 64)}


def test_the_narrowest_that_is_as_good_is_found(data):
    easy = energy.smallest_dense(Scores(0.0), *data, **HOW)
    assert easy.sizes == (2, 1, 1, 1)
    found = energy.smallest_dense(Scores(0.9), *data, **HOW)
    assert found.sizes == (2, 16, 16, 1)
    assert found.score >= found.wanted_score == 0.9
    assert found.score == found.model.score(*data[2:])
    assert found.connections == 2 * 16 + 16 * 16 + 16
    assert found.search.joules > found.training.joules > 0


def test_none_where_none_is_as_good(data):
    assert energy.smallest_dense(Scores(1.1), *data, max_iter=1, widths=(1, 2)) is None


def test_regression_and_sparse_rows():
    X, y = numbers(n=300)
    X, X_val = scipy.sparse.csr_array(X[::2]), scipy.sparse.csr_array(X[1::2])
    y, y_val = 1e3 * y[::2], 1e3 * y[1::2]
    model = small(SparseMLPRegressor, max_iter=1).fit(X, y)
    found = energy.smallest_dense(model, X, y, X_val, y_val, n_layers=1)
    assert found.sizes[0] == 12 and found.sizes[2:] == (1,)
    assert found.score >= found.wanted_score == model.score(X_val, y_val)


def test_a_receipt_beside_it(data):
    X, y = classes(n_features=12, n_classes=3)
    model = small(max_iter=2).fit(X, y)
    dense = energy.smallest_dense(Scores(0.5), *data, **HOW)
    paid = model.receipt_.beside(dense)
    assert model.receipt_.same_accuracy is None
    text = str(paid)
    assert text.startswith(str(model.receipt_))
    sizes = "-".join(map(str, dense.sizes))
    assert f"dense network of the same accuracy: {sizes}, " in text
    plain = json.loads(json.dumps(paid.to_dict()))["same_accuracy"]
    assert plain["connections"] == dense.connections
    assert plain["training"]["source"] == dense.training.source
    assert "model" not in plain
