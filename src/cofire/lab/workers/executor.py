"""The interface of all executors: tasks go out, and each comes back exactly once."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Ended:
    """A task that is over: its value, or a traceback as the error.

    machine: that of the worker. worker: its name, if it has one.
    """

    key: Hashable
    value: Any = None
    error: str | None = None
    machine: Mapping[str, Any] = field(default_factory=dict)
    worker: str | None = None


class Executor(ABC):
    """Executes tasks in other processes.

    Each task that was started is returned by `wait` exactly once, whatever happens to
    workers in between.
    """

    n_lost = 0
    """How often a task was lost with its worker, and started again."""
    lost_seconds = 0.0
    """How long these tasks had been in progress."""
    shared: str | None = None
    """A folder that all workers can read, if there must be one."""
    tell: Callable[[str], None] = staticmethod(lambda text: None)
    """Is called with what a user wants to know: a worker was lost, or refused."""

    @property
    @abstractmethod
    def n_workers(self) -> int:
        """How many tasks can be in progress now."""

    @abstractmethod
    def free(self) -> int:
        """Return how many more tasks would begin at once."""

    @abstractmethod
    def start(self, key: Hashable, function: Callable, *arguments: Any) -> None:
        """Have a worker call `function(*arguments, n_threads)`.

        n_threads: how many threads it may use there.
        """

    @abstractmethod
    def wait(self, seconds: float) -> list[Ended]:
        """Return the tasks that are over; wait so long, at most, for the first."""

    def where(self, key: Hashable) -> str | None:
        """Return the name of the worker that a task is on, if workers have names."""
        return None

    @abstractmethod
    def needs(self, files: Mapping[str, str]) -> None:
        """See to it that workers can read these files: checksums by path.

        Called before the tasks that read them are started.
        """

    @abstractmethod
    def close(self) -> None:
        """End everything; tasks in progress are given up."""

    def __enter__(self) -> "Executor":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
