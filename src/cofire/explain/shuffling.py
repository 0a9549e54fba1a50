"""Permutation importances of columns that are several features."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse


class Losses(NamedTuple):
    """Per column: what the score loses when its values are shuffled."""

    mean: np.ndarray
    deviation: np.ndarray
    """Standard deviation over the repeats."""


def shuffled_losses(
    model: Any,
    X: Any,
    y: Any,
    groups: Sequence[slice],
    *,
    n_repeats: int = 5,
    seed: int = 0,
) -> Losses:
    """Return what the score of a model loses when a column is shuffled.

    groups: the features of X, neighbours, that each column became; they are shuffled
    together. `sklearn.inspection.permutation_importance` shuffles single features, and
    would turn the levels of a category into rows that have two of them.
    """
    before = model.score(X, y)
    random = np.random.default_rng(seed)
    losses = np.empty((len(groups), n_repeats))
    for repeat in range(n_repeats):
        order = random.permutation(X.shape[0])
        for i, group in enumerate(groups):
            losses[i, repeat] = before - model.score(_shuffled(X, group, order), y)
    return Losses(losses.mean(axis=1), losses.std(axis=1))


def _shuffled(X: Any, group: slice, order: np.ndarray) -> Any:
    if scipy.sparse.issparse(X):
        columns = X.tocsc()
        parts = [columns[:, : group.start], columns[order][:, group]]
        return scipy.sparse.hstack([*parts, columns[:, group.stop :]], format="csr")
    shuffled = X.copy()
    shuffled[:, group] = X[order][:, group]
    return shuffled
