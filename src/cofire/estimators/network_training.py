"""Train the networks of a fit, one after the other or side by side."""

import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from cofire.callbacks import Callback
from cofire.core.network import SparseNetwork
from cofire.engine.floats import standard_floats
from cofire.errors import DivergenceError
from cofire.estimators.failures import RESTARTS, SLOWER, failure, remedy
from cofire.estimators.prepare import Prepared
from cofire.persistence.checkpoints import FitCheckpoints
from cofire.training.loop import train
from cofire.training.progress import Progress, TrainingData
from cofire.training.rewiring import begin
from cofire.training.settings import Settings


@dataclass(eq=False)
class NetworkTraining:
    """The training of one network of a fit."""

    prepared: Prepared
    estimator: Any
    """A copy of the one being fitted that has this network alone: for callbacks."""
    progress: Progress
    settings: Settings
    data: TrainingData
    end: int
    """The number of the epoch before which it ends, at the latest."""
    checkpoints: FitCheckpoints | None
    watchers: list[Callback]
    """Called while it runs; its checkpoints not among them."""
    judged: bool
    """Whether it must have learnt something: not after one call of partial_fit."""
    begun: bool = False
    stop: "_Stop | None" = None
    """Ends it early, because another network failed or was interrupted."""
    failure: str | None = None
    """Why what it trained is of no use, if so."""

    @property
    def n_epochs(self) -> int:
        """Epochs that are left, at most."""
        return max(0, self.end - self.progress.epoch)

    def run(self) -> None:
        """Train, again with a lower rate if the network did not learn.

        Only a learning rate that the default recipe chose is lowered.
        """
        while True:
            try:
                self._run_once()
            except DivergenceError as error:
                if not self._may_restart():
                    raise
                self.failure = str(error)
            else:
                if self.stop is not None and self.stop.stopped:
                    return  # neither finished nor failed
                self.failure = None
                if self.judged:
                    self.failure = failure(self.progress, self.data, self.settings)
                if self.failure is None or not self._may_restart():
                    break
            self._restart()
        if self.checkpoints is not None and not self.checkpoints.finished:
            self.checkpoints.write(self.progress, finished=True)

    def _run_once(self) -> None:
        """Train; the callbacks hear of it."""
        told: list[Callback] = []
        try:
            for watcher in self.watchers:
                watcher.on_train_begin(self.estimator, self.progress, self.n_epochs)
                told.append(watcher)
            if self.checkpoints is not None:
                # Last: it keeps what the others remember.
                told.append(self.checkpoints)
            self.begun = True
            with standard_floats():
                self._train(told)
        finally:
            for watcher in told:
                watcher.on_train_end(self.progress)

    def _train(self, watchers: Sequence[Callback]) -> None:
        progress = self.progress
        train(progress, self.data, self.settings, watchers, n_epochs=self.n_epochs)
        if progress.best_network is not None and self.settings.restore_best:
            rest = progress.optimizer.at_rest(progress.best_network)
            progress.network, progress.optimizer = progress.best_network, rest

    def _may_restart(self) -> bool:
        by_recipe = self.prepared.chosen_rate and not self.prepared.continues
        return by_recipe and self.progress.rate_factor > SLOWER ** (RESTARTS - 0.5)

    def _restart(self) -> None:
        progress = self.progress
        factor = progress.rate_factor * SLOWER
        progress.restart(self.prepared.fresh(progress.seed), factor)
        if self.checkpoints is not None:
            self.checkpoints.forget()
        if self.settings.method.starts_full:
            begin(progress, self.data, self.settings, self.prepared.counts)

    def close(self) -> None:
        """Release the folder of its checkpoints, if it did not run."""
        if self.checkpoints is not None:
            self.checkpoints.close()


def prepare_network(
    prepared: Prepared,
    index: int,
    *,
    copy_with: Callable[[Progress, int], Any],
    open_checkpoints: Callable[[Any, int], FitCheckpoints] | None,
    watchers: list[Callback],
    n_epochs: int | None,
) -> NetworkTraining:
    """Get one network of a fit ready to train; n_epochs None: as many as are left.

    copy_with: returns a copy of the estimator with one network, and after which epoch
    its training resumes.
    """
    plan, progress = prepared.plan, prepared.trainings[index]
    estimator, checkpoints, found = copy_with(progress, 0), None, None
    if open_checkpoints is not None:
        checkpoints = open_checkpoints(estimator, index)
    try:
        if checkpoints is not None and (found := checkpoints.latest()) is not None:
            progress, estimator = found, copy_with(found, found.epoch)
        data = prepared.data(progress.seed)
        if found is None and not prepared.continues:
            if plan.settings.method.starts_full:
                begin(progress, data, plan.settings, prepared.counts)
            if index == 0:
                # partial_fit calls it from one level deeper than fit.
                level = 6 if n_epochs is None else 7
                _warn_if_full(progress.network, plan.settings, level)
        judged = n_epochs is None
        end = progress.first_epoch + plan.settings.max_epochs
        if n_epochs is not None:
            end = progress.epoch + n_epochs
        if checkpoints is not None and checkpoints.finished:
            end = progress.epoch
        return NetworkTraining(
            prepared,
            estimator,
            progress,
            plan.settings,
            data,
            end,
            checkpoints,
            watchers,
            judged,
        )
    except BaseException:
        if checkpoints is not None:
            checkpoints.close()
        raise


def run_all(
    trainings: Sequence[NetworkTraining], n_threads: int, *, watched: bool, alone: bool
) -> None:
    """Train all networks; each gives the same bits however many train at once.

    watched: callbacks watch the first network. It is trained before the others, and
    where a callback ends it, the others get as many epochs as it had.
    alone: one network after the other.
    """
    if trainings[0].data.shares_rows:
        _run_over_stream(trainings, n_threads, watched=watched)
        return
    first, rest = trainings[0], list(trainings[1:])
    if len(trainings) == 1 or n_threads == 1 or alone or watched:
        first.run()
        if watched:
            _end_with(first, rest)
    else:
        rest = list(trainings)
    if not rest:
        return
    if len(rest) == 1 or n_threads == 1 or alone:
        for training in rest:
            training.run()
    else:
        _run_side_by_side(rest, n_threads)


def _end_with(first: NetworkTraining, rest: Sequence[NetworkTraining]) -> None:
    """Give networks as many epochs as the first had, at most."""
    done = first.progress.epoch - first.progress.first_epoch
    for training in rest:
        end = training.progress.first_epoch + done
        training.end = min(training.end, end)


def _run_over_stream(
    trainings: Sequence[NetworkTraining], n_threads: int, *, watched: bool
) -> None:
    """Train networks that share the rows they read: all of them at the same time.

    A network that callbacks watch reads the rows by itself, before the others.
    """
    groups = [trainings]
    if watched:
        groups = [trainings[:1], trainings[1:]]
    for group in filter(None, groups):
        for training in group:
            training.data.join()
        try:
            _run_side_by_side(group, n_threads, all_at_once=True)
        finally:
            for training in group:
                training.data.leave()
        if watched and group[0] is trainings[0]:
            _end_with(trainings[0], trainings[1:])


def _run_side_by_side(
    trainings: Sequence[NetworkTraining], n_threads: int, *, all_at_once: bool = False
) -> None:
    """One network per thread; an error or an interrupt ends all after their epoch.

    all_at_once: there is a thread for each, whoever of them may compute.
    """
    stop = _Stop()
    waiting, errors = list(trainings), dict[int, BaseException]()
    lock = threading.Lock()
    for training in trainings:
        training.watchers.append(stop)
        training.stop = stop
        each = max(1, n_threads // len(trainings))
        training.settings = replace(training.settings, n_threads=each)

    def work() -> None:
        while True:
            with lock:
                if not waiting or stop.stopped:
                    return
                training = waiting.pop(0)
            try:
                training.run()
            except BaseException as error:
                with lock:
                    # Over a stream, one error ends the others at once.
                    if not (all_at_once and stop.stopped):
                        errors[trainings.index(training)] = error
                    stop.stopped = True
                training.data.abandon()
                return
            finally:
                training.data.leave()

    n_threads = len(trainings) if all_at_once else min(n_threads, len(trainings))
    with ThreadPoolExecutor(max(n_threads - 1, 1)) as pool:
        try:
            others = [pool.submit(work) for _ in range(n_threads - 1)]
            work()  # in this thread too: it is the one that hears of Ctrl-C
            for other in others:
                other.result()
        finally:
            stop.stopped = True
    for _, error in sorted(errors.items()):
        if not isinstance(error, Exception):
            raise error  # an interrupt is not lost
    if errors:
        raise errors[min(errors)]


class _Stop(Callback):
    """Ends all networks that train at once."""

    stopped = False

    def on_epoch_end(self, progress: Progress, record: Any) -> bool:
        return self.stopped


def _warn_if_full(network: SparseNetwork, settings: Settings, level: int) -> None:
    if network.is_full and not settings.method.full:
        warnings.warn(
            "Every layer is full: this network is dense. Lower epsilon (or density), "
            "or use larger hidden layers.",
            stacklevel=level,
        )


def warn_if_schedule_is_over(training: NetworkTraining) -> None:
    progress, settings = training.progress, training.settings
    done = progress.epoch - progress.first_epoch
    if settings.learning_rate == "cosine" and done >= settings.max_epochs:
        warnings.warn(
            f"learning_rate='cosine' is 0 after max_iter={settings.max_epochs} epochs: "
            "this partial_fit changes no weight. Use learning_rate='constant' (and a "
            "learning_rate_init that suits it), or a larger max_iter.",
            stacklevel=6,
        )


def warn_of_failures(trainings: Sequence[NetworkTraining]) -> None:
    """Warn if the networks did not learn; one that did is enough to predict."""
    failed = [t for t in trainings if t.failure is not None]
    if len(failed) < len(trainings):
        return
    first = failed[0]
    warnings.warn(
        remedy(str(first.failure), first.progress, first.settings),
        ConvergenceWarning,
        stacklevel=5,
    )
