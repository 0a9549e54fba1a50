"""of_predictions(): the energy of predicting, for any model that has `predict`."""

import time
from pathlib import Path
from typing import Any

from cofire.energy.counters import FOLDER
from cofire.energy.joules import Energy
from cofire.energy.meter import measure

PER_ROWS = 1000


def of_predictions(
    model: Any,
    X: Any,
    *,
    batch_size: int | None = None,
    seconds: float = 0.5,
    folder: str | Path = FOLDER,
) -> Energy:
    """Measure, or estimate, the energy of 1,000 predictions.

    X: rows to predict, again and again for at least `seconds`: a single call is too
    short for the counters. batch_size: rows per call of `model.predict`, 1 for a
    service that answers row by row; None: all of X in one call.

    >>> from sklearn.datasets import load_iris
    >>> from cofire import SparseMLPClassifier, energy
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SparseMLPClassifier((20,), max_iter=2, random_state=0).fit(X, y)
    >>> alone = energy.of_predictions(model, X, batch_size=1, seconds=0.05)
    >>> together = energy.of_predictions(model, X, seconds=0.05)
    >>> alone.joules > together.joules > 0
    True
    """
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_rows == 0:
        raise ValueError("X has no rows: give some rows to predict.")
    if batch_size is not None and not 1 <= batch_size <= n_rows:
        raise ValueError(
            f"batch_size={batch_size!r}: expected a number from 1 to {n_rows}, the "
            "rows of X, or None for all of them."
        )
    size = n_rows if batch_size is None else batch_size
    rows = X.iloc if hasattr(X, "iloc") else X
    starts = range(0, n_rows - size + 1, size)
    batches = [rows[start : start + size] for start in starts[:1000]]
    model.predict(batches[0])  # the first call fills caches
    done, end = 0, time.perf_counter() + seconds
    with measure(folder=folder) as spent:
        while done == 0 or time.perf_counter() < end:
            model.predict(batches[done % len(batches)])
            done += 1
    return spent.energy.times(PER_ROWS / (done * size))
