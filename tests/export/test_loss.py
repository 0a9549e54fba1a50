"""What is said of predictions before and after: the model's own score, on the rows."""

import numpy as np
import pandas as pd
import pytest

import cofire
from cofire import SparseMLPClassifier
from cofire.data import Preprocessing
from cofire.data.tables.table import Table
from cofire.export import to_c
from helpers.exported import case, table


def words(n=200):
    X = np.random.default_rng(0).normal(size=(n, 4))
    return X, np.array(["ab", "cd"])[(X[:, 0] > 0).astype(int)]


def fitted(X, y):
    return SparseMLPClassifier((20,), max_iter=5, random_state=0).fit(X, y)


def test_the_score_is_that_of_the_model(tmp_path):
    X, y = words()
    model = fitted(X, y)
    longer = np.where(np.arange(len(y)) % 4 == 0, np.char.add(y, "z"), y)
    for targets in (y, y.astype(object), list(y), longer):
        lost = to_c(model, tmp_path / "model.c", X=X, y=targets).loss
        assert lost.before == lost.after == model.score(X, targets)
    assert lost.after < 0.8


def test_targets_of_another_kind_are_refused(tmp_path):
    X, y = words()
    model = fitted(X, (y == "ab").astype(int))
    for targets in ((y == "ab") + 0.7, y):
        with pytest.raises((ValueError, TypeError)):
            to_c(model, tmp_path / "model.c", X=X, y=targets)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("rows", [(5, 63), (0, 64), (64,)])
def test_rows_of_another_shape_are_refused(rows, tmp_path):
    with pytest.raises(ValueError, match="X: expected one row or more of 64 columns"):
        to_c(case("digits").model, tmp_path / "model.c", X=np.ones(rows))
    assert not list(tmp_path.iterdir())


def test_rows_of_a_file_have_its_columns(tmp_path):
    X, y = table()
    own = Preprocessing.fit(Table(X, None), missing="mean")
    path, described = tmp_path / "m.cofire", own.to_dict()
    cofire.saving.save(fitted(own.transform(X)[0], y), path, preprocessing=described)
    model, out = cofire.load(path), tmp_path / "model.c"
    assert to_c(model, out, X=X[["shape", "age", "size", "colour"]], y=y).loss.n_rows
    with pytest.raises(ValueError, match="columns that the model needs are missing"):
        to_c(model, out, X=X[["size"]])
    for rows in (X.to_numpy(), pd.Series([1.0])):
        with pytest.raises(TypeError, match="X: expected a DataFrame with the columns"):
            to_c(model, out, X=rows)
