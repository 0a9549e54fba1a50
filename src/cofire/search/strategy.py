"""What every search for good pairs has in common, and how rows are sampled."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cofire.core.random import stream
from cofire.engine import PairSearch

ENOUGH_FIRINGS = 8  # rows of a sample in which each feature should be non-zero


Rarity = Callable[[], np.ndarray]
"""For each row of the search, how many of them have its rarest feature."""


class Found(NamedTuple):
    """Per layer: flat indices, ascending; and how good they are, if not exact.

    recall: the estimated fraction of the indices that are among the best. factor: how
    many candidates per wanted index the next search should begin with. multiply_adds:
    the number of them in all layers, for activations, norms and products.
    """

    indices: list[np.ndarray]
    recall: list[float] | None = None
    factor: list[int] | None = None
    multiply_adds: int = 0


@dataclass(frozen=True)
class Similarity(ABC):
    """A way to search; frozen, so that it prints, compares and can be stored."""

    @abstractmethod
    def find(
        self, search: PairSearch, rarity: Rarity | None, factor: list[int] | None
    ) -> Found:
        """Find pairs; `factor` is that of the search before, if there was one."""


def sample_rows(
    search: PairSearch, rarity: Rarity | None, size: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """Draw about `size` rows: their numbers in random order, and the weight of each.

    Rows with a rare feature are more likely, so that neurons connected to it fire in
    the sample. If there are at most `size` rows, all are drawn and the weight is None.
    """
    rng = stream(search.seed, "rows", epoch=search.epoch)
    n = len(search.row_ids)
    if n <= size:
        return rng.permutation(search.row_ids), None
    likely = np.full(n, size / n)
    if rarity is not None:
        likely = np.maximum(likely, np.minimum(ENOUGH_FIRINGS / rarity(), 1.0))
    chosen = rng.permutation(np.flatnonzero(rng.random(n) < likely))
    return search.row_ids[chosen], (1 / likely[chosen]).astype(np.float32)
