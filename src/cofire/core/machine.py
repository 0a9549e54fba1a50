"""The resources of this machine: cores, threads, memory."""

import multiprocessing
import os
import sys
from collections.abc import Sequence

MOST_THREADS = 1024  # more than the cores of any machine: surely a mistake
_PER_CONNECTION = 16  # its flat index while it is drawn, its index, its weight
_PER_NEURON = 12  # a pointer to its first connection, its bias


def available_cores() -> int:
    """Number of cores this process may use.

    >>> available_cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def n_threads(n_jobs: int | None, n_tasks: int = MOST_THREADS) -> int:
    """Translate scikit-learn's `n_jobs`: None means all cores, 1 inside a worker.

    n_tasks: more threads have nothing to do.

    >>> n_threads(3), n_threads(3, n_tasks=2)
    (3, 2)
    """
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning; use None for all cores.")
    if n_tasks <= 1:
        return 1  # to ask for the cores takes longer than a row
    if n_jobs is None:
        n_jobs = 1 if _inside_a_worker() else available_cores()
    elif n_jobs < 0:
        n_jobs = max(1, available_cores() + 1 + n_jobs)
    return min(n_jobs, n_tasks, MOST_THREADS)


def _inside_a_worker() -> bool:
    """Whether this is a joblib worker or a child process: others may run too."""
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    nested = (getattr(backend, "nesting_level", 0) or 0) > 0
    child = multiprocessing.parent_process() is not None
    return nested or child or _inside_a_dask_task()


def _inside_a_dask_task() -> bool:
    """Whether a Dask worker runs this: joblib does not count its nesting there."""
    get_worker = getattr(sys.modules.get("distributed"), "get_worker", None)
    if get_worker is None:
        return False
    try:
        get_worker()
    except ValueError:  # no worker's thread
        return False
    return True


def check_memory(
    sizes: Sequence[int], counts: Sequence[int], n_networks: int = 1
) -> None:
    """Raise a MemoryError if the arrays of such networks do not fit into memory.

    Without this check, the operating system may promise memory that it does not have
    and kill the program when it is used.

    >>> check_memory([784, 1000, 10], [8000, 5000])
    """
    each = _PER_CONNECTION * sum(counts) + _PER_NEURON * sum(sizes[1:])
    if n_networks * each > (there := physical_memory()):
        times = "" if n_networks == 1 else f" for each of n_networks={n_networks}"
        raise MemoryError(
            f"hidden_layer_sizes, epsilon, density: a network of sizes "
            f"{' x '.join(map(str, sizes))} with {sum(counts)} connections needs "
            f"at least {each / 2**30:.3g} GiB{times}; this machine has "
            f"{there / 2**30:.3g} GiB. Make it smaller or sparser."
        )


def physical_memory() -> int:
    """Bytes of memory of this machine; a very large number if that is not known."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        return 2**62
