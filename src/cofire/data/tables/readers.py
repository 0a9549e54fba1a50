"""read_table: a user's file, by the reader of its format."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cofire.data.tables.csv import read_csv
from cofire.data.tables.libsvm import read_libsvm
from cofire.data.tables.mat import read_mat
from cofire.data.tables.npz import read_npz
from cofire.data.tables.parquet import read_parquet
from cofire.data.tables.table import Reading, Table
from cofire.errors import unknown_name

MOST_WORDS = 400
"""Characters of what a parser says of a file."""

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
"""How a file is read, by the ending of its name: a new format is a row here."""


def read_table(path: Path, reading: Reading | None = None) -> Table:
    """Read a file by the kind that its name says.

    The target of CSV and Parquet files is the last column unless another one is named,
    that of NPZ and MAT files the array `y` beside the array `X` unless other ones are
    named, that of libsvm files the label. Text labels stay text.
    """
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if suffix.lower() not in READERS:
        raise unknown_name("kind of file", suffix, READERS)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file.")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file.")
    with _naming(path):
        table = READERS[suffix.lower()](path, reading or Reading())
    if table.X.shape[0] == 0:
        raise ValueError(f"{path} has no rows.")
    if table.X.shape[1] == 0:
        raise ValueError(f"{path} has no column beside the target.")
    return table


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Say in one line which file it was; a parser may meet nonsense with any error."""
    try:
        yield
    except Exception as error:
        if isinstance(error, ImportError) or str(path) in str(error):
            raise
        words = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, UnicodeDecodeError):
            words = f"this is not text in UTF-8 ({words})."
        raise ValueError(f"{path}: {words[:MOST_WORDS]}") from error
