"""How each selector ranks features: rank(X, y, seed) -> their numbers, best first.

X is an array without missing values, or a CSR matrix of word counts; y holds classes,
or numbers for the two that can rank by them (`cofire`, `boruta`).
"""

import numpy as np
import scipy.sparse
from sklearn.feature_selection import SelectKBest, f_classif, mutual_info_classif

RELIEF_ROWS = 1000
"""ReliefF compares all pairs of rows: it gets a random sample of at most so many."""


def best_first(scores):
    """Numbers of features, the largest score first; of equal ones the lower number.

    >>> best_first([0.5, 2.0, float("nan"), 0.5])
    array([1, 0, 3, 2])
    """
    scores = np.nan_to_num(np.asarray(scores, float), nan=-np.inf, posinf=np.inf)
    return np.argsort(-scores, kind="stable")


def dense(X):
    return X.toarray().astype(float) if scipy.sparse.issparse(X) else np.asarray(X)


def scaled(X):
    """Standardised; word counts as they are."""
    from sklearn.preprocessing import StandardScaler

    return X if scipy.sparse.issparse(X) else StandardScaler().fit_transform(X)


# --- ours ----------------------------------------------------------------------------


def cofire(X, y, seed, n=100):
    from cofire.explain import SparseFeatureSelector

    n = min(n, X.shape[1])
    selector = SparseFeatureSelector(
        n_features_to_select=n, random_state=seed, n_jobs=1
    )
    return best_first(-selector.fit(X, y).ranking_)


def cofire_weights(X, y, seed):
    """One ensemble on all features, ranked by the strength of its paths."""
    from cofire import SparseMLPClassifier

    model = SparseMLPClassifier(random_state=seed, n_jobs=1).fit(X, y)
    return best_first(model.feature_importances_)


# --- rivals --------------------------------------------------------------------------


def anova(X, y, seed):
    return best_first(SelectKBest(f_classif, k="all").fit(X, y).scores_)


def mutual_information(X, y, seed):
    def score(X, y):
        return mutual_info_classif(X, y, random_state=seed)

    return best_first(SelectKBest(score, k="all").fit(X, y).scores_)


def random_forest(X, y, seed):
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(500, random_state=seed).fit(X, y)
    return best_first(model.feature_importances_)


def lightgbm(X, y, seed):
    from lightgbm import LGBMClassifier

    X = X.astype(np.float32)
    model = LGBMClassifier(
        importance_type="gain", random_state=seed, n_jobs=1, verbose=-1
    )
    return best_first(model.fit(X, y).feature_importances_)


def l1_logistic(X, y, seed):
    """One class against the others; C by threefold cross-validation, ties by ANOVA."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.multiclass import OneVsRestClassifier

    plain = LogisticRegression(l1_ratio=1, solver="liblinear", random_state=seed)
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    grid = {"estimator__C": [0.01, 0.1, 1.0, 10.0]}
    search = GridSearchCV(OneVsRestClassifier(plain), grid, cv=folds)
    search.fit(scaled(X), y)
    weights = [abs(part.coef_[0]) for part in search.best_estimator_.estimators_]
    by_anova = np.argsort(anova(X, y, seed))
    return np.lexsort((by_anova, -np.max(weights, axis=0)))


def fitted_boruta(X, y, seed, numbers=False):
    from boruta import BorutaPy
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestRegressor if numbers else RandomForestClassifier
    forest = kind(200, max_depth=5, random_state=seed)
    boruta = BorutaPy(forest, n_estimators=200, random_state=seed)
    return boruta.fit(dense(X), np.asarray(y))


def boruta(X, y, seed):
    """Ties of its ranking are broken by the importances of a random forest."""
    ranking = fitted_boruta(X, y, seed).ranking_
    by_forest = np.argsort(random_forest(X, y, seed))
    return np.lexsort((by_forest, ranking))


def relieff(X, y, seed):
    from skrebate import ReliefF

    X, codes = dense(X).astype(float), np.unique(y, return_inverse=True)[1]
    random = np.random.default_rng(seed)
    rows = np.sort(random.permutation(len(codes))[:RELIEF_ROWS])
    largest = np.bincount(codes[rows]).max()
    n_neighbors = min(100, int(largest) - 1)
    relief = ReliefF(n_features_to_select=X.shape[1], n_neighbors=n_neighbors, n_jobs=1)
    return best_first(relief.fit(X[rows], codes[rows]).feature_importances_)


def correlation_filter(X, y, seed):
    """Without labels: the mean absolute correlation with the other features."""
    X = dense(X).astype(float)
    deviation = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    n = X.shape[1]
    total = np.abs(Z.T @ Z / len(Z)).sum(axis=0) - (deviation > 0)
    return best_first(total / max(n - 1, 1))


RANKERS = {
    "cofire": cofire,
    "cofire_weights": cofire_weights,
    "anova": anova,
    "mutual_information": mutual_information,
    "random_forest": random_forest,
    "lightgbm": lightgbm,
    "l1_logistic": l1_logistic,
    "boruta": boruta,
    "relieff": relieff,
    "correlation_filter": correlation_filter,
}
