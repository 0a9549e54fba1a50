"""What the commands share: errors and notes on stderr, models, rows of a file."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from cofire.cli.options import file_options
from cofire.cli.words import in_options, message

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from cofire.data import Preprocessing, Reading, Table
    from cofire.data.preprocessing.training_rows import TrainingRows


@contextmanager
def errors_in_words(
    repair: "Callable[[Mapping[str, Any]], str] | None" = None,
) -> Iterator[None]:
    """End with a message and status 1 if the user's input is at fault.

    repair: returns the command that works, given what a faulty table needs.
    """
    from cofire.data.tables.faults import TableFaults

    try:
        yield
    except TableFaults as error:
        text = error.told(remedy=repair is None)
        typer.echo(f"cofire: {in_options(text)}", err=True)
        if repair is not None and error.remedy:
            typer.echo(
                f"This command takes the file as it is:\n  {repair(error.remedy)}",
                err=True,
            )
        raise typer.Exit(1) from None
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        typer.echo(f"cofire: {message(error)}", err=True)
        raise typer.Exit(1) from None


def tell(notes: list[str]) -> None:
    """Print notes for the user on stderr."""
    for note in notes:
        typer.echo(f"cofire: note: {in_options(note)}.", err=True)


def check_out(path: Path, option: str = "--out") -> None:
    """Raise an error before a long computation if its file cannot be written after it.

    A missing folder is fine: it will be created.
    """
    from cofire.persistence.atomic import check_writable

    try:
        check_writable(path)
    except OSError as error:
        raise ValueError(
            f"{option} {path}: a file cannot be written there ({error.strerror}). Name "
            "a file in a folder that you may write to; missing folders are created."
        ) from error


def is_named(data: str) -> bool:
    """Return whether DATA is a data set of the catalogue; a file's name has a suffix.

    A ValueError suggests a name if it is neither.
    """
    from cofire.data import CATALOG
    from cofire.errors import suggestion

    if data in CATALOG:
        return True
    if not Path(data).suffix and not Path(data).exists():
        raise ValueError(
            f"{data!r} is neither a file nor a known data set. "
            f"{suggestion(data, CATALOG)}"
        )
    return False


def training_rows(given: "Mapping[str, Any]", *, takes_gaps: bool) -> "TrainingRows":
    """Return the rows that a command's DATA and its options stand for.

    takes_gaps: whether the model takes missing values.
    """
    from cofire.data.preprocessing.training_rows import TrainingRows

    data, files = given["data"], file_options(given)
    if is_named(data):
        return TrainingRows.of_catalogue(data, files)
    return TrainingRows.of_file(
        Path(data), files, given["task"], given["seed"], takes_gaps=takes_gaps
    )


class Rows(NamedTuple):
    """Rows of a file as a network takes them."""

    X: Any
    y: Any
    """None unless labels were asked for."""
    kept: Any
    """The columns that identify the rows, as a DataFrame, if any."""


@dataclass(frozen=True)
class Model:
    """A saved model, and how rows become its features."""

    estimator: Any
    preprocessing: "Preprocessing"

    @property
    def is_classifier(self) -> bool:
        """Whether it predicts classes, not quantities."""
        return hasattr(self.estimator, "classes_")

    def rows(self, data: str, reading: "Reading") -> Rows:
        """Return the rows as the network takes them.

        These are the test rows if `data` is a data set of the catalogue.
        """
        from cofire.data.preprocessing.paper import paper_rows
        from cofire.data.tables.hints import hinted

        y: Any
        if is_named(data):
            if reading.keep and not reading.may_lack:
                raise ValueError(f"--id is for files: {data} has no columns of names.")
            dataset = paper_rows(data)
            X, notes = self.preprocessing.transform(dataset.X_test)
            y, kept = dataset.y_test, None
        else:
            table = self._file(Path(data), reading)
            with hinted(Path(data), [*table.notes, *self._header_hints(reading)]):
                known = replace(self.preprocessing, ids=tuple(reading.keep))
                X, notes = known.transform(table.X)
            y, kept = table.y, table.kept
        tell(notes)
        if self._has_word_classes and y is not None:
            y = y.astype(str)
        return Rows(X, y, kept)

    def file_rows(self, data: str, reading: "Reading") -> tuple[Any, Any]:
        """Return labelled rows as the file has them, before any preprocessing."""
        from cofire.data.preprocessing.paper import paper_rows

        y: Any
        if is_named(data):
            dataset = paper_rows(data)
            X, y = dataset.X_test, dataset.y_test
        else:
            table = self._file(Path(data), reading)
            X, y = table.X, table.y
        return X, y.astype(str) if self._has_word_classes else y

    def _file(self, path: Path, reading: "Reading") -> "Table":
        from cofire.data import read_table

        known = self.preprocessing
        target = reading.target or known.target
        words = {target} if self._has_word_classes and target else set()
        reading = replace(
            reading,
            target=target,
            by_name=reading.target is None,
            samples=reading.samples or known.samples,
            text=known.text_columns | words | self._unused(reading.keep),
            na=(*known.na, *reading.na),
            first_index=known.first_index,
            n_columns=known.n_columns,
        )
        table = read_table(path, reading)
        tell(self._column_notes(path, reading, table))
        return table

    def _unused(self, names: "Collection[str]") -> set[str]:
        """Return those that are no features: they are read as they stand there."""
        return set(names) - set(self.preprocessing.column_names)

    def _column_notes(
        self, path: Path, reading: "Reading", table: "Table"
    ) -> list[str]:
        """Note how columns without names were identified, if that may be wrong."""
        known, notes = self.preprocessing, []
        if not reading.header and not reading.labelled and known.may_be_shifted:
            notes.append(
                "the model was trained by an older cofire, which did not store the "
                f"number of columns: {path} must have the target, as column "
                f"{known.target}, or all predictions are wrong. Train again to be sure"
            )
        if known.dropped and reading.n_columns and table.target is None:
            notes.append(
                f"{path} has {table.n_columns} columns, one less than the file that "
                "the model was trained on: the missing one is assumed to be the target "
                f"(column {known.target}), not a dropped column"
            )
        return notes

    def _header_hints(self, reading: "Reading") -> list[str]:
        """Say why columns may be missing if header and model do not match."""
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
    def _has_word_classes(self) -> bool:
        return self.is_classifier and self.estimator.classes_.dtype.kind in "UO"


def read_model(path: Path) -> tuple[Any, dict[str, Any]]:
    """Return what was saved and its document; errors say what to do next."""
    from cofire.data.tables import READERS
    from cofire.errors import ModelFormatError
    from cofire.saving import load_with_document

    if path.is_dir():
        raise IsADirectoryError(
            f"{path} is a folder, not a model file: name the file in it."
        )
    if not path.exists():
        raise FileNotFoundError(
            f"{path}: there is no such file. Check its name; `cofire train` writes "
            "models."
        )
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = load_with_document(path)
        tell([str(warning.message).rstrip(".") for warning in caught])
        return found
    except ModelFormatError as error:
        text = str(error)
        if path.suffix in READERS:
            text += " It looks like a data file: the model comes first, then the data."
        raise ModelFormatError(text) from error


def load_model(path: Path) -> Model:
    """Read a model and its preprocessing; a ModelFormatError if it is not one."""
    from cofire.data import Preprocessing
    from cofire.errors import ModelFormatError
    from cofire.persistence.model_file import DAMAGED

    estimator, document = read_model(path)
    if "pipeline" in document:
        raise ValueError(
            f"{path} is a pipeline that was saved in Python, with steps of its own "
            f"({', '.join(name for name, _ in estimator.steps)}): only `cofire info` "
            "reads it. In Python, cofire.load gives it back, and its predict takes a "
            "DataFrame."
        )
    plain = document.get("preprocessing")
    if plain is None:
        encoder = estimator._fitted.encoder
        if encoder is not None and encoder.takes_text:
            raise ValueError(
                f"{path} takes columns of words or dates as they come: `cofire predict "
                "--memory 1GB` reads them from a Parquet file; in Python, cofire.load "
                "gives the model back, and its predict takes a DataFrame."
            )
        preprocessing = Preprocessing.nothing(estimator)
        # Columns are in their order before the estimator sees them, without names.
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return Model(estimator, preprocessing)
    try:
        preprocessing = Preprocessing.from_dict(plain)
        if preprocessing.steps.n_features != estimator.n_features_in_:
            raise ValueError("it does not give as many features as the network takes")
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ModelFormatError(
            f"{path}: its preprocessing: {error}. {DAMAGED}"
        ) from error
    return Model(estimator, preprocessing)
