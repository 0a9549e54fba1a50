"""Rows of a file or a data set to train and test on, and what was done to them."""

import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from cofire.data.preprocessing.features import refuse_gaps
from cofire.data.preprocessing.paper import paper_rows
from cofire.data.preprocessing.preprocess import Preprocessing
from cofire.data.tables import Reading, Table, read_table, task_of
from cofire.data.tables.hints import hinted, of_row_numbers
from cofire.errors import unknown_name

TASKS = ("auto", "classification", "regression")
TEST_FRACTION = 0.2


@dataclass(frozen=True)
class FileOptions:
    """What a user said of a file; nothing of it is for data sets of the catalogue."""

    target: str | None = None
    samples: str | None = None
    test: Path | None = None
    test_fraction: float | None = None
    scale: str | None = None
    missing: str | None = None
    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    header: bool = True
    separator: str | None = None
    decimal: str | None = None

    def refuse_for(self, name: str) -> None:
        """Raise where something was said of a data set of the catalogue."""
        for field in fields(self):
            if getattr(self, field.name) != field.default:
                raise ValueError(
                    f"--{field.name.replace('_', '-')} is for files: {name} has its "
                    "target, its test rows and the scale that the paper gives it."
                )

    def reading(self) -> Reading:
        """Return how such a file is read."""

        text = frozenset(self.categorical)
        return Reading(
            self.target,
            samples=self.samples,
            header=self.header,
            separator=self.separator,
            decimal=self.decimal,
            text=text,
        )


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Features and labels to train on and, maybe, to test with."""

    task: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray | None
    preprocessing: Preprocessing
    notes: list[str]

    @classmethod
    def of_catalogue(cls, name: str, options: FileOptions) -> "TrainingRows":
        """Read a data set with the split and the scale of the CTRE paper."""

        options.refuse_for(name)
        raw = paper_rows(name)
        steps = Preprocessing.of_paper(raw)
        X, X_test = (steps.transform(part)[0] for part in (raw.X_train, raw.X_test))
        return cls("classification", X, raw.y_train, X_test, raw.y_test, steps, [])

    @classmethod
    def of_file(
        cls, path: Path, options: FileOptions, task: str, seed: int
    ) -> "TrainingRows":
        """Read a file, hold rows out, fit the preprocessing on the others."""

        if task not in TASKS:
            raise unknown_name("task", task, TASKS)
        table = read_table(path, options.reading())
        notes = list(table.notes)
        with hinted(path, table.notes):
            table = _without(table, options.drop, path)
        if hasattr(table.X, "columns"):
            notes += of_row_numbers(table.X)
        assert table.y is not None  # it was asked for
        task = task_of(table.y) if task == "auto" else task
        if task == "regression" and table.y.dtype.kind == "U":
            raise ValueError(
                f"--task regression: the target {table.target!r} is text, such as "
                f"{str(table.y[0])!r}."
            )
        every_row = table.X
        table, test = _parts(table, options, task, seed, path)
        assert table.y is not None
        with hinted(path, table.notes):
            if options.missing is None:
                refuse_gaps(every_row)
            steps = Preprocessing.fit(
                table,
                scale=options.scale or "standard",
                missing=options.missing,
                text=options.categorical,
            )
        X, _ = steps.transform(table.X)
        if test is None:
            return cls(task, X, table.y, None, None, steps, notes)
        with hinted(options.test or path, test.notes):
            X_test, of_test = steps.transform(test.X)
        notes += of_test
        y_test = test.y
        assert y_test is not None
        if table.y.dtype.kind == "U":  # words that look like numbers are words here too
            y_test = y_test.astype(str)
        return cls(task, X, table.y, X_test, y_test, steps, notes)

    def test_score(self, estimator: Any) -> float | None:
        """Accuracy or R^2 of the rows that training did not see."""
        if self.y_test is None:
            return None
        return float(estimator.score(self.X_test, self.y_test))


def _without(table: Table, names: tuple[str, ...], path: Path) -> Table:

    if not names:
        return table
    if not hasattr(table.X, "columns"):
        raise ValueError(f"--drop: {path} has no named columns.")
    for name in names:
        if name not in table.X.columns:
            raise unknown_name("column (--drop)", name, list(table.X.columns))
    return replace(table, X=table.X.drop(columns=list(names)), dropped=names)


def _parts(
    table: Table, options: FileOptions, task: str, seed: int, path: Path
) -> tuple[Table, Table | None]:

    if options.test is not None:
        if options.test_fraction is not None:
            raise ValueError("--test and --test-fraction: leave one of them out.")
        same = replace(
            options.reading(),
            target=table.target,
            by_name=True,
            first_index=table.first_index,
            n_columns=table.n_columns,
        )
        return table, read_table(options.test, same)
    share = TEST_FRACTION if options.test_fraction is None else options.test_fraction
    if not 0 <= share < 1:
        raise ValueError(f"--test-fraction must be in [0, 1), got {share}.")
    n_rows = table.X.shape[0]
    if n_rows == math.ceil(share * n_rows):
        raise ValueError(
            f"{path}: --test-fraction {share} leaves none of {n_rows} rows to train "
            "on. Give more rows, or say --test FILE or --test-fraction 0."
        )
    return (table, None) if share == 0 else _split(table, share, task, seed)


def _split(table: Table, share: float, task: str, seed: int) -> tuple[Table, Table]:

    y = table.y
    assert y is not None
    n_test = math.ceil(share * len(y))
    counts = np.unique(y, return_counts=True)[1]
    # Each class keeps its share where every class can be on both sides.
    even = task == "classification" and counts.min() >= 2
    even = even and len(counts) <= min(n_test, len(y) - n_test)
    train, test = train_test_split(
        np.arange(len(y)),
        test_size=share,
        random_state=seed,
        stratify=y if even else None,
    )

    def part(rows: np.ndarray) -> Table:
        named = hasattr(table.X, "columns")
        return replace(
            table, X=table.X.iloc[rows] if named else table.X[rows], y=y[rows]
        )

    return part(train), part(test)
