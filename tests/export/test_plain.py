"""A model as plain arrays predicts what the estimator does."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cofire
from cofire import SparseMLPClassifier
from cofire.data import Preprocessing
from cofire.data.tables.table import Table
from cofire.export.reading import plain_model, rows_of
from helpers.exported import CASES, case, table


@pytest.mark.parametrize("name", CASES)
def test_plain_model_predicts_what_the_estimator_does(name):
    own = case(name)
    plain, rows = plain_model(own.model), rows_of(own.model, own.X)
    outputs = plain.evaluate(rows)
    np.testing.assert_allclose(outputs, own.expected, rtol=2e-6, atol=1e-6)
    predicted = plain.predictions(outputs)
    if hasattr(own.model, "classes_"):
        np.testing.assert_array_equal(predicted, own.model.predict(own.X))
    else:
        assert predicted.shape == own.model.predict(own.X).shape


@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
@pytest.mark.parametrize("standardize", [True, False])
def test_a_model_of_cofire_train_takes_the_columns_of_its_file(
    tmp_path, scale, standardize
):
    X, y = table()
    X["size"] += 1e6
    preprocessing = Preprocessing.fit(Table(X[:700], None), scale=scale, missing="mean")
    model = SparseMLPClassifier(
        (40,), max_iter=10, n_networks=1, standardize=standardize, random_state=0
    )
    model.fit(preprocessing.transform(X[:700])[0], y[:700])
    cofire.saving.save(
        model, tmp_path / "m.cofire", preprocessing=preprocessing.to_dict()
    )
    loaded, rows = cofire.load(tmp_path / "m.cofire"), X[700:].copy()
    rows.loc[rows.index[:20], "shape"] = "never seen"
    plain = plain_model(loaded)
    assert [own.name for own in plain.columns] == list(X.columns)
    outputs = plain.evaluate(rows_of(loaded, rows))
    expected = loaded.predict_proba(preprocessing.transform(rows)[0])
    # Between its two scales the estimator rounds to float32; 1e6 with scale "none".
    atol = 1e-6 if scale != "none" else 0.05
    np.testing.assert_allclose(outputs, expected, atol=atol)


def test_a_matrix_of_cofire_train(tmp_path):
    own = case("digits")
    X = np.asarray(own.X)
    preprocessing = Preprocessing.fit(Table(X, None), scale="minmax")
    model = SparseMLPClassifier((20,), max_iter=3, n_networks=1, random_state=0)
    features = preprocessing.transform(X)[0]
    model.fit(features, own.model.predict(own.X))
    cofire.saving.save(
        model, tmp_path / "m.cofire", preprocessing=preprocessing.to_dict()
    )
    loaded = cofire.load(tmp_path / "m.cofire")
    outputs = plain_model(loaded).evaluate(rows_of(loaded, X))
    np.testing.assert_allclose(outputs, loaded.predict_proba(features), atol=1e-6)


def test_pipelines_dates_and_others_are_refused(tmp_path):
    X, y = table()
    numbers = X[["age"]]
    pipeline = make_pipeline(
        StandardScaler(), SparseMLPClassifier((9,), max_iter=1, n_networks=1)
    )
    with pytest.raises(TypeError, match=r"model is a pipeline.*model\[-1\]"):
        plain_model(pipeline.fit(numbers, y))
    with pytest.raises(TypeError, match="got LogisticRegression"):
        plain_model(LogisticRegression())
    model = SparseMLPClassifier((9,), max_iter=1, n_networks=1)
    with pytest.raises(ValueError, match="is not fitted yet"):
        plain_model(model)
    import pandas as pd

    X["when"] = pd.date_range("2020-01-01", periods=len(X))
    with pytest.raises(ValueError, match="column 'when' holds dates"):
        plain_model(model.fit(X, y))
    X["when"] = X["when"].astype(str)
    preprocessing = Preprocessing.fit(Table(X, None), missing="mean")
    model.fit(preprocessing.transform(X)[0], y)
    cofire.saving.save(
        model, tmp_path / "m.cofire", preprocessing=preprocessing.to_dict()
    )
    with pytest.raises(ValueError, match="column 'when' holds dates"):
        plain_model(cofire.load(tmp_path / "m.cofire"))
