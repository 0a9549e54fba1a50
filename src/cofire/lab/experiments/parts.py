"""The rows of a run: to train on, to validate with, to test with."""

import hashlib
import json
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from cofire.data import CATALOG, paper_parts
from cofire.data.preprocessing.training_rows import FileOptions, TrainingRows
from cofire.lab.experiments.grid import Run

VALIDATION_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Parts:
    """Samples and targets of the three parts; X dense or SciPy CSR."""

    task: str
    X: Any
    y: Any
    X_val: Any
    y_val: Any
    X_test: Any
    y_test: Any
    target: str | None = None
    """The name of what is to be predicted, where a file has one."""
    notes: tuple[str, ...] = ()
    """What looks odd in a file."""


def parts_of(run: Run) -> Parts:
    """The rows of a run, read once a process where runs come ordered by data set."""
    options = json.loads(run.options)
    file = options.get("file")
    if file is None:
        return _of_catalogue(run.data, run.split, options.get("scale"))
    return _of_file(run.data, run.split or 0, json.dumps(file, sort_keys=True))


def file_option(path: Path, options: FileOptions, task: str = "auto") -> dict[str, Any]:
    """What a run notes of a file: how to read it, and a checksum of what it held."""
    if str(path) in CATALOG:
        options.refuse_for(str(path))
        if task != "auto":
            raise ValueError(f"`task` is for files: {path} has classes, got {task!r}.")
        return {}
    # What is as usual is left out, so that the keys of stored runs stay as they are
    # when options are added; `header` was always in.
    given = {
        field.name: getattr(options, field.name)
        for field in fields(options)
        if field.name == "header" or getattr(options, field.name) != field.default
    }
    plain = {k: str(v) if isinstance(v, Path) else v for k, v in given.items()}
    plain |= {} if task == "auto" else {"task": task}
    plain |= {} if options.test is None else {"test_sha256": _digest(options.test)}
    return {"file": plain | {"sha256": _digest(path)}}


@lru_cache(maxsize=2)
def _of_catalogue(data: str, split: int | None, scale: str | None) -> Parts:
    (X, y), (X_val, y_val), (X_test, y_test) = paper_parts(data, split, scale)
    return Parts("classification", X, y, X_val, y_val, X_test, y_test)


@lru_cache(maxsize=2)
def _of_file(data: str, split: int, file: str) -> Parts:
    options = json.loads(file)
    planned = {data: options.pop("sha256")}
    if "test_sha256" in options:
        planned[options["test"]] = options.pop("test_sha256")
    for path, digest in planned.items():
        if _digest(Path(path)) != digest:
            raise ValueError(f"{path} has changed since the runs were planned.")
    lists = {k: tuple(options[k]) for k in ("categorical", "drop") if k in options}
    paths = {"test": Path(options["test"])} if "test" in options else {}
    task = options.pop("task", "auto")
    rows = TrainingRows.of_file(
        Path(data), FileOptions(**options | lists | paths), task, split
    )
    counts = np.unique(rows.y, return_counts=True)[1]
    even = rows.task == "classification" and counts.min() >= 2
    even = even and len(counts) <= int(VALIDATION_SHARE * len(rows.y))
    train, held_out = train_test_split(
        np.arange(len(rows.y)),
        test_size=VALIDATION_SHARE,
        random_state=split,
        stratify=rows.y if even else None,
    )
    return Parts(
        rows.task,
        *(rows.X[train], rows.y[train]),
        *(rows.X[held_out], rows.y[held_out]),
        *(rows.X_test, rows.y_test),
        target=rows.preprocessing.target,
        notes=tuple(rows.notes),
    )


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
