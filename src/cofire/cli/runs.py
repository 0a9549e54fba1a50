"""`cofire runs`: list, show, export, import and delete the runs of a store."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from cofire.cli.options import AsJson
from cofire.cli.words import in_options, message

if TYPE_CHECKING:
    from cofire.lab.experiments import Store

runs = typer.Typer(
    help="List, show, export, import or delete the runs of a store.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Out = Annotated[Path, typer.Option("--out", help="The folder that holds runs.sqlite.")]
OUT = Path("cofire-results")
STATUSES = ("waiting", "running", "done", "failed")
T = TypeVar("T")


def open_store(out: Path, *, create: bool = False) -> "Store":
    """Open the store of a folder; if there is none, end with a message."""
    from cofire.lab.experiments import Store, StoreError

    try:
        return Store(out / "runs.sqlite", create=create)
    except (OSError, StoreError) as error:
        typer.echo(f"cofire: {message(error)}", err=True)
        raise typer.Exit(1) from None


@runs.command("list")
def list_runs(
    out: Out = OUT,
    status: Annotated[
        str | None, typer.Option(help=f"{', '.join(STATUSES[:-1])} or {STATUSES[-1]}.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help="Only of this data set, or of files with this name."),
    ] = None,
    method: Annotated[str | None, typer.Option(help="Only of this method.")] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Only the last LIMIT (default: 40; with --json all)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the runs, one per line."""
    from cofire.errors import unknown_name

    if status is not None and status not in STATUSES:
        typer.echo(f"cofire: {unknown_name('status', status, STATUSES)}", err=True)
        raise typer.Exit(2)
    with open_store(out) as store:
        counts = store.counts()
        found = store.rows(**_given(status=status, method=method))
        methods = {row["method"] for row in store.rows()}
    if data is not None:
        found = [row for row in found if data in (row["data"], Path(row["data"]).name)]
    if method is not None and method not in methods:
        typer.echo(f"cofire: {unknown_name('method', method, methods)}", err=True)
        raise typer.Exit(2)
    if as_json:
        print(json.dumps([_plain(row) for row in found[-(limit or 0) :]]))
        return
    print(", ".join(f"{n} {name}" for name, n in counts.items() if n) or "no runs")
    shown = found[-(limit or 40) :]
    for line in _lines(shown):
        print(line)
    if len(found) > len(shown):
        print(f"... and {len(found) - len(shown)} before them (--limit)")


@runs.command()
def show(
    run: Annotated[int, typer.Argument(help="Its number in `cofire runs list`.")],
    out: Out = OUT,
    as_json: AsJson = False,
) -> None:
    """Show everything about one run."""
    with open_store(out) as store:
        found = store.rows(id=run)
        if not found:
            typer.echo(f"cofire: there is no run {run} in {store.path}.", err=True)
            raise typer.Exit(1)
        curves = store.curves(run)
    facts = _plain(found[0]) | {
        "curves": {name: len(curve) for name, curve in curves.items()}
    }
    if as_json:
        print(json.dumps(facts | {"curves": _lists(curves)}))
        return
    for name, value in facts.items():
        if value is not None and name not in ("key", "alive"):  # the store's own
            print(f"{name:<18}{value}")


@runs.command()
def export(
    file: Annotated[Path, typer.Argument(help="Ending in .csv or .parquet.")],
    out: Out = OUT,
    curves: Annotated[
        bool,
        typer.Option("--curves", help="One line per epoch instead of one per run."),
    ] = False,
) -> None:
    """Write the finished runs as CSV or Parquet."""
    from cofire.lab.experiments.exchange import export_runs

    with open_store(out) as store:
        n = _or_exit(lambda: export_runs(store, file, curves=curves))
    print(f"{n} lines: {file}")


@runs.command("import")
def import_runs(
    file: Annotated[
        Path,
        typer.Argument(help="A file that `export` wrote.", exists=True, dir_okay=False),
    ],
    out: Out = OUT,
) -> None:
    """Add finished runs, without their curves, from an exported file."""
    from cofire.lab.experiments.exchange import read_runs, take_over

    rows = _or_exit(lambda: read_runs(file))
    with open_store(out, create=True) as store:
        new, other = take_over(store, rows)
    print(f"{new} runs are new.")
    if other:
        print(f"{other} runs are in the store with another score, and are kept.")


@runs.command()
def delete(
    run: Annotated[list[int] | None, typer.Argument(help="Numbers of runs.")] = None,
    out: Out = OUT,
    failed: Annotated[
        bool, typer.Option("--failed", help="All runs that failed.")
    ] = False,
    waiting: Annotated[
        bool, typer.Option("--waiting", help="All runs that are waiting.")
    ] = False,
) -> None:
    """Delete runs; this cannot be undone."""
    with open_store(out) as store:
        if not (run or failed or waiting):
            typer.echo("cofire: name runs, or give --failed or --waiting.", err=True)
            raise typer.Exit(2)
        ids = list(run or [])
        unknown = [i for i in ids if not store.rows(id=i)]
        if unknown:
            named = ", ".join(map(str, unknown))
            typer.echo(
                f"cofire: there is no run {named} in {store.path}; none was deleted.",
                err=True,
            )
            raise typer.Exit(1)
        for asked, status in ((failed, "failed"), (waiting, "waiting")):
            ids += [row["id"] for row in store.rows(status=status)] if asked else []
        print(f"{store.delete(ids)} runs deleted.")


def _given(**where: Any) -> dict[str, Any]:
    return {name: value for name, value in where.items() if value is not None}


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    for name in ("options", "machine", "receipt", "notes"):
        row[name] = json.loads(row[name]) if row[name] else None
    return row


def _lists(curves: dict[str, Any]) -> dict[str, list[float | None]]:
    """Return curves as lists; null replaces what is not finite, as JSON has no NaN."""
    return {
        name: [x if math.isfinite(x) else None for x in curve.tolist()]
        for name, curve in curves.items()
    }


def _lines(rows: list[dict[str, Any]]) -> list[str]:
    """Return a line per run, with the scores or errors aligned."""
    from cofire.lab.experiments.labels import run_label
    from cofire.lab.experiments.store import run_of

    labels = [run_label(run_of(row)) for row in rows]
    width = max(map(len, labels), default=0)
    return [
        f"{row['id']:>6}  {row['status']:<8}{label:<{width}}  {_outcome(row)}".rstrip()
        for row, label in zip(rows, labels, strict=True)
    ]


def _outcome(row: dict[str, Any]) -> str:
    from cofire.lab.experiments.labels import failure, score_text
    from cofire.lab.experiments.results import noted_task

    if row["error"]:
        return in_options(failure(row["error"]))
    if row["score"] is None:
        return ""
    return f"{score_text(row['score'], noted_task(json.loads(row['notes']))):>9}"


def _or_exit(action: Callable[[], T]) -> T:
    try:
        return action()
    except (OSError, ValueError, ImportError) as error:
        typer.echo(f"cofire: {message(error)}", err=True)
        raise typer.Exit(1) from None
