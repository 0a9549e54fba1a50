"""The rows of a search: parts to train on and to validate with, and their seeds."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils.multiclass import type_of_target

from cofire.tuning.trial import Fold

REPEATS = 3  # all but the first for the finalists
FEW, MANY, MANY_ROWS = 3, 5, 10_000


def repeated_folds(
    estimator: Any, X: Any, y: np.ndarray, cv: Any, seed: int
) -> list[list[Fold]]:
    """Return the folds of each repeat.

    cv: None for 5 folds, 3 from 10,000 rows on; a number; or what scikit-learn takes,
    which gives the same folds in each repeat.
    """
    n_rows = len(y)
    if cv is None:
        cv = MANY if n_rows < MANY_ROWS else FEW
    if not isinstance(cv, int | np.integer) or isinstance(cv, bool):
        chosen = check_cv(cv, y, classifier=is_classifier(estimator))
        return [list(chosen.split(X, y))] * REPEATS
    if not 2 <= cv <= n_rows:
        raise ValueError(
            f"`cv`: expected a number of folds from 2 to that of rows, {n_rows}, a "
            f"splitter of scikit-learn or None; got {cv}."
        )
    kind = StratifiedKFold if _can_stratify(estimator, y, int(cv)) else KFold
    return [
        list(kind(cv, shuffle=True, random_state=own).split(X, y))
        for own in _seeds(seed, 0, REPEATS)
    ]


def fit_seeds(seed: int, repeat: int, n_folds: int) -> list[int]:
    """Return a seed per fit, the same for all trials: they differ in settings only."""
    return _seeds(seed, 1 + repeat, n_folds)


def _seeds(seed: int, purpose: int, n: int) -> list[int]:
    state = np.random.SeedSequence([seed, purpose]).generate_state(n)
    return [int(word >> 1) for word in state]  # scikit-learn takes 31 bits


def _can_stratify(estimator: Any, y: np.ndarray, n_folds: int) -> bool:
    if not is_classifier(estimator) or type_of_target(y) not in CLASSES:
        return False
    return np.unique(y, return_counts=True)[1].min() >= n_folds


CLASSES = ("binary", "multiclass")
