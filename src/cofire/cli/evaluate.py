"""`cofire evaluate`: how right a saved model is on labelled rows."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cofire.cli.inputs import (
    AsJson,
    Data,
    NoHeader,
    Separator,
    Target,
    errors_in_words,
    load_model,
)

MOST_CLASSES = 20
"""More than these get no table of confusions."""


def evaluate(
    model: Annotated[Path, typer.Argument(help="A file that `cofire train` wrote.")],
    data: Data,
    target: Target = None,
    no_header: NoHeader = False,
    separator: Separator = None,
    as_json: AsJson = False,
) -> None:
    """Compare a model's predictions with the labels of a file."""
    with errors_in_words():
        from cofire.data.tables import Reading

        loaded = load_model(model)
        reading = Reading(
            target, labelled=True, header=not no_header, separator=separator
        )
        X, y = loaded.rows(data, reading)
        predicted = loaded.estimator.predict(X)
        if predicted.ndim == 2:
            raise ValueError("a model with several outputs is not evaluated here.")
        if not loaded.is_classifier and y.dtype.kind not in "iuf":
            raise ValueError(
                f"the model says numbers; the labels are {str(y[0])!r}, ..."
            )
        measure = of_classes if loaded.is_classifier else of_quantities
        figures = {"rows": len(y)} | measure(y, predicted)
    if as_json:
        print(json.dumps(figures, indent=1))
    else:
        print(_text(figures))


def of_classes(y: Any, predicted: Any) -> dict[str, Any]:
    """Accuracy, and per class precision, recall and number of rows."""
    import numpy as np
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    labels = np.unique(np.concatenate([y, predicted]))
    columns = precision_recall_fscore_support(
        y, predicted, labels=labels, zero_division=0
    )
    figures = ("precision", "recall", "f1", "rows")
    per_class = {
        str(label): dict(zip(figures, map(_plain, row), strict=True))
        for label, *row in zip(labels, *columns, strict=True)
    }
    confusion = None
    if len(labels) <= MOST_CLASSES:
        confusion = confusion_matrix(y, predicted, labels=labels).tolist()
    return {
        "accuracy": float((y == predicted).mean()),
        "classes": per_class,
        "confusion": confusion,
    }


def of_quantities(y: Any, predicted: Any) -> dict[str, Any]:
    """R^2 and the root of the mean squared error."""
    from sklearn.metrics import r2_score, root_mean_squared_error

    if len(y) < 2:
        raise ValueError("R^2 needs two rows or more.")
    return {
        "r2": float(r2_score(y, predicted)),
        "rmse": float(root_mean_squared_error(y, predicted)),
    }


def _plain(number: Any) -> int | float:
    return int(number) if number.dtype.kind == "i" else float(number)


def _text(figures: dict[str, Any]) -> str:
    rows = f"{figures['rows']} rows"
    if "r2" in figures:
        return f"R^2 {figures['r2']:.4f}, RMSE {figures['rmse']:.4g} ({rows})"
    classes = figures["classes"]
    width = max(5, *map(len, classes))
    lines = [
        f"accuracy {figures['accuracy']:.4f} ({rows})",
        "",
        f"{'class':<{width}}  precision  recall      f1    rows",
    ]
    for name, of in classes.items():
        numbers = f"{of['precision']:>9.3f}{of['recall']:>8.3f}{of['f1']:>8.3f}"
        lines.append(f"{name:<{width}}  {numbers}{of['rows']:>8}")
    if figures["confusion"]:
        cell = max(6, width + 1)
        names = "".join(f"{name:>{cell}}" for name in classes)
        lines += ["", f"{'':<{width}}  predicted", f"{'':<{width}}  {names}"]
        for name, row in zip(classes, figures["confusion"], strict=True):
            counts = "".join(f"{n:>{cell}}" for n in row)
            lines.append(f"{name:<{width}}  {counts}")
    return "\n".join(lines)
