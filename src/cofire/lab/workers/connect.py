"""The one place in which an executor on other machines is chosen: by its address."""

from collections.abc import Iterator
from contextlib import contextmanager

from cofire.lab.workers.executor import Executor


@contextmanager
def connected(cluster: str | Executor | None) -> Iterator[Executor | None]:
    """Yield the executor at an address, and close it; other things stay as they are.

    >>> with connected(None) as executor:
    ...     print(executor)
    None
    """
    if not isinstance(cluster, str):
        yield cluster
        return
    with _opened(cluster) as executor:
        yield executor


def _opened(address: str) -> Executor:
    kind, colon, options = address.partition(":")
    if colon and kind in ("slurm", "local"):
        from cofire.lab.workers.jobs import Jobs

        return Jobs(kind, options)
    from cofire.lab.workers.dask_cluster import DaskCluster

    return DaskCluster(address)
