"""Run a list of runs, here or elsewhere, and store each result as soon as it comes."""

import math
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from cofire.core.machine import available_cores
from cofire.lab.experiments.grid import Run
from cofire.lab.experiments.labels import files_of
from cofire.lab.experiments.results import Outcome
from cofire.lab.experiments.store import Store, run_of
from cofire.lab.workers.executor import Ended, Executor
from cofire.lab.workers.interrupts import Interrupts
from cofire.lab.workers.local import LocalProcesses

SIGN_INTERVAL = 20.0  # seconds between signs of life
POLL_INTERVAL = 0.1  # seconds after which a waiting runner checks for an interrupt

Execute = Callable[[Run, int], Outcome]


@dataclass
class Campaign:
    """The progress of a list of runs; the runner writes it, a display reads it."""

    n_runs: int
    n_processes: int
    n_done_before: int = 0
    n_failed_before: int = 0
    done: int = 0
    failed: list[tuple[Run, str]] = field(default_factory=list)
    running: dict[Run, float] = field(default_factory=dict)
    """The runs in progress, and when each began (`time.monotonic`)."""
    workers: dict[Run, str | None] = field(default_factory=dict)
    """The workers of the runs in progress, if they have names."""
    n_lost: int = 0
    """How often a run was lost with its worker, and began again."""
    lost_seconds: float = 0.0
    """How long these had been in progress."""
    elsewhere: int = 0
    """Runs that another process has claimed."""
    last: tuple[Run, Outcome] | None = None
    last_worker: str | None = None
    seconds_left: float | None = None


Watcher = Callable[[Campaign], None]


def fill_cores(n_runs: int, n_cores: int | None = None) -> tuple[int, int]:
    """Return how many processes, with how many threads each, keep all cores busy.

    Processes come first: they share nothing, so they do not slow each other down.

    >>> fill_cores(100, 8), fill_cores(3, 8), fill_cores(1, 8)
    ((8, 1), (3, 2), (1, 8))
    """
    cores = n_cores or available_cores()
    processes = max(1, min(n_runs, cores))
    return processes, max(1, cores // processes)


def train(run: Run, n_threads: int) -> Outcome:
    """Execute a run; imported late, so that scikit-learn loads only where it trains."""
    from cofire.lab.experiments.execute import execute

    return execute(run, n_threads)


def run_all(
    runs: Sequence[Run],
    store: Store,
    *,
    n_cores: int | None = None,
    one_at_a_time: bool = False,
    retry_failed: bool = False,
    watch: Watcher = lambda campaign: None,
    execute: Execute = train,
    executor: Executor | None = None,
) -> Campaign:
    """Run what the store does not have yet, in this order; return the campaign.

    A run that raises is stored with its traceback, and the others continue. After an
    interrupt the runs in progress are waiting again: the next call begins with them. It
    is obeyed within moments, and a second one changes nothing.

    executor: where they run; None for processes of this machine, on n_cores.
    """
    with Interrupts() as interrupts, ExitStack() as stack:
        store.add(runs)
        status = {row["key"]: row["status"] for row in store.rows()}
        wanted = list(dict.fromkeys(runs))
        done = [run for run in wanted if status[run.key] == "done"]
        failed = [
            run for run in wanted if status[run.key] == "failed" and not retry_failed
        ]
        over = {*done, *failed}
        todo = [run for run in wanted if run not in over]
        if executor is None:
            shares = fill_cores(1 if one_at_a_time else len(todo), n_cores)
            executor = stack.enter_context(LocalProcesses(*shares))
        campaign = Campaign(len(wanted), executor.n_workers, len(done), len(failed))
        runner = _Runner(store, campaign, watch, execute, retry_failed, interrupts)
        with signs_of_life(store):
            try:
                runner.run(todo, executor, 1 if one_at_a_time else math.inf)
            except BaseException:
                store.give_back(campaign.running)
                raise
        return campaign


class _Runner:
    def __init__(
        self,
        store: Store,
        campaign: Campaign,
        watch: Watcher,
        execute: Execute,
        retry_failed: bool,
        interrupts: Interrupts,
    ) -> None:
        self.store, self.campaign, self.watch = store, campaign, watch
        self.execute, self.retry_failed = execute, retry_failed
        self.interrupts = interrupts
        self.pace = _Pace(store)
        self.left: dict[Run, None] = {}

    def run(self, todo: Sequence[Run], executor: Executor, most: float) -> None:
        """Run these, at most `most` of them at once."""
        self.left = dict.fromkeys(todo)
        executor.needs(files_of(todo))
        claimed, running = self._claimed(todo), self.campaign.running
        while True:
            # A run is claimed when it can start, not before.
            while (
                executor.free() and len(running) < most and (run := next(claimed, None))
            ):
                executor.start(run, self.execute, run)
                self._note(executor)
            if not self.left:
                return
            for ended in executor.wait(POLL_INTERVAL):
                self._note(executor)
                self._land(ended)
            self._note(executor)
            self.interrupts.check()

    def _note(self, executor: Executor) -> None:
        """Keep for the display what the executor knows."""
        campaign = self.campaign
        campaign.n_processes = executor.n_workers
        campaign.n_lost = executor.n_lost
        campaign.lost_seconds = executor.lost_seconds
        campaign.workers = {run: executor.where(run) for run in campaign.running}

    def _land(self, ended: Ended) -> None:
        run = cast(Run, ended.key)
        self.campaign.last_worker = ended.worker
        if isinstance(ended.value, Outcome):
            self.finish(run, ended.value, ended.machine)
            return
        self.interrupts.check()  # perhaps a signal that all processes received
        self.fail(run, ended.error or f"no outcome, but {ended.value!r}")

    def _claimed(self, todo: Sequence[Run]) -> Iterator[Run]:
        for run in todo:
            self.interrupts.check()
            if self.store.claim(run, again=self.retry_failed):
                self.campaign.running[run] = time.monotonic()
                self._tell()
                yield run
            else:
                self.campaign.elsewhere += 1
                self.left.pop(run, None)

    def finish(self, run: Run, outcome: Outcome, machine: Mapping[str, Any]) -> None:
        try:
            self.store.finish(run, outcome, machine)
        except (TypeError, ValueError):  # the outcome cannot be stored
            self.fail(run, traceback.format_exc())
            return
        self.pace.add(run, outcome.seconds)
        self.campaign.done += 1
        self.campaign.last = run, outcome
        self._over(run)

    def fail(self, run: Run, error: str) -> None:
        self.store.fail(run, error)
        self.campaign.failed.append((run, error))
        self._over(run)

    def _over(self, run: Run) -> None:
        self.campaign.running.pop(run, None)
        self.left.pop(run, None)
        self._tell()

    def _tell(self) -> None:
        self.campaign.seconds_left = self.pace.expect(
            self.left, self.campaign.running, max(1, self.campaign.n_processes)
        )
        self.watch(self.campaign)


class _Pace:
    """How long an epoch will take: as long as in similar runs that are done."""

    def __init__(self, store: Store) -> None:
        self.sums: dict[tuple[Any, ...], tuple[float, int]] = {}
        for row in store.rows(status="done"):
            self.add(run_of(row), row["seconds"])

    @staticmethod
    def _kinds(run: Run) -> list[tuple[Any, ...]]:
        """Return groups of similar runs, the most similar first."""
        return [
            (run.data, run.method, run.hidden, run.epsilon, run.epochs > 0),
            (run.data, run.hidden, run.epochs > 0),
            (run.data, run.epochs > 0),
            (run.epochs > 0,),
        ]

    def add(self, run: Run, seconds: float) -> None:
        for kind in self._kinds(run):
            total, n = self.sums.get(kind, (0.0, 0))
            self.sums[kind] = total + seconds / max(run.epochs, 1), n + 1

    def _expected(self, run: Run) -> float | None:
        for kind in self._kinds(run):
            if kind in self.sums:
                total, n = self.sums[kind]
                return max(run.epochs, 1) * total / n
        return None

    def expect(
        self, left: dict[Run, None], running: dict[Run, float], n_processes: int
    ) -> float | None:
        """Return the seconds until all are done; None if nothing is known yet."""
        total = longest = 0.0
        for run in left:
            seconds = self._expected(run)
            if seconds is None:
                return None
            begun = running.get(run)
            if begun is not None:
                seconds = max(0.0, seconds - (time.monotonic() - begun))
            total += seconds
            longest = max(longest, seconds)
        return max(total / n_processes, longest)


@contextmanager
def signs_of_life(store: Store) -> Iterator[None]:
    """Renew the claims of this process from time to time, inside this context."""
    over = threading.Event()

    def keep_saying() -> None:
        while not over.wait(SIGN_INTERVAL):
            store.give_sign_of_life()

    thread = threading.Thread(target=keep_saying, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
