"""`cofire data`: list the data sets of the catalogue, and download them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofire.cli.inputs import errors_in_words
from cofire.cli.options import AsJson

if TYPE_CHECKING:
    from cofire.data.catalog.download import Watch

data = typer.Typer(
    help="List and download the data sets of the CTRE paper.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@data.command("list")
def list_data(as_json: AsJson = False) -> None:
    """List the data sets, and where they are."""
    from cofire.data import CATALOG

    rows = [_facts(name) for name in CATALOG]
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    print(f"{'name':<15}{'rows':>7}{'features':>10}{'classes':>9}{'size':>10}  where")
    for row in rows:
        size = f"{row['bytes'] / 2**20:.1f} MiB" if row["bytes"] else ""
        print(
            f"{row['name']:<15}{row['rows']:>7}{row['features']:>10}"
            f"{row['classes']:>9}{size:>10}  {row['path'] or 'not here'}"
        )


def _facts(name: str) -> dict[str, Any]:
    from cofire.data.catalog import entry_of, locate

    entry, path = entry_of(name), None
    try:
        path = locate(name)
    except FileNotFoundError:
        pass
    return {
        "name": name,
        "title": entry.title,
        "rows": entry.n_train + entry.n_test,
        "train": entry.n_train,
        "test": entry.n_test,
        "features": entry.n_features,
        "classes": entry.n_classes,
        "path": None if path is None else str(path),
        "bytes": None if path is None else path.stat().st_size,
        "source": entry.source,
        "licence": entry.licence,
    }


@data.command("fetch")
def fetch_data(
    names: Annotated[
        list[str], typer.Argument(help="Names that `cofire data list` shows, or all.")
    ],
    to: Annotated[
        Path | None,
        typer.Option(help="Folder to write to (default: the user's cache)."),
    ] = None,
) -> None:
    """Download data sets from their original sites and check them."""
    from cofire.data import CATALOG, fetch
    from cofire.data.catalog import entry_of

    with errors_in_words():
        wanted = list(CATALOG) if names == ["all"] else names
        for name in wanted:
            entry_of(name)
        with _progress() as watch:
            for name in wanted:
                print(f"{name}: {fetch(name, to, watch=watch)}")


@contextmanager
def _progress() -> Iterator["Watch"]:
    """Show a bar for each file, on stderr and only on a terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TransferSpeedColumn,
    )

    console, tasks = Console(stderr=True), {}
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn()
    bar = Progress(
        *columns,
        TransferSpeedColumn(),
        console=console,
        disable=not console.is_terminal,
    )

    def watch(name: str, here: int, total: int | None) -> None:
        if name not in tasks:
            tasks[name] = bar.add_task(name)
        bar.update(tasks[name], completed=here, total=total)

    with bar:
        yield watch
