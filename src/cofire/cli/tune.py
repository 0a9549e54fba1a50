"""`cofire tune`: settings for your data, and how small a model can get."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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
from cofire.cli.inputs import check_out, errors_in_words, tell, training_rows
from cofire.cli.options import (
    AsJson,
    Categorical,
    Data,
    DayFirst,
    Decimal,
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
    estimator_parameters,
    parsed_options,
)
from cofire.cli.runs import OUT
from cofire.cli.train import save_model
from cofire.cli.words import message

if TYPE_CHECKING:
    from cofire.data.preprocessing.training_rows import TrainingRows
    from cofire.tuning import Step, Tuning

Row = dict[str, Any]
OPTIONS = {
    "hidden_layer_sizes": "hidden",
    "learning_rate_init": "learning_rate",
    "n_networks": "networks",
}
"""Parameters for which `train` has an option of another name."""


def tune(
    data: Data,
    trials: Annotated[int, typer.Option(min=1, help="Settings to try.")] = 30,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Begin no trial after these.")
    ] = None,
    within: Annotated[
        float,
        typer.Option(min=0, help="Points below the best that count as good as it."),
    ] = 1.0,
    small: Annotated[
        bool, typer.Option("--small", help="Save the smallest of these, not the best.")
    ] = False,
    max_connections: Annotated[
        int | None, typer.Option(min=1, help="The best has at most so many.")
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(min=2, help="Parts of cross-validation. [5; many rows: 3]"),
    ] = None,
    target: Target = None,
    samples: Samples = None,
    test: Test = None,
    test_fraction: Annotated[
        float | None,
        typer.Option(help="Or the fraction of rows to test with; 0: no test. [0.2]"),
    ] = None,
    task: Task = "auto",
    networks: Annotated[
        int | None, typer.Option(help="Networks of an ensemble, at most. [4]")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="Any parameter of the estimator, fixed: name=value (JSON)."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    n_jobs: Annotated[int | None, typer.Option(help="Number of threads.")] = None,
    cluster: Cluster = None,
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
    store: Annotated[
        Path, typer.Option(help="The folder that holds runs.sqlite, table and picture.")
    ] = OUT,
    out: Annotated[
        Path | None, typer.Option(help="The model's file (default: DATA.cofire).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Search for settings; say how small a model can get; save the best as an ensemble.

    Each trial is a cross-validation on the rows that are not test rows. The first is
    the default. The table and the picture show the front: which score needs how many
    connections, bytes and microseconds.

    Trials are kept in STORE/runs.sqlite: the same command continues where it stopped,
    and more trials add to what is there. It needs Optuna: pip install 'cofire[tune]'.

    \b
        cofire tune my.csv --target label --trials 50 --minutes 10
    """
    given = locals()  # all options by name

    def repair(remedy: Mapping[str, Any]) -> str:
        return command_line("tune", data, repaired(given_options(tune, given), remedy))

    with errors_in_words(repair):
        path = out or Path(f"{Path(data).name.partition('.')[0]}.cofire")
        check_out(path)
        check_out(store / "runs.sqlite", "--store")
        # A regressor has no other parameters than a classifier.
        takes_gaps = bool(_estimator("classification", given).standardize)
        rows = training_rows(given, takes_gaps=takes_gaps)
        tell(rows.notes)
        found = _search(rows, given)
        save_model(rows, found.best_estimator_, path)
        files, undrawn = _write_files(found, given)
        figures = _figures(found, rows, path, given)
    if as_json:
        print(json.dumps(figures | {"files": [str(file) for file in files]}))
    else:
        print(_text(found, figures, files))
    if undrawn:
        typer.echo(f"cofire: warning: {undrawn}", err=True)


def _search(rows: "TrainingRows", given: Mapping[str, Any]) -> "Tuning":
    import cofire
    from cofire.lab.experiments import StoreError

    data = given["data"]
    minutes = given["minutes"]
    try:
        with (
            _says_how_to_continue(),
            executor_at(given["cluster"], _say) as executor,
        ):
            return cofire.tune(
                _estimator(rows.task, given),
                rows.X,
                rows.y,
                n_trials=given["trials"],
                timeout=None if minutes is None else 60 * minutes,
                cv=given["folds"],
                within=given["within"] / 100,
                max_connections=given["max_connections"],
                prefer="smallest" if given["small"] else "best",
                random_state=given["seed"],
                store=given["store"],
                name=str(Path(data).resolve()) if Path(data).exists() else data,
                cluster=executor,
                watch=_watcher(rows.task),
            )
    except StoreError as error:
        raise ValueError(str(error)) from None


def _estimator(task: str, given: Mapping[str, Any]) -> Any:
    from cofire import SparseMLPClassifier, SparseMLPRegressor

    kinds = {"classification": SparseMLPClassifier, "regression": SparseMLPRegressor}
    own = {name: given[name] for name in ("networks", "n_jobs")}
    estimator = kinds[task](**estimator_parameters(own))
    return estimator.set_params(**parsed_options(given["option"] or [], estimator))


@contextmanager
def _says_how_to_continue() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(
            "cofire: finished trials are kept: the same command continues from here",
            err=True,
        )
        raise


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _watcher(task: str) -> "Callable[[Step], None]":
    """Return what prints a line per trial on stderr."""
    from cofire.lab.experiments.labels import score_text

    def watch(step: "Step") -> None:
        trial = step.trial
        what = "again" if step.repeat else f"trial {step.number + 1} of {step.n_trials}"
        if trial.ensembles:
            whole = trial.ensembles[-1]
            score = score_text(sum(whole.scores) / len(whole.scores), task)
            said = f"{score}, {whole.connections:,.0f} connections"
        elif trial.scores:
            said = f"stopped after {len(trial.scores)} epochs: a smaller one was better"
        else:
            said = "diverged"
        if step.repeat:
            said = f"trial {step.number + 1} with other folds: {said}"
        when = "from the store" if step.stored else f"{trial.seconds:.1f} s"
        typer.echo(f"{what}: {said} ({when})", err=True)

    return watch


def _write_files(found: "Tuning", given: Mapping[str, Any]) -> tuple[list[Path], str]:
    """Return the files that were written, and why there is no picture if none is."""
    from cofire.lab.experiments.compare import file_stem
    from cofire.lab.table import write_table
    from cofire.persistence.atomic import write_atomically
    from cofire.tuning.report import front_table

    stem = file_stem(given["data"], given["target"], "tune")
    about = Path(given["data"]).name
    files = write_table(front_table(found, stem, about), given["store"])
    picture = given["store"] / f"{stem}.png"
    try:
        write_atomically(picture, _drawn(found))
    except ImportError as error:
        again = "the same command draws it then, without running a trial again"
        return files, f"no picture: {message(error).rstrip('.')}; {again}."
    return [*files, picture], ""


def _drawn(found: "Tuning") -> bytes:
    from io import BytesIO

    from cofire.plot.look import needed

    needed("matplotlib").use("Agg")
    figure, content = found.plot().figure_, BytesIO()
    figure.savefig(content, format="png", dpi=150, metadata={"Software": None})
    return content.getvalue()


def _figures(
    found: "Tuning", rows: "TrainingRows", path: Path, given: Mapping[str, Any]
) -> Row:
    """Return everything for programs; test rows are scored here for the first time."""
    chosen = {
        name: _chosen(found, getattr(found, f"{name}_"), rows, given)
        for name in ("default", "best", "smallest")
    }
    return {
        "data": given["data"],
        "task": rows.task,
        "target": rows.preprocessing.target,
        "train_rows": len(rows.y),
        "test_rows": 0 if rows.y_test is None else len(rows.y_test),
        "score": found.score_name,
        "within": found.within,
        **chosen,
        "front": found.front_,
        "trials": found.trials_,
        "model": str(path),
        "model_bytes": path.stat().st_size,
        "saved": "smallest" if given["small"] else "best",
    }


def _chosen(
    found: "Tuning", row: Row, rows: "TrainingRows", given: Mapping[str, Any]
) -> Row:
    """Return a row with its score on the test rows, and how to train it."""
    score = None
    if rows.y_test is not None:
        known = row is found.preferred_
        model = found.best_estimator_ if known else found.estimator(row)
        score = rows.test_score(model if known else model.fit(rows.X, rows.y))
    command, code = _command(found.params(row), given), found.code(row)
    return {**row, "test_score": score, "command": command, "code": code}


def _command(params: Row, given: Mapping[str, Any]) -> str:
    """Return the command that trains exactly this model."""
    options = {OPTIONS.get(name, name): value for name, value in params.items()}
    named = {n: list(v) if isinstance(v, tuple) else v for n, v in options.items()}
    fixed = list(given["option"] or [])
    if "n_pieces" in named:
        fixed.append(f"n_pieces={named.pop('n_pieces')}")
    usual = {"networks": given["networks"]}
    rest = {"seed": given["seed"] or None, "test_fraction": given["test_fraction"]}
    own = usual | named | {"option": fixed}
    return command_line(
        "train", given["data"], {**file_options_given(given), **own, **rest}
    )


def _text(found: "Tuning", figures: Row, files: list[Path]) -> str:
    from cofire.cli.tune_words import conclusion

    return "\n".join(
        [
            str(found),
            *conclusion(found, figures),
            "",
            f"saved the {figures['saved']}: {figures['model']} "
            f"({figures['model_bytes']:,} bytes with the history of its training)",
            *(f"  {file}" for file in files),
        ]
    )
