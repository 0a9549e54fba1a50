"""One run: train, choose the epoch by validation if there is any, and test."""

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
from cofire.estimators.importances import by_feature
from cofire.estimators.recipe import choose
from cofire.lab.experiments.baselines import BASELINES
from cofire.lab.experiments.grid import PROFILES, Run, for_task, n_hidden_layers
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
    settings["hidden_layer_sizes"] = (run.hidden,) * n_hidden_layers(run.profile)
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
    return settings | {
        "method": run.method,
        "max_iter": run.epochs or None,
        "random_state": run.seed,
    }


def _image_shape(data: str) -> tuple[int, int, int]:
    entry = CATALOG.get(data)
    if entry is None or entry.image_shape is None:
        raise ValueError(f"augment=True needs images, and {data} has none.")
    return entry.image_shape


def execute(run: Run, n_threads: int = 1) -> Outcome:
    """Train once; only a `Monitor` sees the test rows."""
    data = load_run_data(run)
    if run.method in BASELINES:
        return _of_baseline(run, data, n_threads)
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


def _of_baseline(run: Run, data: RunData, n_threads: int) -> Outcome:
    """Train a model of scikit-learn; it has neither connections nor epochs."""
    start, baseline = time.perf_counter(), BASELINES[run.method]
    gaps = data.kept_gaps
    model = baseline.fit(
        data.X, data.y, data.task, seed=run.seed, n_threads=n_threads, gaps=gaps
    )
    score = model.score(baseline.rows(data.X_test), data.y_test)
    return Outcome(
        score=float(score),
        validation_score=None,
        best_epoch=0,
        connections=0,
        density=0.0,
        seconds=time.perf_counter() - start,
        curves={},
        notes={
            "task": data.task,
            "rows": [len(data.y), 0, len(data.y_test)],
            "model": baseline.recipe(data.X, data.task, gaps=gaps),
        },
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
    """Collect what is worth keeping of a fitted model.

    Of several networks, the curves are those of the first.
    """
    history, validation = model.history_, model.validation_scores_
    last = len(history) - 1
    best = last if validation is None else int(np.argmax(validation))
    kept = best if model.restore_best else last
    alone = len(model.networks_) == 1
    inputs = model.network_.layers[0]
    counts = np.bincount(inputs.indices, minlength=inputs.n_in)
    n_rows = _rows_an_epoch(model, len(data.y))
    curves = {
        name: np.array([_number(record.get(name)) for record in history], np.float32)
        for name in (*CURVES, *STUDIED)
        if any(record.get(name) is not None for record in history)
    }
    switched = [record["epoch"] + 1 for record in history if record["switched"]]
    return Outcome(
        score=float(
            monitor.scores[kept] if alone else model.score(data.X_test, data.y_test)
        ),
        validation_score=None if validation is None else float(validation[kept]),
        best_epoch=kept + 1,
        connections=model.n_connections_,
        density=model.density_,
        seconds=seconds,
        curves=curves
        | {
            "test_score": np.array(monitor.scores, np.float32),
            "test_loss": np.array(monitor.losses, np.float32),
            "multiply_adds": np.array(epoch_multiply_adds(model, n_rows), np.float32),
            "inputs": by_feature(model, counts).astype(np.int64),
        },
        receipt=model.receipt_.to_dict(),
        notes={
            "task": data.task,
            "sizes": model.network_.sizes,
            "rows": [
                len(data.y),
                0 if data.y_val is None else len(data.y_val),
                len(data.y_test),
            ],
            "rows_an_epoch": n_rows,
            "switched_after": switched[0] if switched else None,
            "recall": _lowest_recall(history),
            "networks": len(model.networks_),
            "best_validated_score": float(monitor.scores[best]),
        },
    )


def _rows_an_epoch(model: Any, n_rows: int) -> int:
    """Count the rows that an epoch trains on."""
    numeric = isinstance(model, SparseMLPRegressor)
    recipe = choose(model, n_rows, n_pieces=0, numeric=numeric, partial=False)
    size = min(recipe.batch_size, n_rows)
    if recipe.steps_per_epoch is not None:
        return recipe.steps_per_epoch * size
    return n_rows - n_rows % size if model.last_batch == "drop" else n_rows


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _lowest_recall(history: list[dict[str, Any]]) -> float | None:
    found = [r for record in history for r in record["recall"] or [] if r is not None]
    return min(found, default=None)
