"""Arrow as a source: Parquet files, and whatever speaks Arrow's C stream protocol."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cofire.data.stream.chunks import Chunk, Columns
from cofire.data.stream.source import Source


def import_pyarrow(what: str) -> Any:
    """Import pyarrow, or say how to install it."""
    try:
        import pandas  # noqa: F401
        import pyarrow
    except ImportError as error:
        raise ImportError(
            f"{what}: reading it needs pandas and pyarrow: pip install 'cofire[data]'."
        ) from error
    return pyarrow


class ParquetFiles(Source):
    """Parquet files; a chunk is a row group, which is read part by part."""

    def __init__(
        self, paths: Sequence[Path], columns: Columns, chunk_bytes: int
    ) -> None:
        import_pyarrow(str(paths[0]))
        self._paths, self._columns, self._bytes = list(paths), columns, chunk_bytes
        self._groups: list[tuple[int, int]] = []
        schema = None
        for i, path in enumerate(self._paths):
            with self._open(path) as file:
                if schema is not None and file.schema_arrow != schema:
                    raise ValueError(
                        f"{path} has other columns than {self._paths[0]}: expected the "
                        f"same names and types.\n{file.schema_arrow}"
                    )
                schema = file.schema_arrow
                n_groups = file.metadata.num_row_groups
                self._groups += [(i, k) for k in range(n_groups)]
        columns.features(schema.names if schema is not None else [])
        self.n_chunks = len(self._groups)

    @staticmethod
    def _open(path: Path) -> Any:
        import pyarrow.parquet as parquet

        # Without a buffer, whole columns of a row group are read at once.
        return parquet.ParquetFile(path, buffer_size=2**16, pre_buffer=False)

    def read(self, order: Sequence[int] | None) -> Iterator[tuple[int, Chunk]]:
        opened: tuple[int, Any] | None = None
        columns = replace(self._columns, drop=())  # those are not read
        try:
            for number in range(len(self._groups)) if order is None else order:
                i, group = self._groups[number]
                if opened is None or opened[0] != i:
                    if opened is not None:
                        opened[1].close()
                    opened = i, self._open(self._paths[i])
                for batch in self._batches(opened[1], group):
                    yield int(number), chunk_of(batch, columns)
        finally:
            if opened is not None:
                opened[1].close()

    def _batches(self, file: Any, group: int) -> Iterator[Any]:
        own = file.metadata.row_group(group)
        each = max(1, own.total_byte_size // max(1, own.num_rows))
        n_columns = max(1, len(file.schema_arrow.names))
        size = max(64, self._bytes // max(each, 8 * n_columns))
        names = [n for n in file.schema_arrow.names if n not in self._columns.drop]
        yield from file.iter_batches(
            batch_size=int(size), row_groups=[group], columns=names, use_threads=False
        )


class ArrowStream(Source):
    """What has `__arrow_c_stream__`, again and again: Polars, DuckDB, Arrow tables."""

    def __init__(self, data: Any, columns: Columns, chunk_bytes: int) -> None:
        self._arrow = import_pyarrow(type(data).__name__)
        self._data, self._columns, self._bytes = data, columns, chunk_bytes
        if isinstance(data, self._arrow.RecordBatchReader):
            raise TypeError(
                "X: a RecordBatchReader can be read once, training reads its rows "
                "again and again. Pass a table, or a function that returns a new "
                "reader: Stream(lambda: ..., ...)."
            )

    def read(self, order: Sequence[int] | None) -> Iterator[tuple[int, Chunk]]:
        reader = self._arrow.RecordBatchReader.from_stream(self._data)
        for i, batch in enumerate(reader):
            for part in cut(batch, self._bytes):
                yield i, chunk_of(part, self._columns)


def cut(batch: Any, n_bytes: int) -> Iterator[Any]:
    """Cut a record batch into parts of about so many bytes; they share its memory."""
    n = batch.num_rows
    size = max(64, n_bytes * n // max(1, batch.get_total_buffer_size()))
    for start in range(0, n, size):
        yield batch.slice(start, size)


def is_arrow(value: Any) -> bool:
    """Whether it can be read through Arrow's C stream protocol."""
    return hasattr(value, "__arrow_c_stream__")


def chunk_of(batch: Any, columns: Columns) -> Chunk:
    """Cut a record batch into features, targets and weights."""
    X = frame_of(batch.select(columns.features(batch.schema.names)))
    y = None
    if columns.target is not None:
        found = [_labels(batch.column(name)) for name in columns.targets]
        y = found[0] if isinstance(columns.target, str) else np.stack(found, axis=1)
    weight = None
    if columns.weight is not None:
        weight = _numbers(batch.column(columns.weight))
    return Chunk(X, y, weight)


def frame_of(batch: Any) -> Any:
    """Turn a record batch into a DataFrame whose dtypes follow from the schema.

    Numbers are float64, or float32 or bytes where all of them are, so that a column
    has the same dtype in all batches, whether or not values are missing in one.
    """
    import pandas as pd
    import pyarrow as pa

    kinds = [field.type for field in batch.schema]
    names = list(batch.schema.names)
    if all(_is_number(kind) for kind in kinds):
        values = np.empty((batch.num_rows, len(kinds)), _common(kinds, batch))
        for j, column in enumerate(batch.columns):
            values[:, j] = _numbers(column)
        return pd.DataFrame(values, columns=names, copy=False)
    found = []
    for column in batch.columns:
        if _is_number(column.type):
            found.append(pd.Series(_numbers(column).astype(np.float64)))
        elif pa.types.is_dictionary(column.type):
            found.append(column.dictionary_decode().to_pandas())
        else:
            found.append(column.to_pandas())
    frame = pd.concat(found, axis=1)
    frame.columns = pd.Index(names, dtype=object)
    return frame


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    known = pa.types
    return (
        known.is_integer(kind)
        or known.is_floating(kind)
        or known.is_boolean(kind)
        or known.is_decimal(kind)
    )


def _common(kinds: Sequence[Any], batch: Any) -> Any:
    import pyarrow as pa

    if all(kind == pa.float32() for kind in kinds):
        return np.float32
    gaps = any(column.null_count for column in batch.columns)
    if all(kind == pa.uint8() for kind in kinds) and not gaps:
        return np.uint8
    return np.float64


def _numbers(column: Any) -> np.ndarray:
    import pyarrow as pa

    if pa.types.is_decimal(column.type) or column.null_count:
        return column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    return column.to_numpy(zero_copy_only=False)


def _labels(column: Any) -> np.ndarray:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype == object and column.null_count == 0:
        return values.astype(str)
    return values
