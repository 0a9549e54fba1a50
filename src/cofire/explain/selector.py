"""SparseFeatureSelector: the features that matter, by networks that select them."""

import warnings
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
from cofire.explain.elimination import BASE, Elimination, Ranking

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
    is chance: (1 + shadow columns in it) / (shadows * features in it). So a list of
    fewer than 1 / (shadows * false_discoveries) features is never taken: of 1,000
    features or more, with one shadow and the default rate, at least 10 or none.

    `transform` gives an array, or after `set_output(transform="pandas")` a DataFrame,
    which a network needs for columns of text.

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
        self._check_number(X.shape[1])
        random = check_random_state(self.random_state)
        seed = int(random.randint(2**31 - 1))
        estimator = self._estimator(y)
        rows = _sampled(y, is_classifier(estimator), seed)
        X, y = _rows(X, rows), y[rows]
        chance = self.n_features_to_select is None and self.threshold is None
        columns = Columns(X, _orders(len(y), X.shape[1], seed) if chance else ())
        elimination = Elimination(
            columns,
            y,
            estimator,
            n_folds=self._usable_folds(y, is_classifier(estimator)),
            seed=seed,
            tell=self._tell,
        )
        wanted = self.n_features_to_select or 0
        n_last = max(4 * BASE, 3 * wanted, columns.n_all // 8)
        ranking = elimination.rank(n_last)
        self._publish(ranking, columns)
        selected = self._selected(ranking, columns)
        self.support_ = np.zeros(columns.n_features, bool)
        self.support_[selected] = True
        self.n_features_ = len(selected)
        return self

    def _check_number(self, n_features: int) -> None:
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

    def _publish(self, ranking: Ranking, columns: Columns) -> None:
        real = ~columns.is_shadow(ranking.order)
        order = ranking.order[real]
        self.ranking_ = np.full(columns.n_features, len(order) + 1)
        self.ranking_[order] = np.arange(1, len(order) + 1)
        self.stability_ = np.zeros(columns.n_features)
        self.stability_[order] = ranking.stability[real]
        self.importances_ = np.zeros(columns.n_features)
        self.importances_[order] = np.maximum(ranking.scores[real], 0)
        self.importances_ /= self.importances_.sum() or 1

    def _selected(self, ranking: Ranking, columns: Columns) -> np.ndarray:
        """Return the numbers of the selected features."""
        shadow = columns.is_shadow(ranking.order)
        if self.n_features_to_select is not None:
            return ranking.order[~shadow][: self.n_features_to_select]
        if self.threshold is not None:
            return np.flatnonzero(self.importances_ >= self.threshold)
        # No output depends on a constant, nor on its shadows: they tie at 0.
        used = ranking.scores != 0
        shadow, order = shadow[used], ranking.order[used]
        n_shadows = len(columns.orders)
        n, rate = _beat_chance(shadow, n_shadows, self.false_discoveries)
        self.estimated_false_discoveries_ = rate
        if n == 0:
            warnings.warn(
                _nothing_found(columns.n_features, n_shadows, self.false_discoveries),
                stacklevel=3,
            )
        return order[~shadow][:n]

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
            numbers = kind.startswith("continuous")
            make = SparseMLPRegressor if numbers else SparseMLPClassifier
            estimator = make(n_networks=2)
        if not isinstance(estimator, SparseMLPClassifier | SparseMLPRegressor):
            raise TypeError(
                "estimator: expected a SparseMLPClassifier, a SparseMLPRegressor or "
                f"None, got {type(estimator).__name__}. For other models use "
                "scikit-learn's SelectFromModel or RFE."
            )
        classes, continuous = is_classifier(estimator), kind.startswith("continuous")
        if classes and continuous:
            raise ValueError(
                f"y holds numbers that are not classes ({kind}), but estimator is a "
                "SparseMLPClassifier: give a SparseMLPRegressor, or None to have it "
                "chosen by y."
            )
        if not classes and isinstance(y.flat[0], str):
            raise ValueError(
                f"y holds words (as {str(y.flat[0])!r}), but estimator is a "
                "SparseMLPRegressor: give a SparseMLPClassifier, or None to have it "
                "chosen by y."
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


def _nothing_found(n_features: int, n_shadows: int, rate: float) -> str:
    """Say that nothing beats chance, and how many features that takes.

    >>> _nothing_found(2000, 1, 0.1)[:71]
    'no feature was selected: none beats chance at false_discoveries=0.1, or'
    """
    least = int(np.ceil(1 / (n_shadows * rate) - 1e-9))
    few = (
        f", or fewer than {least} do: among {n_features:,} features a shorter list "
        "cannot be told from chance at this rate"
        if least > 1
        else ""
    )
    return (
        f"no feature was selected: none beats chance at false_discoveries={rate:g}"
        f"{few}. See ranking_ and stability_; then raise false_discoveries, or give "
        "n_features_to_select."
    )


def _rows(X: Any, rows: np.ndarray) -> Any:
    if scipy.sparse.issparse(X):
        return X.tocsr()[rows]
    return X.iloc[rows] if is_frame(X) else X[rows]
