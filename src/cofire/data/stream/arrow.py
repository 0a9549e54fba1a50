"""Arrow as a source: Parquet files, and whatever speaks Arrow's C stream protocol."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cofire.core.machine import release_memory
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
    """Parquet files; a chunk is a row group, which comes in parts.

    A row group that is small enough is read at once. Of a larger one the columns are
    read page by page, which takes about two pages (of 1 MB, by default) per column.
    """

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
                for group in range(file.metadata.num_row_groups):
                    self._groups.append((i, group))
                    size = self._decoded(file.metadata.row_group(group), schema)
                    size = _POOL + int(1.5 * min(size, self._most(schema)))
                    self.reading_bytes = max(self.reading_bytes, size)
        columns.features(schema.names if schema is not None else [])
        self.n_chunks = len(self._groups)

    def _most(self, schema: Any) -> int:
        """Bytes of a row group that is read at once: no more than pages would take."""
        return max(8 * self._bytes, _PAGES * len(schema.names))

    def _decoded(self, group: Any, schema: Any) -> int:
        """Bytes of a row group in memory, about; that of text is what the file says."""
        names = self._columns.features(schema.names)
        kinds = [schema.field(name).type for name in names]
        numbers = [kind for kind in kinds if _is_number(kind)]
        whole = len(numbers) == len(kinds)
        each = np.dtype(_common(numbers)).itemsize if whole else 8
        n_bytes = group.num_rows * (each * len(numbers) + 16)
        if group.num_columns == len(schema.names):
            for name, kind in zip(names, kinds, strict=True):
                if not _is_number(kind):
                    own = group.column(schema.names.index(name))
                    n_bytes += 16 * group.num_rows + 3 * own.total_uncompressed_size
        return int(n_bytes)

    @staticmethod
    def _open(path: Path) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as parquet

        # Arrow's own pools keep what they had for each thread. A file takes its memory
        # from the pool that is the default when it is opened.
        before = pa.default_memory_pool()
        pa.set_memory_pool(pa.system_memory_pool())
        try:
            # Without a buffer, whole columns of a row group are read at once.
            return parquet.ParquetFile(path, buffer_size=2**16, pre_buffer=False)
        finally:
            pa.set_memory_pool(before)

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
                for chunk in self._parts(opened[1], group, columns):
                    yield int(number), chunk
        finally:
            if opened is not None:
                opened[1].close()

    def _parts(self, file: Any, group: int, columns: Columns) -> Iterator[Chunk]:
        schema, own = file.schema_arrow, file.metadata.row_group(group)
        names = [name for name in schema.names if name not in self._columns.drop]
        n_bytes = self._decoded(own, schema)
        size = max(64, self._bytes * own.num_rows // max(n_bytes, 1))
        if n_bytes <= self._most(schema):
            # One column after the other, since each needs its pages meanwhile.
            def column(name: str) -> Any:
                only = file.read_row_group(group, columns=[name], use_threads=False)
                return only.column(0).combine_chunks()

            kinds = {name: schema.field(name).type for name in names}
            chunk = chunk_of(kinds, column, own.num_rows, columns)
            for start in range(0, chunk.n_rows, size):
                part = chunk.rows(slice(start, start + size))
                # A copy: the next row group must not find this one in memory.
                yield part._replace(X=part.X.copy())
            del chunk, part
            release_memory()
        else:
            for batch in file.iter_batches(
                batch_size=size, row_groups=[group], columns=names, use_threads=False
            ):
                yield chunk_of_batch(batch, columns)


_POOL = 2**24
"""Bytes that Arrow's own pool of memory keeps, about."""
_PAGES = 2**21
"""Bytes that reading a column page by page takes, about."""


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
                yield i, chunk_of_batch(part, self._columns)


def cut(batch: Any, n_bytes: int) -> Iterator[Any]:
    """Cut a record batch into parts of about n_bytes each, which share its memory."""
    n = batch.num_rows
    size = max(64, n_bytes * n // max(1, batch.get_total_buffer_size()))
    for start in range(0, n, size):
        yield batch.slice(start, size)


def is_arrow(value: Any) -> bool:
    """Whether it can be read through Arrow's C stream protocol."""
    return hasattr(value, "__arrow_c_stream__")


def chunk_of_batch(batch: Any, columns: Columns) -> Chunk:
    """Cut a record batch into features, targets and weights."""
    kinds = {field.name: field.type for field in batch.schema}
    return chunk_of(kinds, batch.column, batch.num_rows, columns)


def chunk_of(
    kinds: dict[str, Any],
    column: Callable[[str], Any],
    n_rows: int,
    columns: Columns,
) -> Chunk:
    """Return features, targets and weights, given Arrow's types and arrays by name."""
    names = columns.features(list(kinds))
    X = _frame({name: kinds[name] for name in names}, column, n_rows)
    y = None
    if columns.target is not None:
        found = [_labels(column(name)) for name in columns.targets]
        y = found[0] if isinstance(columns.target, str) else np.stack(found, axis=1)
    weight = None
    if columns.weight is not None:
        weight = _numbers(column(columns.weight))
    return Chunk(X, y, weight)


def _frame(kinds: dict[str, Any], column: Callable[[str], Any], n_rows: int) -> Any:
    """Return columns as a DataFrame whose dtypes follow from their types.

    Numbers are float64, or float32 or bytes where all of them are, so that a column
    has the same dtype in all chunks, whether or not values are missing in one.
    """
    import pandas as pd
    import pyarrow as pa

    if all(_is_number(kind) for kind in kinds.values()):
        values = np.empty((n_rows, len(kinds)), _common(list(kinds.values())))
        for j, name in enumerate(kinds):
            values[:, j] = _numbers(column(name), values.dtype)
        return pd.DataFrame(values, columns=list(kinds), copy=False)
    found = []
    for name, kind in kinds.items():
        array = column(name)
        if _is_number(kind):
            found.append(pd.Series(_numbers(array).astype(np.float64)))
        elif pa.types.is_dictionary(kind):
            found.append(array.dictionary_decode().to_pandas())
        else:
            found.append(array.to_pandas())
    frame = pd.concat(found, axis=1)
    frame.columns = pd.Index(list(kinds), dtype=object)
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


def _common(kinds: Sequence[Any]) -> Any:
    import pyarrow as pa

    for arrow, numpy in ((pa.float32(), np.float32), (pa.uint8(), np.uint8)):
        if all(kind == arrow for kind in kinds):
            return numpy
    return np.float64


def _numbers(column: Any, kind: Any = np.float64) -> np.ndarray:
    import pyarrow as pa

    if kind == np.uint8 and column.null_count:
        raise ValueError(
            "X: a column of bytes (uint8) has missing values, which bytes cannot hold: "
            "fill them in, or store the columns as float32."
        )
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
