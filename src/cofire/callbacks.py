"""Watch a training or end it: progress display, early stopping, monitors."""

from numbers import Integral, Real
from os import PathLike
from typing import Any

from cofire.topology.indices import find, merge
from cofire.training.progress import Progress
from cofire.training.record import EpochRecord
from cofire.training.rewiring import Rewiring

__all__ = [
    "Callback",
    "Checkpoint",
    "EarlyStopping",
    "Monitor",
    "ProgressDisplay",
    "RewiringStudy",
]


class Callback:
    """An object that training calls when it begins, after each epoch and when it ends.

    `estimator` is a copy of the one being fitted: it predicts with the network in
    its present state, and `estimator.scorer(X, y)` scores networks.
    `progress` is what training carries, `record` the epoch's entry in `history_`, to
    which a callback may add entries of its own. Returning True after an epoch ends the
    fit.
    """

    def on_train_begin(self, estimator: Any, progress: Progress, n_epochs: int) -> None:
        """Called once, before the first epoch."""

    def on_rewired(
        self, progress: Progress, rewiring: Rewiring, record: EpochRecord
    ) -> None:
        """Called after each rewiring, which opens the epoch of this record."""

    def on_epoch_end(self, progress: Progress, record: EpochRecord) -> bool | None:
        """Called after each epoch; True ends the training."""

    def on_train_end(self, progress: Progress) -> None:
        """Called once, even if training ended with an error or an interrupt."""

    def state(self) -> dict[str, Any]:
        """Return what it remembers from epoch to epoch, for a checkpoint.

        Plain values, and arrays of one dimension (int32, int64, float32).
        """
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` gave, before `on_train_begin`."""


class Checkpoint(Callback):
    """Let a fit that was interrupted resume where it stopped, to the bit.

    `checkpoint=FOLDER` of an estimator is this with its defaults. Here you set how
    often a checkpoint is written: every `every` epochs (10), or every `every_seconds`
    seconds; there is one at the end too. The same fit again (data, parameters, seed)
    resumes from the newest intact checkpoint in the folder; a different fit gets a
    sub-folder of its own. At most the epochs since the last checkpoint are lost.

    >>> import tempfile
    >>> from cofire import SparseMLPClassifier
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(60, random_state=0)
    >>> checkpoint = Checkpoint(tempfile.mkdtemp(), every=2)
    >>> model = SparseMLPClassifier((8,), epsilon=1, max_iter=5, random_state=0,
    ...                             callbacks=[checkpoint]).fit(X, y)
    >>> model.resumed_after_, model.fit(X, y).resumed_after_  # nothing left to do
    (0, 5)
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        *,
        every: int | None = None,
        every_seconds: float | None = None,
    ) -> None:
        known = isinstance(folder, str | PathLike)
        if not known or not str(folder) or "\0" in str(folder):
            kind = ValueError if known else TypeError
            raise kind(f"the folder of a checkpoint must be a path, got {folder!r}")
        if every is not None and (not isinstance(every, Integral) or every < 1):
            raise ValueError(f"every must be a number of epochs >= 1, got {every!r}")
        if every_seconds is not None and not (
            isinstance(every_seconds, Real) and every_seconds >= 0
        ):
            raise ValueError(f"every_seconds must be >= 0, got {every_seconds!r}")
        self.folder, self.every, self.every_seconds = folder, every, every_seconds

    def is_due(self, epochs: int, seconds: float) -> bool:
        """Whether to write one: epochs since the fit began, seconds since the last."""
        every = 10 if self.every is self.every_seconds is None else self.every
        by_epochs = every is not None and epochs % every == 0
        return by_epochs or (
            self.every_seconds is not None and seconds >= self.every_seconds
        )


class EarlyStopping(Callback):
    """Stop once the validation score has not improved for `patience` epochs.

    If a method switches to another phase, that phase gets `patience` epochs too.
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience

    def on_epoch_end(self, progress: Progress, record: EpochRecord) -> bool:
        stalled = record["stalled_epochs"] or 0
        if record["switched"]:
            records = progress.history[progress.first_epoch :]
            stalled = min(stalled, sum(r["switched"] for r in records) - 1)
        return stalled >= self.patience


class Monitor(Callback):
    """Score a data set after every epoch, for curves; training does not use the scores.

    After the fit, `scores` holds one number per epoch (accuracy or R^2), `losses` the
    mean losses. This is the only use of test data in a fit.

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
        self._evaluate = estimator.scorer(
            self.X, self.y, self.sample_weight, name="Monitor (X, y, sample_weight)"
        )

    def on_epoch_end(self, progress: Progress, record: EpochRecord) -> None:
        score, loss = self._evaluate(progress.network)
        self.scores.append(score)
        self.losses.append(loss)

    def state(self) -> dict[str, Any]:
        return {"scores": self.scores, "losses": self.losses}

    def restore(self, state: dict[str, Any]) -> None:
        self.scores[:], self.losses[:] = state["scores"], state["losses"]

    def on_train_end(self, progress: Progress) -> None:
        # It holds the data in the form of the engine, which must not be pickled.
        del self._evaluate


class RewiringStudy(Callback):
    """Study each rewiring: adds entries to the record of its epoch in `history_`.

    loss_before_rewiring, loss_after_rewiring: the mean loss on the training rows;
    tried_share: per layer, the fraction of all possible connections that ever existed;
    candidate_overlap: per layer, the fraction of the candidates that the search before
    had found too; None if there was none.

    It costs two predictions of all rows at each rewiring, and memory for the
    connections that were ever tried. One object studies one fit (and its
    continuations).
    """

    def __init__(self) -> None:
        self._tried: list[Any] = []
        self._found: list[Any] | None = None

    def on_train_begin(self, estimator: Any, progress: Progress, n_epochs: int) -> None:
        if progress.epoch == 0:
            self._tried = [layer.flat_indices for layer in progress.network.layers]
            self._found = None

    def on_rewired(
        self, progress: Progress, rewiring: Rewiring, record: EpochRecord
    ) -> None:
        layers = rewiring.after.layers
        self._tried = list(map(merge, self._tried, rewiring.grown))
        found = None if rewiring.found is None else rewiring.found.indices
        before = self._found
        measure = rewiring.data.measure
        assert measure is not None  # every estimator has one
        record["loss_before_rewiring"] = measure(rewiring.before)[1]
        record["loss_after_rewiring"] = measure(rewiring.after)[1]
        record["tried_share"] = [
            len(tried) / (layer.n_in * layer.n_out)
            for tried, layer in zip(self._tried, layers, strict=True)
        ]
        record["candidate_overlap"] = None
        if found is not None and before is not None:
            record["candidate_overlap"] = [
                float((find(a, b) >= 0).mean()) if len(b) else None
                for a, b in zip(before, found, strict=True)
            ]
        self._found = found

    def state(self) -> dict[str, Any]:
        known = {"tried": self._tried, "found": self._found or []}
        return {
            f"{name}.{i}": indices
            for name, layers in known.items()
            for i, indices in enumerate(layers)
        }

    def restore(self, state: dict[str, Any]) -> None:
        def layers(name: str) -> list[Any]:
            keys = [f"{name}.{i}" for i in range(len(state))]
            return [state[key] for key in keys if key in state]

        self._tried, self._found = layers("tried"), layers("found") or None


class ProgressDisplay(Callback):
    """A bar with the epoch, the loss and the validation score (through rich).

    Where the output is not a terminal, such as in a log file, it is a line per epoch,
    on stderr. network, n_networks: which of several networks it is about, from 1.
    """

    def __init__(self, network: int = 1, n_networks: int = 1) -> None:
        self.network, self.n_networks = network, n_networks

    def on_train_begin(self, estimator: Any, progress: Progress, n_epochs: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        console = Console()
        self._lines = None
        if not console.is_terminal and not console.is_jupyter:
            console = self._lines = Console(stderr=True, highlight=False)
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("epoch {task.completed}/{task.total}"),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(),
            console=console,
        )
        name, done = type(estimator).__name__, progress.epoch - progress.first_epoch
        if self.n_networks > 1:
            name += f", network {self.network} of {self.n_networks}"
        self._name, self._total = name, done + n_epochs
        self._task = self._bar.add_task(
            name, total=self._total, completed=done, figures=""
        )
        if self._lines is None:
            self._bar.start()
        if estimator.resumed_after_:
            self._bar.console.print(
                f"Resumed from the checkpoint after epoch {estimator.resumed_after_}."
            )
        layers = progress.network.layers
        full = [str(i + 1) for i, layer in enumerate(layers) if layer.is_full]
        # All full: a warning was given, or it was asked for (method "dense").
        if 0 < len(full) < len(layers):
            self._bar.console.print(
                f"Every connection exists in layer {', '.join(full)}."
            )

    def on_epoch_end(self, progress: Progress, record: EpochRecord) -> None:
        figures = f"loss {record['loss']:.4f}"
        if record["validation_score"] is not None:
            figures += f"  validation {record['validation_score']:.4f}"
        if self._lines is not None:
            epoch = f"epoch {progress.epoch - progress.first_epoch}/{self._total}"
            line = f"{self._name}  {epoch}  {figures}"
            self._lines.print(line, soft_wrap=True, markup=False)
            return
        self._bar.update(self._task, advance=1, figures=figures)

    def on_train_end(self, progress: Progress) -> None:
        if self._lines is None:
            self._bar.stop()
        del self._bar, self._lines
