"""train(): the loop of epochs."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from cofire import engine
from cofire.errors import DivergenceError
from cofire.training.progress import Progress, Record, Settings, TrainingData
from cofire.training.rewiring import no_rewiring, rewire_network
from cofire.training.schedules import learning_rate


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
        go_back = _way_back(progress)
        if settings.method.rewires(epoch):
            rewiring = rewire_network(progress, data, settings)
            record |= rewiring.record()
            for callback in callbacks:
                callback.on_rewired(progress, rewiring, record)
        else:
            record |= no_rewiring(progress, settings)
        rewired = time.perf_counter()
        try:
            record |= _train_epoch(progress, data, settings)
        except DivergenceError:
            go_back()
            raise
        trained = time.perf_counter()
        record |= _evaluate(progress, data, settings)
        record |= {
            "rewire_seconds": rewired - start,
            "train_seconds": trained - rewired,
            "evaluate_seconds": time.perf_counter() - trained,
        }
        # In one statement: an interrupt finds as many records as epochs.
        progress.history, progress.epoch = [*progress.history, record], epoch + 1
        record["switched"] = settings.method.switched(progress.moment(settings))
        # All are told, then any may stop.
        if any([callback.on_epoch_end(progress, record) for callback in callbacks]):
            break


def _way_back(progress: Progress) -> Callable[[], None]:
    """How to undo the rewiring of an epoch that diverges.

    What is large only in sum may be too large once some of it was dropped: the network
    of the epoch before is the last that is known to be finite.
    """
    layers = list(progress.network.layers)
    moments = [list(state.weights) for state in progress.optimizer.state]

    def go_back() -> None:
        progress.network.layers[:] = layers
        for state, weights in zip(progress.optimizer.state, moments, strict=True):
            state.weights[:] = weights

    return go_back


def _train_epoch(progress: Progress, data: TrainingData, settings: Settings) -> Record:
    epoch = progress.epoch
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
            order=data.order(settings, progress.seed, epoch),
            batch_size=settings.batch_size,
            sample_weight=data.sample_weight,
            drop_last=settings.drop_last,
            augmentation=settings.augmentation,
            label_smoothing=settings.label_smoothing,
            input_dropout=settings.input_dropout,
            seed=progress.seed,
            epoch=epoch,
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
        return dict.fromkeys(("validation_score", "validation_loss", "stalled_epochs"))
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
