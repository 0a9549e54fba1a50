"""Tables with named columns, read by pandas: what CSV and Parquet files share."""

from pathlib import Path
from typing import Any

from cofire.data.tables.faults import TableFaults
from cofire.data.tables.labels import labels
from cofire.data.tables.table import Reading, Table
from cofire.errors import unknown_name


def from_frame(path: Path, frame: Any, reading: Reading) -> Table:
    """Separate the target from the other columns of a pandas DataFrame."""
    frame = frame.reset_index(drop=True)  # rows are named by their number
    names = list(frame.columns)
    refuse_duplicates(path, names)
    target = target_name(path, names, reading)
    kept = _kept(path, frame, reading)
    if target is None:
        return Table(frame, None, kept=kept)
    X = frame.drop(columns=target)
    if not reading.labelled:
        return Table(X, None, target, kept=kept)
    values = frame[target].to_numpy(dtype=object)
    try:
        y = labels(values, target, is_text=target in reading.text)
    except TableFaults as error:
        error.X = X.drop(columns=list(reading.drop), errors="ignore")
        raise
    return Table(X, y, target, kept=kept)


def _kept(path: Path, frame: Any, reading: Reading) -> Any:
    if reading.may_lack and not set(reading.keep) <= set(frame.columns):
        return None
    for name in reading.keep:
        if name not in frame.columns:
            raise unknown_name(f"column (`id`, in {path})", name, list(frame.columns))
    return frame[list(reading.keep)] if reading.keep else None


def refuse_duplicates(path: Path, names: list[str]) -> None:
    """Raise a ValueError if two columns have the same name."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"{path}: two columns have the name {twice!r}. Give them different names."
        )


def target_name(path: Path, names: list[str], reading: Reading) -> str | None:
    """Return the name of the target's column; None if it may be missing and is."""
    target = reading.target
    if target is None:
        return names[-1] if reading.labelled else None
    if target in names:
        return target
    is_number = target.lstrip("-").isdecimal() and not reading.by_name
    if is_number and -len(names) <= int(target) < len(names):
        return names[int(target)]
    if reading.labelled:
        raise unknown_name(f"column (`target`, in {path})", target, names)
    return None


def import_pandas(path: Path) -> Any:
    """Return the module pandas; an ImportError says how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise missing_package(path, "pandas") from error
    return pandas


def missing_package(path: Path, package: str) -> ImportError:
    """Word an error: which package a file needs, and how to install it."""
    return ImportError(
        f"{path}: reading {path.suffix} files needs {package}: pip install "
        "'cofire[data]'."
    )
