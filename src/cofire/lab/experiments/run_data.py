"""The rows of a run: for training, for validation and for testing."""

import json
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from cofire.data import CATALOG, paper_parts
from cofire.data.preprocessing.training_rows import FileOptions, TrainingRows
from cofire.lab.experiments.grid import PROFILES, Run, trains_on_all_rows
from cofire.lab.workers.files import checksum, here

VALIDATION_FRACTION = 0.1


@dataclass(frozen=True, eq=False)
class RunData:
    """Samples and targets to train, validate and test with; X dense or SciPy CSR.

    X_val and y_val are None where all rows that are not test rows are trained on.
    """

    task: str
    X: Any
    y: Any
    X_val: Any
    y_val: Any
    X_test: Any
    y_test: Any
    target: str | None = None
    """The name of the column to predict, if the data come from a file."""
    notes: tuple[str, ...] = ()
    """What looks odd in the file."""
    kept_gaps: bool = False
    """Whether values of the file are missing, and were kept so."""


def load_run_data(run: Run) -> RunData:
    """Return the rows of a run.

    They are kept for the next runs: each process reads a data set once if the runs come
    ordered by data set.
    """
    options = json.loads(run.options)
    file, whole = options.get("file"), trains_on_all_rows(run.profile)
    if file is not None:
        text = json.dumps(file, sort_keys=True)
        settings = {**PROFILES.get(run.profile, {}), **options}
        takes_gaps = bool(settings.get("standardize", True))  # baselines do, too
        return _of_file(run.data, run.split or 0, text, whole, takes_gaps)
    if whole:
        return _whole(run.data, run.split, options.get("scale"))
    return _of_catalogue(run.data, run.split, options.get("scale"))


def file_option(path: Path, options: FileOptions, task: str = "auto") -> dict[str, Any]:
    """Return what a run notes of a file: how to read it, and a checksum."""
    if str(path) in CATALOG:
        options.refuse_for(str(path))
        if task != "auto":
            raise ValueError(f"`task` is for files: {path} has classes, got {task!r}.")
        return {}
    # Defaults are left out, so that the keys of stored runs stay the same when options
    # are added; `header` was always included.
    given = {
        field.name: getattr(options, field.name)
        for field in fields(options)
        if field.name == "header" or getattr(options, field.name) != field.default
    }
    plain = {k: str(v) if isinstance(v, Path) else v for k, v in given.items()}
    plain |= {} if task == "auto" else {"task": task}
    plain |= {} if options.test is None else {"test_sha256": checksum(options.test)}
    return {"file": plain | {"sha256": checksum(path)}}


@lru_cache(maxsize=2)
def _of_catalogue(data: str, split: int | None, scale: str | None) -> RunData:
    (X, y), (X_val, y_val), (X_test, y_test) = paper_parts(data, split, scale)
    return RunData("classification", X, y, X_val, y_val, X_test, y_test)


@lru_cache(maxsize=2)
def _whole(data: str, split: int | None, scale: str | None) -> RunData:
    """Return the rows as `cofire train` has them, in the order of the source."""
    if split is not None or scale is not None:
        raise ValueError(
            "runs of the default profile and of baselines have the paper's rows and "
            f"scale, got split={split!r}, scale={scale!r}; leave them out."
        )
    rows = TrainingRows.of_catalogue(data, FileOptions())
    return RunData(rows.task, rows.X, rows.y, None, None, rows.X_test, rows.y_test)


@lru_cache(maxsize=2)
def _of_file(
    data: str, split: int, file: str, whole: bool, takes_gaps: bool
) -> RunData:
    options = json.loads(file)
    planned = {data: options.pop("sha256")}
    if "test_sha256" in options:
        planned[options["test"]] = options.pop("test_sha256")
    found = {path: here(path, digest) for path, digest in planned.items()}
    for path, digest in planned.items():
        if checksum(found[path]) != digest:
            raise ValueError(
                f"{path} has changed since the runs were planned: "
                "give the same command again."
            )
    names = ("categorical", "drop", "id", "na")
    lists = {k: tuple(options[k]) for k in names if k in options}
    paths = {"test": found[options["test"]]} if "test" in options else {}
    task = options.pop("task", "auto")
    rows = TrainingRows.of_file(
        found[data],
        FileOptions(**options | lists | paths),
        task,
        split,
        takes_gaps=takes_gaps,
    )
    about: dict[str, Any] = {
        "target": rows.preprocessing.target,
        "notes": tuple(rows.notes),
        "kept_gaps": rows.kept_gaps,
    }
    if whole:
        test = rows.X_test, rows.y_test
        return RunData(rows.task, rows.X, rows.y, None, None, *test, **about)
    counts = np.unique(rows.y, return_counts=True)[1]
    even = rows.task == "classification" and counts.min() >= 2
    even = even and len(counts) <= int(VALIDATION_FRACTION * len(rows.y))
    train, held_out = train_test_split(
        np.arange(len(rows.y)),
        test_size=VALIDATION_FRACTION,
        random_state=split,
        stratify=rows.y if even else None,
    )
    return RunData(
        rows.task,
        *(rows.X[train], rows.y[train]),
        *(rows.X[held_out], rows.y[held_out]),
        *(rows.X_test, rows.y_test),
        **about,
    )
