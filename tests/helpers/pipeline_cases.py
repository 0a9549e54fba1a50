"""Pipelines of every known transformer, fitted on small data, with rows to predict."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import (
    ColumnTransformer,
    make_column_selector,
    make_column_transformer,
)
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import (
    SelectFromModel,
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
    chi2,
    mutual_info_classif,
)
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from cofire import SparseFeatureSelector, SparseMLPRegressor
from helpers.estimator_cases import small

N = 80
rng = np.random.default_rng(5)
X = rng.normal(size=(N, 5)) * [1, 10, 0.1, 1, 1] + [0, 3, 0, 0, 1]
Y = (X[:, 0] + X[:, 4] > 1).astype(int)
POSITIVE = np.abs(X) + 0.1
GAPS = np.where(rng.random(X.shape) < 0.15, np.nan, X)
GAPS[0] = np.nan
WORDS = np.array(["red", "green", "blue", "ä", "grün"])
LETTERS = np.stack([WORDS[rng.integers(0, k, N)] for k in (2, 3, 5)], axis=1)
OBJECTS = LETTERS.astype(object)
OBJECTS[3, 0] = OBJECTS[5, 2] = None
HOLES = LETTERS.astype(object)
HOLES[4, 1] = HOLES[7, 2] = np.nan
WHOLE = rng.integers(0, 4, (N, 3))
FRAME = pd.DataFrame(GAPS, columns=["age", "income", "tax", "score", "é"]).assign(
    colour=pd.Series(LETTERS[:, 2]).where(rng.random(N) > 0.1),
    size=pd.Categorical(LETTERS[:, 1]),
    married=rng.random(N) < 0.5,
    visits=rng.integers(0, 9, N),
)
TEXTS = [" ".join(WORDS[rng.integers(0, 5, rng.integers(1, 9))]) + " $x" for _ in Y]


def numbers():
    """Gaps filled in, then scaled."""
    return make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())


def by_kind(**how):
    """The pipeline that everybody writes for a table."""
    return ColumnTransformer(
        [
            ("numbers", numbers(), ["age", "income", "tax"]),
            ("colours", OneHotEncoder(handle_unknown="ignore"), ["colour", "size"]),
            ("as they are", "passthrough", ["married", "visits"]),
            ("not used", "drop", ["é"]),
        ],
        **how,
    )


@dataclass(frozen=True)
class Case:
    """Steps before the model, rows to fit and to predict."""

    steps: Callable[[], list[Any]]
    rows: Any = None
    model: Callable[[], Any] = small


def case(*steps, rows=X, **how):
    return Case(lambda: [step() for step in steps], rows, **how)


def of(made, *given, **how):
    return lambda: made(*given, **how)


CASES = {
    "nothing": case(),
    "StandardScaler": case(of(StandardScaler)),
    "StandardScaler with gaps": case(of(StandardScaler), of(SimpleImputer), rows=GAPS),
    "StandardScaler without": case(of(StandardScaler, with_mean=False, with_std=False)),
    "StandardScaler float32": case(of(StandardScaler), rows=X.astype(np.float32)),
    "MinMaxScaler": case(of(MinMaxScaler, feature_range=(-1, 2), clip=True)),
    "MaxAbsScaler": case(of(MaxAbsScaler)),
    "RobustScaler": case(of(RobustScaler)),
    "RobustScaler without": case(of(RobustScaler, with_centering=False)),
    "Normalizer": case(of(Normalizer, norm="l1")),
    "Binarizer": case(of(Binarizer, threshold=0.3)),
    "QuantileTransformer": case(
        of(QuantileTransformer, n_quantiles=20, output_distribution="normal")
    ),
    "PowerTransformer": case(of(PowerTransformer)),
    "PowerTransformer box-cox": case(
        of(PowerTransformer, "box-cox", standardize=False), rows=POSITIVE
    ),
    "PolynomialFeatures": case(of(PolynomialFeatures)),
    "PolynomialFeatures 1 to 3": case(
        of(PolynomialFeatures, (1, 3), interaction_only=True, include_bias=False)
    ),
    "PolynomialFeatures from 2": case(of(PolynomialFeatures, (2, 3), order="F")),
    "FunctionTransformer": case(of(FunctionTransformer)),
    "FunctionTransformer log1p": case(
        of(FunctionTransformer, np.log1p, inverse_func=np.expm1), rows=POSITIVE
    ),
    "SimpleImputer": case(of(SimpleImputer), rows=GAPS),
    "SimpleImputer indicator": case(of(SimpleImputer, add_indicator=True), rows=GAPS),
    "SimpleImputer constant": case(
        of(SimpleImputer, strategy="constant", fill_value=-1), rows=GAPS
    ),
    "SimpleImputer words": case(
        of(SimpleImputer, strategy="most_frequent"), of(OneHotEncoder), rows=HOLES
    ),
    "SimpleImputer a word": case(
        of(SimpleImputer, strategy="constant", fill_value="?"),
        of(OrdinalEncoder),
        rows=HOLES,
    ),
    "MissingIndicator": case(of(MissingIndicator, features="all"), rows=GAPS),
    "OneHotEncoder": case(of(OneHotEncoder), rows=LETTERS),
    "OneHotEncoder dense": case(
        of(OneHotEncoder, sparse_output=False, dtype=np.float32), rows=OBJECTS
    ),
    "OneHotEncoder gaps": case(of(OneHotEncoder), rows=HOLES),
    "OneHotEncoder first": case(of(OneHotEncoder, drop="first"), rows=LETTERS),
    "OneHotEncoder binary": case(of(OneHotEncoder, drop="if_binary"), rows=LETTERS),
    "OneHotEncoder chosen": case(
        of(OneHotEncoder, drop=np.array(["green", "blue", "ä"], dtype=object)),
        rows=OBJECTS[8:],
    ),
    "OneHotEncoder rare": case(
        of(OneHotEncoder, min_frequency=0.3, handle_unknown="infrequent_if_exist"),
        rows=LETTERS,
    ),
    "OneHotEncoder few": case(
        of(OneHotEncoder, max_categories=2, drop="first"), rows=OBJECTS
    ),
    "OneHotEncoder numbers": case(of(OneHotEncoder), rows=WHOLE),
    "OneHotEncoder floats": case(of(OneHotEncoder), rows=GAPS.round()),
    "OneHotEncoder bools": case(of(OneHotEncoder), rows=X > 0),
    "OneHotEncoder given": case(
        of(OneHotEncoder, categories=[np.sort(WORDS)] * 3, handle_unknown="ignore"),
        rows=LETTERS,
    ),
    "OrdinalEncoder": case(of(OrdinalEncoder), rows=LETTERS),
    "OrdinalEncoder unknown": case(
        of(
            OrdinalEncoder,
            handle_unknown="use_encoded_value",
            unknown_value=-1,
            encoded_missing_value=-2,
        ),
        rows=HOLES,
    ),
    "OrdinalEncoder rare": case(of(OrdinalEncoder, min_frequency=20), rows=LETTERS),
    "PCA": case(of(PCA, 3)),
    "PCA whitened": case(of(PCA, 0.95, whiten=True)),
    "PCA full": case(of(PCA, 3, svd_solver="full")),
    "PCA arpack": case(of(PCA, 3, svd_solver="arpack", random_state=0)),
    "PCA randomized": case(
        of(PCA, 3, svd_solver="randomized", random_state=np.random.RandomState(0))
    ),
    "TruncatedSVD": case(of(TruncatedSVD, 3, random_state=0)),
    "SelectKBest": case(of(SelectKBest, k=2)),
    "SelectKBest chi2": case(of(SelectKBest, chi2, k="all"), rows=POSITIVE),
    "SelectPercentile": case(of(SelectPercentile, mutual_info_classif, percentile=40)),
    "VarianceThreshold": case(of(VarianceThreshold, 0.5)),
    "SelectFromModel": case(
        of(SelectFromModel, RandomForestClassifier(5, random_state=0))
    ),
    "SparseFeatureSelector": case(
        of(
            SparseFeatureSelector,
            small(max_iter=1),
            n_features_to_select=2,
            n_folds=2,
            random_state=0,
        )
    ),
    "CountVectorizer": case(of(CountVectorizer), rows=TEXTS),
    "CountVectorizer given": case(
        of(CountVectorizer, vocabulary=["red", "blue"], stop_words=["green"]),
        rows=TEXTS,
    ),
    "CountVectorizer letters": case(
        of(CountVectorizer, analyzer="char_wb", ngram_range=(1, 2), max_features=9),
        rows=TEXTS,
    ),
    "CountVectorizer pattern": case(
        of(CountVectorizer, token_pattern=r"\S+", binary=True, dtype=np.float32),
        rows=TEXTS,
    ),
    "TfidfVectorizer": case(of(TfidfVectorizer, sublinear_tf=True), rows=TEXTS),
    "TfidfVectorizer tf": case(of(TfidfVectorizer, use_idf=False), rows=TEXTS),
    "TfidfTransformer": case(of(CountVectorizer), of(TfidfTransformer), rows=TEXTS),
    "HashingVectorizer": case(of(HashingVectorizer, n_features=64), rows=TEXTS),
    "words to factors": case(
        of(TfidfVectorizer), of(TruncatedSVD, 2), of(StandardScaler), rows=TEXTS
    ),
    "ColumnTransformer": case(of(by_kind), rows=FRAME),
    "remainder": case(
        of(by_kind, remainder=SimpleImputer(strategy="median")), rows=FRAME
    ),
    "remainder as it is": case(
        lambda: make_column_transformer(
            (StandardScaler(), ["visits"]),
            (OrdinalEncoder(), ["size"]),
            ("drop", ["colour"]),
            remainder="passthrough",
            verbose_feature_names_out=False,
        ),
        rows=FRAME,
        model=lambda: small(standardize=True),
    ),
    "columns by number": case(
        of(
            ColumnTransformer,
            [
                ("a", StandardScaler(), [0, -1]),
                ("b", MinMaxScaler(), slice(1, 3)),
                ("c", Normalizer(), np.array([False, False, False, True, False])),
                ("d", RobustScaler(), []),
            ],
            transformer_weights={"a": 2.0},
        )
    ),
    "columns by a function": case(
        of(
            ColumnTransformer,
            [
                ("n", numbers(), make_column_selector(dtype_include=float)),
                ("w", OneHotEncoder(), make_column_selector(pattern="size|colour")),
            ],
        ),
        rows=FRAME,
    ),
    "columns by a slice of names": case(
        of(ColumnTransformer, [("n", SimpleImputer(), slice("age", "tax"))]),
        rows=FRAME,
    ),
    "one column of text": case(
        of(
            ColumnTransformer,
            [("t", TfidfVectorizer(), "text"), ("n", MinMaxScaler(), ["n"])],
        ),
        rows=pd.DataFrame({"text": TEXTS, "n": X[:, 0]}),
    ),
    "pandas": case(
        lambda: (
            by_kind(sparse_threshold=0)
            .set_params(colours__sparse_output=False)
            .set_output(transform="pandas")
        ),
        rows=FRAME,
    ),
    "pandas steps": case(
        lambda: StandardScaler().set_output(transform="pandas"),
        lambda: SelectKBest(k=3).set_output(transform="pandas"),
        rows=FRAME[["visits", "married"]].assign(a=X[:, 0], b=X[:, 1]),
    ),
    "names": case(of(SimpleImputer), rows=FRAME[["age", "é"]]),
    "nested": case(
        lambda: make_pipeline(
            ColumnTransformer(
                [
                    ("two", make_pipeline(StandardScaler(), PCA(1)), [0, 1]),
                    ("rest", ColumnTransformer([("x", MaxAbsScaler(), [0])]), [3, 4]),
                ]
            ),
            "passthrough",
        ),
        of(lambda: "passthrough"),
        of(lambda: None),
    ),
    "FeatureUnion": case(
        of(
            FeatureUnion,
            [
                *(("p", PCA(2)), ("s", "passthrough"), ("d", "drop")),
                ("k", SelectKBest(k=1)),
            ],
            transformer_weights={"p": 3.0},
        )
    ),
    "numbers out": case(
        of(StandardScaler),
        model=lambda: small(SparseMLPRegressor),
    ),
    "several networks": case(
        of(PCA, 4), model=lambda: small(n_networks=2, standardize=True)
    ),
}


@cache
def fitted(name):
    """The pipeline of a case, fitted once."""
    one = CASES[name]
    steps = [(f"step {i}", step) for i, step in enumerate(one.steps())]
    y = Y[: len(one.rows)]
    return Pipeline([*steps, ("model", one.model())]).fit(one.rows, y)
