"""`cofire report`: the run store as one page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cofire.experiments import Store
    from cofire.report.table import Table


def report(
    out: Annotated[
        Path, typer.Option(help="Folder of the run store, runs.sqlite.")
    ] = Path("cofire-results"),
    page: Annotated[
        Path | None, typer.Option(help="The page; report.html in the folder if none.")
    ] = None,
) -> None:
    """Write the finished runs as a page: tables, curves, costs."""
    from cofire.experiments import Store, StoreError
    from cofire.report.results_page import write_results_page

    path = out / "report.html" if page is None else page
    try:
        with Store(out / "runs.sqlite", create=False) as store:
            results, counts = store.results(), store.counts()
            tables, missing = _paper(store)
        if not results:
            raise FileNotFoundError(
                f"no run in {out / 'runs.sqlite'} has finished yet: "
                f"{counts['waiting']} wait, {counts['running']} run, "
                f"{counts['failed']} failed."
            )
        write_results_page(path, results, tables, missing=[*_missing(counts), *missing])
    except (ImportError, OSError, StoreError) as error:
        typer.echo(f"cofire: {error}", err=True)
        raise typer.Exit(1) from None
    print(f"{len(results)} runs: {path}")


def _paper(store: "Store") -> tuple[list["Table"], list[str]]:
    """The paper's tables as far as runs are there, and how many they lack."""
    from cofire.paper import ITEMS, Choice
    from cofire.paper.reproduce import tabulate

    tables, missing = [], []
    for item in ITEMS.values():
        made = tabulate(item, store, Choice())
        if made.cells:
            tables += made.tables
            if made.missing:
                lack = f"{len(made.missing):,} of {made.n_runs:,} runs"
                missing.append(f"{item.name}: {lack}")
    return tables, missing


def _missing(counts: dict[str, int]) -> list[str]:
    """What the store knows of but has no result for."""
    words = {"waiting": "waiting", "running": "running now", "failed": "failed"}
    return [f"{counts[name]} {word}" for name, word in words.items() if counts[name]]
