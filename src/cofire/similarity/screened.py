"""Screened: all pairs by a sketch, the best of them by as many rows as it takes."""

from dataclasses import dataclass, replace

from cofire import engine
from cofire.randomness import stream
from cofire.similarity.base import Found, Rarity, Similarity, sample_rows

FEW_ROWS = 512  # a sketch of so few is no smaller than they are
FEW_PRODUCTS = 2**29  # pairs times rows: exact search needs no more time for so few
SAMPLE = 4096
FIRST_FACTOR = 4


@dataclass(frozen=True)
class Screened(Similarity):
    """Nearly the best places, for a small part of the price (docs/similarity.md).

    recall: of the places found, the share that shall be among the best.
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
            places, _ = engine.best_places(search)
            return Found(places, [1.0] * n_layers, [FIRST_FACTOR] * n_layers)
        sample_ids, row_share = sample_rows(search, rarity, SAMPLE)
        rng = stream(search.seed, "race", epoch=search.epoch)
        search = replace(search, row_ids=rng.permutation(search.row_ids))
        return Found(
            *engine.screened_places(
                search,
                sample_ids=sample_ids,
                row_share=row_share,
                factor=factor or [FIRST_FACTOR] * len(search.n_wanted),
                recall=self.recall,
            )
        )
