"""What the commands share: models, options, rows of a file, errors in words."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from cofire.data.preprocessing.preprocess import Preprocessing
    from cofire.data.tables import Reading, Table

Data = Annotated[
    str,
    typer.Argument(
        help="A CSV, Parquet, NPZ, MAT or libsvm file, or a name that `cofire data "
        "list` shows."
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        help="Column by name or number (default: the last one); key of an NPZ or MAT "
        "file (default: y)."
    ),
]
Samples = Annotated[
    str | None,
    typer.Option(help="Key of the samples in an NPZ or MAT file (default: X)."),
]
Test = Annotated[Path | None, typer.Option(help="File with the rows to test with.")]
Task = Annotated[str, typer.Option(help="auto, classification or regression.")]
Density = Annotated[float | None, typer.Option(help="Or the share of all connections.")]
Scale = Annotated[str | None, typer.Option(help="standard (default), minmax or none.")]
Missing = Annotated[
    str | None, typer.Option(help="Fill gaps: mean, median or most_frequent.")
]
Categorical = Annotated[
    list[str] | None, typer.Option(help="Column of words that look like numbers.")
]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out.")]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="The first line of a CSV file is data.")
]
Separator = Annotated[
    str | None, typer.Option(help="Between the values of a CSV file.")
]
Decimal = Annotated[
    str | None, typer.Option(help="Before the decimals of a CSV file: . or ,")
]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]


@contextmanager
def errors_in_words() -> Iterator[None]:
    """End with a message and status 1 where a user's input is at fault."""
    try:
        yield
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        typer.echo(f"cofire: {error}", err=True)
        raise typer.Exit(1) from None


def tell(notes: list[str]) -> None:
    """Say on stderr what a user should know."""
    for note in notes:
        typer.echo(f"cofire: note: {note}.", err=True)


def parsed_options(texts: list[str], estimator: Any) -> dict[str, Any]:
    """Parameters of an estimator out of name=value, the value JSON or else text."""
    from cofire.errors import unknown_name

    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"--option {text}: expected name=value.")
        if name not in estimator.get_params():
            raise unknown_name("option", name, estimator.get_params().keys())
        try:
            found[name] = json.loads(value)
        except json.JSONDecodeError:
            found[name] = value
    return found


def is_named(data: str) -> bool:
    """Whether DATA is a data set of the catalogue; a file's name has a point in it."""
    from cofire.data import CATALOG
    from cofire.errors import unknown_name

    if data in CATALOG:
        return True
    if not Path(data).suffix and not Path(data).exists():
        raise unknown_name("data set (nor is it a file)", data, CATALOG)
    return False


@dataclass(frozen=True)
class Model:
    """A saved model, and how rows become what it takes."""

    estimator: Any
    preprocessing: "Preprocessing"

    @property
    def is_classifier(self) -> bool:
        """Whether it says classes, not quantities."""
        return hasattr(self.estimator, "classes_")

    def rows(self, data: str, reading: "Reading") -> tuple[Any, Any]:
        """Read X as the network takes it, and y (None unless it was asked for).

        Of a data set of the catalogue these are the rows to test with.
        """
        from cofire.data.preprocessing.paper import paper_rows
        from cofire.data.tables.hints import hinted

        y: Any
        if is_named(data):
            dataset = paper_rows(data)
            X, notes = self.preprocessing.transform(dataset.X_test)
            y = dataset.y_test
        else:
            table = self._file(Path(data), reading)
            with hinted(Path(data), [*table.notes, *self._header_hints(reading)]):
                X, notes = self.preprocessing.transform(table.X)
            y = table.y
        tell(notes)
        if self._says_words and y is not None:
            y = y.astype(str)
        return X, y

    def _file(self, path: Path, reading: "Reading") -> "Table":
        from dataclasses import replace

        from cofire.data.tables import read_table

        known = self.preprocessing
        target = reading.target or known.target
        words = {target} if self._says_words and target else set()
        reading = replace(
            reading,
            target=target,
            by_name=reading.target is None,
            samples=reading.samples or known.samples,
            text=known.text_columns | words,
            first_index=known.first_index,
            n_columns=known.n_columns,
        )
        table = read_table(path, reading)
        if not reading.header and not reading.labelled and known.may_be_shifted:
            tell(
                [
                    "the model was trained by an older cofire, which did not count "
                    f"columns: {path} must have the target, as column {known.target}, "
                    "or all predictions are wrong. Train anew to be sure"
                ]
            )
        if known.dropped and reading.n_columns and table.target is None:
            tell(
                [
                    f"{path} has {table.n_columns} columns, one less than the file "
                    "that the model was trained on: it is taken for one without the "
                    f"target (column {known.target}), not without a dropped column"
                ]
            )
        return table

    def _header_hints(self, reading: "Reading") -> list[str]:
        """Why columns may be missing where header and model do not fit."""
        known = self.preprocessing
        if reading.header and known.n_columns is not None:
            return [
                "the model was trained with --no-header; this file was read without it"
            ]
        names = known.column_names
        if not reading.header and not all(name.isdigit() for name in names):
            return [
                "the model was trained without --no-header; this file was read with it"
            ]
        return []

    @property
    def _says_words(self) -> bool:
        return self.is_classifier and self.estimator.classes_.dtype.kind in "UO"


def refuse_no_model(path: Path) -> None:
    """Raise an error in words where there is no file."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a model's file.")
    if not path.exists():
        raise FileNotFoundError(
            f"{path}: there is no such file. `cofire train` writes models."
        )


def load_model(path: Path) -> Model:
    """Read a model and its preprocessing; ModelFormatError if it is none."""
    from cofire.data.preprocessing.preprocess import Preprocessing
    from cofire.errors import ModelFormatError
    from cofire.saving import load_with_document

    refuse_no_model(path)
    estimator, document = load_with_document(path)
    plain = document.get("preprocessing")
    if plain is None:
        preprocessing = Preprocessing.nothing(estimator)
        # Columns have found their places by name before the estimator sees them.
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return Model(estimator, preprocessing)
    try:
        preprocessing = Preprocessing.from_dict(plain)
        if preprocessing.steps.n_features != estimator.n_features_in_:
            raise ValueError("it does not give as many features as the network takes")
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ModelFormatError(f"{path}: its preprocessing: {error}") from error
    return Model(estimator, preprocessing)
