"""`cofire compare`: several methods on your data, one table, one page."""

import json
from pathlib import Path
from typing import Annotated

import typer

from cofire.cli.inputs import (
    AsJson,
    Data,
    Decimal,
    NoHeader,
    Samples,
    Separator,
    Target,
    errors_in_words,
    is_named,
    parsed_options,
)
from cofire.cli.runs import OUT, Out, open_store

METHODS = ["ctre_sim", "ctre_seq", "set", "rigl", "static", "dense"]


def compare(
    data: Data,
    methods: Annotated[
        list[str], typer.Option(help="Methods, as `cofire train --help` names them.")
    ] = METHODS,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each method.")] = 5,
    hidden: Annotated[
        int, typer.Option(min=1, help="Neurons in each of three hidden layers.")
    ] = 200,
    epsilon: Annotated[float, typer.Option(help="Connections: see `train`.")] = 5.0,
    epochs: Annotated[int, typer.Option(min=2, help="Epochs of each run.")] = 100,
    target: Target = None,
    samples: Samples = None,
    test: Annotated[
        Path | None, typer.Option(help="A file with the rows to test with.")
    ] = None,
    missing: Annotated[
        str | None, typer.Option(help="Fill gaps: mean, median or most_frequent.")
    ] = None,
    scale: Annotated[
        str | None, typer.Option(help="standard (default), minmax or none.")
    ] = None,
    no_header: NoHeader = False,
    separator: Separator = None,
    decimal: Decimal = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="Any parameter of the estimator: name=value (JSON)."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Cores to use.")] = None,
    out: Out = OUT,
    as_json: AsJson = False,
) -> None:
    """Train several methods on the same rows and say which is best, and how surely.

    Runs are kept in OUT/runs.sqlite: the same command goes on where it stopped, and
    more seeds or methods add to what is there.

        cofire compare my.csv --target label --methods set ctre_sim dense --seeds 10
    """
    from rich.console import Console

    from cofire import SparseMLPClassifier
    from cofire.cli.board import CampaignBoard
    from cofire.data.training_rows import FileOptions
    from cofire.experiments.compare import comparison_runs, comparison_table
    from cofire.experiments.parts import parts_of
    from cofire.experiments.runner import run_all
    from cofire.report.results_page import write_results_page
    from cofire.report.table import to_markdown, write_table

    console = Console(stderr=as_json, highlight=False)
    with errors_in_words():
        is_named(data)
        files = FileOptions(
            target=target,
            samples=samples,
            test=None if test is None else test.resolve(),
            scale=scale,
            missing=missing,
            header=not no_header,
            separator=separator,
            decimal=decimal,
        )
        runs = comparison_runs(
            data,
            files,
            methods,
            seeds,
            hidden=hidden,
            epsilon=epsilon,
            epochs=epochs,
            more=parsed_options(option or [], SparseMLPClassifier()),
        )
        task = parts_of(runs[0]).task  # a file that cannot be read is said at once
    with open_store(out, create=True) as store:
        with CampaignBoard(console) as board:
            campaign = run_all(runs, store, n_cores=jobs, watch=board.watch)
        wanted = set(runs)
        results = [r for r in store.results(data=runs[0].data) if r.run in wanted]
    board.conclude(campaign)
    if not results:
        raise typer.Exit(1)
    score = "accuracy" if task == "classification" else "R^2"
    table = comparison_table(results, Path(data).name, score)
    written = write_table(table, out)
    with errors_in_words():
        page = out / "compare.html"
        write_results_page(page, results, [table], title=table.title)
    if as_json:
        print(
            json.dumps(
                {
                    "columns": list(table.columns),
                    "rows": [
                        [table.text(i, j) for j in range(len(row))]
                        for i, row in enumerate(table.rows)
                    ],
                    "files": [str(path) for path in (*written, page)],
                }
            )
        )
        return
    console.print(to_markdown(table, heading=0), soft_wrap=True, markup=False)
    for path in (*written, page):
        console.print(f"  {path}", soft_wrap=True)
