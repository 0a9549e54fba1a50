"""Tasks on a Dask cluster: one at a time on each worker, with all of its threads.

Tasks are placed here, not by Dask's scheduler: so none begins on a worker that was not
checked, none shares the threads of a worker, and it is known who does what.
"""

import asyncio
import threading
import time
import traceback
from collections.abc import Callable, Coroutine, Hashable, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Any
from uuid import uuid4

from cofire.lab.workers import files as worker_files
from cofire.lab.workers.attempt import attempt, reported
from cofire.lab.workers.executor import Ended
from cofire.lab.workers.remote import ClusterError, RemoteExecutor

LOOK = 0.5  # seconds between questions to the scheduler: who is there?
LEASE = 90.0  # seconds without a heartbeat after which a worker counts as lost
CONNECT = 10.0  # seconds to wait for an answer of the scheduler
SENDING = 4  # files that are held in memory at once to be sent
GRACE = 10.0  # seconds to wait for a better worker if those that are there are refused
PATIENCE = 300.0  # seconds to wait for a lost scheduler, or for a first worker


def needed() -> Any:
    """Import Dask's distributed, or say how to install it."""
    try:
        return import_module("distributed")
    except ImportError as error:
        raise ImportError(
            f"a Dask cluster needs dask.distributed, which cannot be imported "
            f"({error}): pip install 'cofire[cluster]'"
        ) from None


@dataclass
class _Worker:
    """A worker of the cluster.

    seen: its last heartbeat by the scheduler's clock; heard: when we noticed it, by
    ours. admission: the check that it can be used; its result is why not, or "".
    """

    address: str
    name: str
    n_threads: int
    admission: "Future[str]"
    seen: float = 0.0
    heard: float = 0.0
    running: bool = True
    silent: bool = False
    ready: bool = False
    refused: str = ""
    key: Hashable = None
    future: "Future[bytes] | None" = None
    stale: "Future[bytes] | None" = None
    """What it still does though it was given up, when it was silent."""

    @property
    def usable(self) -> bool:
        busy = self.stale is not None and not self.stale.done()
        return self.ready and self.running and not self.silent and not busy


class DaskCluster(RemoteExecutor):
    """The workers of a scheduler at an address, those that join later included.

    address: as Dask has it (tcp://host:8786, tls://...), or a scheduler file (.json).
    """

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address
        self._distributed = needed()
        self._workers: dict[str, _Worker] = {}
        self._files: dict[str, str] = {}
        self._asked: Future[Any] | None = None
        self._ask_at = 0.0
        self._hopeful_since = time.monotonic()
        self._said_waiting = False
        self._client: Any = None
        try:
            self._client = self._connect(CONNECT)
        except (OSError, ValueError, TypeError) as error:
            raise ClusterError(
                f"cluster {address}: no Dask scheduler answers there ({error}). Start "
                "one with `dask scheduler`, and workers with `dask worker ADDRESS`; or "
                "correct the address, which `dask scheduler` prints."
            ) from None

    # ---- the interface -------------------------------------------------------------

    @property
    def n_workers(self) -> int:
        return sum(worker.usable for worker in self._workers.values())

    def where(self, key: Hashable) -> str | None:
        for worker in self._workers.values():
            if worker.future is not None and worker.key == key:
                return worker.name
        return "waiting"

    def needs(self, files: Mapping[str, str]) -> None:
        if files.items() <= self._files.items():
            return
        self._files |= files
        for worker in self._workers.values():
            worker.ready = False
            worker.admission = self._admission(worker.address)

    def wait(self, seconds: float) -> list[Ended]:
        if self._client is None:
            self._reconnect(seconds)
            return []
        everything: list[Future[Any]] = [
            *(worker.future for worker in self._workers.values() if worker.future),
            *(w.admission for w in self._workers.values() if not w.admission.done()),
            *([self._asked] if self._asked else []),
        ]
        if everything:
            wait(everything, seconds, return_when=FIRST_COMPLETED)
        else:
            time.sleep(min(seconds, LOOK))
        # Results first: a worker may have ended right after its task.
        ended = [one for w in self._workers.values() for one in self._land(w)]
        ended += self._look()
        self._place()
        return ended

    def close(self) -> None:
        self._waiting.clear()
        self._tasks.clear()
        self._disconnect()

    # ---- tasks ---------------------------------------------------------------------

    def _place(self) -> None:
        for worker in self._workers.values():
            if self._waiting and worker.usable and worker.future is None:
                key, task = self._begin()
                call = (task.function, task.arguments, worker.n_threads)
                worker.key = key
                worker.future = self._run(self._call(worker.address, _alone, *call))

    def _land(self, worker: _Worker) -> list[Ended]:
        if worker.future is None or not worker.future.done():
            return []
        key, future = worker.key, worker.future
        worker.key = worker.future = None
        try:
            report = reported(future.result())
            return [self._end(Ended(key, *report, worker=worker.name))]
        except CancelledError:  # as all are when the scheduler is gone
            return self._again(key, f"worker {worker.name} was lost", blame=False)
        except Exception:  # Dask could not even begin, or the result is unreadable
            return [self._end(Ended(key, error=traceback.format_exc()))]

    def _lose(self, worker: _Worker, why: str, *, blame: bool = True) -> list[Ended]:
        if worker.future is None:
            return []
        key, future = worker.key, worker.future
        worker.key = worker.future = None
        if worker.silent:
            worker.stale = future
        else:
            future.cancel()
        return self._again(key, why, blame=blame)

    # ---- the scheduler and its workers ---------------------------------------------

    def _look(self) -> list[Ended]:
        """Learn who is there; return tasks that have failed by the loss of workers."""
        now = time.monotonic()
        if self._client.status != "running":
            return self._lose_scheduler()
        ended: list[Ended] = []
        if self._asked is not None and self._asked.done():
            found = None
            with suppress(OSError, CancelledError):  # gone: the client will notice
                found = self._asked.result()["workers"]
            self._asked, self._ask_at = None, now + LOOK
            if found is not None:
                ended = self._update(found, now)
                self._keep_hope(now)
        if self._asked is None and now >= self._ask_at:
            self._asked = self._run(self._client.scheduler.identity(n_workers=-1))
        for worker in self._workers.values():
            if not _is_checked(worker) and worker.admission.done():
                self._judge(worker)
        return ended

    def _update(self, found: Mapping[str, Any], now: float) -> list[Ended]:
        ended = []
        for address in self._workers.keys() - found.keys():
            worker = self._workers.pop(address)
            worker.admission.cancel()
            ended += self._lose(worker, f"worker {worker.name} was lost")
        for address, about in found.items():
            if address not in self._workers:
                self._workers[address] = _Worker(
                    address,
                    _name(about["name"], address),
                    int(about["nthreads"]),
                    self._admission(address),
                )
            worker = self._workers[address]
            worker.running = about["status"] == "running"
            if about["last_seen"] != worker.seen:
                worker.seen, worker.heard = about["last_seen"], now
                if worker.silent and worker.admission.cancelled():
                    worker.admission = self._admission(address)
                worker.silent = False
            elif not worker.silent and now - worker.heard > LEASE:
                worker.silent = True
                worker.admission.cancel()  # so that nobody waits for it
                why = f"worker {worker.name} has been silent for {LEASE:.0f} s"
                ended += self._lose(worker, why)
        return ended

    def _keep_hope(self, now: float) -> None:
        """Give up if there is no worker, and none is to be expected."""
        if any(worker.ready for worker in self._workers.values()):
            self._hopeful_since, self._said_waiting = now, False
            return
        refused = [w for w in self._workers.values() if w.refused]
        only_refused = bool(refused) and len(refused) == len(self._workers)
        if only_refused and now - self._hopeful_since > GRACE:
            raise ClusterError(
                f"cluster {self.address}: none of its workers can be used. "
                + "; ".join(f"worker {w.name} {w.refused}" for w in refused)
            )
        if now - self._hopeful_since > PATIENCE:
            raise ClusterError(
                f"cluster {self.address}: there has been no worker for {PATIENCE:.0f} "
                f"s. What is finished is kept: start `dask worker {self.address}` "
                "somewhere, then give the same command again."
            )
        if not self._workers and not self._said_waiting:
            self._said_waiting = True
            self.tell(f"no workers at {self.address} yet: waiting for one")

    def _judge(self, worker: _Worker) -> None:
        """Use a worker if it can be used, else say why not."""
        try:
            worker.refused = worker.admission.result()
        except CancelledError:
            return  # it is gone
        except Exception as error:
            worker.refused = f"cannot run cofire ({type(error).__name__}: {error})"
        worker.ready = not worker.refused
        if worker.refused:
            self.tell(f"worker {worker.name} {worker.refused}; it gets nothing to do")

    # ---- what runs in the client's event loop --------------------------------------

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> "Future[Any]":
        loop = self._client.loop.asyncio_loop
        return asyncio.run_coroutine_threadsafe(coroutine, loop)

    async def _call(self, address: str, function: Callable, *arguments: Any) -> Any:
        """Have one worker call a function, and no other should it be lost."""
        future = self._client.submit(
            function,
            *arguments,
            key=f"cofire-{function.__name__}-{uuid4().hex}",
            workers=[address],
            allow_other_workers=False,
            pure=False,
        )
        try:
            return await future
        finally:
            future.release()

    def _admission(self, address: str) -> "Future[str]":
        return self._run(self._admit(address))

    async def _admit(self, address: str) -> str:
        """Check the version of a worker, and send it what it lacks of the files.

        Return why it cannot be used, or "". The version is asked for with a function of
        Python itself: another cofire may not have ours.
        """
        ours = metadata.version("cofire")
        try:
            theirs = await self._call(address, metadata.version, "cofire")
        except metadata.PackageNotFoundError:
            return f"has no cofire: install cofire {ours} there"
        if theirs != ours:
            return f"has cofire {theirs}, but here it is {ours}: install the same"
        for path in await self._call(address, worker_files.missing, self._files):
            async with self._sending:
                content = Path(path).read_bytes()
                sent = await self._client.scatter(
                    content, workers=[address], hash=False
                )
                await self._call(address, _receive, path, self._files[path], sent)
        return ""

    # ---- a scheduler that is lost --------------------------------------------------

    def _connect(self, seconds: float) -> Any:
        self._sending = asyncio.Semaphore(SENDING)
        about: dict[str, Any] = {"address": self.address}
        if self.address.endswith(".json"):
            about = {"scheduler_file": self.address}
        return self._distributed.Client(
            **about, timeout=seconds, name="cofire", set_as_default=False
        )

    def _disconnect(self) -> None:
        for worker in self._workers.values():
            for future in (worker.admission, worker.future, worker.stale):
                if future is not None:
                    future.cancel()
        self._workers.clear()
        if self._asked is not None:
            self._asked.cancel()
            self._asked = None
        if self._client is not None:
            with suppress(Exception):
                self._client.close(timeout=CONNECT)
            self._client = None

    def _lose_scheduler(self) -> list[Ended]:
        why = f"the scheduler at {self.address} was lost"
        for worker in self._workers.values():
            self._lose(worker, why, blame=False)
        self._disconnect()
        self._hopeful_since = time.monotonic()
        self.tell(f"{why}: waiting for it")
        return []

    def _reconnect(self, seconds: float) -> None:
        try:
            self._client = self._connect(max(seconds, LOOK))
        except OSError:
            if time.monotonic() - self._hopeful_since > PATIENCE:
                raise ClusterError(
                    f"cluster {self.address}: the scheduler has been gone for "
                    f"{PATIENCE:.0f} s. What is finished is kept: start it, then give "
                    "the same command again."
                ) from None
            time.sleep(min(seconds, LOOK))
        else:
            self._hopeful_since = time.monotonic()
            self.tell(f"the scheduler at {self.address} is there again")


def _is_checked(worker: _Worker) -> bool:
    return worker.ready or bool(worker.refused)


def _name(name: object, address: str) -> str:
    """Return what a worker is called: its own name and where it is.

    >>> _name("tcp://10.0.0.7:4567", "tcp://10.0.0.7:4567"), _name(3, "tcp://b:45")
    ('10.0.0.7:4567', '3 (b:45)')
    """
    place = address.partition("://")[2] or address
    return place if str(name) == address else f"{name} ({place})"


_ONE = threading.Lock()


def _alone(*call: Any) -> bytes:
    """Make an attempt in a worker when no other is in progress there.

    Another command may use the worker, or it still does what was given up.
    """
    with _ONE:
        return attempt(*call)


def _receive(path: str, digest: str, content: bytes) -> None:
    """Keep a file in the worker's own folder, which Dask removes at its end."""
    worker = needed().get_worker()
    worker_files.receive(path, digest, content, worker.local_directory)
