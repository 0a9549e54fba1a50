"""SparseFeatureSelector: the features that matter, by networks that select them."""

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from cofire.estimators import SparseMLPClassifier, SparseMLPRegressor
from cofire.estimators.frames import as_pandas, is_frame
from cofire.explain.columns import Columns
from cofire.explain.elimination import BASE, Elimination

MOST_ROWS = 5000
"""More rows are sampled: rankings of features need fewer rows than predictions."""
SHADOWS = 1000
"""Columns that all shadows have together, at least; but at most 10 shadows."""


class SparseFeatureSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Select features by what they contribute to rows that did not train.

    Networks are trained on all folds but one and score the features on that fold
    (`cofire.explain.contributions`): features that were learnt by heart score below 0.
    The weakest are eliminated, the others are tried again beside the strongest, since
    a feature may matter only together with others, and the best of all are ranked
    (docs/explain.md has the procedure and its measurements).

    How many are selected: `n_features_to_select`, or those whose share of the
    importance is at least `threshold`, or, if both are None, all that beat chance. For
    that, copies of X with permuted rows ("shadows") are ranked along with it; the
    longest list is taken of which an estimated fraction of `false_discoveries` at most
    is chance: (1 + shadow columns in it) / (shadows * features in it).

    Parameters
    ----------
    estimator : SparseMLPClassifier, SparseMLPRegressor or None
        Trained for the scores. None: chosen by y, with two networks.
    n_features_to_select : int or None
    threshold : float or None
        A feature is selected if its share of the importance is at least this.
    false_discoveries : float
        Expected fraction of features in the selection that are there by chance.
    n_folds : int
    random_state : int, RandomState or None
    n_jobs : int or None
        Threads of a fit; they do not change the result.
    verbose : bool
        Print a line per round.

    Attributes
    ----------
    support_ : which features are selected, a boolean array
    ranking_ : 1 for the best feature; features that left before the last stage share
        the last rank
    importances_ : share of each feature in the outputs of the networks that saw all
        features of the last stage; 0 for the others, and for those that did not help
        on held-out rows
    stability_ : fraction of the networks of the last round in which a feature took part
        where it contributed to right predictions
    n_features_ : how many are selected
    estimated_false_discoveries_ : of the selection, if it is all that beat chance
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(300, 30, n_informative=3, n_redundant=0,
    ...                            shuffle=False, random_state=0)
    >>> selector = SparseFeatureSelector(n_features_to_select=3, random_state=0)
    >>> selector.fit(X, y).get_support(indices=True)
    array([0, 1, 2])
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_features_to_select": [Interval(Integral, 1, None, closed="left"), None],
        "threshold": [Interval(Real, 0, 1, closed="both"), None],
        "false_discoveries": [Interval(Real, 0, 1, closed="neither")],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_features_to_select: int | None = None,
        threshold: float | None = None,
        false_discoveries: float = 0.1,
        n_folds: int = 5,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.false_discoveries = false_discoveries
        self.n_folds = n_folds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Rank the features of X and select some."""
        self._validate_params()
        X, y = self._checked(X, y)
        n_features = X.shape[1]
        wanted = self.n_features_to_select
        if wanted is not None and self.threshold is not None:
            raise ValueError(
                f"n_features_to_select={wanted} and threshold={self.threshold} were "
                "both given: give one of them, or none for all that beat chance."
            )
        if wanted is not None and wanted > n_features:
            raise ValueError(
                f"n_features_to_select={wanted}, but X has {n_features} features: "
                "give a smaller number."
            )
        random = check_random_state(self.random_state)
        seed = int(random.randint(2**31 - 1))
        estimator = self._estimator(y)
        rows = _sampled(y, is_classifier(estimator), seed)
        X, y = _rows(X, rows), y[rows]
        chance = wanted is None and self.threshold is None
        columns = Columns(X, _orders(len(y), n_features, seed) if chance else ())
        elimination = Elimination(
            columns,
            y,
            estimator,
            n_folds=self._usable_folds(y, is_classifier(estimator)),
            seed=seed,
            tell=self._tell,
        )
        n_last = max(4 * BASE, 3 * (wanted or 0), columns.n_all // 8)
        ranking = elimination.rank(n_last)
        shadow = columns.is_shadow(ranking.order)
        order, stability = ranking.order[~shadow], ranking.stability[~shadow]
        self.ranking_ = np.full(n_features, len(order) + 1)
        self.ranking_[order] = np.arange(1, len(order) + 1)
        self.stability_ = np.zeros(n_features)
        self.stability_[order] = stability
        self.importances_ = np.zeros(n_features)
        self.importances_[order] = np.maximum(ranking.scores[~shadow], 0)
        self.importances_ /= self.importances_.sum() or 1
        if chance:
            n, rate = _beat_chance(shadow, len(columns.orders), self.false_discoveries)
            self.estimated_false_discoveries_ = rate
        elif wanted is not None:
            n = wanted
        else:
            order = np.flatnonzero(self.importances_ >= self.threshold)
            n = len(order)
        self.support_ = np.zeros(n_features, bool)
        self.support_[order[:n]] = True
        self.n_features_ = int(n)
        return self

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self, "support_")
        return self.support_

    def _checked(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        X = as_pandas(X)
        kept = X if is_frame(X) else None
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=None,
            ensure_all_finite="allow-nan",
            multi_output=True,
            ensure_min_samples=4,
        )
        return X if kept is None else kept, np.asarray(y)

    def _estimator(self, y: np.ndarray) -> Any:
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        estimator = self.estimator
        if estimator is None:
            continuous = kind.startswith("continuous")
            make = SparseMLPRegressor if continuous else SparseMLPClassifier
            estimator = make(n_networks=2)
        if not isinstance(estimator, SparseMLPClassifier | SparseMLPRegressor):
            raise TypeError(
                "estimator: expected a SparseMLPClassifier, a SparseMLPRegressor or "
                f"None, got {type(estimator).__name__}. For other models use "
                "scikit-learn's SelectFromModel or RFE."
            )
        own = clone(estimator)
        if own.n_pieces is None:  # what enters must not depend on how many are left
            own.set_params(n_pieces=0)
        return own if self.n_jobs is None else own.set_params(n_jobs=self.n_jobs)

    def _usable_folds(self, y: np.ndarray, classes: bool) -> int:
        if not classes or y.ndim > 1:
            return min(self.n_folds, len(y) // 2)
        largest = int(np.unique(y, return_counts=True)[1].max())
        return max(2, min(self.n_folds, largest))

    def _tell(self, line: str) -> None:
        if self.verbose:
            print(line, flush=True)  # noqa: T201

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


def _sampled(y: np.ndarray, classes: bool, seed: int) -> np.ndarray:
    """Row numbers, ascending: all, or MOST_ROWS with the classes in proportion."""
    if len(y) <= MOST_ROWS:
        return np.arange(len(y))
    if classes and y.ndim == 1 and np.unique(y, return_counts=True)[1].min() > 1:
        split = StratifiedShuffleSplit(1, train_size=MOST_ROWS, random_state=seed)
        return np.sort(next(split.split(np.zeros(len(y)), y))[0])
    random = np.random.default_rng(seed)
    return np.sort(random.choice(len(y), MOST_ROWS, replace=False))


def _orders(n_rows: int, n_features: int, seed: int) -> tuple[np.ndarray, ...]:
    """Orders of the rows of the shadows: the fewer features, the more shadows."""
    n_shadows = min(10, -(-SHADOWS // n_features))
    random = np.random.default_rng([seed, n_rows])
    return tuple(random.permutation(n_rows) for _ in range(n_shadows))


def _beat_chance(shadow: np.ndarray, n_shadows: int, rate: float) -> tuple[int, float]:
    """Return how many of the best features to take, and their estimated rate of chance.

    shadow: of the ranked columns, the best first, whether they are chance.

    >>> _beat_chance(np.array([False] * 20 + [True, False, True]), 1, 0.1)
    (21, 0.09523809523809523)
    """
    chance, real = np.cumsum(shadow), np.cumsum(~shadow)
    estimates = (1 + chance) / n_shadows / np.maximum(real, 1)
    good = np.flatnonzero((estimates <= rate) & (real > 0))
    if not len(good):
        return 0, 0.0
    return int(real[good[-1]]), float(estimates[good[-1]])


def _rows(X: Any, rows: np.ndarray) -> Any:
    if scipy.sparse.issparse(X):
        return X.tocsr()[rows]
    return X.iloc[rows] if is_frame(X) else X[rows]
