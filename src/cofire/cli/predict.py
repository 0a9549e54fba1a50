"""`cofire predict`: the predictions of a saved model for new rows."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofire.cli.inputs import Model, Rows, check_out, errors_in_words, load_model, tell
from cofire.cli.options import Data, Decimal, Na, NoHeader, Samples, Separator, Target
from cofire.cli.streams import Memory, predictions
from cofire.errors import listed

if TYPE_CHECKING:
    from cofire.data import Reading


def predict(
    model: Annotated[Path, typer.Argument(help="A file that `cofire train` wrote.")],
    data: Data,
    out: Annotated[
        Path | None, typer.Option(help="CSV file to write (default: stdout).")
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of each class.")
    ] = False,
    id: Annotated[
        list[str] | None,
        typer.Option(
            help="Column to write before the predictions (default: what `train --id` "
            "named, else the number of the row, from 1)."
        ),
    ] = None,
    target: Target = None,
    samples: Samples = None,
    na: Na = None,
    no_header: NoHeader = False,
    separator: Separator = None,
    decimal: Decimal = None,
    memory: Memory = None,
) -> None:
    """Write a model's predictions for the rows of a file, as CSV."""
    given = locals()  # all options by name
    with errors_in_words():
        from cofire.data import Reading

        if out is not None:
            check_out(out)
        if memory is not None:
            _write(out, predictions(given))
            return
        loaded = load_model(model)
        if proba and not loaded.is_classifier:
            raise ValueError("--proba: a regressor has no probabilities. Leave it out.")
        reading = Reading(
            target,
            samples=samples,
            labelled=False,
            header=not no_header,
            separator=separator,
            decimal=decimal,
            na=tuple(na or ()),
        )
        text = _as_csv(loaded, _rows(loaded, data, reading, id), proba)
        if out is None:
            typer.echo(text, nl=False)
            return
        from cofire.persistence.atomic import write_atomically

        write_atomically(out, text.encode())


def _write(out: Path | None, parts: Iterable[str]) -> None:
    """Write text part by part."""
    if out is None:
        for part in parts:
            typer.echo(part, nl=False)
        return
    from cofire.persistence.atomic import make_folder, replacing

    make_folder(out)
    with replacing(out) as file:
        for part in parts:
            file.write(part.encode())


def _rows(model: Model, data: str, reading: "Reading", id: list[str] | None) -> Rows:
    """Read the rows with the columns that identify them.

    Those that `train --id` named may be missing.
    """
    known = model.preprocessing.ids
    names = tuple(id or known)
    rows = model.rows(data, replace(reading, keep=names, may_lack=not id))
    if names and rows.kept is None:
        tell([f"{data} has no column {listed(known)}: rows are numbered instead"])
    return rows


def _as_csv(model: Model, rows: Rows, proba: bool) -> str:
    import numpy as np

    X = rows.X
    predicted = np.asarray(model.estimator.predict(X))
    several = predicted.ndim == 2
    names = [f"prediction_{i}" for i in range(predicted.shape[1])] if several else []
    columns = [of.tolist() for of in (predicted.T if several else [predicted])]
    names = names or ["prediction"]
    if proba:
        names += [f"probability_{label}" for label in model.estimator.classes_]
        columns += [
            [f"{p:.6g}" for p in of.tolist()]
            for of in model.estimator.predict_proba(X).T
        ]
    first = ["row"]
    ids: list[Sequence[Any]] = [range(1, len(predicted) + 1)]
    if rows.kept is not None:
        first = list(rows.kept.columns)
        ids = [_texts(rows.kept[name]) for name in first]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(first + names)
    writer.writerows(zip(*ids, *columns, strict=True))
    return file.getvalue()


def _texts(column: Any) -> list[str]:
    """Return the cells of a column as they are written; missing ones are empty."""
    pairs = zip(column, column.isna(), strict=True)
    return ["" if gap else str(value) for value, gap in pairs]
