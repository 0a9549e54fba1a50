"""`cofire compare`: several methods on your data, one table, one page."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofire.cli.inputs import (
    AsJson,
    Categorical,
    Data,
    Decimal,
    Density,
    Drop,
    Missing,
    NoHeader,
    Samples,
    Scale,
    Separator,
    Target,
    Task,
    Test,
    errors_in_words,
    is_named,
    parsed_options,
    tell,
)
from cofire.cli.runs import OUT, Out, open_store

if TYPE_CHECKING:
    from cofire.lab.experiments import Result

METHODS = ["ctre_sim", "ctre_seq", "set", "rigl", "static", "dense"]
EPSILON = 5.0


def compare(
    data: Data,
    methods: Annotated[
        list[str], typer.Option(help="Methods, as `cofire train --help` names them.")
    ] = METHODS,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each method.")] = 5,
    hidden: Annotated[
        int, typer.Option(min=1, help="Neurons in each of three hidden layers.")
    ] = 200,
    epsilon: Annotated[
        float | None, typer.Option(help=f"Connections: see `train`. [{EPSILON:g}]")
    ] = None,
    density: Density = None,
    epochs: Annotated[int, typer.Option(min=2, help="Epochs of each run.")] = 100,
    target: Target = None,
    samples: Samples = None,
    task: Task = "auto",
    test: Test = None,
    scale: Scale = None,
    missing: Missing = None,
    categorical: Categorical = None,
    drop: Drop = None,
    no_header: NoHeader = False,
    separator: Separator = None,
    decimal: Decimal = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="Any parameter of the estimator: name=value (JSON)."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Cores to use.")] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run again what failed before.")
    ] = False,
    out: Out = OUT,
    as_json: AsJson = False,
) -> None:
    """Train several methods on the same rows and say which is best, and how surely.

    Runs are kept in OUT/runs.sqlite: the same command goes on where it stopped, and
    more seeds or methods add to what is there. The table and the page are called by
    the data, and by the target where it is named: OUT/compare-my-label.md and so on.

        cofire compare my.csv --target label --methods set ctre_sim dense --seeds 10
    """
    from dataclasses import replace

    from rich.console import Console

    from cofire import SparseMLPClassifier
    from cofire.cli.board import CampaignBoard
    from cofire.data.preprocessing.training_rows import FileOptions
    from cofire.lab.experiments.compare import (
        comparison_runs,
        comparison_table,
        file_stem,
        stored_as,
        with_target,
    )
    from cofire.lab.experiments.parts import parts_of
    from cofire.lab.experiments.runner import run_all
    from cofire.lab.report.results_page import write_results_page
    from cofire.lab.table import to_markdown, write_table

    console = Console(stderr=as_json, highlight=False)
    with errors_in_words():
        is_named(data)
        _check_amount(epsilon, density)
        files = FileOptions(
            target=target,
            samples=samples,
            test=None if test is None else test.resolve(),
            scale=scale,
            missing=missing,
            categorical=tuple(categorical or ()),
            drop=tuple(drop or ()),
            header=not no_header,
            separator=separator,
            decimal=decimal,
        )
        more = parsed_options(option or [], SparseMLPClassifier())
        runs = comparison_runs(
            data,
            files,
            methods,
            seeds,
            hidden=hidden,
            epsilon=EPSILON if epsilon is None and density is None else epsilon,
            epochs=epochs,
            more=more if density is None else {**more, "density": density},
            task=task,
        )
        parts = parts_of(runs[0])  # a file that cannot be read is said at once
    tell(list(parts.notes))
    runs = [with_target(run, parts.target) for run in runs]
    with open_store(out, create=True) as store:
        usual = parts.target if target is None else None
        stored = stored_as(runs, store, usual_target=usual)
        with CampaignBoard(console) as board:
            campaign = run_all(
                list(stored.values()),
                store,
                n_cores=jobs,
                retry_failed=retry_failed,
                watch=board.watch,
            )
        asked = {kept: run for run, kept in stored.items()}
        found = store.results(data=sorted({run.data for run in asked}))
        results = [replace(r, run=asked[r.run]) for r in found if r.run in asked]
    board.conclude(campaign, out)
    if not results:
        raise typer.Exit(1)
    about = Path(data).name + (f", target {target}" if target else "")
    stem = file_stem(data, target)
    table = comparison_table(results, about, parts.task, stem)
    written = write_table(table, out)
    with errors_in_words():
        page = out / f"{stem}.html"
        write_results_page(page, results, [table], title=table.title)
    if as_json:
        told = _figures(results, parts.task, parts.target)
        print(json.dumps(told | {"files": [str(path) for path in (*written, page)]}))
        return
    console.print(to_markdown(table, heading=0), soft_wrap=True, markup=False)
    for path in (*written, page):
        console.print(f"  {path}", soft_wrap=True)


def _check_amount(epsilon: float | None, density: float | None) -> None:
    """Before anything runs: a run with neither would be one that fails."""
    if density is not None and epsilon is not None:
        raise ValueError("--epsilon and --density: leave one of them out.")
    if epsilon is not None and not epsilon > 0:
        raise ValueError(f"--epsilon must be more than 0, got {epsilon}.")
    if density is not None and not 0 < density <= 1:
        raise ValueError(f"--density must be in (0, 1], got {density}.")


def _figures(results: "list[Result]", task: str, target: str | None) -> dict[str, Any]:
    """The table for programs: numbers, shares as shares, not in per cent."""
    from dataclasses import asdict

    from cofire.lab.experiments.compare import standings

    return {
        "target": target,
        "task": task,
        "score": "accuracy" if task == "classification" else "R^2",
        "methods": [asdict(one) for one in standings(results)],
    }
