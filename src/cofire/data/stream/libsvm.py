"""Files in the format of libsvm as a source: a chunk is a range of bytes."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from cofire.data.stream.chunks import Chunk
from cofire.data.stream.source import Source


class LibsvmFile(Source):
    """Sparse rows, each behind its label; a line belongs to where it begins."""

    def __init__(self, path: Path, chunk_bytes: int) -> None:
        self._path = path
        self._bytes = max(2**12, chunk_bytes // 2)  # a number takes few characters
        self.n_chunks = max(1, -(-path.stat().st_size // self._bytes))

    def read(self, order: Sequence[int] | None) -> Iterator[tuple[int, Chunk]]:
        first, last = self._features
        for i in range(self.n_chunks or 0) if order is None else order:
            X, y = self._load(int(i), n_features=last + 1)
            if len(y):
                yield int(i), Chunk(scipy.sparse.csr_array(X)[:, first:], _whole(y))

    @cached_property
    def _features(self) -> tuple[int, int]:
        """The number of the first feature, 0 if it occurs, else 1; and of the last."""
        first, last = 1, 0
        for i in range(self.n_chunks or 0):
            X, _ = self._load(i)
            if X.nnz:
                first = min(first, int(X.indices.min()))
                last = max(last, int(X.indices.max()))
        if last < first:
            raise ValueError(f"{self._path} has no row with a feature.")
        return first, last

    def _load(self, i: int, n_features: int | None = None) -> tuple[Any, np.ndarray]:
        from sklearn.datasets import load_svmlight_file

        lines = self._lines(i)
        if not lines.strip():
            return scipy.sparse.csr_array((0, n_features or 1)), np.empty(0)
        try:
            return load_svmlight_file(
                BytesIO(lines), n_features=n_features, zero_based=True, dtype=np.float64
            )
        except (ValueError, IndexError) as error:
            raise ValueError(
                f"{self._path} is not in the format of libsvm: {error}. Expected lines "
                "such as 1 3:0.5 7:2, a label and numbered features."
            ) from error

    def _lines(self, i: int) -> bytes:
        start, end = i * self._bytes, (i + 1) * self._bytes
        with open(self._path, "rb") as file:
            if start > 0:
                file.seek(start - 1)
                file.readline()  # a line end alone, if a line begins here
            lines = file.read(max(0, end - file.tell()))
            return (
                lines if lines.endswith(b"\n") or not lines else lines + file.readline()
            )


def _whole(y: np.ndarray) -> np.ndarray:
    """Return labels as integers where a chunk has none but whole numbers.

    Chunks with fractions have float64: joined with others, all are.
    """
    whole = np.isfinite(y).all() and (y == np.rint(y)).all() and (abs(y) < 2**53).all()
    return y.astype(np.int64) if whole else y
