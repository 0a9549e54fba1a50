"""Validation data: given with the call or held out, and networks scored on them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from cofire import engine
from cofire.core.network import SparseNetwork
from cofire.estimators.frames import is_frame
from cofire.estimators.inputs import Rows, ScaledBytes, engine_rows
from cofire.estimators.targets import Targets
from cofire.training.progress import Scorer


def outputs_of(
    networks: Sequence[SparseNetwork], rows: engine.Rows, n_threads: int, name: str
) -> np.ndarray:
    """Mean outputs of networks; `name` says in an error whose rows they are."""
    outputs = engine.predict(networks, rows, n_threads=n_threads)
    finite = np.isfinite(outputs)
    if not finite.all():
        n_bad = len(outputs) - int(finite.all(axis=1).sum())
        raise ValueError(
            f"{name}: {n_bad} of {len(outputs)} rows have values so large that the "
            "network's outputs are not finite. Fit with standardize=True, or scale "
            "them like the rows that it was trained on."
        )
    return outputs


def scorer_of(targets: Targets, rows: Rows, n_threads: int, name: str) -> Scorer:
    """Return a function that scores a network on these rows."""
    targets.check_scorable(rows.targets)
    prepared = engine_rows(rows.X)

    def score(network: SparseNetwork) -> tuple[float, float]:
        outputs = outputs_of([network], prepared, n_threads, name)
        return targets.score_and_loss(outputs, rows.targets, rows.weight)

    return score


def hold_out(
    targets: Targets,
    rows: Rows,
    row_ids: np.ndarray,
    *,
    fraction: float,
    seed: int,
    n_threads: int,
) -> tuple[Scorer, np.ndarray]:
    """Hold out a fraction of the rows in use: how to score them, and those left."""
    strata = targets.strata(rows.targets)
    try:
        left, held_out = train_test_split(
            row_ids,
            test_size=fraction,
            random_state=seed,
            stratify=None if strata is None else strata[row_ids],
        )
        validation = subset(rows, held_out)
        score = scorer_of(targets, validation, n_threads, "X, held-out rows")
    except ValueError as error:
        raise ValueError(
            f"validation_fraction={fraction} of {len(row_ids)} rows cannot be held out "
            f"to validate with: {str(error).rstrip('.')}. Give fit X_val and y_val, or "
            "a larger validation_fraction, or leave out what needs validation rows "
            "(early_stopping=True, method='ctre_seq')."
        ) from error
    return score, np.sort(left)


def subset(rows: Rows, row_ids: np.ndarray) -> Rows:
    """Copy some of the rows."""
    weight: Any = None if rows.weight is None else rows.weight[row_ids]
    X = rows.X
    if isinstance(X, ScaledBytes):
        X = X.rows(row_ids)
    else:
        X = X.iloc[row_ids] if is_frame(X) else X[row_ids]
    return Rows(X, rows.targets[row_ids], weight)
