"""Parquet files."""

from pathlib import Path

from cofire.data.tables.frame import from_frame, import_pandas, missing_package
from cofire.data.tables.table import Reading, Table


def read_parquet(path: Path, reading: Reading) -> Table:
    """Read a Parquet file with pandas and pyarrow."""
    try:
        frame = import_pandas(path).read_parquet(path)
    except ImportError as error:
        raise missing_package(path, "pyarrow") from error
    return from_frame(path, frame.rename(columns=str), reading)
