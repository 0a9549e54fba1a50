"""What every search for good indices is, and how rows are sampled for it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cofire.core.random import stream
from cofire.engine import PairSearch

ENOUGH_FIRINGS = 8  # rows of a sample in which each feature should not be 0


Rarity = Callable[[], np.ndarray]
"""For each row that is searched, how many of them share its rarest feature."""


class Found(NamedTuple):
    """Per layer: indices, ascending; and where they are not exact, what is known of it.

    recall: the estimated share of the indices that are among the best. factor: how many
    candidates per place wanted the next search should begin with. multiply_adds: those
    that it took, of activations, norms and products, all layers together.
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
        """Find indices; `factor` is what the search before gave."""


def sample_rows(
    search: PairSearch, rarity: Rarity | None, size: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """Draw about `size` rows: their numbers in random order, and what each stands for.

    Rows with a rare feature are more likely, so that neurons which listen to it are
    seen firing; all rows, each for itself, where there are no more than `size`.
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
