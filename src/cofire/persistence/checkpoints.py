"""Checkpoints: a fit that was cut off goes on where it was, to the bit.

    FOLDER/9f0c2a…/epoch-00000120.cofire

Each fit has a folder of its own, named by a fingerprint of its data and parameters, so
that the clones of a grid search do not meet. A checkpoint is a model file, which
`cofire.load` reads, with all that the fit carries; the last two are kept.
"""

import hashlib
import os
import time
import warnings
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from cofire import engine
from cofire.callbacks import Callback, Checkpoint
from cofire.core.machine import n_threads
from cofire.errors import ModelFormatError
from cofire.persistence import model_file as container
from cofire.persistence.atomic import sync_folder
from cofire.persistence.model_file import Document
from cofire.persistence.progress import (
    Tensors,
    demand,
    describe_progress,
    restore_progress,
)
from cofire.persistence.values import canonical, decode, encode
from cofire.saving import (
    check_storable,
    describe,
    malformed_is,
    plain_parameters,
    plain_targets,
)
from cofire.training.progress import Progress, Record

try:
    import fcntl
except ImportError:  # Windows: two processes at the same fit are not kept apart
    fcntl = None  # type: ignore[assignment]

# They change how a fit looks and how long it takes, not what comes of it.
_NO_MATTER = ("n_jobs", "verbose", "checkpoint", "callbacks", "random_state")


def checkpoints_of(
    estimator: Any, data: Iterable[Any] | None, start: Progress | None
) -> "FitCheckpoints":
    """Return the checkpoints of a fit: those that write nothing, if it wants none.

    data: the arrays that it learns from; None: no fit that checkpoints are for.
    start: where it begins, if not at the beginning.
    """
    rhythm = estimator._checkpoint()
    if rhythm is None or data is None:
        return FitCheckpoints(estimator, None, "")
    check_storable(estimator)
    return FitCheckpoints(estimator, rhythm, fingerprint(estimator, data, start))


def fingerprint(estimator: Any, data: Iterable[Any], start: Progress | None) -> str:
    """Hash all that a fit depends on: data, parameters, callbacks, where it starts.

    Without a random_state the seed is left out: a fit that was cut off goes on with
    the seed it had.
    """
    parameters, _ = plain_parameters(estimator)
    tensors: Tensors = {}
    document = {
        "estimator": type(estimator).__name__,
        "parameters": {k: v for k, v in parameters.items() if k not in _NO_MATTER},
        "targets": plain_targets(estimator),
        "callbacks": [type(c).__qualname__ for c in _others(estimator.callbacks)],
        "seed": None if estimator.random_state is None else estimator.seed_,
        "start": None if start is None else describe_progress(start, tensors),
    }
    digest = hashlib.sha256(canonical(document).encode())
    for array in (*data, *tensors.values()):
        _feed(digest, array)
    return digest.hexdigest()


def _others(callbacks: Iterable[Callback]) -> list[Callback]:
    return [c for c in callbacks if not isinstance(c, Checkpoint)]


def _feed(digest: Any, array: Any) -> None:
    if scipy.sparse.issparse(array):
        for part in (array.indptr, array.indices, array.data, np.array(array.shape)):
            _feed(digest, part)
    elif array is None:
        digest.update(b"none;")
    else:
        digest.update(f"{array.dtype.str}{array.shape};".encode())
        digest.update(np.ascontiguousarray(array).data)


class FitCheckpoints(Callback):
    """The checkpoints of one fit: found when it begins, written while it runs."""

    finished = False
    """Whether the fit that was found had come to its end."""

    def __init__(self, estimator: Any, rhythm: Checkpoint | None, mark: str) -> None:
        self._estimator, self._mark = estimator, mark
        self._callbacks = _others(estimator.callbacks)
        self._newest: Path | None = None
        self._written = time.monotonic()
        self._lock: int | None = None  # without it, nothing is read or written
        if rhythm is not None:
            self._rhythm, self._folder = rhythm, Path(rhythm.folder, mark[:16])
            self._open()

    # ---- the fit that was cut off ----------------------------------------------------

    def latest(self) -> Progress | None:
        """Return what the newest whole checkpoint of this fit holds, if there is one.

        The callbacks are brought back to where they were.
        """
        if self._lock is None:
            return None
        for path in sorted(self._folder.glob("epoch-*.cofire"), reverse=True):
            try:
                document, tensors = container.read(path)
                with malformed_is(path):
                    progress = self._restored(document, tensors)
            except (ModelFormatError, OSError) as error:
                warnings.warn(f"A checkpoint was skipped: {error}", stacklevel=5)
                continue
            if self.finished and self._estimator.random_state is None:
                self.finished = False
                return None  # who asks for chance again gets it
            self._newest = path
            return progress
        self._say_if_others()
        return None

    def _restored(self, document: Document, tensors: Tensors) -> Progress:
        own = document["checkpoint"]
        demand(own["fingerprint"] == self._mark, "it belongs to another fit")
        progress = restore_progress(document["progress"], tensors)
        states = decode(own["callbacks"])
        demand(len(states) == len(self._callbacks), "it has other callbacks")
        for i, (callback, state) in enumerate(
            zip(self._callbacks, states, strict=True)
        ):
            start = f"callbacks.{i}."
            arrays = {
                name.removeprefix(start): tensors[name].copy()
                for name in tensors
                if name.startswith(start)
            }
            callback.restore(state | arrays)
        self.finished = bool(own["finished"])
        # What was read cannot be written to.
        progress.network = progress.network.copy()
        progress.optimizer.state = [state.copy() for state in progress.optimizer.state]
        return progress

    def _say_if_others(self) -> None:
        others = Path(self._rhythm.folder).glob("*/epoch-*.cofire")
        if any(path.parent != self._folder for path in others):
            warnings.warn(
                f"checkpoint={str(self._rhythm.folder)!r} holds fits of other data or "
                "parameters, and not this one: it starts anew, in a folder of its own.",
                stacklevel=6,
            )

    # ---- the fit that runs -----------------------------------------------------------

    def on_epoch_end(self, progress: Progress, record: Record) -> None:
        if self._lock is None:
            return
        done = progress.epoch - progress.first_epoch
        waited = time.monotonic() - self._written
        if done < self._estimator.max_iter and self._rhythm.is_due(done, waited):
            self.write(progress)

    def write(self, progress: Progress, *, finished: bool = False) -> None:
        """Add a checkpoint, then remove all but this one and the one before."""
        if self._lock is None:
            return
        path = self._folder / f"epoch-{progress.epoch:08d}.cofire"
        try:
            container.write(path, *self._content(progress, finished))
        except OSError as error:
            raise OSError(
                error.errno,
                f"the checkpoint after epoch {progress.epoch} could not be written "
                f"({error.strerror}); what was trained is in the estimator, and the "
                "checkpoint before is whole",
                str(path),
            ) from error
        kept = {path, self._newest}
        self._newest, self._written = path, time.monotonic()
        for other in self._folder.glob("epoch-*.cofire"):
            if other not in kept:
                with suppress(OSError):  # the next one tries again
                    other.unlink()

    def _content(self, progress: Progress, finished: bool) -> tuple[Document, Tensors]:
        tensors: Tensors = {}
        document = describe(
            self._estimator,
            progress,
            tensors,
            simd_level=engine.simd_level(),
            threads=n_threads(self._estimator.n_jobs),
        )
        states = []
        for i, callback in enumerate(self._callbacks):
            state = callback.state()
            arrays = {k: v for k, v in state.items() if isinstance(v, np.ndarray)}
            tensors |= {f"callbacks.{i}.{k}": v for k, v in arrays.items()}
            states.append({k: v for k, v in state.items() if k not in arrays})
        document["checkpoint"] = {
            "fingerprint": self._mark,
            "finished": finished,
            "callbacks": encode(states, "callbacks"),
        }
        return document, tensors

    def on_train_end(self, progress: Progress) -> None:
        self.close()

    # ---- the folder ------------------------------------------------------------------

    def _open(self) -> None:
        """Make the folder ours, and clean, unless another process is at this fit."""
        try:
            new = not self._folder.exists()
            self._folder.mkdir(parents=True, exist_ok=True)
            if new:
                sync_folder(self._folder.parent)
            lock = os.open(self._folder, os.O_RDONLY) if fcntl else -1
        except OSError as error:
            raise OSError(
                error.errno,
                f"checkpoint={str(self._rhythm.folder)!r} cannot be used as a folder "
                f"({error.strerror})",
                str(self._folder),
            ) from error
        if fcntl:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                warnings.warn(
                    "Another process is at the very same fit, and writes its "
                    f"checkpoints in {self._folder}: this one writes none.",
                    stacklevel=7,
                )
                return
        for leftover in self._folder.glob(".*.tmp"):
            leftover.unlink()
        self._lock = lock

    def close(self) -> None:
        """Let others have the folder."""
        if self._lock is not None and self._lock >= 0:
            os.close(self._lock)
        self._lock = None
