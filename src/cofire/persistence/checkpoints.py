"""Checkpoints: a fit that was interrupted resumes where it stopped, to the bit.

    FOLDER/9f0c2a…/epoch-00000120.cofire

Each fit has a folder of its own, named by a fingerprint of its data and parameters, so
that the clones of a grid search do not collide. A checkpoint is a model file, which
`cofire.load` reads, with the whole progress of the fit; the last two are kept.
"""

import os
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from cofire.callbacks import Callback, Checkpoint
from cofire.energy import Energy
from cofire.energy.joules import energy_from
from cofire.errors import ModelFormatError
from cofire.persistence import model_file
from cofire.persistence.atomic import sync_folder
from cofire.persistence.progress import Tensors, restore_progress
from cofire.persistence.values import Document, decode, demand, encode
from cofire.training.progress import Progress
from cofire.training.record import EpochRecord

try:
    import fcntl
except ImportError:  # Windows: nothing stops two processes with the same fit
    fcntl = None  # type: ignore[assignment]

Describe = Callable[[Progress, Tensors], Document]
"""Describes the estimator as a model file does; the arrays go to the tensors."""


class FitCheckpoints(Callback):
    """The checkpoints of one fit: found when it begins, written while it runs.

    policy: where and how often; fingerprint: of all that the fit depends on.
    callbacks: those whose state belongs to a checkpoint.
    repeats: whether the same fit gives the same result again, so that a finished one
    need not be repeated; without a random_state it does not.
    one_of_several: whether other networks of the same fit have folders of their own.
    """

    finished = False
    """Whether the fit that the checkpoint belongs to had finished."""
    energy: Energy | None = None
    """What the whole fit had used when the checkpoint was written, if it says so."""

    def __init__(
        self,
        policy: Checkpoint,
        fingerprint: str,
        *,
        describe: Describe,
        callbacks: list[Callback],
        max_epochs: int,
        repeats: bool,
        one_of_several: bool = False,
    ) -> None:
        self._policy, self._fingerprint = policy, fingerprint
        self._describe, self._callbacks = describe, callbacks
        self._max_epochs, self._repeats = max_epochs, repeats
        self._one_of_several = one_of_several
        self._folder = Path(policy.folder, fingerprint[:16])
        self._newest: Path | None = None
        self._written = time.monotonic()
        self._lock: int | None = None  # without it, nothing is read or written
        self._open()

    # ---- the fit that was interrupted ------------------------------------------------

    def latest(self) -> Progress | None:
        """Return the progress in the newest intact checkpoint, None if there is none.

        The state of the callbacks is restored too.
        """
        if self._lock is None:
            return None
        for path in sorted(self._folder.glob("epoch-*.cofire"), reverse=True):
            try:
                document, tensors = model_file.read(path)
                with model_file.malformed_is(path):
                    progress = self._restored(document, tensors)
            except (ModelFormatError, OSError) as error:
                warnings.warn(f"A checkpoint was skipped: {error}", stacklevel=6)
                continue
            if self.finished and not self._repeats:
                self.finished = False
                return None  # a new fit draws different random numbers
            self._newest = path
            return progress
        self._warn_if_others()
        return None

    def _restored(self, document: Document, tensors: Tensors) -> Progress:
        own = document["checkpoint"]
        demand(own["fingerprint"] == self._fingerprint, "it belongs to another fit")
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
        self.energy = energy_from(document.get("energy"))
        # Arrays that come from a file are read-only.
        progress.network = progress.network.copy()
        progress.optimizer.state = [state.copy() for state in progress.optimizer.state]
        return progress

    def _warn_if_others(self) -> None:
        if self._one_of_several:
            return
        others = Path(self._policy.folder).glob("*/epoch-*.cofire")
        if any(path.parent != self._folder for path in others):
            warnings.warn(
                f"No checkpoint in {str(self._policy.folder)!r} matches this data and "
                "these parameters; training starts from scratch in a new sub-folder.",
                stacklevel=7,
            )

    # ---- the fit that runs -----------------------------------------------------------

    def on_epoch_end(self, progress: Progress, record: EpochRecord) -> None:
        if self._lock is None:
            return
        done = progress.epoch - progress.first_epoch
        waited = time.monotonic() - self._written
        if done < self._max_epochs and self._policy.is_due(done, waited):
            self.write(progress)

    def write(self, progress: Progress, *, finished: bool = False) -> None:
        """Add a checkpoint, then remove all but this one and the one before."""
        if self._lock is None:
            return
        path = self._folder / f"epoch-{progress.epoch:08d}.cofire"
        try:
            model_file.write(path, *self._content(progress, finished))
        except OSError as error:
            raise OSError(
                error.errno,
                f"the checkpoint after epoch {progress.epoch} could not be written "
                f"({error.strerror}); the estimator has what was trained, and the "
                "previous checkpoint is intact. Make room, or choose another folder, "
                "then fit again",
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
        document = self._describe(progress, tensors)
        states = []
        for i, callback in enumerate(self._callbacks):
            state = callback.state()
            arrays = {k: v for k, v in state.items() if isinstance(v, np.ndarray)}
            tensors |= {f"callbacks.{i}.{k}": v for k, v in arrays.items()}
            states.append({k: v for k, v in state.items() if k not in arrays})
        document["checkpoint"] = {
            "fingerprint": self._fingerprint,
            "finished": finished,
            "callbacks": encode(states, "callbacks"),
        }
        return document, tensors

    def forget(self) -> None:
        """Remove all checkpoints of this fit: it starts again."""
        self._newest = None
        if self._lock is not None:
            for path in self._folder.glob("epoch-*.cofire"):
                path.unlink()

    # ---- the folder ------------------------------------------------------------------

    def _open(self) -> None:
        """Lock the folder and clean it, unless another process runs this fit."""
        try:
            new = not self._folder.exists()
            self._folder.mkdir(parents=True, exist_ok=True)
            if new:
                sync_folder(self._folder.parent)
            lock = os.open(self._folder, os.O_RDONLY) if fcntl else -1
        except OSError as error:
            raise OSError(
                error.errno,
                f"checkpoint={str(self._policy.folder)!r} cannot be used as a folder "
                f"({error.strerror}): name a folder that you may write to",
                str(self._folder),
            ) from error
        if fcntl:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                warnings.warn(
                    "Another process runs the same fit and writes its checkpoints in "
                    f"{self._folder}: this one writes none.",
                    stacklevel=8,
                )
                return
        for leftover in self._folder.glob(".*.tmp"):
            leftover.unlink()
        self._lock = lock

    def close(self) -> None:
        """Release the folder."""
        if self._lock is not None and self._lock >= 0:
            os.close(self._lock)
        self._lock = None
