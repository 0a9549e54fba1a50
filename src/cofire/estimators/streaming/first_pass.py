"""The first pass over a stream: what a fit must know before it trains."""

import hashlib
import zlib
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from cofire.engine.floats import standard_floats
from cofire.estimators.encoder import Encoder
from cofire.estimators.frames import is_frame
from cofire.estimators.streaming.checker import Checker
from cofire.estimators.streaming.moments import (
    BLOCK_VALUES,
    ColumnMoments,
    SparseMoments,
)
from cofire.estimators.streaming.sample import Sample
from cofire.estimators.streaming.tables import Recut, row_bytes, taken
from cofire.estimators.streaming.targets import Labels, Numbers
from cofire.estimators.targets import Targets

MOST_SAMPLE = 2**16
"""Rows of the sample, if no number is asked for."""


@dataclass(eq=False)
class Facts:
    """What the first pass found."""

    checker: Checker
    n_rows: int
    lengths: list[int]
    """Rows of each chunk that exist."""
    marks: list[int]
    """A checksum of each chunk."""
    targets: Targets
    class_weight: np.ndarray | None
    """By the number of a class."""
    X: Any
    y: Any
    weight: np.ndarray | None
    """The sample; of `sample_weight` alone."""
    numbers: np.ndarray
    complete: bool
    """Whether the sample has all rows."""
    moments: Any
    """Of the columns of X; None: what the sample shows is all that is known."""
    raw_bytes: float
    """Of a row as it comes."""
    digest: bytes

    def weigh(
        self, encoded: np.ndarray, weight: np.ndarray | None
    ) -> np.ndarray | None:
        """Return the weights of rows, with those of their classes: float32."""
        if self.class_weight is not None:
            by_class = self.class_weight[encoded]
            weight = by_class if weight is None else by_class * weight
        return None if weight is None else weight.astype(np.float32)


def first_pass(
    estimator: Any, stream: Any, *, encoder: Encoder | None, continues: bool
) -> Facts:
    """Read all rows once: count, check and sample them; learn targets and moments.

    encoder: what an earlier fit learnt of the columns, if this one continues it.
    """
    with standard_floats():
        return _FirstPass(estimator, stream, encoder, continues).run()


class _FirstPass:
    def __init__(
        self, estimator: Any, stream: Any, encoder: Encoder | None, continues: bool
    ) -> None:
        self.stream, self.estimator, self.continues = stream, estimator, continues
        self.checker = Checker(copy(estimator), encoder, not continues)
        self.lengths: list[int] = []
        self.marks: list[int] = []
        self.hash = None
        if estimator.checkpoint is not None or estimator.callbacks:
            self.hash = hashlib.sha256()
        self.labels, self.numbers = Labels(), Numbers()
        self.first: Any = None
        self.sample: Sample | None = None
        self.moments: Any = None
        self.recut: Recut | None = None
        self.raw_bytes = 0.0
        learns = estimator.standardize and encoder is None
        by_class = getattr(estimator, "class_weight", None) is not None
        self.wants_moments = learns and not by_class

    def run(self) -> Facts:
        kind: type[Targets] = self.estimator._targets_kind
        for number, chunk in self.stream.chunks():
            self._note(number, chunk)
            X, y, weight = self.checker.check(number, chunk)
            if not kind.is_numeric:
                self.labels.add(y)
            X, y, weight = self.checker.existing(self._alike(X, number), y, weight)
            self.lengths[number] += X.shape[0]
            if X.shape[0] == 0:
                continue
            if kind.is_numeric:
                self.numbers.add(y, weight)
            self._sample(X, y, weight)
            self._take_in(X, weight)
        if self.sample is None:
            raise ValueError(
                "X: the stream has no rows"
                + (" of a weight above 0" if self.lengths else "")
                + ". Expected at least one chunk of rows."
            )
        return self._facts(kind)

    def _note(self, number: int, chunk: Any) -> None:
        while len(self.lengths) <= number:
            self.lengths.append(0)
            self.marks.append(0)
        self.marks[number] = mark(chunk, self.marks[number])
        if self.hash is not None:
            for values in every_value(chunk, 1):
                self.hash.update(values)

    def _alike(self, X: Any, number: int) -> Any:
        """Give rows the form of those of the first chunk, or refuse them."""
        if self.first is None:
            self.first, self.raw_bytes = taken(X, slice(0, 0)), row_bytes(X)
            return X
        first, where = self.first, f"X: chunk {number + 1} of the stream"
        if scipy.sparse.issparse(first) != scipy.sparse.issparse(X):
            kinds = (
                ("sparse", "dense") if scipy.sparse.issparse(X) else ("dense", "sparse")
            )
            raise TypeError(
                f"{where} has {kinds[0]} rows, the first one {kinds[1]} ones: expected "
                "the same."
            )
        if is_frame(first) and not is_frame(X):
            import pandas as pd

            return pd.DataFrame(X, columns=first.columns)
        if is_frame(X) and not is_frame(first):
            X = X.to_numpy(dtype=np.float64, na_value=np.nan)
        if not is_frame(X) and first.dtype == np.uint8 != X.dtype:
            raise TypeError(
                f"{where} holds {X.dtype}, the first one bytes (uint8): expected the "
                "same."
            )
        return X

    def _sample(self, X: Any, y: Any, weight: np.ndarray | None) -> None:
        if self.sample is None:
            size = self.stream.sample_rows
            if size is None:
                share = self.stream.memory_budget / 16
                size = int(min(MOST_SAMPLE, max(share / max(self.raw_bytes, 1.0), 64)))
            self.sample = Sample(size, self.stream.seed)
        self.sample.add(X, y, weight)

    def _take_in(self, X: Any, weight: np.ndarray | None) -> None:
        if not self.wants_moments:
            return
        block = X
        if scipy.sparse.issparse(X):
            self.moments = self.moments or SparseMoments()
        else:
            self.moments = self.moments or ColumnMoments(X)
            block = self.moments.block(X)
            if block is None:  # a column holds numbers in some chunks alone
                self.moments, self.wants_moments = None, False
                return
        if self.recut is None:
            n_columns = max(1, block.shape[1])
            if scipy.sparse.issparse(X):
                n_columns = max(1, X.nnz // max(1, X.shape[0]))
            self.recut = Recut(max(64, BLOCK_VALUES // n_columns))
        for part, own in self.recut.add(block, weight):
            self.moments.add(part, own)

    def _facts(self, kind: type[Targets]) -> Facts:
        assert self.sample is not None
        if self.recut is not None and self.moments is not None:
            for part, own in self.recut.rest():
                self.moments.add(part, own)
        X, y, weight, numbers = self.sample.rows()
        complete = self.sample.is_complete
        by_class = None
        if not kind.is_numeric:
            by_class = self.labels.weights(
                getattr(self.estimator, "class_weight", None)
            )
        if self.continues:
            targets = self.estimator._fitted.targets
        elif kind.is_numeric:
            targets = kind.learn(y, weight) if complete else self.numbers.targets()
        else:
            targets = self.labels.targets()
        digest = b"" if self.hash is None else self.hash.digest()
        return Facts(
            self.checker,
            self.sample.n_seen,
            self.lengths,
            self.marks,
            targets,
            by_class,
            X,
            y,
            weight,
            numbers,
            complete,
            self.moments,
            self.raw_bytes,
            digest,
        )


def mark(chunk: Any, before: int) -> int:
    """Return a checksum of the targets and of some rows, which continues another."""
    for values in every_value(chunk, 16):
        before = zlib.crc32(values, before)
    return before


def every_value(chunk: Any, step: int) -> Iterator[Any]:
    """Yield the bytes of all targets, and of every step-th row."""
    yield _bytes(chunk.y)
    X = chunk.X
    if is_frame(X):
        from pandas.util import hash_pandas_object

        yield _bytes(hash_pandas_object(X.iloc[::step], index=False).to_numpy())
    elif scipy.sparse.issparse(X):
        yield _bytes(X.data[::step])
        yield _bytes(X.indices[::step])
    else:
        yield _bytes(np.asarray(X)[::step])


def _bytes(values: Any) -> Any:
    if values is None:
        return b"none"
    if scipy.sparse.issparse(values):
        values = values.toarray()
    values = np.asarray(values)
    if values.dtype == object:
        return "\0".join(map(str, values.ravel().tolist())).encode()
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)
