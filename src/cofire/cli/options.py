"""The options that several commands have; {names} in their help: `choices`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofire.cli.words import PARAMETERS

if TYPE_CHECKING:
    from cofire.data.preprocessing.training_rows import FileOptions

Data = Annotated[
    str,
    typer.Argument(help="A file ({file}), or a name that `cofire data list` shows."),
]
Target = Annotated[
    str | None,
    typer.Option(
        help="Column by name or number (default: the last one); key in an NPZ or MAT "
        "file (default: y)."
    ),
]
Samples = Annotated[
    str | None,
    typer.Option(help="Key of the samples in an NPZ or MAT file (default: X)."),
]
Baselines = Annotated[
    bool,
    typer.Option(
        "--baselines/--no-baselines",
        help="Train models of scikit-learn on the same rows, to compare with.",
    ),
]
Test = Annotated[Path | None, typer.Option(help="File with the rows to test with.")]
Task = Annotated[str, typer.Option(help="{task}.")]
Density = Annotated[
    float | None, typer.Option(help="Or the fraction of all possible connections.")
]
Scale = Annotated[
    str | None, typer.Option(help="How columns are scaled: {scale}. [standard]")
]
Missing = Annotated[
    str | None,
    typer.Option(
        help="Missing values: {missing}. [keep; refused where the model takes none]"
    ),
]
Categorical = Annotated[
    list[str] | None, typer.Option(help="Column of words that look like numbers.")
]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out.")]
Id = Annotated[
    list[str] | None,
    typer.Option(
        help="Column that identifies the rows: no feature, but in predictions."
    ),
]
Na = Annotated[
    list[str] | None,
    typer.Option(help="Text in a CSV file that stands for a missing value."),
]
DayFirst = Annotated[
    bool | None,
    typer.Option(
        "--day-first/--month-first",
        help="Order in dates such as 03/04/2020, where no date shows it.",
    ),
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="The first line of a CSV file is data.")
]
Separator = Annotated[
    str | None, typer.Option(help="Character between the values of a CSV file.")
]
Decimal = Annotated[
    str | None, typer.Option(help="Decimal character of a CSV file: . or ,")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def file_options(given: Mapping[str, Any]) -> "FileOptions":
    """Pick the options that say how a file is read, out of all options of a command."""
    from dataclasses import fields

    from cofire.data.preprocessing.training_rows import FileOptions

    known = {field.name for field in fields(FileOptions)}
    found = {name: value for name, value in given.items() if name in known}
    for name in ("categorical", "drop", "id", "na"):
        found[name] = tuple(found[name] or ())
    return FileOptions(**found, header=not given["no_header"])


def estimator_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Pick the estimator's parameters out of all options of a command.

    Options that were not given are left out: the estimator knows its defaults.
    """
    from cofire import SparseMLPClassifier

    known = SparseMLPClassifier().get_params()
    named = {PARAMETERS.get(name, name): value for name, value in given.items()}
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in named.items()
        if name in known and not (value is None or value is False or value == [])
    }


def parsed_options(texts: list[str], estimator: Any) -> dict[str, Any]:
    """Return parameters of an estimator from name=value, the value JSON or text."""
    from cofire.errors import unknown_name

    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(
                f"--option {text}: expected name=value, as in momentum=0.8."
            )
        if name == "profile":
            raise ValueError(
                f"--option {text}: a profile is a set of parameters, not one of them. "
                f"Use --profile {value.lower()} of `cofire train`."
            )
        if name not in estimator.get_params():
            raise unknown_name("option", name, estimator.get_params().keys())
        try:
            found[name] = json.loads(value)
        except json.JSONDecodeError:
            found[name] = value
    return found
