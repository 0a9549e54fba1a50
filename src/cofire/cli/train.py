"""`cofire train`: from a file to a tested model."""

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofire.cli.command_lines import (
    command_line,
    file_options_given,
    given_options,
    repaired,
)
from cofire.cli.inputs import check_out, errors_in_words, tell, training_rows
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
    estimator_parameters,
    parsed_options,
)
from cofire.cli.scores import (
    baseline_scores,
    not_beaten,
    score_table,
    scores_of,
    verdict,
)
from cofire.cli.streams import Memory, StreamedRows, train_text

if TYPE_CHECKING:
    from cofire.data.preprocessing.training_rows import TrainingRows


def train(
    data: Data,
    target: Target = None,
    samples: Samples = None,
    test: Test = None,
    test_fraction: Annotated[
        float | None,
        typer.Option(help="Or the fraction of rows to test with; 0: no test. [0.2]"),
    ] = None,
    task: Task = "auto",
    profile: Annotated[
        str,
        typer.Option(help="Settings to begin with: {profile}."),
    ] = "default",
    method: Annotated[
        str | None, typer.Option(help="How connections change: see the end.")
    ] = None,
    hidden: Annotated[
        list[int] | None, typer.Option(help="Sizes of the hidden layers.")
    ] = None,
    networks: Annotated[
        int | None, typer.Option(help="Networks to train and to average.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Connections: epsilon * (n_in + n_out).")
    ] = None,
    density: Density = None,
    epochs: Annotated[
        int | None, typer.Option(help="Passes over the rows. [by their number]")
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Initial learning rate.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Rows per step.")] = None,
    solver: Annotated[str | None, typer.Option(help="{solver}.")] = None,
    activation: Annotated[str | None, typer.Option(help="{activation}.")] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Strength of the weight decay.")
    ] = None,
    drop_fraction: Annotated[
        float | None, typer.Option(help="Fraction of connections that is rewired.")
    ] = None,
    drop_schedule: Annotated[
        str | None,
        typer.Option(
            help="How this fraction changes over the epochs: {drop_schedule}."
        ),
    ] = None,
    label_smoothing: Annotated[
        float | None, typer.Option(help="Fraction of a label given to all classes.")
    ] = None,
    input_dropout: Annotated[
        float | None, typer.Option(help="Fraction of the inputs that is hidden.")
    ] = None,
    similarity: Annotated[
        str | None, typer.Option(help="Search for similar neurons: {similarity}.")
    ] = None,
    early_stopping: Annotated[
        bool, typer.Option("--early-stopping", help="Hold rows out to decide the end.")
    ] = False,
    baselines: Baselines = True,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    n_jobs: Annotated[int | None, typer.Option(help="Number of threads.")] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Folder from which the same command resumes if interrupted."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="Any other: name=value, as in momentum=0.8; JSON values."),
    ] = None,
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
    memory: Memory = None,
    out: Annotated[
        Path | None, typer.Option(help="The model's file (default: DATA.cofire).")
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", help="Print a line per epoch even where there is no terminal."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Train on a file or a named data set; test; save the model.

    What is not given follows from the number of rows. A guess and a linear model get
    the same rows: a network that does not beat them is of no use.
    """
    given = locals()  # all options by name

    def repair(remedy: Mapping[str, Any]) -> str:
        return command_line(
            "train", data, repaired(given_options(train, given), remedy)
        )

    with errors_in_words(repair):
        if epsilon is not None and density is not None:
            raise ValueError("--epsilon and --density: leave one of them out.")
        path = out or Path(f"{Path(data).name.partition('.')[0]}.cofire")
        check_out(path)
        if memory is not None:
            _train_on_stream(given, path)
            return
        # A regressor has no other parameters than a classifier.
        takes_gaps = bool(_estimator("classification", given).standardize)
        rows = training_rows(given, takes_gaps=takes_gaps)
        tell(rows.notes)
        estimator = _estimator(rows.task, given)
        with _says_how_to_resume(checkpoint):
            _fit(rows, estimator, quiet=as_json, verbose=verbose)
        save_model(rows, estimator, path)
        figures = _figures(rows, estimator, path)
        if baselines:
            figures["baselines"] = _baselines(rows, seed, quiet=as_json)
        figures["not_beaten"] = not_beaten(figures)
    if as_json:
        print(json.dumps(figures | {"data": data}, indent=1))
        return
    compare = command_line("compare", data, file_options_given(given))
    print(_text(figures, estimator, compare))


def _train_on_stream(given: Mapping[str, Any], path: Path) -> None:
    """Train on a file that memory does not hold, and print the figures."""
    from rich.console import Console

    from cofire.saving import save

    rows = StreamedRows(given)
    estimator = _estimator(rows.task, given)
    terminal = Console().is_terminal and not given["as_json"]
    estimator.verbose = int(given["verbose"] or terminal)
    with _says_how_to_resume(given["checkpoint"]):
        rows.fit(estimator)
    estimator.verbose = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    save(estimator, path)
    figures = rows.figures(estimator, path)
    if given["as_json"]:
        print(json.dumps(figures | {"data": given["data"]}, indent=1))
    else:
        print(train_text(figures, estimator))


def _estimator(task: str, given: Mapping[str, Any]) -> Any:
    from cofire import SparseMLPClassifier, SparseMLPRegressor
    from cofire.lab.experiments.grid import profile_parameters

    parameters = estimator_parameters(given)
    if task == "regression" and "label_smoothing" in parameters:
        raise ValueError(
            "--label-smoothing is for classes: this task is regression. Leave it out, "
            "or pass --task classification."
        )
    kinds = {"classification": SparseMLPClassifier, "regression": SparseMLPRegressor}
    estimator = kinds[task](**profile_parameters(given["profile"], task) | parameters)
    return estimator.set_params(**parsed_options(given["option"] or [], estimator))


@contextmanager
def _says_how_to_resume(checkpoint: Path | None) -> Iterator[None]:
    """Tell a user who interrupts the training how to resume it, or could have."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is None:
            typer.echo(
                "cofire: nothing was saved; with --checkpoint FOLDER the same command "
                "resumes after an interruption",
                err=True,
            )
        elif any(checkpoint.rglob("epoch-*.cofire")):
            typer.echo(
                f"cofire: the same command resumes from its checkpoint in {checkpoint}",
                err=True,
            )
        raise


def _fit(rows: "TrainingRows", estimator: Any, quiet: bool, verbose: bool) -> None:
    from rich.console import Console

    estimator.verbose = int(verbose or (Console().is_terminal and not quiet))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(rows.X, rows.y)
    tell([str(warning.message).rstrip(".") for warning in caught])
    estimator.verbose = 0


def _baselines(rows: "TrainingRows", seed: int, quiet: bool) -> list[dict[str, Any]]:
    from rich.console import Console

    console = Console(stderr=True, quiet=quiet)
    with console.status("Training a linear model on the same rows ..."):
        return baseline_scores(rows, seed)


def save_model(rows: "TrainingRows", estimator: Any, path: Path) -> None:
    """Write a model with how rows became its features."""
    from cofire.saving import save

    path.parent.mkdir(parents=True, exist_ok=True)
    save(estimator, path, preprocessing=rows.preprocessing.to_dict())


def _figures(rows: "TrainingRows", estimator: Any, path: Path) -> dict[str, Any]:
    return {
        "model": str(path),
        "task": rows.task,
        "target": rows.preprocessing.target,
        "classes": _classes(estimator),
        "train_rows": len(rows.y),
        "test_rows": 0 if rows.y_test is None else len(rows.y_test),
        "preprocessing": rows.preprocessing.summary(),
        "score": "accuracy" if rows.task == "classification" else "R^2",
        **scores_of(rows, estimator),
        "baselines": [],
        "validation_score": estimator.best_validation_score_,
        "receipt": estimator.receipt_.to_dict(),
    }


def _classes(estimator: Any) -> list[str] | None:
    classes = getattr(estimator, "classes_", None)
    return None if classes is None else classes.astype(str).tolist()


def _text(figures: dict[str, Any], estimator: Any, compare: str) -> str:
    kind = figures["task"]
    if figures["classes"]:
        kind += f", {len(figures['classes'])} classes"
    target = f"target {figures['target']!r}: " if figures["target"] else ""
    said = verdict(figures, compare)
    return "\n".join(
        [
            f"{target}{kind}",
            f"{figures['train_rows']} rows to train on, {figures['test_rows']} to test",
            figures["preprocessing"],
            "",
            score_table(figures),
            *([said] if said else []),
            "",
            str(estimator.receipt_),
            f"saved: {figures['model']}",
        ]
    )
