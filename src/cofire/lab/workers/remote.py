"""What executors on other machines share: a task that is lost begins again."""

import time
from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from cofire.lab.workers.executor import Ended, Executor

MOST_LOSSES = 3  # workers that may be lost with a task before it counts as the cause


class ClusterError(ConnectionError):
    """The cluster cannot be used, or no longer."""


@dataclass
class Task:
    """A call to make. n_lost: how many workers were lost while they made it."""

    function: Callable
    arguments: tuple[Any, ...]
    n_lost: int = 0
    begun: float = field(default_factory=time.monotonic)


class RemoteExecutor(Executor):
    """Keeps tasks until they are over; how they are placed is up to subclasses."""

    def __init__(self) -> None:
        self._tasks: dict[Hashable, Task] = {}
        self._waiting: list[Hashable] = []
        """Those of the tasks that are on no worker."""

    def free(self) -> int:
        return max(0, self.n_workers - len(self._tasks))

    def start(self, key: Hashable, function: Callable, *arguments: Any) -> None:
        self._tasks[key] = Task(function, arguments)
        self._waiting.append(key)
        self._place()

    @abstractmethod
    def _place(self) -> None:
        """Give waiting tasks to workers."""

    def _begin(self) -> tuple[Hashable, Task]:
        """Return the next task that waits."""
        key = self._waiting.pop(0)
        task = self._tasks[key]
        task.begun = time.monotonic()
        return key, task

    def _end(self, ended: Ended) -> Ended:
        del self._tasks[ended.key]
        return ended

    def _again(self, key: Hashable, why: str, *, blame: bool = True) -> list[Ended]:
        """Have a lost task done again; it fails if it was there at too many losses.

        blame: whether the task may be the reason, as one is that needs more memory than
        workers have.
        """
        task = self._tasks[key]
        seconds = time.monotonic() - task.begun
        self.n_lost += 1
        self.lost_seconds += seconds
        task.n_lost += blame
        if task.n_lost >= MOST_LOSSES:
            error = (
                f"{why}\nIt was the last of {task.n_lost} workers that were lost while "
                "they did this. (Out of memory?)"
            )
            return [self._end(Ended(key, error=error))]
        self.tell(f"{why}; what it did ({seconds:.0f} s) is done again")
        self._waiting.insert(0, key)
        return []
