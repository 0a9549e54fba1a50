"""Table: samples as a user's file has them. Reading: how the file is to be read."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Reading:
    """How a file is to be read, beyond what its name says."""

    target: str | None = None
    """Column of CSV and Parquet, by name or number; key of NPZ and MAT."""
    labelled: bool = True
    """Whether there must be a target; else it is left aside where there is one."""
    header: bool = True
    """Whether the first line of a CSV file holds the names of its columns."""
    separator: str | None = None
    """Between the values of a CSV file; None: a comma, in .tsv files a tab."""
    text: Collection[str] = field(default_factory=frozenset)
    """Columns whose values are words even where they look like numbers."""
    first_index: int | None = None
    """Number of the first feature of a libsvm file; None: 0 if that occurs, else 1."""
    n_columns: int | None = None
    """Columns that a CSV file without a header must have, its target among them; it may
    lack the target where that is not asked for. None: any number."""
    by_name: bool = False
    """Whether the target is a name even where it looks like a column's number."""
    decimal: str | None = None
    """Before the decimals of a CSV file; None: a point."""
    samples: str | None = None
    """Key of the samples in NPZ and MAT; None: X."""


@dataclass(frozen=True, eq=False)
class Table:
    """Samples as a file has them: X and, where they were asked for, labels y.

    X is a pandas DataFrame (CSV, Parquet), an array (NPZ, MAT), or sparse in CSR form.
    """

    X: Any
    y: np.ndarray | None
    target: str | None = None
    first_index: int | None = None
    n_columns: int | None = None
    """Of a CSV file without a header: these alone go by their number."""
    samples: str | None = None
    """Key of X in NPZ and MAT, if it was named."""
    dropped: tuple[str, ...] = ()
    """Columns that X had in the file, and that were left out."""
    notes: tuple[str, ...] = ()
    """What looks odd in the file."""
