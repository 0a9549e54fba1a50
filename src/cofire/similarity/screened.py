"""Screened: all pairs by a sketch, the best of them by as many rows as it takes."""

from dataclasses import dataclass, replace

import numpy as np

from cofire import engine
from cofire.randomness import stream
from cofire.similarity.base import Found, Rarity, Similarity, sample_rows

FEW_ROWS = 512  # a sketch of so few is no smaller than they are
FEW_PRODUCTS = 2**29  # pairs times rows: exact search needs no more time for so few
SAMPLE = 2048
RARE = 64  # rows that share a feature
FIRST_FACTOR = 4


@dataclass(frozen=True)
class Screened(Similarity):
    """Nearly the best places, for a small part of the price (docs/similarity.md).

    recall: of the places found, the share that is to be expected among the best.
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
        """Find places; exactly where that takes no longer."""
        n_pairs = sum(layer.n_in * layer.n_out for layer in search.network.layers)
        n_rows = len(search.row_ids)
        if n_rows <= FEW_ROWS or n_rows * n_pairs <= FEW_PRODUCTS:
            n_layers = len(search.n_wanted)
            places, _, multiply_adds = engine.best_places(search)
            factor = [FIRST_FACTOR] * n_layers
            return Found(places, [1.0] * n_layers, factor, multiply_adds)
        sample_ids, row_share = sample_rows(search, rarity, SAMPLE)
        rng = stream(search.seed, "race", epoch=search.epoch)
        sure, others = _rare_and_others(n_rows, rarity)
        order = np.concatenate([sure, rng.permutation(others)])
        search = replace(search, row_ids=search.row_ids[order])
        return Found(
            *engine.screened_places(
                search,
                sample_ids=sample_ids,
                row_share=row_share,
                factor=factor or [FIRST_FACTOR] * len(search.n_wanted),
                recall=self.recall,
                n_sure=len(sure),
            )
        )


def _rare_and_others(n: int, rarity: Rarity | None) -> tuple[np.ndarray, np.ndarray]:
    """Split 0 ... n - 1 into rows with a rare feature, at most an eighth, and others.

    >>> _rare_and_others(5000, lambda: np.array([9, 99, 99, 9] * 1250))[0][:3]
    array([0, 3, 4])
    """
    if rarity is None or n <= SAMPLE:
        return np.empty(0, np.int64), np.arange(n)
    found = rarity()
    rare = np.flatnonzero(found <= RARE)
    rare = np.sort(rare[np.argsort(found[rare], kind="stable")[: n // 8]])
    others = np.ones(n, dtype=bool)
    others[rare] = False
    return rare, np.flatnonzero(others)
