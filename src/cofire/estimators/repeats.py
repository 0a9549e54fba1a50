"""Few rows: equal ones are merged, so that repeating a row is giving it more weight.

A step of the default recipe takes up to 64 rows, and sums their gradients exactly. The
order of so few rows has no effect then, nor has it any whether a row comes twice or has
a weight of 2. This module lets that hold for all that counts rows, or draws random
numbers by their position: the recipe, input dropout, the search.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from cofire.estimators.frames import is_frame
from cofire.estimators.inputs import Rows
from cofire.estimators.recipe import BATCH


@dataclass(frozen=True, eq=False)
class Merged:
    """Rows that all differ, in an order that follows from their contents alone."""

    row_ids: np.ndarray
    """The first of each group of equal rows."""
    weight: np.ndarray | None
    """The sum of the weights of each group, float64; None where all are 1."""
    n_rows: float
    """How many rows they stand for: as many as the weights say, if that is more."""


def merge(
    rows: Rows, y: np.ndarray | None = None, batch_size: int | None = None
) -> Merged | None:
    """Merge rows that are equal and have the same target; None if there are too many.

    y: the targets, where those of `rows` are rounded; batch_size None: the recipe's.
    Rows of weight 0 are left out. There are too many if a step does not take all of
    them, each as often as its weight says.

    >>> X = np.array([[3.0], [1.0], [3.0]], np.float32)
    >>> few = merge(Rows(X, np.array([0, 1, 0]), None))
    >>> few.row_ids.tolist(), few.weight.tolist(), few.n_rows
    ([0, 1], [2.0, 1.0], 3.0)
    """
    X, targets, weight = rows
    if y is not None:
        targets = y
    most = BATCH if batch_size is None else min(batch_size, BATCH)
    if weight is None:
        row_ids, weight = np.arange(min(X.shape[0], most + 1)), np.ones(most + 1)
    else:
        row_ids = np.flatnonzero(weight > 0)
    total = float(weight[row_ids].sum(dtype=np.float64))
    if not 0 < len(row_ids) <= most or total > most:
        return None
    groups: dict[tuple[bytes, ...], list[int]] = {}
    for i in row_ids.tolist():
        groups.setdefault((*_content(X, i), _bytes(targets[i])), []).append(i)
    equal = [groups[content] for content in sorted(groups)]
    sums = np.array([weight[ids].sum(dtype=np.float64) for ids in equal])
    return Merged(
        row_ids=np.array([ids[0] for ids in equal]),
        weight=None if (sums == 1).all() else sums,
        n_rows=max(float(len(equal)), total),
    )


def _content(X: Any, i: int) -> tuple[bytes, bytes]:
    """Return where a row is not 0, and its values there: the same if it is sparse."""
    if is_frame(X):
        return b"", repr(X.iloc[i].tolist()).encode()
    if scipy.sparse.issparse(X):
        part = slice(X.indptr[i], X.indptr[i + 1])
        features, values = X.indices[part], X.data[part]
        order = np.argsort(features, kind="stable")
        order = order[values[order] != 0]
        features, values = features[order], values[order]
    else:
        features = np.flatnonzero(X[i])
        values = X[i][features]
    return features.astype(np.int64).tobytes(), values.astype(np.float64).tobytes()


def _bytes(target: Any) -> bytes:
    return (np.asarray(target) + 0).tobytes()  # -0.0 becomes 0.0
