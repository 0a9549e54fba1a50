"""`--memory`: files that memory does not hold, read again and again."""

import csv
import io
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofire.cli.inputs import read_model, tell

if TYPE_CHECKING:
    from cofire.data import Stream

Memory = Annotated[
    str | None,
    typer.Option(
        help="For a file larger than memory (.parquet, .npy, .svm): how much to use, "
        "such as 1GB. Its rows are read again and again."
    ),
]
_NOT_STREAMED = (
    *("samples", "test", "scale", "missing", "categorical", "na", "day_first"),
    *("no_header", "separator", "decimal"),
)
"""Options of files that are read whole."""


def opened(data: str, given: Mapping[str, Any], **how: Any) -> "Stream":
    """Open a file with the memory that was asked for; other options are refused."""
    from cofire.data import Stream

    for name in _NOT_STREAMED:
        if given.get(name) not in (None, False, [], ()):
            raise ValueError(
                f"--{name.replace('_', '-')} and --memory: leave one of them out; with "
                "--memory rows are taken as they come."
            )
    return Stream(Path(data), memory_budget=given["memory"], **how)


def columns_of(path: Path) -> list[str] | None:
    """Return the names of the columns of a Parquet file; None for other files."""
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return None
    from cofire.data.stream.arrow import import_pyarrow

    import_pyarrow(str(path))
    from pyarrow.parquet import read_schema

    names = list(read_schema(path).names)
    return [name for name in names if not name.startswith("__index_level_")]


class StreamedRows:
    """The rows of a file to train on and to test with, as streams."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        path = Path(given["data"])
        self.target = given["target"]
        names = columns_of(path)
        drop = [*(given["drop"] or ()), *(given["id"] or ())]
        if names is not None:
            left = [name for name in names if name not in drop]
            if self.target is None and left:
                self.target = left[-1]
        fraction = given["test_fraction"]
        fraction = 0.2 if fraction is None else fraction
        if not 0 <= fraction < 1:
            raise ValueError(f"`test_fraction` must be in [0, 1), got {fraction}.")
        stream = opened(str(path), given, target=self.target, drop=drop)
        self.task = _task(stream, given["task"], self.target or "y")
        self.test: Stream | None = None
        self.rows = stream
        if fraction > 0:
            self.rows, self.test = stream.split(fraction, given["seed"])

    def fit(self, estimator: Any) -> None:
        """Train, and tell the warnings."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimator.fit(self.rows)
        tell([str(warning.message).rstrip(".") for warning in caught])

    def figures(self, estimator: Any, path: Path) -> dict[str, Any]:
        """Return what `cofire train` prints as JSON."""
        classes = getattr(estimator, "classes_", None)
        score, n_test = (None, 0)
        if self.test is not None:
            score, n_test = _score(estimator, self.test)
        return {
            "model": str(path),
            "task": self.task,
            "target": self.target,
            "classes": None if classes is None else classes.astype(str).tolist(),
            "test_rows": n_test,
            "score": "accuracy" if self.task == "classification" else "R^2",
            "test_score": score,
            "validation_score": estimator.best_validation_score_,
            "receipt": estimator.receipt_.to_dict(),
        }


def train_text(figures: Mapping[str, Any], estimator: Any) -> str:
    """Return what `cofire train` prints."""
    kind = figures["task"]
    if figures["classes"]:
        kind += f", {len(figures['classes'])} classes"
    target = f"target {figures['target']!r}: " if figures["target"] else ""
    lines = [f"{target}{kind}"]
    if figures["test_score"] is not None:
        lines.append(
            f"{figures['score']} on {figures['test_rows']} test rows: "
            f"{figures['test_score']:.4f}"
        )
    return "\n".join(
        [*lines, "", str(estimator.receipt_), f"saved: {figures['model']}"]
    )


def _task(stream: "Stream", task: str, target: str) -> str:
    """Guess the task from the labels of the first chunk, unless it is named."""
    from cofire.data.tables.labels import TASKS, labels, task_of
    from cofire.errors import unknown_name

    if task not in TASKS:
        raise unknown_name("task", task, TASKS)
    if task != "auto":
        return task
    for _, chunk in stream.chunks():
        return task_of(labels(chunk.y.astype(object), target))
    raise ValueError("the file has no rows: expected at least one.")


def _score(estimator: Any, stream: "Stream") -> tuple[float, int]:
    """Return accuracy or R^2, chunk by chunk, and the number of rows."""
    import numpy as np

    n, errors, total, squares = 0, 0.0, 0.0, 0.0
    for _, chunk in stream.chunks():
        predicted = estimator.predict(chunk.X)
        n += len(predicted)
        if hasattr(estimator, "classes_"):
            errors += float(np.sum(predicted != chunk.y))
            continue
        y = chunk.y.astype(np.float64) - estimator.target_mean_[0]
        errors += float(((chunk.y - predicted) ** 2).sum())
        total, squares = total + float(y.sum()), squares + float((y**2).sum())
    if n == 0:
        return float("nan"), 0
    if hasattr(estimator, "classes_"):
        return 1 - errors / n, n
    spread = squares - total**2 / n
    return (1 - errors / spread if spread > 0 else float("nan")), n


def predictions(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the predictions of a model as CSV, part by part; rows are numbered."""
    import numpy as np

    data, proba, path = given["data"], given["proba"], given["model"]
    estimator, document = read_model(path)
    if document.get("preprocessing") is not None or "pipeline" in document:
        raise ValueError(
            f"--memory: {path} was trained on rows that were preprocessed as a whole. "
            "Leave --memory out, or train with it."
        )
    if proba and not hasattr(estimator, "classes_"):
        raise ValueError("--proba: a regressor has no probabilities. Leave it out.")
    first = 1
    for chunk in _feature_chunks(estimator, Path(data), given):
        predicted = np.asarray(estimator.predict(chunk))
        several = predicted.ndim == 2
        columns = [of.tolist() for of in (predicted.T if several else [predicted])]
        names = [f"prediction_{i}" for i in range(len(columns))]
        names = names if several else ["prediction"]
        if proba:
            names += [f"probability_{label}" for label in estimator.classes_]
            found = estimator.predict_proba(chunk).T
            columns += [[f"{p:.6g}" for p in of.tolist()] for of in found]
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        if first == 1:
            writer.writerow(["row", *names])
        numbers = range(first, first + len(predicted))
        writer.writerows(zip(numbers, *columns, strict=True))
        first += len(predicted)
        yield file.getvalue()


def _feature_chunks(
    estimator: Any, path: Path, given: Mapping[str, Any]
) -> Iterator[Any]:
    """Yield the columns that a model takes; others are left out."""
    import numpy as np

    names = columns_of(path)
    known = list(getattr(estimator, "feature_names_in_", ()))
    if names is not None and known:
        missing = [name for name in known if name not in names]
        if missing:
            raise ValueError(
                f"{path} has no column {missing[0]!r}, which the model was trained on."
            )
        others = [name for name in names if name not in known]
        for _, chunk in opened(str(path), given, drop=others).chunks():
            yield chunk.X[known]
        return
    n = estimator.n_features_in_
    if path.suffix.lower() == ".npy" and path.is_file():
        if np.load(path, mmap_mode="r").shape[1] == n:  # without a target
            from cofire.data import Stream

            array = np.load(path, mmap_mode="r")
            rows = Stream(array, memory_budget=given["memory"])
            yield from (chunk.X for _, chunk in rows.chunks())
            return
    stream = opened(str(path), given, target=given["target"])
    yield from (chunk.X for _, chunk in stream.chunks())
