"""Stream: rows that are read chunk by chunk, as often as training needs them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse

from cofire.core.machine import parse_bytes
from cofire.core.random import held_out
from cofire.data.stream.arrays import Arrays, csr_arrays, npy_arrays
from cofire.data.stream.arrow import ArrowStream, ParquetFiles, is_arrow
from cofire.data.stream.chunks import Chunk, Columns
from cofire.data.stream.iterables import Chunks
from cofire.data.stream.libsvm import LibsvmFile
from cofire.data.stream.source import Source

MOST_CHUNK = 2**20
"""Bytes of a chunk of an array, and of the parts in which larger chunks come."""
_LIBSVM = (".libsvm", ".svm", ".svmlight")


@dataclass(frozen=True)
class Part:
    """Which rows of each chunk a stream has: those of one side of a split."""

    fraction: float
    seed: int
    held: bool

    def mask(self, chunk: int, first: int, n_rows: int) -> np.ndarray:
        """Say of rows of a chunk, from its row `first` on, whether they belong."""
        rows = np.arange(first, first + n_rows)
        return held_out(self.seed, chunk, rows, self.fraction) == self.held


class Stream:
    """Rows for `fit` and `predict` that need not fit into memory (docs/stream.md).

    source: where the rows come from:

    - a Parquet file or a list of them (`pip install 'cofire[data]'`);
    - an NPY file, mapped; a folder with data.npy, indices.npy and indptr.npy, the parts
      of sparse rows in CSR format (beside them shape.npy and y.npy, if they exist);
    - a libsvm file;
    - an array, a `numpy.memmap` or a sparse CSR array, with `y`;
    - a table of Polars, DuckDB or Arrow: what has `__arrow_c_stream__`;
    - a list of chunks, or a function without arguments that returns an iterator of
      chunks. A chunk is (X, y), (X, y, weight), a DataFrame or an Arrow table.

    y, weight: targets and weights of the rows of an array; of tables, `weight` is the
    name of a column. target: the column or columns of a table to predict, by name; of
    an NPY file another NPY file, or the number of a column (the last one, if None).
    drop: columns of a table to leave out.
    memory_budget: how much memory a fit may need, in bytes or as text such as "1GB",
    beyond what the program needs when it has imported cofire.
    buffer_rows: rows that are shuffled together; None: as many as the budget allows.
    If the buffer holds all rows, `fit` does what it does with arrays, to the bit.
    sample_rows: rows drawn at random, by which columns are scaled and correlated
    neurons are found; None: at most 65,536, as the budget allows.
    prefetch: read the next rows in a thread while training; the result is the same.
    seed: of the order in which chunks are read, of the sample and of held-out rows.

    >>> import numpy as np
    >>> from cofire import SparseMLPClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 5))
    >>> stream = Stream(X, X[:, 0] > 0, buffer_rows=512)
    >>> model = SparseMLPClassifier(n_networks=1, random_state=0).fit(stream)
    >>> predicted = np.concatenate(list(model.predict(stream)))
    >>> bool((predicted == (X[:, 0] > 0)).mean() > 0.95)
    True
    """

    is_cofire_stream: ClassVar[bool] = True
    """How the estimators know one, without knowing this class."""

    def __init__(
        self,
        source: Any,
        y: Any = None,
        weight: Any = None,
        *,
        target: Any = None,
        drop: Sequence[str] = (),
        memory_budget: int | str = "1GB",
        buffer_rows: int | None = None,
        sample_rows: int | None = None,
        prefetch: bool = True,
        seed: int = 0,
    ) -> None:
        self.memory_budget = parse_bytes(memory_budget, "memory_budget")
        for name, value in (("buffer_rows", buffer_rows), ("sample_rows", sample_rows)):
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if value is not None and not (whole and value >= 1):
                raise ValueError(
                    f"{name}={value!r}: expected a number of rows >= 1, or None."
                )
        self.buffer_rows, self.sample_rows = buffer_rows, sample_rows
        self.prefetch, self.seed = bool(prefetch), int(seed)
        chunk_bytes = min(MOST_CHUNK, max(2**12, self.memory_budget // 64))
        self._source = _source(source, y, weight, target, tuple(drop), chunk_bytes)
        self._part: Part | None = None

    @property
    def n_chunks(self) -> int | None:
        """Number of chunks, where they can be read in any order; else None."""
        return self._source.n_chunks

    @property
    def reading_bytes(self) -> int:
        """Memory that reading takes, beside the chunks that it yields."""
        return self._source.reading_bytes

    def chunks(self, order: Sequence[int] | None = None) -> Iterator[tuple[int, Chunk]]:
        """Yield the rows, each part of a chunk with the number of the chunk.

        order: which chunks, and in which order; None: all, as they come.
        """
        before: tuple[int, int] = (-1, 0)
        for number, chunk in self._source.read(order):
            if self._part is not None:
                first = before[1] if before[0] == number else 0
                before = number, first + chunk.n_rows
                mask = self._part.mask(number, first, chunk.n_rows)
                chunk = chunk.rows(mask)
            if chunk.n_rows:
                yield number, chunk

    def split(self, fraction: float, seed: int | None = None) -> tuple[Self, Self]:
        """Return two streams: one without about this fraction of the rows, one of them.

        Runs of 32 consecutive rows stay together.
        """
        if self._part is not None:
            raise ValueError("this stream is a part of another: split that one.")
        if not 0 < fraction < 1:
            raise ValueError(f"fraction must lie in (0, 1), got {fraction!r}.")
        part = Part(float(fraction), self.seed if seed is None else int(seed), False)
        sides = []
        for held in (False, True):
            side = type(self).__new__(type(self))
            side.__dict__ = vars(self) | {"_part": replace(part, held=held)}
            sides.append(side)
        return sides[0], sides[1]


def _source(
    source: Any, y: Any, weight: Any, target: Any, drop: Any, chunk_bytes: int
) -> Source:
    if isinstance(source, str | PathLike):
        source = [source]
    paths = isinstance(source, list | tuple) and len(source) > 0
    if paths and all(isinstance(one, str | PathLike) for one in source):
        if y is not None:
            raise ValueError("y: rows of a file have their targets in it; use target=.")
        columns = Columns(target, weight, drop)
        return _of_files([Path(one) for one in source], columns, chunk_bytes)
    if hasattr(source, "iloc"):  # a DataFrame is a chunk
        source = [source]
    is_array = isinstance(source, np.ndarray) or scipy.sparse.issparse(source)
    if is_array:
        if target is not None:
            raise ValueError("target: the targets of an array are y.")
        if len(source.shape) != 2:
            raise ValueError(
                f"X: expected rows and columns, got an array of shape {source.shape}."
            )
        return Arrays(source, y, weight, chunk_bytes)
    if y is not None:
        raise ValueError("y: only an array has its targets beside it; use target=.")
    columns = Columns(target, weight, drop)
    if is_arrow(source):
        return ArrowStream(source, columns, chunk_bytes)
    if callable(source) or hasattr(source, "__iter__"):
        return Chunks(source, columns, chunk_bytes)
    raise TypeError(
        f"Stream: cannot read rows from a {type(source).__name__}. Pass a file, an "
        "array, a table, or a function that returns an iterator of chunks."
    )


def _of_files(paths: list[Path], columns: Columns, chunk_bytes: int) -> Source:
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(
                f"{path}: there is no such file. Check its name and folder (this is "
                f"{Path.cwd()})."
            )
    path, ending = paths[0], paths[0].suffix.lower()
    if ending == ".parquet":
        return ParquetFiles(paths, columns, chunk_bytes)
    if len(paths) > 1:
        raise ValueError(f"{path}: only Parquet files can be read as a list.")
    if columns.weight is not None or columns.drop:
        raise ValueError(f"weight, drop: {path} has no named columns. Leave them out.")
    if path.is_dir():
        return csr_arrays(path, columns.target, chunk_bytes)
    if ending == ".npy":
        return npy_arrays(path, columns.target, chunk_bytes)
    if ending in _LIBSVM:
        return LibsvmFile(path, chunk_bytes)
    raise ValueError(
        f"{path}: a file of this kind cannot be read as a stream. Known are .parquet, "
        f".npy, {', '.join(_LIBSVM)} and a folder with the parts of a CSR matrix; or "
        "write a function that returns an iterator of chunks."
    )
