"""read_table: a user's file, read by the reader of its format."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from cofire.data.tables.csv import read_csv
from cofire.data.tables.faults import TableFaults
from cofire.data.tables.hints import hinted
from cofire.data.tables.libsvm import read_libsvm
from cofire.data.tables.mat import read_mat
from cofire.data.tables.npz import read_npz
from cofire.data.tables.parquet import read_parquet
from cofire.data.tables.table import Reading, Table
from cofire.errors import unknown_name

LONGEST_MESSAGE = 400
"""Characters that are kept of a parser's message."""

READERS: dict[str, Callable[[Path, Reading], Table]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
    ".npz": read_npz,
    ".mat": read_mat,
    ".libsvm": read_libsvm,
    ".svm": read_libsvm,
    ".svmlight": read_libsvm,
}
"""The reader of each ending of a file's name. A new format is a row here."""


def read_table(path: str | Path, reading: Reading | None = None) -> Table:
    """Read a file with the reader for the ending of its name.

    The target is the last column of a CSV or Parquet file, the array `y` of an NPZ or
    MAT file (the samples are `X`), unless `reading` names another one; it is the label
    of a libsvm file. Text labels stay text.
    """
    path, reading = Path(path), reading or Reading()
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if suffix.lower() not in READERS:
        raise unknown_name("kind of file", suffix, READERS)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file: name a file in it.")
    if not path.is_file():
        raise FileNotFoundError(
            f"{path}: there is no such file. Check its name and folder (this is "
            f"{Path.cwd()})."
        )
    with _naming(path):
        table = READERS[suffix.lower()](path, reading)
    with hinted(path, table.notes):
        if reading.keep and not reading.may_lack and not hasattr(table.X, "columns"):
            raise ValueError(f"`id`: {path} has no named columns. Leave it out.")
        table = _without(table, reading.drop, path)
    if table.X.shape[0] == 0:
        raise ValueError(f"{path} has no rows: expected at least one below the names.")
    if table.X.shape[1] == 0:
        raise ValueError(
            f"{path} has no column besides the target: expected at least one feature. "
            "Leave fewer columns out, or pass `separator`."
        )
    return table


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn whatever a parser raises into one line that names the file."""
    try:
        yield
    except Exception as error:
        if isinstance(error, TableFaults):
            error.path = path
        if isinstance(error, ImportError | TableFaults) or str(path) in str(error):
            raise
        words = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, UnicodeDecodeError):
            words = f"this is not text in UTF-8 ({words}). Save it as UTF-8."
        raise ValueError(f"{path}: {words[:LONGEST_MESSAGE]}") from error


def _without(table: Table, names: Collection[str], path: Path) -> Table:
    if not names:
        return table
    if not hasattr(table.X, "columns"):
        raise ValueError(f"`drop`: {path} has no named columns. Leave it out.")
    for name in names:
        if name not in table.X.columns:
            raise unknown_name("column (`drop`)", name, list(table.X.columns))
    return replace(table, X=table.X.drop(columns=list(names)), dropped=tuple(names))
