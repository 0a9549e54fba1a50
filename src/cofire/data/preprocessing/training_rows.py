"""Rows of a file or a data set to train on and to test with, as features."""

import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.model_selection import train_test_split

from cofire.data.preprocessing.features import refuse_gaps
from cofire.data.preprocessing.kinds import Kind, find_kinds
from cofire.data.preprocessing.paper import paper_rows
from cofire.data.preprocessing.preprocess import Preprocessing
from cofire.data.preprocessing.row_sketch import RowSketch
from cofire.data.preprocessing.scales import FILLS
from cofire.data.tables import Reading, Table, read_table, task_of
from cofire.data.tables.faults import Fault, TableFaults, refuse
from cofire.data.tables.hints import hinted, of_row_numbers
from cofire.data.tables.labels import TASKS
from cofire.errors import listed, unknown_name

TEST_FRACTION = 0.2


@dataclass(frozen=True)
class FileOptions:
    """How to read, split and preprocess a file; data sets of the catalogue take none.

    test: a file with the rows to test with. test_fraction: or the fraction of rows held
    out for it, 0.2 by default. categorical: columns of words that look like numbers.
    id: columns that identify the rows, left out and shown beside predictions.
    missing: how gaps are treated; None: kept if the model takes them, else refused.
    The others are those of `Reading` and of `Preprocessing.fit`.
    """

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
    id: tuple[str, ...] = ()
    na: tuple[str, ...] = ()
    day_first: bool | None = None

    def refuse_for(self, name: str) -> None:
        """Raise a ValueError if any option was given, since `name` is not a file."""
        for field in fields(self):
            if getattr(self, field.name) != field.default:
                raise ValueError(
                    f"`{field.name}` is for files: the target, the test rows and the "
                    f"scale of {name} are those of the paper."
                )

    def reading(self) -> Reading:
        """Return how the file is read."""
        return Reading(
            self.target,
            samples=self.samples,
            header=self.header,
            separator=self.separator,
            decimal=self.decimal,
            text=frozenset(self.categorical),
            drop=tuple(dict.fromkeys((*self.drop, *self.id))),
            na=self.na,
        )


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Features and labels to train on and, optionally, to test with."""

    task: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray | None
    preprocessing: Preprocessing
    notes: list[str]
    kept_gaps: bool = False
    """Whether values of the file are missing, and were kept so."""

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
        cls,
        path: Path,
        options: FileOptions,
        task: str,
        seed: int,
        *,
        takes_gaps: bool = False,
    ) -> "TrainingRows":
        """Read a file, hold rows out, learn the preprocessing from the others.

        takes_gaps: whether the model takes missing values (standardize=True).
        """
        if task not in TASKS:
            raise unknown_name("task", task, TASKS)
        options = replace(options, missing=_missing(options.missing, takes_gaps))
        every_row = _read(path, options)
        notes = list(every_row.notes)
        if hasattr(every_row.X, "columns"):
            notes += of_row_numbers(every_row.X)
        task = _task(every_row, task)
        table, test = _parts(every_row, options, task, seed, path)
        with hinted(path, table.notes):
            if hasattr(every_row.X, "columns"):
                kinds, faults = _kinds(every_row.X, options)
                refuse(faults)
            else:
                kinds = None
                if options.missing is None:
                    refuse_gaps(every_row.X)
            steps = Preprocessing.fit(
                table,
                scale=options.scale or "standard",
                missing=options.missing,
                text=options.categorical,
                kinds=kinds,
            )
        steps = replace(steps, ids=options.id)
        if not scipy.sparse.issparse(table.X):
            notes += steps.steps.scaling_notes(table.X)
        X, _ = steps.transform(table.X)
        y = _labels(table)
        steps = replace(steps, trained_on=RowSketch.of(X, y))
        kept = options.missing == "keep" and _has_gaps(every_row.X)
        if test is None:
            return cls(task, X, y, None, None, steps, notes, kept)
        with hinted(options.test or path, test.notes):
            X_test, of_test = steps.transform(test.X)
        y_test = _labels(test)
        if y.dtype.kind == "U":  # then words that look like numbers are words here too
            y_test = y_test.astype(str)
        if task == "classification":
            notes += _unknown_classes(y, y_test)
        kept |= options.missing == "keep" and _has_gaps(test.X)
        return cls(task, X, y, X_test, y_test, steps, notes + of_test, kept)

    def test_score(self, estimator: Any) -> float | None:
        """Return accuracy or R^2 on the test rows; None if there are none."""
        if self.y_test is None:
            return None
        return float(estimator.score(self.X_test, self.y_test))


def _missing(given: str | None, takes_gaps: bool) -> str | None:
    """Return how missing values are treated; None: they are refused."""
    if given == "keep" and not takes_gaps:
        raise ValueError(
            "`missing='keep'`: a model with standardize=False takes no missing values. "
            f"Pass one of {listed(FILLS)}, or train with standardize=True."
        )
    return "keep" if given is None and takes_gaps else given


def _has_gaps(X: Any) -> bool:
    if hasattr(X, "columns"):
        return bool(X.isna().to_numpy().any())
    return not scipy.sparse.issparse(X) and bool(np.isnan(X).any())


def _read(path: Path, options: FileOptions) -> Table:
    """Read the file; what is wrong with its target is told with all other faults."""
    try:
        return read_table(path, options.reading())
    except TableFaults as error:
        if error.X is not None:
            error.faults = [*error.faults, *_kinds(error.X, options)[1]]
        raise


def _kinds(frame: Any, options: FileOptions) -> tuple[dict[str, Kind], list[Fault]]:
    return find_kinds(
        frame,
        missing=options.missing,
        text=options.categorical,
        day_first=options.day_first,
    )


def _labels(table: Table) -> np.ndarray:
    assert table.y is not None  # every file here is read with its target
    return table.y


def _task(table: Table, task: str) -> str:
    y = _labels(table)
    task = task_of(y) if task == "auto" else task
    if task == "regression" and y.dtype.kind == "U":
        raise ValueError(
            f"`task='regression'` needs numbers: the target {table.target!r} is text, "
            f"such as {str(y[0])!r}. Pass `target='NAME'` if it is another column."
        )
    return task


def _parts(
    table: Table, options: FileOptions, task: str, seed: int, path: Path
) -> tuple[Table, Table | None]:
    """Return the rows to train on and, unless none are wanted, to test with."""
    if options.test is not None:
        if options.test_fraction is not None:
            raise ValueError("`test` and `test_fraction`: leave one of them out.")
        same = replace(
            options.reading(),
            target=table.target,
            by_name=True,
            first_index=table.first_index,
            n_columns=table.n_columns,
            drop=(),  # the file may lack these columns; they are ignored
        )
        return table, read_table(options.test, same)
    given = options.test_fraction
    fraction = TEST_FRACTION if given is None else given
    if not 0 <= fraction < 1:
        raise ValueError(f"`test_fraction` must be in [0, 1), got {fraction}.")
    n_rows = table.X.shape[0]
    if n_rows == math.ceil(fraction * n_rows):
        raise ValueError(
            f"{path}: `test_fraction={fraction}` leaves none of {n_rows} rows to train "
            "on. Add rows, pass `test` (a file of test rows), or pass "
            "`test_fraction=0`."
        )
    return (table, None) if fraction == 0 else _split(table, fraction, task, seed)


def _unknown_classes(y: np.ndarray, y_test: np.ndarray) -> list[str]:
    """Note classes that only the test rows have."""
    unknown = ~np.isin(y_test, y)
    if not unknown.any():
        return []
    names = np.unique(y_test[unknown]).tolist()
    return [
        f"{int(unknown.sum())} of {len(y_test)} test rows are of a class that no "
        f"training row has ({listed(names)}): the model cannot predict it. Such a "
        "class needs more rows"
    ]


def _split(table: Table, fraction: float, task: str, seed: int) -> tuple[Table, Table]:
    y = _labels(table)
    n_test = math.ceil(fraction * len(y))
    counts = np.unique(y, return_counts=True)[1]
    # Stratified if every class can be on both sides.
    even = task == "classification" and counts.min() >= 2
    even = even and len(counts) <= min(n_test, len(y) - n_test)
    train, test = train_test_split(
        np.arange(len(y)),
        test_size=fraction,
        random_state=seed,
        stratify=y if even else None,
    )

    def part(rows: np.ndarray) -> Table:
        named = hasattr(table.X, "columns")
        return replace(
            table, X=table.X.iloc[rows] if named else table.X[rows], y=y[rows]
        )

    return part(train), part(test)
