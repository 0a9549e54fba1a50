"""Arrays as sources: in memory, or mapped from a file."""

import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from cofire.data.stream.chunks import Chunk
from cofire.data.stream.source import Source

_CSR_PARTS = ("data", "indices", "indptr")


class Arrays(Source):
    """X, y and weights as arrays; X may be a SciPy sparse array in CSR format.

    What is mapped from a file is given back to the operating system after each chunk,
    so that it does not count as memory of this process.
    """

    def __init__(self, X: Any, y: Any, weight: Any, chunk_bytes: int) -> None:
        n = X.shape[0]
        for name, values in (("y", y), ("weight", weight)):
            if values is not None and len(values) != n:
                raise ValueError(
                    f"{name} has {len(values)} rows, X has {n}: expected as many."
                )
        if scipy.sparse.issparse(X) and X.format != "csr":
            raise TypeError(
                f"X is sparse in {X.format} format: expected CSR; pass X.tocsr()."
            )
        self.X, self.y, self.weight = X, y, weight
        self._rows = max(64, chunk_bytes // max(1, _row_bytes(X)))
        self.n_chunks = -(-n // self._rows)
        self._mapped = [m for a in _parts(X, y, weight) if (m := _map_of(a))]

    def read(self, order: Sequence[int] | None) -> Iterator[tuple[int, Chunk]]:
        for i in range(self.n_chunks or 0) if order is None else order:
            part = slice(i * self._rows, (i + 1) * self._rows)
            X = self.X[part]
            X = X.copy() if scipy.sparse.issparse(X) else np.array(X)
            y, weight = (
                None if v is None else np.array(v[part]) for v in (self.y, self.weight)
            )
            for mapped in self._mapped:
                mapped.madvise(mmap.MADV_DONTNEED)
            yield int(i), Chunk(X, y, weight)


def npy_arrays(path: Path, target: Any, chunk_bytes: int) -> Arrays:
    """Map an NPY file of rows; target: another file, or a column, the last if None."""
    X, y = _mapped_array(path), None
    if X.ndim != 2:
        raise ValueError(f"{path}: expected rows and columns, got shape {X.shape}.")
    if isinstance(target, str) and target.lstrip("-").isdigit():
        target = int(target)
    if isinstance(target, str | Path):
        return Arrays(X, _mapped_array(Path(target)), None, chunk_bytes)
    column = X.shape[1] - 1 if target is None else int(target)
    if not -X.shape[1] <= column < X.shape[1]:
        raise ValueError(f"target={target!r}: {path} has {X.shape[1]} columns.")
    column %= X.shape[1]
    if target is not None or X.shape[1] > 1:
        y = X[:, column]
    source = Arrays(X, y, None, chunk_bytes)
    return _WithoutColumn(source, column)


def csr_arrays(folder: Path, target: Any, chunk_bytes: int) -> Arrays:
    """Map sparse rows: data.npy, indices.npy, indptr.npy; shape.npy, y.npy if any."""
    missing = [n for n in _CSR_PARTS if not (folder / f"{n}.npy").is_file()]
    if missing:
        raise FileNotFoundError(
            f"{folder}: expected the parts of a CSR matrix, {missing[0]}.npy is "
            "missing. np.save writes X.data, X.indices and X.indptr; or name a file."
        )
    parts = [_mapped_array(folder / f"{n}.npy") for n in _CSR_PARTS]
    shape = None
    if (folder / "shape.npy").is_file():
        shape = tuple(int(n) for n in np.load(folder / "shape.npy"))
    X = scipy.sparse.csr_array(tuple(parts), shape=shape, copy=False)
    path = Path(target) if target is not None else folder / "y.npy"
    y = _mapped_array(path) if path.is_file() or target is not None else None
    source = Arrays(X, y, None, chunk_bytes)
    source._mapped = [m for a in parts if (m := _map_of(a))]
    return source


class _WithoutColumn(Arrays):
    """The same without a column of X, which is the target."""

    def __init__(self, source: Arrays, column: int) -> None:
        self.__dict__ = vars(source)
        self._column = column

    def read(self, order: Sequence[int] | None) -> Iterator[tuple[int, Chunk]]:
        for i, chunk in super().read(order):
            yield i, chunk._replace(X=np.delete(chunk.X, self._column, axis=1))


def _mapped_array(path: Path) -> np.ndarray:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{path} is not an NPY file of numbers: {error}.") from error


def _row_bytes(X: Any) -> int:
    if scipy.sparse.issparse(X):
        return int(X.nnz / max(1, X.shape[0]) * (X.dtype.itemsize + 4)) + 8
    return X.shape[1] * X.dtype.itemsize


def _parts(X: Any, y: Any, weight: Any) -> list[Any]:
    of_X = [X.data, X.indices, X.indptr] if scipy.sparse.issparse(X) else [X]
    return [*of_X, y, weight]


def _map_of(array: Any) -> Any:
    """Return the map of a file that an array views, if it does."""
    while array is not None:
        if isinstance(array, mmap.mmap):
            return array if hasattr(array, "madvise") else None
        array = getattr(array, "base", None)
    return None
