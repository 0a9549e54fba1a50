"""Deck: the rows of a fit, shuffled once and copied into a form fast to read."""

from dataclasses import dataclass

import numpy as np

from cofire import engine
from cofire.core.random import stream
from cofire.engine import TILE

RARE = 64  # a feature that is non-zero in at most so many rows is rare
MOST_BYTES = 2**25  # of the copy, which makes a search 5 % faster


@dataclass(frozen=True, eq=False)
class Deck:
    """Rows in tiles of 64: first those with a rare feature, then the others, at random.

    A search that draws rows draws tiles. The copy needs half the memory of the rows.
    """

    rows: engine.Rows
    sample_weight: np.ndarray | None
    n_sure: int
    """Rows with a rare feature, in full tiles: they belong to every sample."""

    @staticmethod
    def is_worthwhile(rows: engine.Rows, n_rows: int) -> bool:
        """Whether the copy is small enough; only rows of floats are copied."""
        return rows.is_dense and 2 * n_rows * rows.native.n_features <= MOST_BYTES

    @classmethod
    def of(
        cls,
        rows: engine.Rows,
        row_ids: np.ndarray,
        rarity: np.ndarray,
        sample_weight: np.ndarray | None,
    ) -> "Deck":
        """Shuffle rows; which rows are in the same tile does not depend on the seed."""
        sure, others = rare_and_others(rarity)
        others = stream(0, "race").permutation(others)
        order = row_ids[np.concatenate([sure, others])]
        weight = None if sample_weight is None else sample_weight[order]
        return cls(rows.tiles(order), weight, len(sure))

    def deal(self, rng: np.random.Generator) -> np.ndarray:
        """Return all rows, tile by tile: the rare ones, then the others at random.

        A tile that is not full comes last.
        """
        n = len(self.rows)
        first, last = self.n_sure // TILE, n // TILE
        tiles = np.arange(last)
        rng.shuffle(tiles[first:])
        dealt = (tiles[:, None] * TILE + np.arange(TILE)).ravel()
        return np.concatenate([dealt, np.arange(last * TILE, n)])


def rare_and_others(rarity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split 0 ... n - 1 into rows with a rare feature, full tiles of them, and others.

    At most an eighth is rare; the next rarest fill the last tile.

    >>> rare, others = rare_and_others(np.array([9, 99, 99, 9] * 1250))
    >>> rare[:3], len(rare), len(others)
    (array([0, 3, 4]), 576, 4424)
    """
    n = len(rarity)
    n_rare = int(np.count_nonzero(rarity <= RARE))
    n_rare = min(-(-n_rare // TILE), n // 8 // TILE) * TILE
    if n_rare == 0:
        return np.empty(0, np.int64), np.arange(n)
    # Among equals take the first: a partial sort may differ between machines.
    limit = np.partition(rarity, n_rare - 1)[n_rare - 1]
    rare = rarity < limit
    n_more = n_rare - np.count_nonzero(rare)
    rare[np.flatnonzero(rarity == limit)[:n_more]] = True
    return np.flatnonzero(rare), np.flatnonzero(~rare)
