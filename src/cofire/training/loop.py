"""train(): the loop of epochs."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from cofire import engine
from cofire.errors import DivergenceError
from cofire.training.progress import Progress, TrainingData
from cofire.training.record import EpochRecord, new_record
from cofire.training.rewiring import rewire_network
from cofire.training.schedules import learning_rate
from cofire.training.settings import Settings


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
    method = settings.method
    for epoch in range(progress.epoch, progress.epoch + n_epochs):
        start, point = time.perf_counter(), progress.point(settings, epoch)
        phase, n_layers = method.phase(point), len(progress.network.layers)
        record = new_record(epoch, n_layers, _is_random(phase))
        undo_rewiring = _undo_rewiring(progress)
        if method.rewires(point):
            rewiring = rewire_network(progress, data, settings)
            rewiring.note(record)
            for callback in callbacks:
                callback.on_rewired(progress, rewiring, record)
        rewired = time.perf_counter()
        try:
            _train_epoch(progress, data, settings, record)
        except DivergenceError:
            undo_rewiring()
            raise
        trained = time.perf_counter()
        _evaluate(progress, data, settings, record)
        record["rewire_seconds"] = rewired - start
        record["train_seconds"] = trained - rewired
        record["evaluate_seconds"] = time.perf_counter() - trained
        next_phase = method.phase(progress.point(settings, epoch + 1))
        record["switched"] = next_phase != phase or _has_switched(progress)
        # In one statement: an interrupt finds as many records as epochs.
        progress.history, progress.epoch = [*progress.history, record], epoch + 1
        # All callbacks hear of the epoch, then any may stop.
        if any([callback.on_epoch_end(progress, record) for callback in callbacks]):
            break


def _has_switched(progress: Progress) -> bool:
    """Whether the method had changed its phase in this fit before the present epoch."""
    records = progress.history[progress.first_epoch :]
    return bool(records) and records[-1].get("switched", False)


def _is_random(phase: str | None) -> bool | None:
    return None if phase is None else phase == "random"


def _undo_rewiring(progress: Progress) -> Callable[[], None]:
    """Return a function that undoes the rewiring of an epoch that diverges.

    Values that only cancel each other in a sum may be too large once some of them were
    dropped: the network of the epoch before is the last that is known to be finite.
    """
    layers = list(progress.network.layers)
    moments = [list(state.weights) for state in progress.optimizer.state]

    def undo() -> None:
        progress.network.layers[:] = layers
        for state, weights in zip(progress.optimizer.state, moments, strict=True):
            state.weights[:] = weights

    return undo


def _train_epoch(
    progress: Progress, data: TrainingData, settings: Settings, record: EpochRecord
) -> None:
    epoch = progress.epoch
    rate = progress.optimizer.learning_rate = learning_rate(
        settings.learning_rate,
        settings.learning_rate_init,
        epoch - progress.first_epoch,
        settings.max_epochs,
        [past["loss"] for past in progress.history[progress.first_epoch :]],
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
    record["loss"], record["learning_rate"] = stats.loss, rate
    record["alive"] = stats.fired


def _evaluate(
    progress: Progress, data: TrainingData, settings: Settings, record: EpochRecord
) -> None:
    if data.validate is None:
        return
    score, loss = data.validate(progress.network)
    if progress.best_score is None or score > progress.best_score:
        progress.best_score, progress.stalled_epochs = score, 0
        if settings.restore_best:
            progress.best_network = progress.network.copy()
    else:
        progress.stalled_epochs += 1
        progress.longest_stall = max(progress.longest_stall, progress.stalled_epochs)
    record["validation_score"], record["validation_loss"] = score, loss
    record["stalled_epochs"] = progress.stalled_epochs
