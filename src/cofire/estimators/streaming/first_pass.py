"""The first pass over a stream: what a fit must know before it trains."""

import hashlib
import warnings
import zlib
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from cofire.engine.floats import standard_floats
from cofire.estimators.encoder import Encoder
from cofire.estimators.frames import is_frame
from cofire.estimators.inputs import naming
from cofire.estimators.raw import check_training
from cofire.estimators.streaming.moments import (
    BLOCK_VALUES,
    ColumnMoments,
    Moments,
    SparseMoments,
)
from cofire.estimators.streaming.sample import Sample
from cofire.estimators.streaming.tables import Recut, row_bytes, taken
from cofire.estimators.targets import ClassTargets, NumberTargets, Targets

MOST_SAMPLE = 2**16
"""Rows of the sample, if no number is asked for."""
MOST_CLASSES = 2**16


@dataclass(eq=False)
class Checker:
    """Checks chunks as `fit` checks X, y and sample_weight; errors name the chunk."""

    estimator: Any
    """A copy of the one being fitted: it learns the columns of X."""
    encoder: Encoder | None
    reset: bool
    """Whether the next chunk is the first, by which the columns are known."""
    weighted: bool | None = None
    """Whether rows have weights; None: no chunk came yet."""

    def check(self, number: int, chunk: Any) -> tuple[Any, Any, np.ndarray | None]:
        """Return X, y and weights."""
        kind: type[Targets] = self.estimator._targets_kind
        if chunk.y is None:
            raise ValueError(
                "y: the stream has no targets. Name them: Stream(..., target='NAME'), "
                "or Stream(X, y) for arrays."
            )
        weighted = chunk.weight is not None
        if self.weighted not in (None, weighted):
            raise ValueError(
                f"sample_weight: chunk {number + 1} of the stream has "
                f"{'weights' if weighted else 'none'}, others differ: give all chunks "
                "weights, or none."
            )
        self.weighted = weighted
        try:
            X, y, weight = check_training(
                self.estimator,
                chunk.X,
                chunk.y,
                chunk.weight,
                raw=self.estimator.standardize,
                encoder=self.encoder,
                reset=self.reset,
                numeric=kind.is_numeric,
            )
            y = kind.check(y)
        except (ValueError, TypeError) as error:
            if self.reset:
                raise
            wrong = TypeError if isinstance(error, TypeError) else ValueError
            raise wrong(f"chunk {number + 1} of the stream: {error}") from error
        self.reset = False
        return X, y, weight

    def existing(self, X: Any, y: Any, weight: np.ndarray | None) -> tuple[Any, ...]:
        """Return the rows that exist: of weight > 0."""
        exists = self._exists(y, weight)
        if exists is None:
            return X, y, weight
        return tuple(taken(values, exists) for values in (X, y, weight))

    def _exists(self, y: Any, weight: np.ndarray | None) -> np.ndarray | None:
        by_class = getattr(self.estimator, "class_weight", None)
        exists = None if weight is None else weight > 0
        if isinstance(by_class, dict) and np.ndim(y) == 1:
            absent = [label for label, value in by_class.items() if value == 0]
            if absent:
                others = ~np.isin(y, absent)
                exists = others if exists is None else exists & others
        return None if exists is None or exists.all() else np.flatnonzero(exists)


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


@dataclass(eq=False)
class _Labels:
    """The classes that came, and how often."""

    classes: Any = None
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0))
    n_columns: int = 0

    def add(self, y: Any) -> None:
        if scipy.sparse.issparse(y) or (np.ndim(y) == 2 and np.shape(y)[1] > 1):
            if self.n_columns not in (0, y.shape[1]):
                raise ValueError(
                    f"y: expected {self.n_columns} columns, got {y.shape[1]}."
                )
            self.n_columns = y.shape[1]
            return
        with naming("y"):
            with warnings.catch_warnings():
                # A small chunk may have as many classes as rows.
                warnings.simplefilter("ignore")
                check_classification_targets(y)
            labels, counts = np.unique(column_or_1d(y), return_counts=True)
            if self.classes is None:
                self.classes, self.counts = labels, counts
                return
            before, every = self.counts, np.concatenate([self.classes, labels])
            self.classes, place = np.unique(every, return_inverse=True)
        if len(self.classes) > MOST_CLASSES:
            raise ValueError(
                f"y has more than {MOST_CLASSES} classes: numbers to predict are for "
                "SparseMLPRegressor."
            )
        both = np.concatenate([before, counts])
        self.counts = np.bincount(place, both).astype(np.int64)

    def targets(self) -> ClassTargets:
        if self.n_columns:
            return ClassTargets.learn(np.repeat([[0], [1]], self.n_columns, 1), None)
        # Each of them several times, as scikit-learn expects of classes.
        return ClassTargets.learn(np.repeat(self.classes, 4), None)

    def weights(self, class_weight: Any) -> np.ndarray | None:
        """Return the weight of each class."""
        if class_weight is None:
            return None
        if self.n_columns:
            raise ValueError(
                "class_weight: not for several columns of y in a stream. Give the rows "
                "weights instead."
            )
        if class_weight == "balanced":
            return self.counts.sum() / (len(self.classes) * self.counts)
        weights = compute_class_weight(
            class_weight, classes=self.classes, y=self.classes
        )
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
            raise ValueError(
                "class_weight must be finite numbers >= 0, not all of them 0, got "
                f"{class_weight!r}."
            )
        return weights


class _Numbers:
    """Mean and deviation of targets that are numbers."""

    def __init__(self) -> None:
        self.moments, self.recut = Moments(), Recut(2**14)
        self.one_column = True

    def add(self, y: np.ndarray, weight: np.ndarray | None) -> None:
        columns = y.reshape(len(y), -1)
        self.one_column = columns.shape[1] == 1
        for block, own in self.recut.add(columns, weight):
            self.moments.add(block.copy(), own)

    def targets(self) -> NumberTargets:
        for block, own in self.recut.rest():
            self.moments.add(block.copy(), own)
        return NumberTargets.of_moments(
            self.moments.centre, self.moments.deviation, one_column=self.one_column
        )


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
        self.labels, self.numbers = _Labels(), _Numbers()
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
