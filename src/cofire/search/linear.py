"""Linear: pairs whose neurons have a hash in common, for layers of any width."""

from dataclasses import dataclass, replace

from cofire import engine
from cofire.core.random import stream
from cofire.search.strategy import Found, Rarity, Similarity, sample_rows
from cofire.topology.indices import merge
from cofire.topology.select import random_others

SAMPLE = 2048


@dataclass(frozen=True)
class Linear(Similarity):
    """Good pairs, at a cost that grows with neurons and connections, not with pairs.

    tables: how many times neurons are hashed; more tables find more of the best pairs.
    """

    tables: int = 8

    def __post_init__(self) -> None:
        if not isinstance(self.tables, int) or self.tables < 1:
            raise ValueError(f"tables must be a whole number >= 1, got {self.tables!r}")

    def find(
        self,
        search: engine.PairSearch,
        rarity: Rarity | None,
        factor: list[int] | None,
    ) -> Found:
        """Find pairs with equal hashes; if there are too few, add free ones at random.

        None are added in a layer with a gate: fewer than wanted are returned there.
        """
        sample_ids, row_weight = sample_rows(search, rarity, SAMPLE)
        indices, multiply_adds = engine.hashed_pairs(
            replace(search, row_ids=sample_ids),
            row_weight=row_weight,
            n_tables=self.tables,
        )
        layers = search.network.layers
        for i, (layer, kept, n) in enumerate(
            zip(layers, search.kept, search.n_wanted, strict=True)
        ):
            if search.gate is not None and search.gate[i] is not None:
                continue
            rng = stream(search.seed, "race", layer=i, epoch=search.epoch)
            taken, n_missing = merge(indices[i], kept), n - len(indices[i])
            new = random_others(taken, layer.n_in * layer.n_out, n_missing, rng)
            indices[i] = merge(indices[i], new)
        return Found(indices, multiply_adds=multiply_adds)
