"""Sample: rows of a stream drawn at random, whose number is not known before."""

from typing import Any

import numpy as np

from cofire.core.random import scattered
from cofire.estimators.streaming.tables import joined, taken


class Sample:
    """The rows with the smallest of random keys: each row is as likely as any other.

    A key follows from the seed and the number of a row, so that the sample does not
    depend on the chunks in which rows come. If no more rows come than it may hold, it
    has all of them.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seed, self.n_seen = size, seed, 0
        self._parts: list[tuple[Any, ...]] = []
        self._keys: list[np.ndarray] = []
        self._limit = np.uint64(2**64 - 1)

    @property
    def is_complete(self) -> bool:
        """Whether it has all rows that came."""
        return self.n_seen <= self.size

    def add(self, *parts: Any) -> None:
        """Offer rows: arrays, sparse rows or frames of as many rows each, or None."""
        n = parts[0].shape[0]
        numbers = np.arange(self.n_seen, self.n_seen + n)
        keys = scattered(self.seed, numbers)
        wanted = np.flatnonzero(keys <= self._limit)
        self.n_seen += n
        if len(wanted):
            self._parts.append(tuple(taken(v, wanted) for v in (*parts, numbers)))
            self._keys.append(keys[wanted])
        if sum(map(len, self._keys)) > 2 * self.size:
            self._prune()

    def _prune(self) -> None:
        keys = np.concatenate(self._keys)
        kept = np.arange(len(keys))
        if len(keys) > self.size:
            kept = np.sort(np.argpartition(keys, self.size - 1)[: self.size])
            self._limit = keys[kept].max()
        whole = [joined(values) for values in zip(*self._parts, strict=True)]
        self._parts = [tuple(taken(v, kept) for v in whole)]
        self._keys = [keys[kept]]

    def rows(self) -> tuple[Any, ...]:
        """Return what was offered, for the rows of the sample in their order.

        The last value is their numbers.
        """
        self._prune()
        return self._parts[0]
