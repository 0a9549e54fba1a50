"""Screened: rank all pairs by a sketch, and the best of them by the rows."""

from dataclasses import dataclass, replace

import numpy as np

from cofire import engine
from cofire.core.random import stream
from cofire.engine import TILE
from cofire.search.sample import rare_and_others
from cofire.search.strategy import Found, Rarity, Similarity, sample_rows

FEW_ROWS = 512  # a sketch of so few rows is not smaller than the rows
FEW_PRODUCTS = 2**29  # pairs times rows: for so few, exact search is as fast
SAMPLE, LARGE_SAMPLE = 2048, 4096  # rows drawn of more than MANY_ROWS, and of fewer
MANY_ROWS = 2**14
FIRST_FACTOR = 4


@dataclass(frozen=True)
class Screened(Similarity):
    """Nearly the best pairs, at a small fraction of the cost (docs/similarity.md).

    recall: the expected fraction of the pairs found that are among the best.
    """

    recall: float = 0.99

    def __post_init__(self) -> None:
        if not 0 < self.recall <= 1:
            raise ValueError(f"recall must lie in (0, 1], got {self.recall!r}")

    def find(
        self,
        search: engine.PairSearch,
        rarity: Rarity | None,
        factor: list[int] | None,
    ) -> Found:
        """Find pairs; by the exact search if that is as fast, or if pairs are drawn."""
        n_pairs = sum(layer.n_in * layer.n_out for layer in search.network.layers)
        n_rows = len(search.row_ids)
        few = n_rows <= FEW_ROWS or n_rows * n_pairs <= FEW_PRODUCTS
        if few or search.is_drawn:
            n_layers = len(search.n_wanted)
            indices, _, multiply_adds = engine.best_pairs(search)
            factor = [FIRST_FACTOR] * n_layers
            return Found(indices, [1.0] * n_layers, factor, multiply_adds)
        search, sample_ids, row_weight, n_sure = self._draw(search, rarity)
        return Found(
            *engine.screened_pairs(
                search,
                sample_ids=sample_ids,
                row_weight=row_weight,
                factor=factor or [FIRST_FACTOR] * len(search.n_wanted),
                recall=self.recall,
                n_sure=n_sure,
            )
        )

    def _draw(
        self, search: engine.PairSearch, rarity: Rarity | None
    ) -> tuple[engine.PairSearch, np.ndarray, np.ndarray | None, int]:
        """Shuffle the rows; draw those of the sketch, and the weight of each.

        Rows with a rare feature come first; the last value is their number.
        """
        n = len(search.row_ids)
        size = SAMPLE if n > MANY_ROWS else LARGE_SAMPLE
        rng = stream(search.seed, "race", epoch=search.epoch)
        if search.deck is None or self.recall == 1:
            sample_ids, row_weight = sample_rows(search, rarity, size)
            sure, others = np.empty(0, np.int64), np.arange(n)
            if rarity is not None and n > size:
                sure, others = rare_and_others(rarity())
            order = np.concatenate([sure, rng.permutation(others)])
            search = replace(search, row_ids=search.row_ids[order])
            return search, sample_ids, row_weight, len(sure)
        deck = search.deck()
        dealt = deck.deal(rng)
        search = replace(
            search, rows=deck.rows, row_ids=dealt, sample_weight=deck.sample_weight
        )
        if n <= size + deck.n_sure:
            return search, dealt, None, deck.n_sure
        # The last rows, since the ranking by rows begins with the first.
        end = n // TILE * TILE
        sample = np.concatenate([dealt[: deck.n_sure], dealt[end - size : end]])
        weight = np.full(len(sample), (n - deck.n_sure) / size, np.float32)
        weight[: deck.n_sure] = 1
        # Whole tiles are shuffled, so that each column of the sketch has both kinds.
        mixed = rng.permutation(len(sample) // TILE)
        sample, weight = (x.reshape(-1, TILE)[mixed].ravel() for x in (sample, weight))
        return search, sample, weight, deck.n_sure
