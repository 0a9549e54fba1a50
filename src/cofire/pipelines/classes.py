"""The transformers that a file may name, with what each of them is made of.

Attributes are those of scikit-learn 1.6 to 1.9. To add a class: a row in `CLASSES`, a
case in tests/pipelines, and its name in docs/saving.md. What compiled code uses as an
index must be checked, in checks.py.
"""

import numpy as np
from sklearn import feature_selection as selection
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction import text
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
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

from cofire.explain import SparseFeatureSelector
from cofire.pipelines.checks import (
    Chosen,
    check_columns,
    check_imputer,
    check_indicator,
    check_one_hot,
    check_ordinal,
    check_power,
    check_robust,
    check_standard,
    fit_polynomial,
    only_the_choice,
    with_known_columns,
)
from cofire.pipelines.kinds import (
    Array,
    ByKey,
    Count,
    Each,
    Flag,
    Kind,
    Labels,
    Mask,
    Maybe,
    Names,
    Number,
    Sometimes,
    Text,
    Vocabulary,
    Whole,
)
from cofire.pipelines.parameters import (
    DType,
    LeftOut,
    Lengths,
    Named,
    Only,
    Pattern,
    ScalarType,
    Seed,
    Untrained,
    Weights,
)
from cofire.pipelines.transformers import Columns, Part, Row, Steps, Transformer

FUNCTIONS = {
    name: getattr(np, name)
    for name in (
        *("abs", "arcsinh", "cbrt", "exp", "expm1", "log", "log10", "log1p", "log2"),
        *("sign", "sinh", "sqrt", "square", "tanh"),
    )
}
"""Of a FunctionTransformer: functions of NumPy that only compute."""
SCORES = {
    name: getattr(selection, name)
    for name in (
        *("chi2", "f_classif", "f_regression", "mutual_info_classif"),
        *("mutual_info_regression", "r_regression"),
    )
}
"""Of a selector of features; only `fit` calls it."""


_NUMBERS = Array()
_CATEGORIES: dict[str, Kind] = {
    "categories_": Each(Labels("*", ascending=True)),
    "_infrequent_enabled": Flag(),
    "_infrequent_indices": Sometimes(Each(Maybe(Array("i", "*")))),
    "_default_to_infrequent_mappings": Sometimes(Each(Maybe(Array("i", "*")))),
}
_NO_CODE = "Do what it does before the pipeline."
_OF_TEXT: dict[str, Kind] = {
    "input": Only(("content",), "a model file does not name files to read."),
    "analyzer": Only(("word", "char", "char_wb"), f"a function is code. {_NO_CODE}"),
    "preprocessor": Named({}, _NO_CODE),
    "tokenizer": Named({}, _NO_CODE),
    "token_pattern": Pattern(),
    "ngram_range": Lengths(),
    "dtype": ScalarType(),
}
_VOCABULARY = {"vocabulary_": Vocabulary(), "fixed_vocabulary_": Flag()}
_BY_SCORE = {"scores_": _NUMBERS, "pvalues_": Maybe(_NUMBERS)}
_SCORED = {
    "score_func": Named(
        SCORES, "Once fitted, it is not called: set_params(score_func=f_classif)."
    )
}
_COMPONENTS = {
    "components_": Array("f", "k n"),
    "explained_variance_": Array("f", "k"),
    "explained_variance_ratio_": Array("f", "k"),
    "singular_values_": Array("f", "k"),
}

_TOGETHER: dict[str, Kind] = {
    "n_jobs": LeftOut(),  # a file does not choose how many processes start
    "transformer_weights": Weights(),
}

CLASSES: dict[str, Row] = {
    row.made.__name__: row
    for row in (
        Row(
            StandardScaler,
            {
                "n_samples_seen_": Count(),
                "mean_": Maybe(_NUMBERS),
                "var_": Maybe(_NUMBERS),
                "scale_": Maybe(_NUMBERS),
            },
            finish=check_standard,
        ),
        Row(
            MinMaxScaler,
            {
                "n_samples_seen_": Count(),
                "scale_": _NUMBERS,
                "min_": _NUMBERS,
                "data_min_": _NUMBERS,
                "data_max_": _NUMBERS,
                "data_range_": _NUMBERS,
            },
        ),
        Row(
            MaxAbsScaler,
            {"n_samples_seen_": Count(), "max_abs_": _NUMBERS, "scale_": _NUMBERS},
        ),
        Row(
            RobustScaler,
            {"center_": Maybe(_NUMBERS), "scale_": Maybe(_NUMBERS)},
            finish=check_robust,
        ),
        Row(Normalizer),
        Row(Binarizer),
        Row(
            QuantileTransformer,
            {
                "n_quantiles_": Whole(),
                "references_": Array("f", "q"),
                "quantiles_": Array("f", "q n"),
            },
            {"random_state": Seed()},
        ),
        Row(
            PowerTransformer,
            {
                "lambdas_": _NUMBERS,
                "_scaler": Sometimes(Transformer(("StandardScaler",))),
            },
            finish=check_power,
        ),
        Row(
            PolynomialFeatures,
            derived=(
                *("_min_degree", "_max_degree"),
                *("n_output_features_", "_n_out_full"),
            ),
            finish=fit_polynomial,
        ),
        Row(
            FunctionTransformer,
            parameters={
                "func": Named(FUNCTIONS, _NO_CODE),
                "inverse_func": Named(FUNCTIONS, _NO_CODE),
                "kw_args": Only((None,), _NO_CODE),
                "inv_kw_args": Only((None,), _NO_CODE),
            },
            counts_features=False,
        ),
        Row(
            SimpleImputer,
            {
                "statistics_": Labels(),
                "indicator_": Maybe(Transformer(("MissingIndicator",))),
                "_fit_dtype": DType(),
                "_fill_dtype": Sometimes(DType()),
            },
            finish=check_imputer,
        ),
        Row(
            MissingIndicator,
            {
                "features_": Array("i", "*"),
                "_n_features": Whole(),
                "_precomputed": Flag(),
            },
            finish=check_indicator,
        ),
        Row(
            OneHotEncoder,
            {
                **_CATEGORIES,
                "drop_idx_": Maybe(Labels()),
                "_drop_idx_after_grouping": Maybe(Labels()),
            },
            {"dtype": ScalarType()},
            derived=("_n_features_outs",),
            finish=check_one_hot,
        ),
        Row(
            OrdinalEncoder,
            {**_CATEGORIES, "_missing_indices": ByKey(Whole(), numbered=True)},
            {"dtype": ScalarType()},
            finish=check_ordinal,
        ),
        Row(
            PCA,
            {
                "_fit_svd_solver": Text(),
                "mean_": _NUMBERS,
                "noise_variance_": Number(),
                "n_samples_": Whole(),
                "n_components_": Whole(),
                **_COMPONENTS,
            },
            {"random_state": Seed()},
        ),
        Row(TruncatedSVD, _COMPONENTS, {"random_state": Seed()}),
        Row(selection.SelectKBest, _BY_SCORE, _SCORED),
        Row(selection.SelectPercentile, _BY_SCORE, _SCORED),
        Row(selection.VarianceThreshold, {"variances_": _NUMBERS}),
        Row(
            selection.SelectFromModel,
            {"estimator_": Transformer(("Chosen",))},
            {
                "estimator": Transformer(("Chosen",)),
                "importance_getter": Only(("auto",), "a path to any attribute."),
            },
            simplify=only_the_choice,
            counts_features=False,
        ),
        Row(Chosen, {"feature_importances_": _NUMBERS}),
        Row(
            SparseFeatureSelector,
            {
                "support_": Mask(),
                "ranking_": Array("i"),
                "importances_": _NUMBERS,
                "stability_": _NUMBERS,
                "n_features_": Whole(),
                "estimated_false_discoveries_": Sometimes(Number()),
            },
            {"estimator": Maybe(Untrained()), "random_state": Seed()},
        ),
        Row(text.CountVectorizer, _VOCABULARY, _OF_TEXT, counts_features=False),
        Row(
            text.TfidfVectorizer,
            {**_VOCABULARY, "_tfidf": Transformer(("TfidfTransformer",))},
            _OF_TEXT,
            counts_features=False,
        ),
        Row(text.TfidfTransformer, {"idf_": Sometimes(_NUMBERS)}),
        Row(text.HashingVectorizer, parameters=_OF_TEXT, counts_features=False),
        Row(
            Pipeline,
            parameters={"steps": Steps(), "memory": LeftOut()},
            counts_features=False,
        ),
        Row(
            FeatureUnion,
            parameters={"transformer_list": Steps(), **_TOGETHER},
            counts_features=False,
        ),
        Row(
            ColumnTransformer,
            {
                "transformers_": Each(Part(), per_feature=False),
                "_columns": Each(Columns(), per_feature=False),
                "_transformer_to_input_indices": ByKey(Each(Whole(), False)),
                "_remainder": Part(),
                "sparse_output_": Flag(),
                "output_indices_": ByKey(Columns()),
                "_transformers_feature_names_out": Sometimes(Names()),
            },
            {
                "transformers": Each(Part(), per_feature=False),
                "remainder": Transformer(),
                **_TOGETHER,
            },
            simplify=with_known_columns,
            finish=check_columns,
        ),
    )
}
