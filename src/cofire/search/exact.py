"""Exact: all pairs, by all rows."""

from dataclasses import dataclass

from cofire import engine
from cofire.search.strategy import Found, Rarity, Similarity


@dataclass(frozen=True)
class Exact(Similarity):
    """The very best pairs, at the cost of a product of all pairs over all rows."""

    def find(
        self,
        search: engine.PairSearch,
        rarity: Rarity | None,
        factor: list[int] | None,
    ) -> Found:
        """Find the best pairs."""
        indices, _, multiply_adds = engine.best_pairs(search)
        return Found(indices, multiply_adds=multiply_adds)
