"""The models that are compared: one row per model, each with one thread.

A model is a function from a `Case` to an estimator. Cases have one of three kinds of X:

    frame   a DataFrame: numbers (NaN: missing) and categories, named by integers
    sparse  a CSR matrix
    array   an array of numbers without gaps

Labels are 0, 1, ... of the classes that the training rows have. All settings are the
libraries' defaults unless a line below says otherwise. Optional packages are imported
where they are used.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_selector,
)
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.svm import SVC, SVR
from sklearn.utils.validation import check_is_fitted
from tuned import TunedLightGBM

MOST_COLUMNS_OF_ONE = 100  # the rarer categories of a column share a one-hot column
MOST_CATEGORIES = 254  # of one column, in HistGradientBoosting
ROWS_FOR_CATEGORIES = 500  # LightGBM's own handling of categories needs rows


@dataclass(frozen=True)
class Case:
    """What a model may know before it sees the data."""

    task: str  # "classes" or "numbers"
    kind: str  # "frame", "sparse" or "array"
    rows: int  # of the training part
    features: int
    seed: int

    @property
    def classes(self) -> bool:
        return self.task == "classes"


class NotAvailable(Exception):
    """The model cannot run here: its package or its weights are missing."""


def kind_of(X):
    """Return the kind of X.

    >>> kind_of(np.zeros((2, 2)))
    'array'
    """
    if hasattr(X, "columns"):
        return "frame"
    return "array" if isinstance(X, np.ndarray) else "sparse"


# --- preprocessing -------------------------------------------------------------------


def category_codes(X):
    """Return the number of each category, -1 if missing, as one array of floats."""
    columns = [X[name].cat.codes.to_numpy(np.float32) for name in X.columns]
    return np.stack(columns, axis=1) if columns else np.empty((len(X), 0), np.float32)


def floats(X):
    return X.astype(np.float32)


def dense_floats(X):
    return (X if isinstance(X, np.ndarray) else X.toarray()).astype(np.float32)


def float_cells(X):
    """Return sparse X with cells that every library takes."""
    return X.astype(np.float32)


def prepared(case, *, scale=True):
    """Numbers only: gaps filled, categories one-hot, then scaled.

    Frames: the median fills a gap and a column says where gaps were; 0/1 columns stay
    as they are. Sparse X, which holds counts of words, stays sparse and is not scaled:
    to divide by each column's largest value took 4 to 8 points of accuracy on PCMAC
    from logistic regression, SVM, kNN and MLP (five folds), which would favour us.
    """
    if case.kind == "sparse":
        return FunctionTransformer(float_cells, accept_sparse=True)
    scaler = StandardScaler() if scale else "passthrough"
    if case.kind == "array":
        return make_pipeline(FunctionTransformer(floats), scaler)
    numbers = make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True),
        scaler,
        FunctionTransformer(floats),
    )
    categories = make_pipeline(
        FunctionTransformer(category_codes),
        OneHotEncoder(
            handle_unknown="infrequent_if_exist",
            max_categories=MOST_COLUMNS_OF_ONE,
            sparse_output=False,
            dtype=np.float32,
        ),
    )
    return ColumnTransformer(
        [
            ("numbers", numbers, make_column_selector(dtype_exclude="category")),
            ("categories", categories, make_column_selector(dtype_include="category")),
        ],
        sparse_threshold=0,
    )


class FewCategories(TransformerMixin, BaseEstimator):
    """Keep the most frequent categories of each column; the others become one."""

    def __init__(self, most=MOST_CATEGORIES):
        self.most = most

    def fit(self, X, y=None):
        self.kept_ = {}
        for name in X.columns[X.dtypes == "category"]:
            counts = X[name].value_counts()
            counts = counts[counts > 0]
            if len(X[name].cat.categories) > self.most:
                self.kept_[name] = list(counts.index[: self.most - 1])
        return self

    def transform(self, X):
        check_is_fitted(self, "kept_")
        X = X.copy()
        for name, kept in self.kept_.items():
            rare = ~X[name].isin(kept) & X[name].notna()
            column = X[name].cat.set_categories([*kept, -1])
            X[name] = column.mask(rare, -1)
        return X


class Catboost(BaseEstimator):
    """CatBoost with the categories of a frame as whole numbers."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        if hasattr(X, "columns"):
            names = X.columns[X.dtypes == "category"]
            self.model.set_params(cat_features=list(names))
        self.model_ = self.model.fit(_whole_categories(X), y)
        return self

    def predict(self, X):
        return np.ravel(self.model_.predict(_whole_categories(X)))

    def predict_proba(self, X):
        return self.model_.predict_proba(_whole_categories(X))


def _whole_categories(X):
    if not hasattr(X, "columns"):
        return X
    X = X.copy()
    for name in X.columns[X.dtypes == "category"]:
        X[name] = X[name].cat.codes.astype("int64")
    return X


class FilledNumbers(TransformerMixin, BaseEstimator):
    """Fill gaps of number columns by their median, and say where they were."""

    def fit(self, X, y=None):
        numbers = X.loc[:, X.dtypes != "category"]
        self.medians_ = numbers.median().fillna(0.0)
        self.gaps_ = list(numbers.columns[numbers.isna().any()])
        return self

    def transform(self, X):
        check_is_fitted(self, "medians_")
        gaps = X[self.gaps_].isna().astype("float32").add_prefix("gap_")
        filled = X.fillna(self.medians_.to_dict())
        for name in X.columns[X.dtypes == "category"]:
            column = X[name].cat.set_categories([-1, *X[name].cat.categories])
            filled[name] = column.fillna(-1)
        return filled.join(gaps)


def whole(case):
    """For the networks of pytabkit: categories stay, gaps are filled, X is dense."""
    if case.kind == "frame":
        return FilledNumbers()
    return FunctionTransformer(dense_floats, accept_sparse=True)


def own_categories(case):
    """For trees that know categories and gaps: X as it is, cells of sparse X floats."""
    return (
        FunctionTransformer(float_cells, accept_sparse=True)
        if case.kind == "sparse"
        else "passthrough"
    )


def standardised_target(case, model):
    if case.classes:
        return model
    return TransformedTargetRegressor(model, transformer=StandardScaler())


# --- the models ----------------------------------------------------------------------


def cofire(case, **settings):
    from cofire import SparseMLPClassifier, SparseMLPRegressor

    make = SparseMLPClassifier if case.classes else SparseMLPRegressor
    return make(**{"n_jobs": 1, "random_state": case.seed} | settings)


def logistic(case):
    if case.classes:
        model = LogisticRegression(max_iter=1000, random_state=case.seed)
    else:
        model = RidgeCV(alphas=np.logspace(-3, 4, 15))
    return make_pipeline(prepared(case), model)


def rbf_svm(case):
    """No probabilities: its log-loss is not given, its AUC is of decision values."""
    model = SVC(cache_size=1000) if case.classes else SVR(cache_size=1000)
    return make_pipeline(prepared(case), standardised_target(case, model))


def knn(case):
    make = KNeighborsClassifier if case.classes else KNeighborsRegressor
    return make_pipeline(prepared(case), make(n_jobs=1))


def random_forest(case):
    make = RandomForestClassifier if case.classes else RandomForestRegressor
    model = make(n_estimators=500, n_jobs=1, random_state=case.seed)
    return make_pipeline(prepared(case, scale=False), model)


def extra_trees(case):
    make = ExtraTreesClassifier if case.classes else ExtraTreesRegressor
    model = make(n_estimators=500, n_jobs=1, random_state=case.seed)
    return make_pipeline(prepared(case, scale=False), model)


def for_lightgbm(case):
    if case.kind == "frame" and case.rows < ROWS_FOR_CATEGORIES:
        return prepared(case, scale=False)
    return own_categories(case)


def lightgbm(case, **settings):
    from lightgbm import LGBMClassifier, LGBMRegressor

    make = LGBMClassifier if case.classes else LGBMRegressor
    model = make(n_jobs=1, random_state=case.seed, verbose=-1, **settings)
    return make_pipeline(for_lightgbm(case), model)


def lightgbm_tuned(case):
    """The best of 20 settings by three inner folds; the first of them the default."""
    import lightgbm  # noqa: F401  (say at once if it is missing)

    model = TunedLightGBM(classes=case.classes, random_state=case.seed)
    return make_pipeline(for_lightgbm(case), model)


def xgboost(case):
    from xgboost import XGBClassifier, XGBRegressor

    make = XGBClassifier if case.classes else XGBRegressor
    model = make(
        tree_method="hist", enable_categorical=True, n_jobs=1, random_state=case.seed
    )
    return make_pipeline(own_categories(case), model)


def catboost(case):
    from catboost import CatBoostClassifier, CatBoostRegressor

    make = CatBoostClassifier if case.classes else CatBoostRegressor
    model = make(
        thread_count=1, random_seed=case.seed, verbose=0, allow_writing_files=False
    )
    return make_pipeline(own_categories(case), Catboost(model))


def hist_gradient_boosting(case):
    make = (
        HistGradientBoostingClassifier
        if case.classes
        else HistGradientBoostingRegressor
    )
    model = make(random_state=case.seed)
    if case.kind == "frame":
        return make_pipeline(FewCategories(), model)
    dense = FunctionTransformer(dense_floats, accept_sparse=True)
    return make_pipeline(dense, model)


def mlp(case):
    make = MLPClassifier if case.classes else MLPRegressor
    model = make(random_state=case.seed)
    return make_pipeline(prepared(case), standardised_target(case, model))


def realmlp_td(case, device="cpu"):
    from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor

    make = RealMLP_TD_Classifier if case.classes else RealMLP_TD_Regressor
    model = make(device=device, n_threads=1, random_state=case.seed, verbosity=0)
    return make_pipeline(whole(case), model)


def tabm_d(case, device="cpu"):
    from pytabkit import TabM_D_Classifier, TabM_D_Regressor

    make = TabM_D_Classifier if case.classes else TabM_D_Regressor
    model = make(device=device, n_threads=1, random_state=case.seed, verbosity=0)
    return make_pipeline(whole(case), model)


class Tabpfn(BaseEstimator):
    """TabPFN, which fetches its weights when it first trains."""

    def __init__(self, classes, random_state):
        self.classes, self.random_state = classes, random_state

    def fit(self, X, y):
        try:
            from tabpfn import TabPFNClassifier, TabPFNRegressor

            make = TabPFNClassifier if self.classes else TabPFNRegressor
            model = make(device="cpu", random_state=self.random_state)
            self.model_ = model.fit(X, y)
        except ValueError:  # too many classes, say: not a matter of the weights
            raise
        except Exception as error:
            raise NotAvailable(f"weights not available: {error}") from error
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


def tabpfn(case):
    return make_pipeline(whole(case), Tabpfn(case.classes, case.seed))


MODELS: dict[str, Callable] = {
    "cofire": cofire,
    "logistic": logistic,
    "rbf_svm": rbf_svm,
    "knn": knn,
    "random_forest": random_forest,
    "extra_trees": extra_trees,
    "lightgbm": lightgbm,
    "xgboost": xgboost,
    "catboost": catboost,
    "hist_gradient_boosting": hist_gradient_boosting,
    "mlp": mlp,
    "realmlp_td": realmlp_td,
    "tabm_d": tabm_d,
    "lightgbm_tuned": lightgbm_tuned,
    "tabpfn": tabpfn,
}

ON_A_GPU = ("realmlp_td", "tabm_d")
"""Models that take `device="cuda"`: on one thread most tables are over their cap."""

PACKAGES = {
    "cofire": ["cofire"],
    "lightgbm": ["lightgbm"],
    "lightgbm_tuned": ["lightgbm"],
    "xgboost": ["xgboost"],
    "catboost": ["catboost"],
    "realmlp_td": ["pytabkit"],
    "tabm_d": ["pytabkit"],
    "tabpfn": ["tabpfn"],
}
"""What is imported once for all fits: seconds of a fit are without imports."""
