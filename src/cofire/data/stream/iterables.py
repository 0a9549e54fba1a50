"""Chunks that a user's own program makes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import scipy.sparse

from cofire.data.stream.arrow import chunk_of_batch, cut, import_pyarrow, is_arrow
from cofire.data.stream.chunks import Chunk, Columns
from cofire.data.stream.source import Source


class Chunks(Source):
    """What can be iterated again and again, or a function that returns an iterator."""

    def __init__(
        self,
        chunks: Iterable[Any] | Callable[[], Iterable[Any]],
        columns: Columns,
        chunk_bytes: int,
    ) -> None:
        if iter_is_itself(chunks):
            raise TypeError(
                f"X: a {type(chunks).__name__} can be read once, training reads its "
                "rows again and again. Pass the function that makes it: "
                "Stream(make_chunks, ...), without calling it."
            )
        self._chunks, self._columns, self._bytes = chunks, columns, chunk_bytes

    def read(self, order: Sequence[int] | None) -> Iterator[tuple[int, Chunk]]:
        chunks = self._chunks() if callable(self._chunks) else self._chunks
        if is_arrow(chunks) and not hasattr(chunks, "iloc"):
            reader = import_pyarrow("chunks").RecordBatchReader
            chunks = reader.from_stream(chunks)
        for i, chunk in enumerate(chunks):
            for part in self._parts(chunk):
                yield i, part

    def _parts(self, chunk: Any) -> Iterator[Chunk]:
        if isinstance(chunk, tuple) and 2 <= len(chunk) <= 3:
            yield from _rows(Chunk(*chunk), self._bytes)
        elif hasattr(chunk, "iloc"):
            yield from _rows(self._columns.split(chunk), self._bytes)
        elif hasattr(chunk, "num_rows") and hasattr(chunk, "select"):
            for part in _batches(chunk):
                for own in cut(part, self._bytes):
                    yield chunk_of_batch(own, self._columns)
        elif is_arrow(chunk):
            reader = import_pyarrow("chunks").RecordBatchReader
            for part in reader.from_stream(chunk):
                for own in cut(part, self._bytes):
                    yield chunk_of_batch(own, self._columns)
        elif hasattr(chunk, "shape"):
            yield from _rows(Chunk(chunk), self._bytes)
        else:
            raise TypeError(
                "X: a chunk must be (X, y), (X, y, weight), a DataFrame or an Arrow "
                f"table, got {type(chunk).__name__}."
            )


def iter_is_itself(value: Any) -> bool:
    """Whether it is an iterator, which can be read once."""
    return not callable(value) and hasattr(value, "__next__")


def _rows(chunk: Chunk, n_bytes: int) -> Iterator[Chunk]:
    """Cut a large chunk, so that what is made of a part of it stays small."""
    size = max(64, n_bytes // max(1, 8 * _width(chunk.X)))
    if chunk.n_rows <= 2 * size:
        yield chunk
        return
    for start in range(0, chunk.n_rows, size):
        yield chunk.rows(slice(start, start + size))


def _width(X: Any) -> int:
    if scipy.sparse.issparse(X):
        return int(X.nnz / max(1, X.shape[0])) + 1
    return int(X.shape[1])


def _batches(table: Any) -> Iterable[Any]:
    return table.to_batches() if hasattr(table, "to_batches") else [table]
