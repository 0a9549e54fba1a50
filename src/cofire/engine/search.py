"""The native searches for the best pairs of neurons: exact, screened, hashed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

import cofire.engine._native as _native
from cofire.core.network import SparseNetwork
from cofire.engine.layers import native_layers
from cofire.engine.rows import Rows

SCORES = ("cosine", "pearson", "lowest_cosine", "hebb", "euclidean", "gradient")
TIES = ("random", "index")


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
        """All rows in random order, tile by tile."""


@dataclass(frozen=True, kw_only=True)
class PairSearch:
    """Which pairs of neurons are searched, and by what.

    Per layer the `n_wanted` places with the highest score outside `kept` (ascending
    int64 places). With the two neurons' activations a and b over the rows in `row_ids`
    (int64), sums weighted by `sample_weight` (float32, one per row of `rows`), the
    score is

    - "cosine": |a . b| / (|a| |b|), 0 where one never fires, to multiples of 2**-16;
    - "pearson": the same of a and b less their means, the correlation's magnitude;
    - "lowest_cosine": the cosine, lowest first;
    - "hebb": |a . b|, to 17 significant binary digits, as the rest;
    - "euclidean": 1 / (1 + |a - b|), where |a - b|^2 below 2**-20 of |a|^2 + |b|^2
      is taken for 0;
    - "gradient": |a . d| with d the gradient of the loss at the output neuron before
      its activation function, that is |gradient| of the weight; it needs `targets`.

    Correlations may be told from chance: per layer, places whose correlation does not
    exceed `gate` standard errors, 1 / sqrt(number of rows) each, are not found at all,
    so that there may be fewer than wanted; None: all count. And with a `sharpness`
    above 0 the places are drawn, without replacement, with chances in proportion to
    this power of the score, instead of the best.

    What follows the last layer is its output function. Among equals a random number of
    (`seed`, layer, `epoch`, place) decides, or with `ties` "index" the lower input and
    then the lower output. The same places are found for any `n_threads`.
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
    """The same rows, for a search that looks at some of them."""

    @property
    def is_drawn(self) -> bool:
        """Whether it looks for anything but the best places."""
        return self.sharpness > 0 or any(z is not None for z in self.gate or [])

    def arguments(self) -> tuple[list[np.ndarray], dict[str, Any]]:
        """Room for the places of each layer, and what all searches are told."""
        places = [np.empty(n, np.int64) for n in self.n_wanted]
        return places, {
            "layers": native_layers(self.network),
            "activation": self.network.activation,
            "output": self.network.output,
            "rows": self.rows.native,
            "row_ids": self.row_ids,
            "sample_weight": self.sample_weight,
            "kept": self.kept,
            "places": places,
            "score": self.score,
            "ties": self.ties,
            "gate": [-1.0 if z is None else float(z) for z in self._gates()],
            "sharpness": self.sharpness,
            "seed": self.seed,
            "epoch": self.epoch,
            "n_threads": self.n_threads,
        }

    def _gates(self) -> list[float | None]:
        return self.gate or [None] * len(self.network.layers)


def best_places(search: PairSearch) -> tuple[list[np.ndarray], list[int], int]:
    """Find the best places, by all rows and among all pairs.

    Returns them per layer, ascending, fewer than wanted where too few pass the gate;
    per level, inputs first, the number of neurons that fire for some row; and the
    number of multiply-adds it took. Never holds more than a window of the pairs.
    """
    places, told = search.arguments()
    n_found, n_firing, multiply_adds = _native.best_places(
        **told, targets=search.targets
    )
    return _filled(places, n_found), n_firing, multiply_adds


def screened_places(
    search: PairSearch,
    *,
    sample_ids: np.ndarray,
    row_share: np.ndarray | None,
    factor: list[int],
    recall: float,
    n_sure: int = 0,
) -> tuple[list[np.ndarray], list[float], list[int], int]:
    """Find nearly the best places for a small part of the price.

    A sketch of the rows in `sample_ids`, each of which stands for `row_share` rows,
    ranks all pairs; per layer, `factor` times as many as are wanted (more if need be)
    are ranked by the rows themselves, by the first `n_sure` in `search.row_ids` and
    by as many of the others, which come in a random order, as it takes for an expected
    `recall`. Returns per layer the places, the estimated recall, and the factor to
    begin with next time, and the number of multiply-adds it took.
    """
    places, told = search.arguments()
    estimated, factor, _, multiply_adds = _native.screened_places(
        **told,
        sample_ids=sample_ids,
        row_share=row_share,
        factor=factor,
        recall=recall,
        n_sure=n_sure,
    )
    return places, estimated, factor, multiply_adds


def hashed_places(
    search: PairSearch, *, row_share: np.ndarray | None, n_tables: int
) -> tuple[list[np.ndarray], int]:
    """Find good places among the pairs whose neurons have a hash in common.

    Per layer at most as many as wanted, ascending; and the number of multiply-adds it
    took. Time and memory follow the numbers of neurons, connections and places wanted,
    not that of pairs.
    """
    places, told = search.arguments()
    n_found, multiply_adds = _native.hashed_places(
        **told, row_share=row_share, n_tables=n_tables
    )
    return _filled(places, n_found), multiply_adds


def _filled(rooms: list[np.ndarray], n_found: list[int]) -> list[np.ndarray]:
    return [room[:n] for room, n in zip(rooms, n_found, strict=True)]
