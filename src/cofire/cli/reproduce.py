"""`cofire reproduce`: any table or figure of the paper; resumes where it stopped."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofire.cli.cluster import Cluster, executor_at
from cofire.cli.runs import OUT, Out, open_store

if TYPE_CHECKING:
    from rich.console import Console

    from cofire.lab.experiments import Run, Store
    from cofire.lab.paper import Choice, Item
    from cofire.lab.paper.reproduce import Made
    from cofire.lab.workers.executor import Executor


def reproduce(
    items: Annotated[
        list[str] | None,
        typer.Argument(help="Names of tables and figures, or all: {item}."),
    ] = None,
    list_items: Annotated[
        bool, typer.Option("--list", help="Show all names, and which runs are done.")
    ] = False,
    datasets: Annotated[
        list[str] | None, typer.Option(help="Only these data sets.")
    ] = None,
    methods: Annotated[
        list[str] | None, typer.Option(help="Only these methods.")
    ] = None,
    hidden: Annotated[list[int] | None, typer.Option(help="Only these widths.")] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="Only these densities.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="At most this many seeds.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=2, help="Instead of the paper's 500.")
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A small part, marked as such, in minutes."),
    ] = False,
    similarity: Annotated[
        str, typer.Option(help="How CTRE searches: {similarity}.")
    ] = "exact",
    program: Annotated[
        bool,
        typer.Option(
            "--program",
            help="With three quirks of the authors' program that decide some cells "
            "(docs/reproduction.md).",
        ),
    ] = False,
    out: Out = OUT,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Cores to use (default: all).")
    ] = None,
    cluster: Cluster = None,
    only_write: Annotated[
        bool, typer.Option("--only-write", help="Run nothing; write what is done.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run again what failed before.")
    ] = False,
) -> None:
    """Make tables and figures of the paper, running whatever they still need.

    Runs are kept in OUT/runs.sqlite as they finish: interrupt it at any time, the same
    command resumes. Tables are written as Markdown, CSV and LaTeX with the paper's own
    numbers beside ours, figures as PNG and SVG.

    \b
        cofire reproduce --list
        cofire reproduce table2 --quick
        cofire reproduce table2 figure8 --datasets madelon --epsilon 1 --seeds 3
    """
    given = locals()  # all options by name
    from rich.console import Console

    console = Console(highlight=False)
    wanted, choice = _wanted(given)
    if list_items or not wanted:
        _list(console, wanted, choice, out)
        return

    def say(text: str) -> None:
        console.print(text, soft_wrap=True, markup=False)

    with (
        open_store(out, create=not only_write) as store,
        executor_at(None if only_write else cluster, say, jobs=jobs) as executor,
    ):
        failed = 0
        for item in wanted:
            if not only_write:
                # Seconds are compared with each other: they are measured here.
                where = None if item.alone else executor
                failed += _run(console, item, choice, store, jobs, retry_failed, where)
            _write(console, item, choice, store, out)
    if failed:
        raise typer.Exit(1)


def _wanted(given: Mapping[str, Any]) -> "tuple[list[Item], Choice]":
    """Return the items that were named, and which of their runs; exit if unknown."""
    from cofire.lab.paper import ITEMS, Choice, item_named

    def chosen(name: str) -> tuple[Any, ...] | None:
        return tuple(given[name]) if given[name] else None

    try:
        choice = Choice(
            data=chosen("datasets"),
            methods=chosen("methods"),
            hidden=chosen("hidden"),
            epsilon=chosen("epsilon"),
            seeds=given["seeds"],
            epochs=given["epochs"],
            similarity=given["similarity"],
            program=given["program"],
            quick=given["quick"],
        )
        items = given["items"] or []
        names = list(ITEMS) if items == ["all"] else items
        return [item_named(name) for name in names], choice
    except ValueError as error:
        typer.echo(f"cofire: {error}", err=True)
        raise typer.Exit(2) from None


def _run(
    console: "Console",
    item: "Item",
    choice: "Choice",
    store: "Store",
    jobs: int | None,
    retry_failed: bool,
    executor: "Executor | None",
) -> int:
    """Run what is not done; return how many runs failed."""
    from cofire.cli.board import CampaignBoard
    from cofire.lab.experiments.runner import run_all

    failed = 0
    for stage in item.stages(choice, store):
        with CampaignBoard(console) as board:
            campaign = run_all(
                stage,
                store,
                n_cores=jobs,
                one_at_a_time=item.alone,
                retry_failed=retry_failed,
                watch=board.watch,
                executor=executor,
            )
        board.conclude(campaign, store.path.parent)
        failed += len(campaign.failed)
    return failed


def _write(
    console: "Console", item: "Item", choice: "Choice", store: "Store", out: Path
) -> None:
    from cofire.lab.paper.reproduce import tabulate, write

    made = tabulate(item, store, choice)
    files = write(made, out)
    console.print(f"\n[bold]{item.name}[/bold]: {item.title}", soft_wrap=True)
    if not files and not made.undrawn:
        console.print(
            "  nothing to show yet: none of its runs is done"
            if made.found.n_runs
            else f"  it has none of what was asked for. {_has(item)}",
            soft_wrap=True,
        )
        return
    _print_tables(console, made)
    for line in (*files, *([made.undrawn] if made.undrawn else [])):
        console.print(f"  {line}", soft_wrap=True, markup=False)


def _has(item: "Item") -> str:
    """Say which data sets, methods and so on an item has."""
    from cofire.lab.paper import Choice

    runs = item.runs(Choice())
    epsilons = sorted({run.epsilon for run in runs if run.epsilon is not None})
    choices = {
        "--datasets": dict.fromkeys(run.data for run in runs),
        "--methods": dict.fromkeys(run.method for run in runs),
        "--hidden": sorted({run.hidden for run in runs}),
        "--epsilon": [f"{epsilon:g}" for epsilon in epsilons],
    }
    known = (f"{name} {' '.join(map(str, of))}" for name, of in choices.items() if of)
    return f"It has: {'; '.join(known)}."


def _print_tables(console: "Console", made: "Made") -> None:
    """Print tables that fit on a screen, and the captions of the others."""
    from cofire.lab.table import to_markdown

    for table in made.tables:
        fits = len(table.rows) <= 40
        text = to_markdown(table, heading=0) if fits else table.caption
        console.print(text, soft_wrap=True, markup=False)


def _list(console: "Console", items: "list[Item]", choice: "Choice", out: Path) -> None:
    """List these items, or all, with the number of runs that are done."""
    from rich.table import Table

    from cofire.lab.paper import ITEMS

    done: set[Run] = set()
    if (out / "runs.sqlite").exists():
        with open_store(out) as store:
            done = _finished(store)
    table = Table("", "what it shows", box=None)
    for heading in ("runs", "done"):
        table.add_column(heading, justify="right")
    table.add_column("data sets")
    for item in items or ITEMS.values():
        runs = item.runs(choice)
        data = list(dict.fromkeys(run.data for run in runs))
        count = sum(run in done for run in runs)
        table.add_row(
            item.name, item.title, *map(str, (len(runs), count)), " ".join(data)
        )
    console.print(table)


def _finished(store: "Store") -> "set[Run]":
    from cofire.lab.experiments.store import run_of

    return {run_of(row) for row in store.rows(status="done")}
