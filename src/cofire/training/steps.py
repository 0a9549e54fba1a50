"""Steps: which rows each step takes, which steps an epoch has, when updates are due."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cofire.core.random import stream
from cofire.training.settings import Settings

_DRAWN = 4096  # rows that are shuffled at once where passes are short


@dataclass(frozen=True)
class Stretch:
    """Steps of one epoch with no update of the topology in between."""

    epoch: int
    begin: int
    """The number of its first step; the first step of a training has the number 0."""
    end: int
    progress: float
    """How much of the epoch is done before it: 0 for the first stretch."""
    update: int | None
    """The number of the update that is due before it, if one is."""


@dataclass(frozen=True, eq=False)
class Steps:
    """How the steps of a training walk through its rows.

    An epoch is one pass over the rows, whose last batch may be smaller or is left out.
    With `Settings.steps_per_epoch` an epoch has that many steps instead: they take full
    batches, and a batch may take the last rows of one pass and the first of the next.
    Everything follows from the number of a step, so that training resumes to the bit.
    """

    row_ids: np.ndarray
    settings: Settings
    seed: int

    @property
    def n_rows(self) -> int:
        """Rows of a pass."""
        return len(self.row_ids)

    @property
    def batch_size(self) -> int:
        """Rows of a full batch: no more than there are."""
        return min(self.settings.batch_size, self.n_rows)

    @property
    def per_epoch(self) -> int:
        """Steps of an epoch."""
        if self.settings.steps_per_epoch is not None:
            return self.settings.steps_per_epoch
        n, size = self.n_rows, self.batch_size
        return n // size if self.settings.drop_last else -(-n // size)

    def stretches(self, epoch: int) -> Iterator[Stretch]:
        """Cut an epoch where updates of the topology are due."""
        n, interval = self.per_epoch, self.settings.update_interval
        first, last = epoch * n, (epoch + 1) * n
        if interval is None:
            yield Stretch(epoch, first, last, 0.0, update=epoch)
            return
        due = -(-first // interval) * interval
        cuts = [first, *range(due + (due == first) * interval, last, interval), last]
        for begin, end in zip(cuts[:-1], cuts[1:], strict=True):
            number, rest = divmod(begin, interval)
            update = None if rest else number
            yield Stretch(epoch, begin, end, (begin - first) / n, update)

    def batch(self, step: int) -> np.ndarray:
        """Return the rows of one step."""
        return self.order(step, step + 1)

    def order(self, begin: int, end: int) -> np.ndarray:
        """Return the rows of the steps from `begin` to `end`, of one epoch."""
        size = self.batch_size
        if self.settings.steps_per_epoch is not None:
            return self._stream(begin * size, end * size)
        epoch, first = divmod(begin, self.per_epoch)
        order = self.pass_order(epoch)
        if first == 0 and end - begin == self.per_epoch:
            return order  # with the rows of a last batch that is left out
        return order[first * size : (end - epoch * self.per_epoch) * size]

    def pass_of(self, step: int) -> tuple[int, int]:
        """Return the number of the pass that a step begins in, and its row there."""
        if self.settings.steps_per_epoch is not None:
            return divmod(step * self.batch_size, self.n_rows)
        epoch, first = divmod(step, self.per_epoch)
        return epoch, first * self.batch_size

    def pass_order(self, number: int) -> np.ndarray:
        """Return all rows in the order of one pass, where an epoch is a pass."""
        if not self.settings.shuffle:
            return self.row_ids
        return stream(self.seed, "order", epoch=number).permutation(self.row_ids)

    # ---- short passes, one after the other -------------------------------------------

    @property
    def _passes_per_draw(self) -> int:
        return max(1, _DRAWN // len(self.row_ids))

    def _stream(self, begin: int, end: int) -> np.ndarray:
        size = self._passes_per_draw * len(self.row_ids)
        drawn = [self._draw(k) for k in range(begin // size, -(-end // size))]
        start = begin // size * size
        return np.concatenate(drawn)[begin - start : end - start]

    def _draw(self, number: int) -> np.ndarray:
        """Return some passes, one after the other; the last draw is remembered."""
        if number not in self._drawn:
            shape = (self._passes_per_draw, 1)
            passes = np.tile(self.row_ids, shape)
            if self.settings.shuffle:
                rng = stream(self.seed, "order", epoch=number)
                passes = rng.permuted(passes, axis=1)
            self._drawn.clear()
            self._drawn[number] = passes.ravel()
        return self._drawn[number]

    @cached_property
    def _drawn(self) -> dict[int, np.ndarray]:
        return {}
