"""One fit: read a table, split it, train a model, score it on the held-out fold."""

import importlib
import os
import pickle
import resource
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from models import Case, NotAvailable, kind_of
from sklearn.metrics import log_loss, r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold

MEASURES = (
    "score",  # accuracy, or R²
    "auc",
    "log_loss",
    "rmse",
    "fit_seconds",
    "predict_seconds",
    "cpu_seconds",
    "model_bytes",
    "peak_bytes",
)


class NoTable(Exception):
    """The table cannot be read: no model is to blame."""


@dataclass(frozen=True)
class Job:
    """What one fit is told. `settings` go to the model, `change` to the table.

    `label` says in the file what was changed if it is not the table.
    """

    table: str
    model: str
    repeat: int
    fold: int
    folds: int = 5
    settings: dict = field(default_factory=dict)
    change: str = ""
    label: str = ""
    catalogue: str = "catalogue"  # a module with TABLES and load(name)
    models: str = "models"  # a module with MODELS
    changes: str = "distort"  # a module with DISTORTIONS

    @property
    def key(self):
        """What makes it the same row of the file."""
        changed = self.change or self.label
        return self.table, self.model, self.repeat, self.fold, changed

    @property
    def seed(self):
        return 1000 * self.repeat + self.fold


def parts(y, task, folds, repeat, fold):
    """Row numbers that train and that test; the same for every model.

    >>> train, test = parts(np.arange(10) % 2, "classes", 5, repeat=0, fold=0)
    >>> len(train), len(test)
    (8, 2)
    """
    kind = StratifiedKFold if task == "classes" else KFold
    splits = kind(folds, shuffle=True, random_state=repeat)
    with warnings.catch_warnings():  # a class may have fewer rows than there are folds
        warnings.simplefilter("ignore")
        return list(splits.split(np.zeros(len(y)), y))[fold]


def plain_columns(X):
    """Name columns x0, x1, ... and categories 0, 1, ...: no library has to like ours.

    Columns that are neither numbers nor categories become categories.
    """
    if not hasattr(X, "columns"):
        return X
    X = X.copy()
    X.columns = [f"x{i}" for i in range(X.shape[1])]
    for name in X.columns:
        if X[name].dtype == bool:
            X[name] = X[name].astype("float32")
        elif X[name].dtype.kind not in "iuf" or X[name].dtype == "category":
            column = X[name].astype("category").cat
            X[name] = column.rename_categories(range(len(column.categories)))
    return X


def take(X, rows):
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def load(job):
    """Return X, y and the task; labels are whole numbers."""
    catalogue = importlib.import_module(job.catalogue)
    X, y = catalogue.load(job.table)
    task = catalogue.TABLES[job.table].task
    X, y = plain_columns(X), np.asarray(y)
    if job.change:
        change = importlib.import_module(job.changes).DISTORTIONS[job.change]
        X = change(X, np.random.default_rng(job.repeat))
    if task == "classes":
        y = np.unique(y, return_inverse=True)[1]
    else:
        y = y.astype(np.float64)
    return X, y, task


def run(job, X, y, task):
    """Train and score one model; return what the row says of it."""
    train, test = parts(y, task, job.folds, job.repeat, job.fold)
    known, targets = y[train], y[train]
    if task == "classes":  # a rare class may be missing from the training rows
        known, targets = np.unique(y[train], return_inverse=True)
    case = Case(task, kind_of(X), len(train), X.shape[1], job.seed)
    X_train, X_test = take(X, train), take(X, test)
    make = importlib.import_module(job.models).MODELS[job.model]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = memory_in_use()
        cpu, start = _cpu_seconds(), time.perf_counter()
        model = make(case, **job.settings)
        model.fit(X_train, targets)
        fitted, cpu = time.perf_counter(), _cpu_seconds() - cpu
        predicted = np.ravel(model.predict(X_test))
        predict_seconds = time.perf_counter() - fitted
        peak = memory_in_use(peak=True) - before
        row = (
            class_scores(known, predicted, *class_values(model, X_test), y[test])
            if task == "classes"
            else number_scores(predicted, y[test])
        )
    return row | {
        "fit_seconds": fitted - start,
        "predict_seconds": predict_seconds,
        "cpu_seconds": cpu,  # of the fit, in all threads
        "model_bytes": len(pickle.dumps(model)),
        "peak_bytes": peak,  # beside the table and the packages
    }


def class_values(model, X):
    """Return probabilities, or else decision values, and whether they are the first."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), dtype=np.float64), True
    values = np.asarray(model.decision_function(X), dtype=np.float64)
    if values.ndim == 1:
        values = np.stack([-values, values], axis=1)
    return values, False


def class_scores(known, predicted, values, are_probabilities, truth):
    """Accuracy, AUC and log-loss. known: the labels that the columns of values mean.

    A class that the training rows do not have gets probability 0, clipped.
    """
    if not np.isfinite(values).all():
        raise ValueError("the values that it predicts are not all finite")
    n = int(max(known.max(), truth.max())) + 1
    wide = np.full((len(truth), n), 0.0 if are_probabilities else values.min() - 1)
    wide[:, known] = values
    scores = {
        "score": float(np.mean(known[np.asarray(predicted, dtype=int)] == truth)),
        "auc": auc(wide, truth),
    }
    if are_probabilities:
        clipped = np.clip(wide, 1e-7, None)  # float32 cannot tell 1 - 1e-8 from 1
        clipped /= clipped.sum(axis=1, keepdims=True)
        scores["log_loss"] = float(log_loss(truth, clipped, labels=np.arange(n)))
    return scores


def auc(values, truth):
    """Mean over classes of the area under the curve of one class against the rest."""
    areas = [
        roc_auc_score(truth == label, values[:, label])
        for label in np.unique(truth)
        if not (truth == label).all()
    ]
    return float(np.mean(areas)) if areas else float("nan")


def number_scores(predicted, truth):
    """R² and the root of the mean squared error."""
    predicted = np.asarray(predicted, dtype=np.float64)
    if not np.isfinite(predicted).all():
        raise ValueError("the numbers that it predicts are not all finite")
    error = float(np.sqrt(np.mean((predicted - truth) ** 2)))
    return {"score": float(r2_score(truth, predicted)), "rmse": error}


def child(job, memory, cap, pipe):
    """Do a job in a process of its own; send "ready", then the row or what failed.

    The system ends the process once the fit has used `cap` seconds of a processor.
    """
    silence = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # some libraries talk while they train
        os.dup2(silence, stream)
    try:
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        try:
            X, y, task = load(job)
        except (OSError, KeyError, ValueError) as error:
            raise NoTable(str(error)) from error
        limit = int(np.ceil(_cpu_seconds() + cap))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        pipe.send("ready")
        row = {"status": "ok"} | run(job, X, y, task)
    except (NotAvailable, ModuleNotFoundError) as error:
        row = {"status": f"not available: {error}"}
    except NoTable as error:
        row = {"status": f"no table: {error}"}
    except MemoryError:
        row = {"status": f"failed: needs more than {memory / 2**30:.3g} GiB"}
    except Exception as error:
        words = " ".join(str(error).split())[:300]
        row = {"status": f"failed: {type(error).__name__}: {words}"}
    pipe.send(row)
    pipe.close()


def memory_in_use(*, peak=False):
    """Bytes of memory; the peak is that since the last call without it."""
    try:
        if not peak:
            Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:  # not Linux
        return float("nan")
    name = "VmHWM:" if peak else "VmRSS:"
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(name)))


def _cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
