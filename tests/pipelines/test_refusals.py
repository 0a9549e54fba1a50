"""What a file cannot hold is refused by name, before anything is written."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    SplineTransformer,
    StandardScaler,
)

import cofire
from cofire import SparseMLPRegressor
from helpers.estimator_cases import small
from helpers.pipeline_cases import TEXTS, X, Y


class OwnScaler(StandardScaler):
    pass


class OwnPipeline(Pipeline):
    pass


def own_score(X, y):
    return f_classif(X, y)


def before(*steps, rows=X):
    return make_pipeline(*steps, small()).fit(rows, Y)


def with_attribute():
    pipeline = before(StandardScaler())
    pipeline[0].mine_ = 3
    return pipeline


REFUSED = {
    "class": (
        lambda: before(SplineTransformer()),
        [
            "step 'splinetransformer' (SplineTransformer): a model file does not hold "
            "objects of the class SplineTransformer. It holds: Binarizer, Chosen, ",
            "StandardScaler",
            "do that step before the pipeline",
        ],
    ),
    "derived class": (
        lambda: before(OwnScaler()),
        ["step 'ownscaler' (OwnScaler)", "none derived from them"],
    ),
    "derived pipeline": (
        lambda: OwnPipeline(before(StandardScaler()).steps),
        ["of the class OwnPipeline"],
    ),
    "inside of others": (
        lambda: before(
            ColumnTransformer(
                [("n", make_pipeline(StandardScaler(), KNNImputer()), [0, 1])]
            )
        ),
        [
            "step 'columntransformer' (ColumnTransformer), step 'n' (Pipeline), step "
            "'knnimputer' (KNNImputer): a model file does not hold"
        ],
    ),
    "function": (
        lambda: before(FunctionTransformer(lambda X: X + 1)),
        ["func=<lambda>: a function is code", "before the pipeline", "Known: abs, "],
    ),
    "arguments of a function": (
        lambda: before(FunctionTransformer(np.abs, kw_args={"where": True})),
        ["kw_args={'where': True}"],
    ),
    "score": (
        lambda: before(SelectKBest(own_score, k=2)),
        ["score_func=own_score", "set_params(score_func=f_classif)", "chi2"],
    ),
    "score with settings": (
        lambda: before(SelectKBest(partial(f_classif), k=2)),
        ["score_func=functools.partial"],
    ),
    "tokenizer": (
        lambda: before(
            CountVectorizer(tokenizer=str.split, token_pattern=None), rows=TEXTS
        ),
        ["step 'countvectorizer'", "tokenizer=split: a function is code"],
    ),
    "analyzer": (
        lambda: before(TfidfVectorizer(analyzer=str.split), rows=TEXTS),
        ["analyzer=", "a function is code"],
    ),
    "combiner": (
        lambda: before(OneHotEncoder(feature_name_combiner=str), rows=X.round()),
        ["feature_name_combiner: type cannot be stored"],
    ),
    "files": (
        lambda: Pipeline([("v", CountVectorizer(input="filename")), ("m", fitted())]),
        ["input='filename'", "does not name files"],
    ),
    "attribute": (with_attribute, ["attribute 'mine_'", "Remove it"]),
    "half precision": (
        lambda: before(StandardScaler().fit(X), "passthrough") and half(),
        ["an array of float16", "Fit on float64"],
    ),
    "dates": (
        lambda: before(
            OneHotEncoder(), rows=pd.DataFrame({"d": pd.date_range("2020", periods=80)})
        ),
        ["categories_", "datetime64"],
    ),
    "missing values of pandas": (
        lambda: Pipeline([("i", SimpleImputer(missing_values=pd.NA)), ("m", fitted())]),
        ["missing_values: NAType cannot be stored"],
    ),
    "another model": (
        lambda: make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y),
        ["its last step, 'logisticregression', is a LogisticRegression", "end in one"],
    ),
    "no steps": (lambda: Pipeline([]), ["got a Pipeline"]),
    "no pipeline": (
        lambda: LogisticRegression().fit(X, Y),
        ["SparseMLPClassifier and SparseMLPRegressor", "got a LogisticRegression"],
    ),
    "model inside of another": (
        lambda: TransformedTargetRegressor(small(SparseMLPRegressor)).fit(X, X[:, 0]),
        ["got a TransformedTargetRegressor"],
    ),
    "the model twice": (
        lambda: (lambda m: Pipeline([("a", m), ("b", m)]))(fitted()),
        ["step 'b' (SparseMLPClassifier): a model file does not hold"],
    ),
    "a parameter of the model": (
        lambda: before(StandardScaler()).set_params(sparsemlpclassifier__alpha=-1),
        ["alpha"],
    ),
}


def fitted():
    return small().fit(X, Y)


def half():
    pipeline = before(StandardScaler())
    pipeline[0].mean_ = pipeline[0].mean_.astype(np.float16)
    return pipeline


@pytest.mark.parametrize("name", REFUSED)
def test_it_says_which_step_and_why_and_nothing_is_written(name, tmp_path):
    make, words = REFUSED[name]
    pipeline = make()
    with pytest.raises(ValueError, match=re.escape(words[0])) as caught:
        cofire.save(pipeline, tmp_path / "p")
    for word in words:
        assert word in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_pipeline_that_is_not_fitted_says_so(tmp_path):
    with pytest.raises(NotFittedError):
        cofire.save(make_pipeline(StandardScaler(), small()), tmp_path / "p")


def test_the_names_in_the_docs_are_those_of_the_table():
    from pathlib import Path

    from cofire.pipelines.classes import CLASSES

    text = (Path(__file__).parents[2] / "docs" / "saving.md").read_text()
    missing = [name for name in CLASSES if f"`{name}`" not in text]
    assert missing == ["Chosen"]  # stands for a model, is no step of its own
