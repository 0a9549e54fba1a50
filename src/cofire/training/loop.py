"""train(): the loop of epochs."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from cofire import engine
from cofire.errors import DivergenceError
from cofire.methods import TrainingPoint
from cofire.training.progress import Block, Progress, TrainingData
from cofire.training.record import EpochRecord, new_record
from cofire.training.rewiring import rewire_network
from cofire.training.schedules import learning_rate
from cofire.training.settings import Settings
from cofire.training.steps import Steps, Stretch


def train(
    progress: Progress,
    data: TrainingData,
    settings: Settings,
    callbacks: Iterable[Any] = (),
    *,
    n_epochs: int,
) -> None:
    """Run up to `n_epochs` epochs; any callback may end it after an epoch.

    A rewiring comes before the steps that train what it grew, so a finished training is
    never freshly disturbed.
    """
    method, steps = settings.method, data.steps(settings, progress.seed)
    for epoch in range(progress.epoch, progress.epoch + n_epochs):
        phase = method.phase(_point_before(epoch, progress, settings, steps))
        record = new_record(epoch, len(progress.network.layers), _is_random(phase))
        for stretch in steps.stretches(epoch):
            start, undo_rewiring = time.perf_counter(), _undo_rewiring(progress)
            if _rewires(stretch, progress, settings):
                rewiring = rewire_network(progress, data, settings, stretch)
                rewiring.note(record)
                for callback in callbacks:
                    callback.on_rewired(progress, rewiring, record)
            rewired = time.perf_counter()
            try:
                _train_stretch(progress, data, settings, steps, stretch, record)
            except DivergenceError:
                undo_rewiring()
                raise
            record["rewire_seconds"] += rewired - start
            record["train_seconds"] += time.perf_counter() - rewired
        record["connections"] = [layer.nnz for layer in progress.network.layers]
        trained = time.perf_counter()
        _evaluate(progress, data, settings, record)
        record["evaluate_seconds"] = time.perf_counter() - trained
        after = _point_before(epoch + 1, progress, settings, steps)
        next_phase = method.phase(after)
        record["switched"] = next_phase != phase or _has_switched(progress)
        # In one statement: an interrupt finds as many records as epochs.
        progress.history, progress.epoch = [*progress.history, record], epoch + 1
        # All callbacks hear of the epoch, then any may stop.
        if any([callback.on_epoch_end(progress, record) for callback in callbacks]):
            break


def _point_before(
    epoch: int, progress: Progress, settings: Settings, steps: Steps
) -> TrainingPoint:
    return progress.point(settings, next(steps.stretches(epoch)))


def _rewires(stretch: Stretch, progress: Progress, settings: Settings) -> bool:
    """Whether an update is due before this stretch, and the method uses it."""
    if stretch.update is None:
        return False
    stop = settings.update_stop
    if stop < 1 and progress.done(settings, stretch) >= stop:
        return False
    return settings.method.rewires(progress.point(settings, stretch))


def _has_switched(progress: Progress) -> bool:
    """Whether the method had changed its phase in this fit before the present epoch."""
    records = progress.history[progress.first_epoch :]
    return bool(records) and records[-1].get("switched", False)


def _is_random(phase: str | None) -> bool | None:
    return None if phase is None else phase == "random"


def _undo_rewiring(progress: Progress) -> Callable[[], None]:
    """Return a function that undoes a rewiring after which training diverges.

    Values that only cancel each other in a sum may be too large once some of them were
    dropped: the network before is the last that is known to be finite.
    """
    layers = list(progress.network.layers)
    moments = [list(state.weights) for state in progress.optimizer.state]

    def undo() -> None:
        progress.network.layers[:] = layers
        for state, weights in zip(progress.optimizer.state, moments, strict=True):
            state.weights[:] = weights

    return undo


def _train_stretch(
    progress: Progress,
    data: TrainingData,
    settings: Settings,
    steps: Steps,
    stretch: Stretch,
    record: EpochRecord,
) -> None:
    rate = progress.optimizer.learning_rate = learning_rate(
        settings.learning_rate,
        settings.learning_rate_init * progress.rate_factor,
        stretch.epoch - progress.first_epoch + stretch.progress,
        settings.max_epochs,
        [past["loss"] for past in progress.history[progress.first_epoch :]],
    )
    if stretch.progress == 0:
        record["loss"], record["learning_rate"] = 0.0, rate
    loss, n_rows, fired = 0.0, 0, []
    for block in data.blocks(steps, stretch):
        stats = _train_block(progress, block, settings, steps, stretch)
        n = min(len(block.order), stats.n_steps * steps.batch_size)
        n_rows += n
        loss += (stats.loss - loss) * (n / max(n_rows, 1))
        fired.append(stats.fired)
    n_steps = stretch.end - stretch.begin
    n_done = stretch.end - stretch.epoch * steps.per_epoch
    record["loss"] += (loss - record["loss"]) * (n_steps / n_done)
    record["alive"] = [max(of_layer) for of_layer in zip(*fired, strict=True)]
    record["rows"] += n_rows


def _train_block(
    progress: Progress,
    block: Block,
    settings: Settings,
    steps: Steps,
    stretch: Stretch,
) -> engine.EpochStats:
    number, offset = steps.pass_of(stretch.begin)
    offset += (block.begin - stretch.begin) * steps.batch_size
    try:
        return engine.train_epoch(
            progress.network,
            progress.optimizer,
            block.rows,
            block.targets,
            order=block.order,
            batch_size=steps.batch_size,
            sample_weight=block.sample_weight,
            drop_last=settings.drop_last,
            augmentation=settings.augmentation,
            label_smoothing=settings.label_smoothing,
            input_dropout=settings.input_dropout,
            seed=progress.seed,
            epoch=number,
            pass_offset=offset,
            pass_size=steps.n_rows,
            row_numbers=block.row_numbers,
            n_threads=settings.n_threads,
        )
    except DivergenceError as error:
        raise DivergenceError(layer=error.layer, epoch=stretch.epoch) from None


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
