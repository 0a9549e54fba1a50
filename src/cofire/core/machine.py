"""The resources of this machine: cores, threads, memory."""

import ctypes
import multiprocessing
import os
import re
import sys
from collections.abc import Sequence
from functools import cache
from numbers import Real
from typing import Any

MOST_THREADS = 1024  # more than the cores of any machine: surely a mistake
_PER_CONNECTION = 16  # its flat index while it is drawn, its index, its weight
_PER_NEURON = 12  # a pointer to its first connection, its bias
_AMOUNT = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?)(i?)B?\s*", re.IGNORECASE)


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


def release_memory() -> None:
    """Give memory that was freed back to the operating system, where that is possible.

    Otherwise the allocator keeps it, for each thread by itself: of rows that came and
    went, several times as much as is in use.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # not the C library of GNU
        return None


def parse_bytes(amount: Any, name: str) -> int:
    """Return a number of bytes from a number, or from text such as "1GB" or "512MiB".

    >>> [parse_bytes(amount, "x") for amount in ("1GB", "1.5 MiB", 4096)]
    [1000000000, 1572864, 4096]
    """
    number = isinstance(amount, Real) and not isinstance(amount, bool)
    if number and float(amount) >= 1:
        return int(amount)
    found = _AMOUNT.fullmatch(amount) if isinstance(amount, str) else None
    if found is None:
        raise ValueError(
            f"{name}={amount!r}: expected a number of bytes, or an amount such as "
            '"1GB" or "512MiB".'
        )
    value, unit, binary = found.groups()
    power = "KMGT".index(unit.upper()) + 1 if unit else 0
    return int(float(value) * (1024 if binary else 1000) ** power)


def in_words(n_bytes: float) -> str:
    """Say an amount of memory as `parse_bytes` reads it, rounded up.

    >>> in_words(1_234_567), in_words(80_000_000_000), in_words(10)
    ('2MB', '80GB', '1KB')
    """
    for power, unit in enumerate("KMG", start=1):
        size = 1000**power
        if n_bytes <= 1000 * size or unit == "G":
            break
    return f"{max(1, -(-int(n_bytes) // size))}{unit}B"
