"""The native searches for the best pairs of neurons: exact, screened, hashed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

import cofire.engine._native as _native
from cofire.core.network import SparseNetwork
from cofire.engine.networks import native_network
from cofire.engine.rows import Rows

SCORES: tuple[str, ...] = _native.SCORES
TIES: tuple[str, ...] = _native.TIES


class Deck(Protocol):
    """Rows that are shuffled and fast to read (cofire.search.sample)."""

    @property
    def rows(self) -> Rows:
        """In tiles."""

    @property
    def sample_weight(self) -> np.ndarray | None:
        """One per row of `rows`."""

    @property
    def n_sure(self) -> int:
        """Rows at the beginning that belong to every sample."""

    def deal(self, rng: np.random.Generator) -> np.ndarray:
        """Return all rows in random order, tile by tile."""


@dataclass(frozen=True, kw_only=True)
class PairSearch:
    """Which pairs of neurons are searched for, and by which score.

    A pair is given by its flat index in the layer, output * n_in + input. Per layer the
    `n_wanted` pairs with the highest score outside `kept` (ascending, int64) are
    wanted. With the two neurons' activations a and b over the rows in `row_ids`
    (int64), sums weighted by `sample_weight` (float32, one per row of `rows`), the
    score is

    - "cosine": |a . b| / (|a| |b|), 0 if one never fires, to multiples of 2**-16;
    - "pearson": the same of a and b less their means, the correlation's magnitude;
    - "lowest_cosine": the cosine, lowest first;
    - "hebb": |a . b|, to 17 significant binary digits, as the rest;
    - "euclidean": 1 / (1 + |a - b|), where |a - b|^2 below 2**-20 of |a|^2 + |b|^2
      is taken for 0;
    - "gradient": |a . d| with d the gradient of the loss at the output neuron before
      its activation function, that is |gradient| of the weight; it needs `targets`.

    Correlations can be told from chance: per layer, pairs whose correlation does not
    exceed `gate` standard errors, 1 / sqrt(number of rows) each, are not found at all,
    so that there may be fewer than wanted; None: all count. And with a `sharpness`
    above 0 the pairs are drawn, without replacement, with probabilities in proportion
    to this power of the score, instead of the best.

    The activations of the last layer are those after its output function. Among equals
    a random number of (`seed`, layer, `epoch`, flat index) decides, or with `ties`
    "index" the lower input and then the lower output. The same pairs are found for any
    `n_threads`.
    """

    network: SparseNetwork
    rows: Rows
    row_ids: np.ndarray
    kept: list[np.ndarray]
    n_wanted: list[int]
    seed: int
    epoch: int
    score: str = "cosine"
    ties: str = "random"
    gate: list[float | None] | None = None
    sharpness: int = 0
    targets: np.ndarray | None = None
    sample_weight: np.ndarray | None = None
    n_threads: int = 1
    deck: Callable[[], Deck] | None = None
    """The same rows, for a search that looks at a sample of them."""

    @property
    def is_drawn(self) -> bool:
        """Whether it searches for anything but the best pairs."""
        return self.sharpness > 0 or any(z is not None for z in self.gate or [])

    def native(self) -> Any:
        """Return what all native searches take."""
        gate = self.gate or [None] * len(self.network.layers)
        return _native.SearchRequest(
            rows=self.rows.native,
            row_ids=self.row_ids,
            sample_weight=self.sample_weight,
            kept=self.kept,
            n_wanted=self.n_wanted,
            score=self.score,
            ties=self.ties,
            gate=[-1.0 if z is None else float(z) for z in gate],
            sharpness=self.sharpness,
            targets=self.targets,
            seed=self.seed,
            epoch=self.epoch,
        )


def best_pairs(search: PairSearch) -> tuple[list[np.ndarray], list[int], int]:
    """Find the best pairs, by all rows and among all pairs.

    Returns their flat indices per layer, ascending, fewer than wanted if too few
    pass the gate; the number of neurons that fire for some row, first among the inputs,
    then per layer; and the number of multiply-adds it took. It never holds more
    than a window of the pairs.
    """
    found = _native.best_pairs(
        network=native_network(search.network),
        request=search.native(),
        n_threads=search.n_threads,
    )
    return found.pairs, found.n_firing, found.multiply_adds


def screened_pairs(
    search: PairSearch,
    *,
    sample_ids: np.ndarray,
    row_weight: np.ndarray | None,
    factor: list[int],
    recall: float,
    n_sure: int = 0,
) -> tuple[list[np.ndarray], list[float], list[int], int]:
    """Find nearly the best pairs at a small fraction of the cost.

    A sketch of the rows in `sample_ids`, each of which counts as `row_weight` rows,
    ranks all pairs; per layer, `factor` times as many as are wanted (more if necessary)
    are ranked by the rows themselves: by the first `n_sure` in `search.row_ids`, and by
    as many of the others, which come in a random order, as an expected `recall` needs.
    Returns per layer the flat indices, the estimated recall, and the factor to begin
    with next time; and the number of multiply-adds it took.
    """
    found = _native.screened_pairs(
        network=native_network(search.network),
        request=search.native(),
        screening=_native.Screening(
            sample_ids=sample_ids,
            row_weight=row_weight,
            factor=factor,
            recall=recall,
            n_sure=n_sure,
        ),
        n_threads=search.n_threads,
    )
    return found.pairs, found.recall, found.factor, found.multiply_adds


def hashed_pairs(
    search: PairSearch, *, row_weight: np.ndarray | None, n_tables: int
) -> tuple[list[np.ndarray], int]:
    """Find good pairs among those whose neurons have a hash in common.

    Returns flat indices per layer, ascending, at most as many as wanted; and the number
    of multiply-adds it took. Time and memory grow with the numbers of neurons,
    connections and pairs wanted, not with that of all pairs.
    """
    found = _native.hashed_pairs(
        network=native_network(search.network),
        request=search.native(),
        row_weight=row_weight,
        n_tables=n_tables,
        n_threads=search.n_threads,
    )
    return found.pairs, found.multiply_adds
