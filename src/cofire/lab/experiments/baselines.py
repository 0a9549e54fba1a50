"""Models of scikit-learn on the same rows: what a network has to beat."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

MOST_BYTES = 2**31
"""Of sparse rows that are made dense for a model that takes no others."""
WORK = 5e10  # values that logistic regression looks at; 100 iterations at least
ALPHAS = np.logspace(-3, 5, 9)
SMALL = 5000  # rows or columns up to which RidgeCV leaves out one row at a time

Make = Callable[[Any, int, int, int], Any]
"""Arguments: X, the number of classes (0 for numbers), a seed, the number of threads.

scikit-learn is imported within: this module is read where nothing is trained.
"""


@dataclass(frozen=True)
class Baseline:
    """A model with a fixed recipe: nothing about it was tuned.

    python: by task, how a user makes it.
    """

    make: Make
    python: Mapping[str, str]
    needs_dense: bool = False
    takes_gaps: bool = False

    def fit(
        self,
        X: Any,
        y: Any,
        task: str,
        *,
        seed: int = 0,
        n_threads: int = 1,
        gaps: bool = False,
    ) -> Any:
        """Train it; return the model. gaps: whether rows may have missing values."""
        from threadpoolctl import threadpool_limits

        n_classes = len(np.unique(y)) if task == "classification" else 0
        model = self.make(X, n_classes, seed, n_threads)
        if gaps and not (self.takes_gaps or scipy.sparse.issparse(X)):
            from sklearn.impute import SimpleImputer
            from sklearn.pipeline import make_pipeline

            model = make_pipeline(SimpleImputer(strategy="median"), model)
        # More threads than cores that are free can make boosting 30 times as slow.
        with threadpool_limits(n_threads), warnings.catch_warnings():
            # It may end before it has converged: it is a baseline all the same.
            warnings.simplefilter("ignore")
            return model.fit(self.rows(X), y)

    def recipe(self, X: Any, task: str, *, gaps: bool) -> str:
        """Say how a user makes the model that `fit` trains."""
        made = self.python[task]
        if not gaps or self.takes_gaps or scipy.sparse.issparse(X):
            return made
        steps = made[len(_PIPELINE) : -1] if made.startswith(_PIPELINE) else made
        return f"{_PIPELINE}SimpleImputer(strategy='median'), {steps})"

    def rows(self, X: Any) -> Any:
        """Return X as the model takes it."""
        if not (self.needs_dense and scipy.sparse.issparse(X)):
            return X
        size = X.shape[0] * X.shape[1] * X.dtype.itemsize
        if size > MOST_BYTES:
            raise MemoryError(
                f"{self.python['classification']} needs dense rows, and these would "
                f"have {size / 2**30:.1f} GiB; at most {MOST_BYTES / 2**30:.0f} GiB "
                "are made of sparse ones."
            )
        return X.toarray()


def _guess(X: Any, n_classes: int, seed: int, n_threads: int) -> Any:
    from sklearn.dummy import DummyClassifier, DummyRegressor

    return DummyClassifier(strategy="most_frequent") if n_classes else DummyRegressor()


def _logistic(X: Any, n_classes: int, seed: int, n_threads: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    values = X.nnz if scipy.sparse.issparse(X) else X.size
    most = int(np.clip(WORK / (max(values, 1) * n_classes), 100, 1000))
    return _on_standardised(X, LogisticRegression(max_iter=most))


def _ridge(X: Any, n_classes: int, seed: int, n_threads: int) -> Any:
    from sklearn.linear_model import RidgeCV

    # One row at a time takes a matrix of rows x rows, or of columns x columns.
    return _on_standardised(X, RidgeCV(ALPHAS, cv=None if min(X.shape) <= SMALL else 3))


def _on_standardised(X: Any, model: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(with_mean=not scipy.sparse.issparse(X)), model)


def _forest(X: Any, n_classes: int, seed: int, n_threads: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    of = RandomForestClassifier if n_classes else RandomForestRegressor
    return of(500, random_state=seed, n_jobs=n_threads)


def _boosting(X: Any, n_classes: int, seed: int, n_threads: int) -> Any:
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
    )

    of = HistGradientBoostingClassifier if n_classes else HistGradientBoostingRegressor
    return of(random_state=seed)


def _by_task(text: str) -> dict[str, str]:
    return {
        "classification": text.replace("*", "Classifier"),
        "regression": text.replace("*", "Regressor"),
    }


_PIPELINE = "sklearn.pipeline.make_pipeline("
_LINEAR = f"{_PIPELINE}StandardScaler(), {{}})"

GUESS = Baseline(_guess, _by_task("sklearn.dummy.Dummy*()"))
"""The most frequent class, or the mean: the score of a model that learnt nothing."""

BASELINES = {
    "logistic_regression": Baseline(
        _logistic,
        {"classification": _LINEAR.format("LogisticRegression(max_iter=1000)")},
    ),
    "ridge": Baseline(
        _ridge,
        {"regression": _LINEAR.format("RidgeCV(numpy.logspace(-3, 5, 9))")},
    ),
    "random_forest": Baseline(
        _forest, _by_task("sklearn.ensemble.RandomForest*(n_estimators=500)")
    ),
    "gradient_boosting": Baseline(
        _boosting, _by_task("sklearn.ensemble.HistGradientBoosting*()"), True, True
    ),
}
"""By their names as methods of runs; their titles: `cofire.lab.names`."""


def baselines_of(task: str) -> list[str]:
    """Return the names of the baselines for a task, the linear one first.

    >>> baselines_of("regression")
    ['ridge', 'random_forest', 'gradient_boosting']
    """
    return [name for name, known in BASELINES.items() if task in known.python]
