"""Trials on other machines: each fold is a task, and the rows are sent once."""

import pickle
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, cast

from cofire.errors import DivergenceError
from cofire.lab.workers.executor import Executor
from cofire.lab.workers.files import checksum, here
from cofire.lab.workers.remote import ClusterError
from cofire.tuning.curves import Rival
from cofire.tuning.space import Settings
from cofire.tuning.trial import Fold, Part, Trial, combined, run_fold

POLL_INTERVAL = 0.1  # seconds after which Ctrl-C is heard
_CALLS = count()


@dataclass(frozen=True)
class Job:
    """A trial to run: its place in the search, its settings, whom it may lose to."""

    number: int
    repeat: int
    settings: Settings
    rivals: Sequence[Rival]


@dataclass(frozen=True)
class Search:
    """All that the trials of a search have in common. seeds: for each repeat."""

    estimator: Any
    X: Any
    y: Any
    folds: Sequence[Sequence[Fold]]
    seeds: Sequence[Sequence[int]]
    scorer: Any


@dataclass(frozen=True)
class Elsewhere:
    """An executor, and the file with which its workers learn of the search."""

    executor: Executor
    path: str
    digest: str
    n_folds: int

    def run(
        self, jobs: Sequence[Job]
    ) -> Iterator[tuple[Job, Trial | DivergenceError, Mapping[str, Any]]]:
        """Yield trials as they end, with the machine of the first fold.

        Folds after one that is beaten, or diverges, count for nothing: the trial is
        what it would be if one had followed the other.
        """
        call = next(_CALLS)  # folds of trials that are over may still come back
        todo = [(job, k) for job in range(len(jobs)) for k in range(self.n_folds)]
        parts: list[dict[int, Part | Exception]] = [{} for _ in jobs]
        machines: dict[int, Mapping[str, Any]] = {}
        left = set(range(len(jobs)))
        while left:
            todo = [(job, fold) for job, fold in todo if job in left]
            while todo and self.executor.free():
                job, fold = todo.pop(0)
                about = jobs[job].repeat, fold, jobs[job].settings
                rivals = jobs[job].rivals if fold == 0 else None
                source = self.path, self.digest
                key = call, job, fold
                self.executor.start(key, _fold, *source, *about, rivals)
            for ended in self.executor.wait(POLL_INTERVAL):
                of_call, job, fold = cast(tuple[int, int, int], ended.key)
                if of_call != call or job not in left:
                    continue
                if ended.error is not None:
                    raise ClusterError(
                        f"trial {jobs[job].number}: a worker failed.\n{ended.error}"
                    )
                parts[job][fold] = ended.value
                if fold == 0:
                    machines[job] = ended.machine
                trial = self._over(jobs[job], parts[job])
                if trial is not None:
                    left.remove(job)
                    yield jobs[job], trial, machines[job]

    def _over(
        self, job: Job, parts: Mapping[int, Part | Exception]
    ) -> Trial | DivergenceError | None:
        """Return the trial if the folds that are over, in their order, decide it."""
        found: list[Part] = []
        for fold in range(self.n_folds):
            part = parts.get(fold)
            if part is None:
                return None
            if isinstance(part, DivergenceError):
                return part
            if isinstance(part, Exception):
                raise part
            found.append(part)
            if not part.ensembles:
                break
        return combined(job.settings, found)


@contextmanager
def sent(search: Search, executor: Executor) -> Iterator[Elsewhere]:
    """Make a search known to the workers of an executor."""
    import cloudpickle  # Dask and submitit come with it; it takes users' scorers

    with tempfile.TemporaryDirectory(prefix="cofire-", dir=executor.shared) as folder:
        path = Path(folder, "search.pickle")
        path.write_bytes(cloudpickle.dumps(search))
        digest = checksum(path)
        executor.needs({str(path): digest})
        yield Elsewhere(executor, str(path), digest, len(search.folds[0]))


@lru_cache(maxsize=1)
def _known(path: str, digest: str) -> Search:
    """Read the search once in each worker."""
    search: Search = pickle.loads(here(path, digest).read_bytes())
    return search


def _fold(
    path: str,
    digest: str,
    repeat: int,
    number: int,
    settings: Settings,
    rivals: Sequence[Rival] | None,
    n_threads: int,
) -> Part | Exception:
    """Fit one fold in a worker; an error is returned, so that it keeps its class."""
    search = _known(path, digest)
    fold, seed = search.folds[repeat][number], search.seeds[repeat][number]
    estimator = search.estimator.set_params(n_jobs=n_threads)
    about = estimator, settings, search.X, search.y, fold, seed
    try:
        return run_fold(*about, search.scorer, rivals)
    except Exception as error:
        return error
