"""`cofire report`: the run store as one page."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cofire.cli.inputs import check_out, errors_in_words
from cofire.cli.words import message

if TYPE_CHECKING:
    from cofire.lab.experiments import Run, Store
    from cofire.lab.paper import Choice, Item
    from cofire.lab.paper.reproduce import Made
    from cofire.lab.table import Table


def report(
    out: Annotated[
        Path, typer.Option(help="The folder that holds runs.sqlite.")
    ] = Path("cofire-results"),
    page: Annotated[
        Path | None,
        typer.Option(help="File to write (default: report.html in the folder)."),
    ] = None,
) -> None:
    """Write a page about the finished runs: tables, curves, costs."""
    from cofire.lab.experiments import Store, StoreError
    from cofire.lab.experiments.grid import TUNING_PROFILE
    from cofire.lab.report.results_page import write_results_page

    path = out / "report.html" if page is None else page
    with errors_in_words():
        if out.exists():
            check_out(path, "--out" if page is None else "--page")
    try:
        with Store(out / "runs.sqlite", create=False) as store:
            # Scores of `cofire tune` are those of validation rows.
            results = [r for r in store.results() if r.run.profile != TUNING_PROFILE]
            counts = store.counts()
            tables, missing = _paper(store)
        if not results:
            raise FileNotFoundError(
                f"no run of `compare` or `reproduce` in {out / 'runs.sqlite'} has "
                f"finished yet: "
                f"{counts['waiting']} waiting, {counts['running']} running, "
                f"{counts['failed']} failed. Give the command that made them again; "
                "`cofire runs list` says why runs failed."
            )
        write_results_page(path, results, tables, missing=[*_missing(counts), *missing])
    except (ImportError, OSError, StoreError) as error:
        typer.echo(f"cofire: {message(error)}", err=True)
        raise typer.Exit(1) from None
    print(f"{len(results)} runs: {path}")


def _paper(store: "Store") -> tuple[list["Table"], list[str]]:
    """Return the paper's tables as far as runs are done, and how many are missing.

    Tables of runs with fewer epochs, as of --quick, come last and are marked.
    """
    from cofire.lab.paper import ITEMS, Choice
    from cofire.lab.paper.reproduce import tabulate

    tables, missing = [], []
    for item in ITEMS.values():
        if not item.needs_runs:
            continue  # table 1 would read every data set, and does not need runs
        made = tabulate(item, store, Choice())
        if made.found.cells:
            tables += made.tables
            missing += _lack(made, item.name)
    for epochs, done in _finished(store).items():
        shown: set[Run] = set()
        for item in ITEMS.values():
            usual = min((run.epochs for run in item.runs(Choice())), default=0)
            own = {run for run in item.runs(Choice(epochs=epochs)) if run in done}
            if not own or epochs >= usual:
                continue
            choice = _choice_of(own, epochs)
            rivals = item.runs(replace(choice, methods=None))
            if own <= shown and not done.issuperset(rivals):
                continue  # its runs were made for other items
            shown |= own
            reduced = _reduced(item, store, choice)
            tables += [_as_reduced(table, reduced) for table in reduced.tables]
            missing += _lack(reduced, f"{item.name}, {epochs} epochs")
    return tables, missing


def _lack(made: "Made", name: str) -> list[str]:
    n = len(made.found.missing)
    return [f"{name}: {n:,} of {made.found.n_runs:,} runs"] if n else []


def _finished(store: "Store") -> dict[int, set["Run"]]:
    """Return the finished runs by number of epochs, in descending order.

    Those without a number are none of the paper's.
    """
    from cofire.lab.experiments.store import run_of

    found: dict[int, set[Run]] = {}
    for run in sorted(map(run_of, store.rows(status="done")), key=lambda r: -r.epochs):
        if run.epochs:
            found.setdefault(run.epochs, set()).add(run)
    return found


def _choice_of(runs: set["Run"], epochs: int) -> "Choice":
    """Return the smallest choice that includes these runs."""
    from cofire.lab.paper import Choice

    return Choice(
        data=tuple({run.data for run in runs}),
        methods=tuple({run.method for run in runs}),
        hidden=tuple({run.hidden for run in runs}),
        epsilon=tuple({run.epsilon for run in runs if run.epsilon is not None}),
        seeds=max(Counter(run.cell for run in runs).values()),
        epochs=epochs,
    )


def _reduced(item: "Item", store: "Store", choice: "Choice") -> "Made":
    """Tabulate with or without --quick, which has fewer trials: the one more done."""
    from cofire.lab.paper.reproduce import tabulate

    ways = [tabulate(item, store, replace(choice, quick=q)) for q in (False, True)]
    return min(ways, key=lambda made: len(made.found.missing))


def _as_reduced(table: "Table", made: "Made") -> "Table":
    return replace(
        table,
        name=f"{table.name}{made.found.choice.ways()}",
        title=f"{table.title} (reduced: {made.found.choice.epochs} epochs)",
    )


def _missing(counts: dict[str, int]) -> list[str]:
    """Say how many runs of the store have no result."""
    words = {"waiting": "waiting", "running": "running now", "failed": "failed"}
    return [f"{counts[name]} {word}" for name, word in words.items() if counts[name]]
