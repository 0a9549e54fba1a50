"""One run: train, choose the epoch by validation, test, and return an outcome."""

import json
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from cofire.callbacks import Callback, Monitor, RewiringStudy
from cofire.data import CATALOG
from cofire.engine.augmentation import Augmentation
from cofire.estimators import SparseMLPClassifier, SparseMLPRegressor
from cofire.lab.experiments.grid import PROFILES, Run, for_task
from cofire.lab.experiments.removal import RemovalStudy
from cofire.lab.experiments.results import Outcome
from cofire.lab.experiments.run_data import RunData, load_run_data
from cofire.lab.names import is_full
from cofire.profiles import DEFAULTS_0_1
from cofire.training.cost import epoch_multiply_adds

CURVES = (
    "loss",
    "validation_score",
    "validation_loss",
    "train_seconds",
    "rewire_seconds",
    "evaluate_seconds",
)
ESTIMATORS = {
    "classification": SparseMLPClassifier,
    "regression": SparseMLPRegressor,
}
STUDIED = ("loss_before_rewiring", "loss_after_rewiring")


def parameters(run: Run, task: str = "classification") -> dict[str, Any]:
    """Return the estimator's parameters: the profile, changed by the run's options.

    >>> run = Run("madelon", "set", 100, 1.0, 0, options='{"momentum":0.5}')
    >>> [parameters(run)[name] for name in ("momentum", "epsilon", "max_iter")]
    [0.5, 1.0, 500]
    """
    settings = for_task(PROFILES[run.profile], run.profile, task)
    for name, value in json.loads(run.options).items():
        if name in ("study", "file", "scale"):  # not parameters of the training
            continue
        both = isinstance(value, dict) and isinstance(settings.get(name), dict)
        settings[name] = settings[name] | value if both else value
    if settings.pop("augment", False):
        settings["augmentation"] = Augmentation(*_image_shape(run.data))
    rate = settings.get("learning_rate")
    if isinstance(rate, dict):  # the keys of JSON are text
        settings["learning_rate"] = {int(epoch): v for epoch, v in rate.items()}
    if run.epsilon is not None:
        settings["epsilon"] = run.epsilon
    elif run.profile != "default" and not is_full(run.method):
        settings.setdefault("epsilon", DEFAULTS_0_1["epsilon"])
    return (
        {"hidden_layer_sizes": (run.hidden,) * 3}
        | settings
        | {
            "method": run.method,
            "max_iter": run.epochs,
            "random_state": run.seed,
        }
    )


def _image_shape(data: str) -> tuple[int, int, int]:
    entry = CATALOG.get(data)
    if entry is None or entry.image_shape is None:
        raise ValueError(f"augment=True needs images, and {data} has none.")
    return entry.image_shape


def execute(run: Run, n_threads: int = 1) -> Outcome:
    """Train once; only a `Monitor` sees the test rows."""
    data = load_run_data(run)
    start = time.perf_counter()
    monitor = Monitor(data.X_test, data.y_test)
    removal = RemovalStudy(data.X, data.X_test, data.y_test, run.seed)
    studies: dict[str | None, list[Callback]] = {
        None: [],
        "removal": [removal],
        "rewiring": [RewiringStudy()],
    }
    model = ESTIMATORS[data.task](
        **parameters(run, data.task),
        n_jobs=n_threads,
        callbacks=[monitor, *studies[json.loads(run.options).get("study")]],
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(data.X, data.y, X_val=data.X_val, y_val=data.y_val)
    found = outcome(model, monitor, data, time.perf_counter() - start)
    warned = _for_the_user(caught)
    return replace(
        found,
        curves={**found.curves, **removal.curves},
        notes={**found.notes, **({"warnings": warned} if warned else {})},
    )


def _for_the_user(caught: list[warnings.WarningMessage]) -> list[str]:
    """Return the warnings for users, shown once for all runs; repeat the others now."""
    texts = []
    for one in caught:
        if issubclass(one.category, UserWarning):
            texts.append(str(one.message))
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return list(dict.fromkeys(texts))


def outcome(model: Any, monitor: Monitor, data: RunData, seconds: float) -> Outcome:
    """Collect what is worth keeping of a fitted model."""
    history = model.history_
    best = int(np.argmax(model.validation_scores_))
    kept = best if model.restore_best else len(history) - 1
    inputs = model.network_.layers[0]
    n_rows, size = len(data.y), model.batch_size
    if model.last_batch == "drop" and n_rows > size:
        n_rows -= n_rows % size
    curves = {
        name: np.array([_number(record.get(name)) for record in history], np.float32)
        for name in (*CURVES, *STUDIED)
        if any(name in record for record in history)
    }
    switched = [record["epoch"] + 1 for record in history if record["switched"]]
    return Outcome(
        score=float(monitor.scores[kept]),
        validation_score=float(model.validation_scores_[kept]),
        best_epoch=kept + 1,
        connections=model.n_connections_,
        density=model.density_,
        seconds=seconds,
        curves=curves
        | {
            "test_score": np.array(monitor.scores, np.float32),
            "test_loss": np.array(monitor.losses, np.float32),
            "multiply_adds": np.array(epoch_multiply_adds(model, n_rows), np.float32),
            "inputs": np.bincount(inputs.indices, minlength=inputs.n_in),
        },
        receipt=model.receipt_.to_dict(),
        notes={
            "task": data.task,
            "sizes": model.network_.sizes,
            "rows": [len(data.y), len(data.y_val), len(data.y_test)],
            "rows_an_epoch": n_rows,
            "switched_after": switched[0] if switched else None,
            "recall": _lowest_recall(history),
            "best_validated_score": float(monitor.scores[best]),
        },
    )


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _lowest_recall(history: list[dict[str, Any]]) -> float | None:
    found = [r for record in history for r in record["recall"] or [] if r is not None]
    return min(found, default=None)
