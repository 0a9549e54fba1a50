"""`cofire runs`: what the run store holds; list, show, export, import, delete."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from cofire.experiments import Store

runs = typer.Typer(
    help="Look at, export, import or delete the runs of a store.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Out = Annotated[Path, typer.Option("--out", help="The folder that holds runs.sqlite.")]
OUT = Path("cofire-results")
STATUSES = ("waiting", "running", "done", "failed")
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]


def open_store(out: Path, *, create: bool = False) -> "Store":
    """The store of a folder; where there is none, a message and the end."""
    from cofire.experiments import Store, StoreError

    try:
        return Store(out / "runs.sqlite", create=create)
    except (OSError, StoreError) as error:
        typer.echo(f"cofire: {error}", err=True)
        raise typer.Exit(1) from None


@runs.command("list")
def list_runs(
    out: Out = OUT,
    status: Annotated[
        str | None, typer.Option(help="waiting, running, done or failed.")
    ] = None,
    data: Annotated[str | None, typer.Option(help="Of this data set.")] = None,
    method: Annotated[str | None, typer.Option(help="Of this method.")] = None,
    limit: Annotated[
        int, typer.Option(min=1, help="No more than the last so many.")
    ] = 40,
    as_json: AsJson = False,
) -> None:
    """Say which runs there are, one a line."""
    from cofire.errors import unknown_name

    if status is not None and status not in STATUSES:
        typer.echo(f"cofire: {unknown_name('status', status, STATUSES)}", err=True)
        raise typer.Exit(2)
    with open_store(out) as store:
        counts = store.counts()
        found = store.rows(**_given(status=status, data=data, method=method))
    if as_json:
        print(json.dumps([_plain(row) for row in found]))
        return
    print(", ".join(f"{n} {name}" for name, n in counts.items() if n) or "no runs")
    for row in found[-limit:]:
        print(_line(row))
    if len(found) > limit:
        print(f"... and {len(found) - limit} before them (--limit)")


@runs.command()
def show(
    run: Annotated[int, typer.Argument(help="Its number in `cofire runs list`.")],
    out: Out = OUT,
    as_json: AsJson = False,
) -> None:
    """Say all that is known of one run."""
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
        if value is not None:
            print(f"{name:<18}{value}")


@runs.command()
def export(
    file: Annotated[Path, typer.Argument(help="Ending in .csv or .parquet.")],
    out: Out = OUT,
    curves: Annotated[
        bool, typer.Option("--curves", help="One line an epoch instead of one a run.")
    ] = False,
) -> None:
    """Write the finished runs as CSV or Parquet."""
    from cofire.experiments.exchange import export_runs

    with open_store(out) as store:
        _or_exit(
            lambda: print(f"{export_runs(store, file, curves=curves)} lines: {file}")
        )


@runs.command("import")
def import_runs(
    file: Annotated[
        Path,
        typer.Argument(
            help="A CSV file that `export` wrote.", exists=True, dir_okay=False
        ),
    ],
    out: Out = OUT,
) -> None:
    """Take over finished runs, without their curves, from an exported CSV file."""
    from cofire.experiments.exchange import import_runs as take_over

    with open_store(out, create=True) as store:
        _or_exit(lambda: print(f"{take_over(store, file)} runs are new."))


@runs.command()
def delete(
    run: Annotated[list[int] | None, typer.Argument(help="Numbers of runs.")] = None,
    out: Out = OUT,
    failed: Annotated[bool, typer.Option("--failed", help="All that failed.")] = False,
    waiting: Annotated[
        bool, typer.Option("--waiting", help="All that wait to be run.")
    ] = False,
) -> None:
    """Forget runs, for good."""
    with open_store(out) as store:
        ids = list(run or [])
        for asked, status in ((failed, "failed"), (waiting, "waiting")):
            ids += [row["id"] for row in store.rows(status=status)] if asked else []
        if not ids:
            typer.echo("cofire: name runs, or give --failed or --waiting.", err=True)
            raise typer.Exit(2)
        print(f"{store.delete(ids)} runs deleted.")


def _given(**where: Any) -> dict[str, Any]:
    return {name: value for name, value in where.items() if value is not None}


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    for name in ("options", "machine", "receipt", "notes"):
        row[name] = json.loads(row[name]) if row[name] else None
    return row


def _lists(curves: dict[str, Any]) -> dict[str, list[float | None]]:
    """What is not finite becomes null: JSON has no NaN."""
    return {
        name: [x if math.isfinite(x) else None for x in curve.tolist()]
        for name, curve in curves.items()
    }


def _line(row: dict[str, Any]) -> str:
    from cofire.cli.board import label
    from cofire.experiments.store import run_of

    result = "" if row["score"] is None else f"{100 * row['score']:6.1f} %"
    if row["error"]:
        result = row["error"].strip().splitlines()[-1]
    return f"{row['id']:>6}  {row['status']:<8}{label(run_of(row)):<56}{result}"


def _or_exit(action: Any) -> None:
    try:
        action()
    except (OSError, ValueError, ImportError) as error:
        typer.echo(f"cofire: {error}", err=True)
        raise typer.Exit(1) from None
