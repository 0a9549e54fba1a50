"""`--cluster`: where the runs of a command are executed."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from cofire.cli.words import message

if TYPE_CHECKING:
    from cofire.lab.workers.executor import Executor

Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Run on a Dask cluster, tcp://HOST:PORT, or on Slurm, "
        "slurm:partition=NAME (docs/cluster.md).",
    ),
]


@contextmanager
def executor_at(
    address: str | None, say: Callable[[str], None], *, jobs: int | None = None
) -> "Iterator[Executor | None]":
    """Connect to a cluster; end with a message if it cannot be used, or is lost.

    say: prints what happens to workers. jobs: the option, which is for this machine.
    """
    if address is None:
        yield None
        return
    from cofire.lab.workers.connect import connected
    from cofire.lab.workers.remote import ClusterError

    if jobs is not None:
        raise _end("--jobs is for runs on this machine: leave it out beside --cluster.")
    with ExitStack() as stack:
        try:
            executor = stack.enter_context(connected(address))
        except (ImportError, OSError, ValueError) as error:
            raise _end(message(error)) from None
        assert executor is not None
        executor.tell = lambda text: say(f"{text}.")
        try:
            yield executor
        except ClusterError as error:
            raise _end(message(error)) from None


def _end(text: str) -> typer.Exit:
    typer.echo(f"cofire: {text}", err=True)
    return typer.Exit(1)
