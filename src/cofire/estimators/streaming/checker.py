"""Checks the chunks of a stream as `fit` checks arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cofire.estimators.encoder import Encoder
from cofire.estimators.raw import check_training
from cofire.estimators.streaming.tables import taken
from cofire.estimators.targets import Targets


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
