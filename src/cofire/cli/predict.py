"""`cofire predict`: the predictions of a saved model for new rows."""

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import typer

from cofire.cli.inputs import Model, errors_in_words, load_model
from cofire.cli.options import Data, Decimal, NoHeader, Samples, Separator, Target


def predict(
    model: Annotated[Path, typer.Argument(help="A file that `cofire train` wrote.")],
    data: Data,
    out: Annotated[
        Path | None, typer.Option(help="CSV file to write (default: stdout).")
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of each class.")
    ] = False,
    target: Target = None,
    samples: Samples = None,
    no_header: NoHeader = False,
    separator: Separator = None,
    decimal: Decimal = None,
) -> None:
    """Write a model's predictions for the rows of a file, as CSV."""
    with errors_in_words():
        from cofire.data import Reading

        loaded = load_model(model)
        if proba and not loaded.is_classifier:
            raise ValueError("--proba: a regressor has no probabilities.")
        reading = Reading(
            target,
            samples=samples,
            labelled=False,
            header=not no_header,
            separator=separator,
            decimal=decimal,
        )
        X, _ = loaded.rows(data, reading)
        text = _as_csv(loaded, X, proba)
        if out is None:
            typer.echo(text, nl=False)
            return
        from cofire.persistence.atomic import write_atomically

        write_atomically(out, text.encode())


def _as_csv(model: Model, X: Any, proba: bool) -> str:
    import numpy as np

    predicted = np.asarray(model.estimator.predict(X))
    several = predicted.ndim == 2
    names = [f"prediction_{i}" for i in range(predicted.shape[1])] if several else []
    columns = list(predicted.T) if several else [predicted]
    names = names or ["prediction"]
    if proba:
        names += [f"probability_{label}" for label in model.estimator.classes_]
        columns += list(model.estimator.predict_proba(X).T)
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
    return file.getvalue()
