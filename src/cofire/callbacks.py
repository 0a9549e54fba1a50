"""What may watch a training and end it: progress display, early stopping, monitors."""

from typing import Any

from cofire.training import Progress, Record


class Callback:
    """Told before training, after each epoch and at the end; changes nothing.

    `estimator` is the one being fitted, `progress` what training carries, `record` the
    epoch's entry in `history_`. Returning True after an epoch ends the fit.
    """

    def on_train_begin(self, estimator: Any, progress: Progress, n_epochs: int) -> None:
        """Called once, before the first epoch."""

    def on_epoch_end(self, progress: Progress, record: Record) -> bool | None:
        """Called after each epoch; True ends the training."""

    def on_train_end(self, progress: Progress) -> None:
        """Called once, also when training ended by an error or an interrupt."""


class EarlyStopping(Callback):
    """Stop once the validation score has not improved for `patience` epochs."""

    def __init__(self, patience: int) -> None:
        self.patience = patience

    def on_epoch_end(self, progress: Progress, record: Record) -> bool:
        return record.get("stalled_epochs", 0) >= self.patience


class Monitor(Callback):
    """Score a data set after every epoch, for curves; training cannot see its numbers.

    After the fit, `scores` holds one number per epoch (accuracy or R^2), `losses` the
    mean losses. Test data belong here and nowhere else in a fit.

    >>> from cofire import SparseMLPClassifier
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(60, random_state=0)
    >>> monitor = Monitor(X[:20], y[:20])
    >>> model = SparseMLPClassifier((8,), epsilon=1, max_iter=3, callbacks=[monitor])
    >>> _ = model.fit(X[20:], y[20:])
    >>> len(model.callbacks[0].scores)
    3
    """

    def __init__(self, X: Any, y: Any, sample_weight: Any = None) -> None:
        self.X, self.y, self.sample_weight = X, y, sample_weight
        self.scores: list[float] = []
        self.losses: list[float] = []

    def on_train_begin(self, estimator: Any, progress: Progress, n_epochs: int) -> None:
        del self.scores[progress.epoch :], self.losses[progress.epoch :]
        self._evaluate = estimator._evaluator(self.X, self.y, self.sample_weight)

    def on_epoch_end(self, progress: Progress, record: Record) -> None:
        score, loss = self._evaluate(progress.network)
        self.scores.append(score)
        self.losses.append(loss)

    def on_train_end(self, progress: Progress) -> None:
        # It holds the data prepared for the engine: not for a pickle.
        del self._evaluate


class ProgressDisplay(Callback):
    """A bar with the epoch, the loss and the validation score (through rich)."""

    def on_train_begin(self, estimator: Any, progress: Progress, n_epochs: int) -> None:
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("epoch {task.completed}/{task.total}"),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(),
        )
        name = type(estimator).__name__
        self._task = self._bar.add_task(name, total=n_epochs, figures="")
        self._bar.start()
        layers = progress.network.layers
        full = [str(i + 1) for i, layer in enumerate(layers) if layer.is_full]
        # All full: a warning was given, or it was asked for (method "dense").
        if 0 < len(full) < len(layers):
            self._bar.console.print(
                f"Every connection exists in layer {', '.join(full)}."
            )

    def on_epoch_end(self, progress: Progress, record: Record) -> None:
        figures = f"loss {record['loss']:.4f}"
        if record["validation_score"] is not None:
            figures += f"  validation {record['validation_score']:.4f}"
        self._bar.update(self._task, advance=1, figures=figures)

    def on_train_end(self, progress: Progress) -> None:
        self._bar.stop()
        del self._bar
