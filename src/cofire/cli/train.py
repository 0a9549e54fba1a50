"""`cofire train`: from a file to a tested model."""

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

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

if TYPE_CHECKING:
    from cofire.data.preprocessing.training_rows import TrainingRows


class NamesMethods(TyperCommand):
    """A command whose help ends with the names of the methods."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write them; their table is imported here, by who asks for this help."""
        from cofire.methods import METHODS

        with formatter.section("Methods"):
            formatter.write_text(", ".join(METHODS))


def train(
    data: Data,
    target: Target = None,
    samples: Samples = None,
    test: Test = None,
    test_fraction: Annotated[
        float | None,
        typer.Option(help="Or the share of rows held out for it; 0: no test. [0.2]"),
    ] = None,
    task: Task = "auto",
    method: Annotated[
        str | None, typer.Option(help="How connections change: see the end.")
    ] = None,
    hidden: Annotated[
        list[int] | None, typer.Option(help="Sizes of the hidden layers.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Connections: epsilon * (n_in + n_out).")
    ] = None,
    density: Density = None,
    epochs: Annotated[int | None, typer.Option(help="Number of epochs.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Of the start.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Rows in a step.")] = None,
    solver: Annotated[str | None, typer.Option(help="sgd or adam.")] = None,
    activation: Annotated[
        str | None, typer.Option(help="relu, leaky_relu, tanh or identity.")
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Strength of the decay.")] = None,
    drop_fraction: Annotated[
        float | None, typer.Option(help="Share of connections that move.")
    ] = None,
    drop_schedule: Annotated[
        str | None, typer.Option(help="That share: constant, or cosine, to 0.")
    ] = None,
    label_smoothing: Annotated[
        float | None, typer.Option(help="Share of a label that all classes get.")
    ] = None,
    input_dropout: Annotated[
        float | None, typer.Option(help="Share of the inputs that are hidden.")
    ] = None,
    similarity: Annotated[
        str | None, typer.Option(help="Search: screened, exact or linear.")
    ] = None,
    early_stopping: Annotated[
        bool, typer.Option("--early-stopping", help="Stop by rows held out for it.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of all random numbers.")] = 0,
    n_jobs: Annotated[int | None, typer.Option(help="Threads.")] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Folder: cut off, the same command goes on from there."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="Any other: name=value, as in momentum=0.8; JSON values."),
    ] = None,
    scale: Scale = None,
    missing: Missing = None,
    categorical: Categorical = None,
    drop: Drop = None,
    no_header: NoHeader = False,
    separator: Separator = None,
    decimal: Decimal = None,
    out: Annotated[
        Path | None, typer.Option(help="The model's file (default: DATA.cofire).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train on a file or a named data set; test; save the model."""
    parameters = {
        "method": method,
        "hidden_layer_sizes": tuple(hidden) if hidden else None,
        "epsilon": epsilon,
        "density": density,
        "max_iter": epochs,
        "learning_rate_init": learning_rate,
        "batch_size": batch_size,
        "solver": solver,
        "activation": activation,
        "alpha": alpha,
        "drop_fraction": drop_fraction,
        "drop_schedule": drop_schedule,
        "label_smoothing": label_smoothing,
        "input_dropout": input_dropout,
        "similarity": similarity,
        "early_stopping": early_stopping or None,
        "random_state": seed,
        "n_jobs": n_jobs,
        "checkpoint": checkpoint,
    }
    given = {name: value for name, value in parameters.items() if value is not None}
    from cofire.data.preprocessing.training_rows import FileOptions, TrainingRows

    with errors_in_words():
        if epsilon is not None and density is not None:
            raise ValueError("--epsilon and --density: leave one of them out.")
        files = FileOptions(
            target=target,
            samples=samples,
            test=test,
            test_fraction=test_fraction,
            scale=scale,
            missing=missing,
            categorical=tuple(categorical or ()),
            drop=tuple(drop or ()),
            header=not no_header,
            separator=separator,
            decimal=decimal,
        )
        rows = (
            TrainingRows.of_catalogue(data, files)
            if is_named(data)
            else TrainingRows.of_file(Path(data), files, task, seed)
        )
        tell(rows.notes)
        estimator = _estimator(rows.task, given, option or [])
        model = out or Path(f"{Path(data).name.partition('.')[0]}.cofire")
        with _says_how_to_go_on(checkpoint):
            figures = _train(rows, estimator, model, as_json)
    if as_json:
        print(json.dumps(figures | {"data": data}, indent=1))
    else:
        print(_text(figures, estimator, rows))


@contextmanager
def _says_how_to_go_on(checkpoint: Path | None) -> Iterator[None]:
    """Tell who breaks training off that a checkpoint is there, if one is."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is not None and any(checkpoint.rglob("epoch-*.cofire")):
            typer.echo(
                f"cofire: the same command goes on from its checkpoint in {checkpoint}",
                err=True,
            )
        raise


def _estimator(task: str, given: dict[str, Any], options: list[str]) -> Any:
    from cofire import SparseMLPClassifier, SparseMLPRegressor

    if task == "regression" and "label_smoothing" in given:
        raise ValueError("--label-smoothing is for classes: this task is regression.")
    kinds = {"classification": SparseMLPClassifier, "regression": SparseMLPRegressor}
    estimator = kinds[task](**given)
    return estimator.set_params(**parsed_options(options, estimator))


def _train(
    rows: "TrainingRows", estimator: Any, path: Path, quiet: bool
) -> dict[str, Any]:
    from rich.console import Console

    from cofire.saving import save

    estimator.verbose = int(Console().is_terminal and not quiet)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(rows.X, rows.y)
    tell([str(warning.message).rstrip(".") for warning in caught])
    estimator.verbose = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    save(estimator, path, preprocessing=rows.preprocessing.to_dict())
    return {
        "model": str(path),
        "task": rows.task,
        "target": rows.preprocessing.target,
        "classes": _classes(estimator),
        "train_rows": len(rows.y),
        "test_rows": 0 if rows.y_test is None else len(rows.y_test),
        "preprocessing": rows.preprocessing.summary(),
        "score": "accuracy" if rows.task == "classification" else "R^2",
        "test_score": rows.test_score(estimator),
        "validation_score": estimator.best_validation_score_,
        "receipt": estimator.receipt_.to_dict(),
    }


def _classes(estimator: Any) -> list[str] | None:
    classes = getattr(estimator, "classes_", None)
    return None if classes is None else classes.astype(str).tolist()


def _text(figures: dict[str, Any], estimator: Any, rows: "TrainingRows") -> str:
    kind = figures["task"]
    if figures["classes"]:
        kind += f", {len(figures['classes'])} classes"
    target = f"target {figures['target']!r}: " if figures["target"] else ""
    score = "no rows were held out to test with"
    if figures["test_score"] is not None:
        score = f"test {figures['score']} {figures['test_score']:.4f}"
    return "\n".join(
        [
            f"{target}{kind}",
            f"{figures['train_rows']} rows to train on, {figures['test_rows']} to test",
            figures["preprocessing"],
            "",
            score,
            "",
            str(estimator.receipt_),
            f"saved: {figures['model']}",
        ]
    )
