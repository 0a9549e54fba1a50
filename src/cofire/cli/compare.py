"""`cofire compare`: several methods on your data, one table, one page."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofire.cli.cluster import Cluster, executor_at
from cofire.cli.command_lines import (
    command_line,
    file_options_given,
    given_options,
    repaired,
)
from cofire.cli.inputs import check_out, errors_in_words, is_named, tell
from cofire.cli.options import (
    AsJson,
    Baselines,
    Categorical,
    Data,
    DayFirst,
    Decimal,
    Density,
    Drop,
    Id,
    Missing,
    Na,
    NoHeader,
    Samples,
    Scale,
    Separator,
    Target,
    Task,
    Test,
    file_options,
    parsed_options,
)
from cofire.cli.runs import OUT, Out, open_store
from cofire.cli.words import message

if TYPE_CHECKING:
    from rich.console import Console

    from cofire.lab.experiments import Result, Run
    from cofire.lab.experiments.compare import Standing
    from cofire.lab.experiments.run_data import RunData
    from cofire.lab.table import Table

METHODS = ["cofire", "ctre_sim", "ctre_seq", "set", "rigl", "static", "dense"]


def compare(
    data: Data,
    methods: Annotated[
        list[str], typer.Option(help="Methods, as `cofire train --help` names them.")
    ] = METHODS,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each method.")] = 5,
    baselines: Baselines = True,
    hidden: Annotated[
        int | None,
        typer.Option(min=1, help="Neurons in each of two hidden layers. [200]"),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Connections: see `train`.")
    ] = None,
    density: Density = None,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Passes over the rows. [by their number]"),
    ] = None,
    target: Target = None,
    samples: Samples = None,
    task: Task = "auto",
    test: Test = None,
    scale: Scale = None,
    missing: Missing = None,
    categorical: Categorical = None,
    drop: Drop = None,
    id: Id = None,
    na: Na = None,
    day_first: DayFirst = None,
    no_header: NoHeader = False,
    separator: Separator = None,
    decimal: Decimal = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="Any parameter of the estimator: name=value (JSON)."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Cores to use.")] = None,
    cluster: Cluster = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run again what failed before.")
    ] = False,
    out: Out = OUT,
    as_json: AsJson = False,
) -> None:
    """Train several methods on the same rows; say which is best, and how surely.

    All methods train as `cofire train --method NAME` does. Logistic regression (or
    ridge regression), a random forest and gradient boosting get the same rows.

    Runs are kept in OUT/runs.sqlite: the same command resumes where it stopped, and
    more seeds or methods add to what is there. The files of the table and the page are
    named after the data and, if given, the target: OUT/compare-my-label.md and so on.

    \b
        cofire compare my.csv --target label --methods set ctre_sim dense --seeds 10
    """
    given = locals()  # all options by name
    from rich.console import Console

    console = Console(stderr=as_json, highlight=False)

    def repair(remedy: Mapping[str, Any]) -> str:
        options = repaired(given_options(compare, given), remedy)
        return command_line("compare", data, options)

    with errors_in_words(repair):
        check_out(out / "runs.sqlite")
        runs, parts = _planned(given)
    tell(list(parts.notes))
    results = _run(console, runs, parts, given)
    if not results:
        raise typer.Exit(1)
    _write(console, results, parts, given)


def _planned(given: Mapping[str, Any]) -> "tuple[list[Run], RunData]":
    """Return the runs, and their rows: a file that cannot be read is reported now."""
    from cofire import SparseMLPClassifier
    from cofire.lab.experiments.baselines import baselines_of
    from cofire.lab.experiments.compare import (
        HIDDEN,
        comparison_runs,
        with_gaps,
        with_target,
    )
    from cofire.lab.experiments.run_data import load_run_data

    is_named(given["data"])
    epsilon, density = given["epsilon"], given["density"]
    _check_amount(epsilon, density)
    test = given["test"]
    files = replace(file_options(given), test=None if test is None else test.resolve())
    more = parsed_options(given["option"] or [], SparseMLPClassifier())
    how: dict[str, Any] = {
        "hidden": given["hidden"] or HIDDEN,
        "epsilon": epsilon,
        "epochs": given["epochs"],
        "more": more if density is None else {**more, "density": density},
        "task": given["task"],
    }
    about = given["data"], files
    runs = comparison_runs(*about, given["methods"], given["seeds"], **how)
    parts = load_run_data(runs[0])
    if given["baselines"]:
        names = baselines_of(parts.task)
        runs += comparison_runs(*about, names, given["seeds"], **how)
    runs = [with_gaps(run, parts.kept_gaps) for run in runs]
    return [with_target(run, parts.target) for run in runs], parts


def _check_amount(epsilon: float | None, density: float | None) -> None:
    """Refuse a wrong number of connections before anything runs."""
    if density is not None and epsilon is not None:
        raise ValueError("--epsilon and --density: leave one of them out.")
    if epsilon is not None and not epsilon > 0:
        raise ValueError(f"--epsilon must be more than 0, got {epsilon}.")
    if density is not None and not 0 < density <= 1:
        raise ValueError(f"--density must be in (0, 1], got {density}.")


def _run(
    console: "Console", runs: "list[Run]", parts: "RunData", given: Mapping[str, Any]
) -> "list[Result]":
    """Run what the store does not have; return the results of all runs."""
    from cofire.cli.board import CampaignBoard
    from cofire.lab.experiments.compare import stored_as
    from cofire.lab.experiments.runner import run_all

    with open_store(given["out"], create=True) as store:
        usual = parts.target if given["target"] is None else None
        stored = stored_as(runs, store, usual_target=usual)
        with (
            CampaignBoard(console) as board,
            executor_at(given["cluster"], board.say, jobs=given["jobs"]) as executor,
        ):
            campaign = run_all(
                list(stored.values()),
                store,
                n_cores=given["jobs"],
                retry_failed=given["retry_failed"],
                watch=board.watch,
                executor=executor,
            )
        asked = {kept: run for run, kept in stored.items()}
        found = store.results(data=sorted({run.data for run in asked}))
    board.conclude(campaign, given["out"])
    return [replace(r, run=asked[r.run]) for r in found if r.run in asked]


def _write(
    console: "Console",
    results: "list[Result]",
    parts: "RunData",
    given: Mapping[str, Any],
) -> None:
    """Write the table and the page; print the table, or JSON."""
    from cofire.lab.experiments.compare import comparison_table, file_stem
    from cofire.lab.table import to_markdown

    data, target = given["data"], given["target"]
    about = Path(data).name + (f", target {target}" if target else "")
    stem = file_stem(data, target)
    table = comparison_table(results, about, parts.task, stem)
    files, undrawn = _write_files(stem, results, table, parts.task, given)
    if given["as_json"]:
        figures = _figures(results, parts, given)
        print(json.dumps(figures | {"files": [str(path) for path in files]}))
    else:
        console.print(to_markdown(table, heading=0), soft_wrap=True, markup=False)
        for path in files:
            console.print(f"  {path}", soft_wrap=True)
        console.print(_conclusion(results, given), soft_wrap=True, markup=False)
    if undrawn:
        typer.echo(f"cofire: warning: {undrawn}", err=True)


def _write_files(
    stem: str,
    results: "list[Result]",
    table: "Table",
    task: str,
    given: Mapping[str, Any],
) -> tuple[list[Path], str]:
    """Return the files that were written, and why there is no page if there is none."""
    from cofire.lab.experiments.compare import standings, verdict
    from cofire.lab.report.results_page import write_results_page
    from cofire.lab.table import write_table

    out = given["out"]
    written, page = write_table(table, out), out / f"{stem}.html"
    try:
        write_results_page(
            page,
            results,
            [table],
            title=table.title,
            headline=verdict(standings(results), task),
            command=_own_command(given),
        )
    except (ImportError, OSError, ValueError, MemoryError) as error:
        again = "the same command draws it then, without running anything again"
        return (
            written,
            f"the page was not drawn: {message(error).rstrip('.')}; {again}.",
        )
    return [*written, page], ""


def _own_command(given: Mapping[str, Any]) -> str:
    """Return the command that writes the same page again, without what is usual.

    And without folders: the page may be published.
    """
    methods, seeds, test = list(given["methods"]), given["seeds"], given["test"]
    names = ("hidden", "epsilon", "density", "epochs", "option")
    return command_line(
        "compare",
        Path(given["data"]).name,
        {
            **file_options_given(given),
            "test": None if test is None else test.name,
            "methods": None if methods == METHODS else methods,
            "seeds": None if seeds == 5 else seeds,
            **{name: given[name] for name in names},
        },
    ) + ("" if given["baselines"] else " --no-baselines")


def _figures(
    results: "list[Result]", parts: "RunData", given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the table for programs: numbers, with fractions instead of per cent."""
    from cofire.lab.experiments.compare import not_surely_worse, standings

    found = standings(results)
    return {
        "target": parts.target,
        "task": parts.task,
        "score": "accuracy" if parts.task == "classification" else "R^2",
        "methods": [asdict(one) for one in found],
        "best": found[0].method,
        "not_surely_worse": not_surely_worse(found),
        "train": _training(found, results, given),
    }


def _training(
    found: "list[Standing]", results: "list[Result]", given: Mapping[str, Any]
) -> dict[str, str]:
    """Return how to train the best method and, if that is a baseline, our best one."""
    from cofire.lab.names import BASELINES

    ours = [one.method for one in found if one.method not in BASELINES][:1]
    models = {result.run.method: result.notes.get("model") for result in results}
    return {
        method: models[method] or _command(method, given)
        for method in dict.fromkeys([found[0].method, *ours])
    }


def _command(method: str, given: Mapping[str, Any]) -> str:
    """Return the command that trains a method; its seed is that of the first run."""
    from cofire.lab.names import is_full

    hidden, full = given["hidden"], is_full(method)
    return command_line(
        "train",
        given["data"],
        {
            **file_options_given(given),
            "method": None if method == METHODS[0] else method,
            "hidden": None if hidden is None else [hidden, hidden],
            "epsilon": None if full else given["epsilon"],
            "density": None if full else given["density"],
            "epochs": given["epochs"],
            "option": given["option"],
        },
    )


def _conclusion(results: "list[Result]", given: Mapping[str, Any]) -> str:
    """Say which method is best, what the seeds do not settle, and how to train it."""
    from cofire.lab.experiments.compare import (
        not_surely_worse,
        same_networks,
        standings,
    )
    from cofire.lab.names import BASELINES, method_name

    found = standings(results)
    best, *ours = _training(found, results, given).items()
    equal = [method_name(one.method) for one in found if one.mean == found[0].mean]
    lines = ["", f"Best on these rows: {', '.join(equal)}."]
    if len(equal) > 1:
        lines[1] = lines[1].replace("Best", "Best, and equally good", 1)
    same = [method_name(method) for method in same_networks(results)]
    if same:
        lines.append(
            f"The same networks in all runs: {', '.join(same)}. No connection moved in "
            "so few steps: give more --epochs, or leave it out."
        )
    close = [method_name(method) for method in not_surely_worse(found)]
    close = [name for name in close if name not in equal]
    if len(close) > 1 and len(close) == len(found) - len(equal):
        lines.append("None of the others is surely worse.")
    elif close:
        lines.append(f"Not surely worse: {', '.join(close)}.")
    if best[0] in BASELINES:
        lines.append(f"It is a model of scikit-learn: {best[1]}")
        lines += [f"Of cofire's methods the best is {method_name(m)}:" for m, _ in ours]
        lines += [f"  {command}" for _, command in ours]
    else:
        it = "it" if len(equal) == 1 else method_name(best[0])
        lines += [f"To train {it}:", f"  {best[1]}"]
    return "\n".join(lines)
