"""The arithmetic: check the arrays, then one native call. Knows no method."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

import cofire.engine._native as _native
from cofire.augmentation import Augmentation
from cofire.engine.rows import TILE, Rows
from cofire.errors import DivergenceError
from cofire.layer import SparseLayer
from cofire.network import SparseNetwork
from cofire.optimizers import SGD, LayerState, Optimizer

__all__ = [
    "SCORES",
    "TIES",
    "TILE",
    "Deck",
    "EpochStats",
    "PairSearch",
    "Rows",
    "available_cores",
    "best_places",
    "gradients",
    "hashed_places",
    "predict",
    "screened_places",
    "simd_level",
    "train_epoch",
]

simd_level = _native.simd_level

SCORES = ("cosine", "pearson", "lowest_cosine", "hebb", "euclidean", "gradient")
TIES = ("random", "index")


def available_cores() -> int:
    """Number of cores this process may use.

    >>> available_cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True)
class EpochStats:
    """What one epoch tells: the mean loss as the batches saw it, and who fired."""

    loss: float
    n_steps: int
    fired: list[int]
    """Per hidden layer, units that fired for some row and have a path to an output."""


def train_epoch(
    network: SparseNetwork,
    optimizer: Optimizer,
    rows: Rows,
    targets: np.ndarray,
    *,
    order: np.ndarray,
    batch_size: int,
    sample_weight: np.ndarray | None = None,
    drop_last: bool = False,
    augmentation: Augmentation | None = None,
    label_smoothing: float = 0.0,
    input_dropout: float = 0.0,
    seed: int = 0,
    epoch: int = 0,
    n_threads: int = 1,
) -> EpochStats:
    """Train the network in place on the rows in `order`, batch after batch.

    `targets` are int32 class numbers (n_rows,) for a softmax output, else float32
    (n_rows, n_out). With `augmentation` the rows, floats or bytes, are seen as it says,
    by random numbers of (`seed`, `epoch`, row); bytes are moved, then scaled by where
    they came to. Then each value is taken for 0 with the probability `input_dropout`,
    by random numbers of (`seed`, `epoch`, row, feature), and the others for
    1 / (1 - `input_dropout`) times as much. `label_smoothing` is the share of a class
    number that all classes get evenly; of a sigmoid's target, it is moved to 1/2.
    The same bits come out for any `n_threads`. A loss or weight that is not finite, or
    an output that the trained network has for one of the rows, raises
    `DivergenceError` and leaves network and optimiser as they were before the epoch.
    """
    native_optimizer = _native.Optimizer(
        kind=optimizer.kind, steps_done=optimizer.steps_done, **optimizer.settings()
    )
    try:
        loss, n_steps, diverged_layer, fired = _native.train_epoch(
            layers=_native_layers(network, optimizer.state),
            activation=network.activation,
            output=network.output,
            rows=rows.native,
            targets=targets,
            sample_weight=sample_weight,
            order=order,
            batch_size=batch_size,
            drop_last=drop_last,
            largest_input=rows.largest,
            augmentation=_native_augmentation(augmentation, seed, epoch),
            label_smoothing=label_smoothing,
            input_dropout=input_dropout,
            seed=seed,
            epoch=epoch,
            optimizer=native_optimizer,
            n_threads=n_threads,
        )
    finally:  # also when interrupted: the steps taken count
        optimizer.steps_done = native_optimizer.steps_done
    if diverged_layer >= 0:
        raise DivergenceError(layer=diverged_layer)
    return EpochStats(loss, n_steps, fired)


def predict(network: SparseNetwork, rows: Rows, *, n_threads: int = 1) -> np.ndarray:
    """Outputs for all rows: (n_rows, n_out) float32, probabilities for a classifier."""
    out = np.empty((len(rows), network.layers[-1].n_out), np.float32)
    _native.predict(
        layers=_native_layers(network),
        activation=network.activation,
        output=network.output,
        rows=rows.native,
        out=out,
        n_threads=n_threads,
    )
    return out


def gradients(
    network: SparseNetwork,
    rows: Rows,
    targets: np.ndarray,
    *,
    order: np.ndarray,
    batch_size: int,
    alpha: float = 0.0,
    sample_weight: np.ndarray | None = None,
    n_threads: int = 1,
) -> list[np.ndarray]:
    """Gradient of each existing connection's weight, summed over the batches.

    One float32 array per layer, aligned with its connections; the loss includes the L2
    term of `alpha`. The network stays as it is.
    """
    # With momentum 1 the velocity is the sum of the gradients; the steps have size 0.
    sums = SGD(learning_rate=0.0, alpha=alpha, momentum=1.0, nesterov=False)
    sums.start(network)
    train_epoch(
        network.copy(),
        sums,
        rows,
        targets,
        order=order,
        batch_size=batch_size,
        sample_weight=sample_weight,
        n_threads=n_threads,
    )
    return [state.weights[0] for state in sums.state]


class Deck(Protocol):
    """Rows that are shuffled and fast to read (cofire.similarity.deck)."""

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
            "layers": _native_layers(self.network),
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


def _native_augmentation(
    augmentation: Augmentation | None, seed: int, epoch: int
) -> Any:
    if augmentation is None:
        return None
    max_down, max_right = augmentation.pixels
    return _native.Augmentation(
        height=int(augmentation.height),
        width=int(augmentation.width),
        channels=int(augmentation.channels),
        max_down=max_down,
        max_right=max_right,
        flip=bool(augmentation.flip),
        seed=seed,
        epoch=epoch,
    )


def _native_layers(
    network: SparseNetwork, state: list[LayerState] | None = None
) -> list[tuple[Any, ...]]:
    def triple(values: np.ndarray, moments: list[np.ndarray]) -> tuple[Any, ...]:
        return (values, *moments, *[None] * (2 - len(moments)))

    def one(layer: SparseLayer, moments: LayerState) -> tuple[Any, ...]:
        weights = triple(layer.weights, moments.weights)
        bias = triple(layer.bias, moments.bias)
        return (layer.n_in, layer.indptr, layer.indices, weights, bias)

    states = state or [LayerState([], [])] * len(network.layers)
    return [one(*pair) for pair in zip(network.layers, states, strict=True)]
