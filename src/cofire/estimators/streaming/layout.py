"""Layout: which rows of the passes over a stream make up a block."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cofire.core.random import stream as random_stream
from cofire.training.settings import Settings
from cofire.training.steps import Steps, Stretch


class Part(NamedTuple):
    """Rows of a block that some steps take: `order` from begin to end."""

    block: int
    begin: int
    end: int
    first_step: int


@dataclass(frozen=True)
class Layout:
    """How the rows, pass after pass, are cut into blocks of `size` rows.

    Rows have positions: row i of pass p has the position p * n_rows + i. Where an epoch
    is one pass, a block ends with the pass; else it may have rows of two passes. A
    block has whole batches, up to the end of a pass.
    """

    n_rows: int
    """Of a pass."""
    size: int
    """A multiple of the batch size."""
    by_pass: bool

    @property
    def per_pass(self) -> int:
        """Blocks of a pass, where blocks end with it."""
        return -(-self.n_rows // self.size)

    def block(self, number: int) -> tuple[int, int]:
        """Return the position of a block's first row, and how many rows it has."""
        if not self.by_pass:
            return number * self.size, self.size
        whole, own = divmod(number, self.per_pass)
        size = min(self.size, self.n_rows - own * self.size)
        return whole * self.n_rows + own * self.size, size

    def n_blocks(self, n_epochs: int, steps: Steps) -> int:
        """Return the number of blocks that these epochs take."""
        if self.by_pass:
            return n_epochs * self.per_pass
        return -(-n_epochs * steps.per_epoch * steps.batch_size // self.size)

    def parts(self, steps: Steps, stretch: Stretch) -> Iterator[Part]:
        """Cut the rows that the steps of a stretch take at the ends of blocks."""
        size, first, before = steps.batch_size, stretch.begin, 0
        begin, end = stretch.begin * size, stretch.end * size
        if self.by_pass:
            epoch = stretch.epoch
            first, before = stretch.begin - epoch * steps.per_epoch, epoch
            last = stretch.end - epoch * steps.per_epoch
            begin, end = first * size, min(last * size, self.n_rows)
        at = begin
        while at < end:
            own = at // self.size
            until = min(end, (own + 1) * self.size)
            number = own + before * self.per_pass if self.by_pass else own
            step = stretch.begin + (at - begin) // size
            yield Part(number, at - own * self.size, until - own * self.size, step)
            at = until

    def order(self, number: int, settings: Settings, seed: int) -> np.ndarray:
        """Return the order in which a network takes the rows of a block."""
        _, size = self.block(number)
        if not settings.shuffle:
            return np.arange(size)
        return random_stream(seed, "order", epoch=number).permutation(size)


@dataclass(frozen=True, eq=False)
class StreamSteps(Steps):
    """The steps over a stream; `row_ids` are those of its sample."""

    layout: Layout

    @property
    def n_rows(self) -> int:
        return self.layout.n_rows

    def batch(self, step: int) -> np.ndarray:
        """Return rows of the sample, as many as a step takes: for a search.

        They are those of the step where that is plain to see.
        """
        if len(self.row_ids) == self.n_rows and not self.settings.shuffle:
            return super().batch(step)
        size = min(self.batch_size, len(self.row_ids))
        rng = random_stream(self.seed, "rows", layer=1, epoch=step)
        return rng.choice(self.row_ids, size, replace=False)
