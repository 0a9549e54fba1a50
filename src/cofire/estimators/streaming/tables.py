"""Rows of any kind, taken and joined: arrays, sparse rows, DataFrames."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from cofire.estimators.frames import is_frame


def taken(X: Any, which: Any) -> Any:
    """Copy some rows; None stays None."""
    if X is None:
        return None
    return X.iloc[which] if is_frame(X) else X[which]


def joined(parts: Sequence[Any]) -> Any:
    """Put rows one below the other; parts that are None make None."""
    if len(parts) == 1 or parts[0] is None:
        return parts[0]
    if is_frame(parts[0]):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    if scipy.sparse.issparse(parts[0]):
        return scipy.sparse.csr_array(scipy.sparse.vstack(parts, format="csr"))
    return np.concatenate(parts)


def row_bytes(X: Any) -> float:
    """Bytes of a row."""
    n = max(1, X.shape[0])
    if is_frame(X):
        return float(X.memory_usage(index=False, deep=True).sum()) / n
    if scipy.sparse.issparse(X):
        return (X.data.nbytes + X.indices.nbytes) / n + 8
    return X.nbytes / n


class Recut:
    """Cuts rows that come in parts into blocks of one size, whatever the parts are."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._parts: list[tuple[Any, ...]] = []
        self._n = 0

    def add(self, *parts: Any) -> Iterator[tuple[Any, ...]]:
        """Take arrays of as many rows each; yield full blocks of them."""
        self._parts.append(parts)
        self._n += parts[0].shape[0]
        if self._n >= self.size:
            whole = self._joined()
            end = self._n - self._n % self.size
            for start in range(0, end, self.size):
                yield tuple(taken(v, slice(start, start + self.size)) for v in whole)
            self._parts = [tuple(taken(v, slice(end, None)) for v in whole)]
            self._n -= end

    def rest(self) -> Iterator[tuple[Any, ...]]:
        """Yield what is left, if anything is."""
        if self._n:
            yield self._joined()

    def _joined(self) -> tuple[Any, ...]:
        return tuple(joined(values) for values in zip(*self._parts, strict=True))
