"""Tasks in processes of this machine."""

import os
import shutil
import signal
import threading
import time
import traceback
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from joblib.externals.loky import ProcessPoolExecutor, process_executor
from joblib.externals.loky.process_executor import BrokenProcessPool

from cofire.lab.workers.attempt import attempt, reported
from cofire.lab.workers.executor import Ended, Executor
from cofire.lab.workers.interrupts import deaf_children

IDLE = 300.0  # seconds after which a worker without work ends


class LocalProcesses(Executor):
    """A pool of processes; even a single task has a process of its own.

    So a task that is killed never ends this process. A process that dies takes the
    whole pool down: the tasks that were in progress are then run one at a time, and the
    one that does it again has failed.
    """

    def __init__(self, n_processes: int, n_threads: int) -> None:
        self.n_processes, self.n_threads = n_processes, n_threads
        self._pool: ProcessPoolExecutor | None = None
        self._tasks: dict[Hashable, tuple[Callable, tuple[Any, ...]]] = {}
        self._flying: dict[Future[bytes], Hashable] = {}
        self._suspects: list[Hashable] = []
        self._alone = False
        """Whether the task in progress is a suspect."""

    @property
    def n_workers(self) -> int:
        return self.n_processes

    def free(self) -> int:
        if self._suspects or self._alone:
            return 0
        return self.n_processes - len(self._flying)

    def needs(self, files: Mapping[str, str]) -> None:
        """Nothing: the files are on this machine."""

    def start(self, key: Hashable, function: Callable, *arguments: Any) -> None:
        self._tasks[key] = function, arguments
        self._submit(key)

    def wait(self, seconds: float) -> list[Ended]:
        if self._suspects and not self._flying:
            self._alone = True
            self._submit(self._suspects.pop(0))
        wait(self._flying, seconds, return_when=FIRST_COMPLETED)
        over = [future for future in self._flying if future.done()]
        broken = [f for f in over if isinstance(f.exception(), BrokenProcessPool)]
        ended = [self._land(future) for future in over if future not in broken]
        if broken:
            ended += self._bury(broken[0].exception())
        self._alone = self._alone and bool(self._flying)
        return ended

    def close(self) -> None:
        self._end_pool()
        self._flying.clear()
        self._suspects.clear()

    def _end_pool(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(kill_workers=True)
            self._pool = None

    def _submit(self, key: Hashable) -> None:
        with deaf_children():  # workers start when there is work
            future = self._open().submit(attempt, *self._tasks[key], self.n_threads)
        self._flying[future] = key

    def _open(self) -> ProcessPoolExecutor:
        if self._pool is None:
            _see_that_workers_can_be_killed()
            limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
            # Our own pool: the one that joblib shares has other settings.
            self._pool = ProcessPoolExecutor(
                self.n_processes,
                timeout=IDLE,
                initializer=_end_with_parent,
                initargs=(os.getpid(),),
                env=dict.fromkeys(limits, str(self.n_threads)),
            )
        return self._pool

    def _land(self, future: "Future[bytes]") -> Ended:
        key = self._flying.pop(future)
        error = future.exception()
        if isinstance(error, KeyboardInterrupt):
            raise error
        del self._tasks[key]
        if error is not None:
            return Ended(key, error="".join(traceback.format_exception(error)))
        return Ended(key, *reported(future.result()))

    def _bury(self, death: BaseException | None) -> list[Ended]:
        """Suspect what was in progress; a task that was alone has surely failed."""
        lost = list(self._flying.values())
        self._flying.clear()
        self._end_pool()
        if not self._alone:
            self._suspects += lost
            return []
        for key in lost:
            del self._tasks[key]
        error = f"{death}\nThe process died (out of memory?)."
        return [Ended(key, error=error) for key in lost]


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
