"""Tasks as jobs of Slurm, through submitit: one job per task.

All machines must see the folder of the jobs, and this Python: so there are no files to
send, and no versions to compare.
"""

import shutil
import tempfile
import time
import traceback
from collections.abc import Hashable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from cofire.core.machine import available_cores
from cofire.lab.workers.attempt import attempt, reported
from cofire.lab.workers.executor import Ended
from cofire.lab.workers.remote import RemoteExecutor

FOLDER = "cofire-jobs"
MINUTES = 60
MOST_JOBS = 100
FLUSH = 10.0  # seconds that the result of a job that has ended may take to be seen
LOOK = 0.1  # seconds between looks at the jobs
GENERAL = ("cpus_per_task", "gpus_per_node", "mem_gb", "name", "nodes", "timeout_min")
"""Parameters that submitit has for every kind of cluster."""


def needed() -> Any:
    """Import submitit, or say how to install it."""
    try:
        return import_module("submitit")
    except ImportError as error:
        raise ImportError(
            f"Slurm is reached through submitit, which cannot be imported ({error}): "
            "pip install 'cofire[slurm]'"
        ) from None


class Jobs(RemoteExecutor):
    """Jobs of Slurm; of the kind "local", processes of this machine, to try it out.

    options: name=value, separated by commas. `jobs` is how many there are at once,
    `folder` where they are noted; all others are parameters of submitit.
    """

    def __init__(self, kind: str, options: str) -> None:
        super().__init__()
        given = _parsed(kind, options)
        many = MOST_JOBS if kind == "slurm" else available_cores()
        self._most = int(given.pop("jobs", many))
        self._n_threads = int(given.get("cpus_per_task", 1))
        above = Path(str(given.pop("folder", FOLDER))).resolve()
        self._submitit = needed()
        above.mkdir(parents=True, exist_ok=True)
        self.shared = tempfile.mkdtemp(prefix="campaign-", dir=above)
        self._jobs: dict[Hashable, Any] = {}
        self._over: dict[Hashable, float] = {}
        """When jobs were seen to have ended whose result is not there."""
        self._all_well = True
        try:
            self._executor = self._submitit.AutoExecutor(self.shared, cluster=kind)
            self._executor.update_parameters(
                **{"timeout_min": MINUTES} | _named(kind, given)
            )
        except Exception as error:  # submitit has errors of many kinds
            shutil.rmtree(self.shared)
            raise ValueError(f"cluster {kind}:{options}: {error}") from None

    @property
    def n_workers(self) -> int:
        return self._most

    def where(self, key: Hashable) -> str | None:
        return f"job {self._jobs[key].job_id}" if key in self._jobs else "waiting"

    def needs(self, files: Mapping[str, str]) -> None:
        """Nothing: all machines see the same files."""

    def wait(self, seconds: float) -> list[Ended]:
        end = time.monotonic() + seconds
        while not (ended := self._look()) and time.monotonic() < end:
            time.sleep(LOOK)
        self._place()
        return ended

    def close(self) -> None:
        for job in self._jobs.values():
            job.cancel(check=False)
        end = time.monotonic() + FLUSH
        while time.monotonic() < end and not all(j.done() for j in self._jobs.values()):
            time.sleep(LOOK)
        if self._all_well and self.shared is not None:
            shutil.rmtree(self.shared, ignore_errors=True)
        self._jobs.clear()
        self._tasks.clear()
        self._waiting.clear()

    def _place(self) -> None:
        while self._waiting:
            key, task = self._begin()
            call = attempt, task.function, task.arguments, self._n_threads
            self._jobs[key] = self._executor.submit(*call)

    def _look(self) -> list[Ended]:
        return [one for key in list(self._jobs) for one in self._land(key)]

    def _land(self, key: Hashable) -> list[Ended]:
        job = self._jobs[key]
        if not job.done():
            return []
        if job.paths.result_pickle.exists():
            del self._jobs[key]
            self._over.pop(key, None)
            return [self._end(self._report(key, job))]
        since = self._over.setdefault(key, time.monotonic())
        if time.monotonic() - since < FLUSH:
            return []
        del self._jobs[key], self._over[key]
        self._all_well = False
        return self._again(key, f"job {job.job_id} ended without a result")

    def _report(self, key: Hashable, job: Any) -> Ended:
        try:
            value, error, machine = reported(job.result())
        except Exception:  # of submitit: the call could not even begin
            value, error, machine = None, traceback.format_exc(), {}
        self._all_well = self._all_well and error is None
        return Ended(key, value, error, machine, f"job {job.job_id}")


def _parsed(kind: str, options: str) -> dict[str, str | int]:
    """Split the options of an address.

    >>> _parsed("slurm", "partition=cpu,cpus_per_task=4")
    {'partition': 'cpu', 'cpus_per_task': 4}
    """
    found: dict[str, str | int] = {}
    for text in filter(None, options.split(",")):
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise ValueError(
                f"cluster {kind}:{options}: expected name=value instead of {text!r}, "
                "as in slurm:partition=cpu,timeout_min=60."
            )
        found[name] = int(value) if value.isdigit() else value
    return found


def _named(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as submitit calls them: those of one kind have a prefix.

    >>> _named("slurm", {"partition": "cpu", "mem_gb": 4})
    {'slurm_partition': 'cpu', 'mem_gb': 4}
    """
    return {n if n in GENERAL else f"{kind}_{n}": v for n, v in given.items()}
