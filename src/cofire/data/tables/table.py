"""Reading: how a user's file is read. Table: the samples that it holds."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Reading:
    """How to read a file, beyond what its name says."""

    target: str | None = None
    """Column of a CSV or Parquet file, by name or number; key of an NPZ or MAT file."""
    labelled: bool = True
    """Whether there must be a target. If not, a target that is there is left out."""
    header: bool = True
    """Whether the first line of a CSV file holds the names of its columns."""
    separator: str | None = None
    """Separates the values of a CSV file; None: a comma, in .tsv files a tab."""
    text: Collection[str] = field(default_factory=frozenset)
    """Columns whose values are words even if they look like numbers."""
    first_index: int | None = None
    """Number of the first feature of a libsvm file; None: 0 if that occurs, else 1."""
    n_columns: int | None = None
    """Number of columns, with the target, that a CSV file without a header must have;
    without `labelled` the target may be missing. None: any number."""
    by_name: bool = False
    """Whether `target` is a name even if it looks like a column's number."""
    decimal: str | None = None
    """Character before the decimals in a CSV file; None: a point."""
    samples: str | None = None
    """Key of the samples in an NPZ or MAT file; None: X."""
    drop: Collection[str] = ()
    """Named columns to leave out."""
    keep: Collection[str] = ()
    """Named columns to keep as they are, beside X: those that identify the rows."""
    may_lack: bool = False
    """Whether columns to keep may be missing: then none is kept."""
    na: Collection[str] = ()
    """Texts of a CSV file that stand for a missing value, beside the usual ones."""


@dataclass(frozen=True, eq=False)
class Table:
    """Samples as a file has them: X and, if they were asked for, labels y.

    X is a pandas DataFrame (CSV, Parquet), an array (NPZ, MAT), or sparse in CSR form.
    """

    X: Any
    y: np.ndarray | None
    target: str | None = None
    first_index: int | None = None
    n_columns: int | None = None
    """Number of columns of a CSV file without a header."""
    samples: str | None = None
    """Key of X in an NPZ or MAT file, if it was named."""
    dropped: tuple[str, ...] = ()
    """Columns of the file that were left out."""
    kept: Any = None
    """The columns that were to be kept, as a DataFrame."""
    na: tuple[str, ...] = ()
    """Texts of a CSV file that were read as missing values."""
    notes: tuple[str, ...] = ()
    """What looks odd in the file, a sentence each."""
