"""Run a list of runs on all cores, and store each result as soon as it is there."""

import os
import platform
import shutil
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
from joblib.externals.loky import ProcessPoolExecutor, process_executor
from joblib.externals.loky.process_executor import BrokenProcessPool

from cofire import engine
from cofire.core.machine import available_cores
from cofire.lab.experiments.grid import Run
from cofire.lab.experiments.interrupts import Interrupts, deaf_children
from cofire.lab.experiments.results import Outcome
from cofire.lab.experiments.store import Store, run_of

SIGN_INTERVAL = 20.0  # seconds between signs of life
IDLE = 300.0  # seconds after which a worker without work ends
POLL_INTERVAL = 0.1  # seconds after which a waiting runner checks for an interrupt

Executor = Callable[[Run, int], Outcome]


@dataclass
class Campaign:
    """The progress of a list of runs; the runner writes it, a display reads it."""

    n_runs: int
    n_processes: int
    n_threads: int
    n_done_before: int = 0
    n_failed_before: int = 0
    done: int = 0
    failed: list[tuple[Run, str]] = field(default_factory=list)
    running: dict[Run, float] = field(default_factory=dict)
    """The runs in progress, and when each began (`time.monotonic`)."""
    elsewhere: int = 0
    """Runs that another process has claimed."""
    last: tuple[Run, Outcome] | None = None
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
    execute: Executor = train,
) -> Campaign:
    """Run what the store does not have yet, in this order; return the campaign.

    A run that raises is stored with its traceback, and the others continue. After an
    interrupt the runs in progress are waiting again: the next call begins with them. It
    is obeyed within moments, and a second one changes nothing.
    """
    with Interrupts() as interrupts:
        store.add(runs)
        status = {row["key"]: row["status"] for row in store.rows()}
        wanted = list(dict.fromkeys(runs))
        done = [run for run in wanted if status[run.key] == "done"]
        failed = [
            run for run in wanted if status[run.key] == "failed" and not retry_failed
        ]
        over = {*done, *failed}
        todo = [run for run in wanted if run not in over]
        processes, threads = fill_cores(1 if one_at_a_time else len(todo), n_cores)
        campaign = Campaign(len(wanted), processes, threads, len(done), len(failed))
        runner = _Runner(store, campaign, watch, execute, retry_failed, interrupts)
        with signs_of_life(store):
            try:
                suspects = runner.run(todo, processes)
                # The death of a worker ended all of them: run one at a time to find it.
                for run in suspects:
                    if runner.run([run], 1):
                        runner.fail(run, runner.death)
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
        execute: Executor,
        retry_failed: bool,
        interrupts: Interrupts,
    ) -> None:
        self.store, self.campaign, self.watch = store, campaign, watch
        self.execute, self.retry_failed = execute, retry_failed
        self.interrupts = interrupts
        self.pace = _Pace(store)
        self.left: dict[Run, None] = {}
        self.death = ""
        """What is known about the last worker that died."""

    def run(self, todo: Sequence[Run], n_processes: int) -> list[Run]:
        """Run these; return those that were in progress when a worker died."""
        self.left = dict.fromkeys(todo)
        suspects: list[Run] = []
        while self.left:
            try:
                self._run_pool(list(self.left), n_processes)
            except BrokenProcessPool as error:
                self.interrupts.check()  # perhaps that ended the worker
                self.death = f"{error}\nThe process died (out of memory?)."
                lost = list(self.campaign.running)
                self.store.give_back(lost)
                self.campaign.running.clear()
                for run in lost:
                    self.left.pop(run, None)
                suspects += lost
        return suspects

    def _run_pool(self, todo: list[Run], n_processes: int) -> None:
        """Keep this many processes busy; even a single run has a process of its own.

        So a run that is killed never ends this process.
        """
        threads = self.campaign.n_threads
        limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        _see_that_workers_can_be_killed()
        # Our own pool: the one that joblib shares has other settings.
        pool = ProcessPoolExecutor(
            n_processes,
            timeout=IDLE,
            initializer=_end_with_parent,
            initargs=(os.getpid(),),
            env=dict.fromkeys(limits, str(threads)),
        )
        claimed = self._claimed(todo)
        flying: dict[Future[Any], Run] = {}
        try:
            while True:
                # A run is claimed when it can start, not before.
                while len(flying) < n_processes and (run := next(claimed, None)):
                    with deaf_children():  # workers start when there is work
                        future = pool.submit(_attempt, self.execute, run, threads)
                    flying[future] = run
                if not flying:
                    return
                landed, _ = wait(flying, POLL_INTERVAL, return_when=FIRST_COMPLETED)
                # Results are stored before the death of a worker is handled.
                for future in sorted(landed, key=lambda f: f.exception() is not None):
                    self._land(flying.pop(future), future)
                self.interrupts.check()
        finally:
            pool.shutdown(kill_workers=True)

    def _land(self, run: Run, future: "Future[Any]") -> None:
        error = future.exception()
        if isinstance(error, BrokenProcessPool | KeyboardInterrupt):
            raise error
        if error is not None:  # an exit, or a result that cannot be pickled
            self.interrupts.check()  # or a signal that all processes received
            self.fail(run, "".join(traceback.format_exception(error)))
        elif isinstance(future.result(), Outcome):
            self.finish(run, future.result())
        else:
            self.fail(run, future.result())

    def _claimed(self, todo: list[Run]) -> Iterator[Run]:
        for run in todo:
            self.interrupts.check()
            if self.store.claim(run, again=self.retry_failed):
                self.campaign.running[run] = time.monotonic()
                self._tell()
                yield run
            else:
                self.campaign.elsewhere += 1
                self.left.pop(run, None)

    def finish(self, run: Run, outcome: Outcome) -> None:
        try:
            self.store.finish(run, outcome, machine(self.campaign.n_threads))
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
            self.left, self.campaign.running, self.campaign.n_processes
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


def machine(n_threads: int) -> dict[str, Any]:
    """Describe the machine that the seconds of a run were measured on."""
    return {
        "platform": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "simd_level": engine.simd_level(),
        "cores": available_cores(),
        "threads": n_threads,
    }


def _end_with_parent(parent: int) -> None:
    """End this worker when its runner was killed: nobody waits for its result."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _see_that_workers_can_be_killed() -> None:
    """Give loky another way to kill workers if it has neither psutil nor pgrep.

    Small containers have neither, and it would wait for its workers for ever.
    """
    if find_spec("psutil") is None and shutil.which("pgrep") is None:
        process_executor.kill_process_tree = _kill


def _kill(worker: Any) -> None:
    with suppress(ProcessLookupError):
        os.kill(worker.pid, signal.SIGKILL)
    worker.join()


def _attempt(execute: Executor, run: Run, n_threads: int) -> Outcome | str:
    """Execute a run in a worker; return its outcome, or the traceback of its error."""
    try:
        return execute(run, n_threads)
    except Exception:
        return traceback.format_exc()


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
