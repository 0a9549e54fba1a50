"""train(): the loop of epochs. rewire_network(): drop, search, grow, rewire, follow."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cofire import engine
from cofire.errors import DivergenceError
from cofire.layer import SparseLayer
from cofire.methods import Method, UpdateContext
from cofire.network import SparseNetwork
from cofire.optimizers import Optimizer
from cofire.randomness import stream
from cofire.schedules import learning_rate
from cofire.topology.places import without
from cofire.topology.rewire import rewire

Record = dict[str, Any]
"""What one epoch left behind; `history_` is a list of these."""


@dataclass(frozen=True)
class TrainingData:
    """The rows to learn from: a target and a weight each, `row_ids` those in use."""

    rows: engine.Rows
    targets: np.ndarray
    sample_weight: np.ndarray | None
    row_ids: np.ndarray
    validate: Callable[[SparseNetwork], tuple[float, float]] | None = None
    """Score and loss of a network on the validation data, where there are any."""


@dataclass(frozen=True)
class Settings:
    """What stays the same from the first epoch to the last."""

    method: Method
    drop_fraction: float
    batch_size: int
    drop_last: bool
    shuffle: bool
    learning_rate: str
    learning_rate_init: float
    max_epochs: int
    restore_best: bool
    n_threads: int


@dataclass
class Progress:
    """All that training carries from epoch to epoch: with it, it resumes to the bit."""

    network: SparseNetwork
    optimizer: Optimizer
    seed: int
    epoch: int = 0
    history: list[Record] = field(default_factory=list)
    best_score: float | None = None
    best_network: SparseNetwork | None = None
    stalled_epochs: int = 0
    longest_stall: int = 0
    first_epoch: int = 0
    """Where the present fit began: a warm start counts its schedule from there."""

    def begin_fit(self) -> None:
        """Forget what was best: another fit may have other validation data."""
        self.first_epoch = self.epoch
        self.best_score = self.best_network = None
        self.stalled_epochs = self.longest_stall = 0


def train(
    progress: Progress,
    data: TrainingData,
    settings: Settings,
    callbacks: Iterable[Any] = (),
    *,
    n_epochs: int,
) -> None:
    """Run up to `n_epochs` epochs; any callback may end it after an epoch.

    A rewiring opens an epoch, so a finished training is never freshly disturbed.
    """
    for epoch in range(progress.epoch, progress.epoch + n_epochs):
        record: Record = {"epoch": epoch}
        start = time.perf_counter()
        if epoch > 0 and settings.method.rewires(epoch):
            record |= rewire_network(progress, data, settings)
        rewired = time.perf_counter()
        record |= _train_epoch(progress, data, settings)
        trained = time.perf_counter()
        record |= _evaluate(progress, data, settings)
        record |= {
            "rewire_seconds": rewired - start,
            "train_seconds": trained - rewired,
            "evaluate_seconds": time.perf_counter() - trained,
        }
        progress.history.append(record)
        progress.epoch = epoch + 1
        # All are told, then any may stop.
        if any([callback.on_epoch_end(progress, record) for callback in callbacks]):
            break


def _train_epoch(progress: Progress, data: TrainingData, settings: Settings) -> Record:
    epoch, order = progress.epoch, data.row_ids
    if settings.shuffle:
        order = stream(progress.seed, "order", epoch=epoch).permutation(order)
    progress.optimizer.learning_rate = learning_rate(
        settings.learning_rate,
        settings.learning_rate_init,
        epoch - progress.first_epoch,
        settings.max_epochs,
        [record["loss"] for record in progress.history[progress.first_epoch :]],
    )
    try:
        stats = engine.train_epoch(
            progress.network,
            progress.optimizer,
            data.rows,
            data.targets,
            order=order,
            batch_size=settings.batch_size,
            sample_weight=data.sample_weight,
            drop_last=settings.drop_last,
            n_threads=settings.n_threads,
        )
    except DivergenceError as error:
        raise DivergenceError(layer=error.layer, epoch=epoch) from None
    return {
        "loss": stats.loss,
        "learning_rate": progress.optimizer.learning_rate,
        "alive": stats.fired,
    }


def _evaluate(progress: Progress, data: TrainingData, settings: Settings) -> Record:
    if data.validate is None:
        return {"validation_score": None, "validation_loss": None}
    score, loss = data.validate(progress.network)
    if progress.best_score is None or score > progress.best_score:
        progress.best_score, progress.stalled_epochs = score, 0
        if settings.restore_best:
            progress.best_network = progress.network.copy()
    else:
        progress.stalled_epochs += 1
        progress.longest_stall = max(progress.longest_stall, progress.stalled_epochs)
    return {
        "validation_score": score,
        "validation_loss": loss,
        "stalled_epochs": progress.stalled_epochs,
    }


def rewire_network(
    progress: Progress, data: TrainingData, settings: Settings
) -> Record:
    """Drop, search, grow and rewire every layer; tell what was replaced.

    The similarities are those of the network before the drop, found for all layers in
    one search. Each layer keeps its number of connections.
    """
    network, method = progress.network, settings.method
    layers = network.layers
    budget = [_n_replaced(layer, settings.drop_fraction) for layer in layers]
    contexts = [
        UpdateContext(
            seed=progress.seed,
            epoch=progress.epoch,
            max_epochs=settings.max_epochs,
            layer_index=i,
            longest_stall=progress.longest_stall,
        )
        for i in range(len(layers))
    ]
    dropped = [
        method.drop(layer, n, context)
        for layer, n, context in zip(layers, budget, contexts, strict=True)
    ]
    if "activations" in method.needs:
        similar = _most_similar(progress, data, settings, dropped, budget)
        contexts = [
            replace(context, similar=places)
            for context, places in zip(contexts, similar, strict=True)
        ]
    rewired, n_random = [], []
    for layer, gone, n, context in zip(layers, dropped, budget, contexts, strict=True):
        grown = method.grow(layer, gone, n, context)
        new = method.new_weights(layer, n, context.rng("new_values"))
        rewired.append(
            rewire(layer, gone, grown.places, new, returning=method.returning)
        )
        n_random.append(grown.n_random)
    # At last and together, so that an error or an interrupt above changes nothing.
    for i, (layer, origin) in enumerate(rewired):
        layers[i] = layer
        progress.optimizer.follow(i, origin)
    return {
        "replaced": budget,
        "random_share": [
            r / n if n else 0.0 for r, n in zip(n_random, budget, strict=True)
        ],
    }


def _n_replaced(layer: SparseLayer, drop_fraction: float) -> int:
    """A share of the connections, but no more than there are free places to go to."""
    free = layer.n_in * layer.n_out - layer.nnz
    return min(int(drop_fraction * layer.nnz), free)


def _most_similar(
    progress: Progress,
    data: TrainingData,
    settings: Settings,
    dropped: list[np.ndarray],
    budget: list[int],
) -> list[np.ndarray]:
    layers = progress.network.layers
    places, _ = engine.most_similar(
        progress.network,
        data.rows,
        row_ids=data.row_ids,
        sample_weight=data.sample_weight,
        kept=[without(a.keys, b) for a, b in zip(layers, dropped, strict=True)],
        n_wanted=budget,
        seed=progress.seed,
        epoch=progress.epoch,
        n_threads=settings.n_threads,
    )
    return places
