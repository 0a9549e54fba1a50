"""`cofire evaluate`: how well a saved model predicts labelled rows."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofire.cli.inputs import errors_in_words, load_model, tell
from cofire.cli.options import (
    AsJson,
    Data,
    Decimal,
    Na,
    NoHeader,
    Samples,
    Separator,
    Target,
)
from cofire.errors import listed

if TYPE_CHECKING:
    from cofire.data import Preprocessing

MOST_CLASSES = 20
"""No confusion matrix is shown for more classes than this."""


def evaluate(
    model: Annotated[Path, typer.Argument(help="A file that `cofire train` wrote.")],
    data: Data,
    target: Target = None,
    samples: Samples = None,
    na: Na = None,
    no_header: NoHeader = False,
    separator: Separator = None,
    decimal: Decimal = None,
    as_json: AsJson = False,
) -> None:
    """Compare a model's predictions with the labels of a file."""
    with errors_in_words():
        from cofire.data import Reading

        loaded = load_model(model)
        reading = Reading(
            target,
            samples=samples,
            labelled=True,
            na=tuple(na or ()),
            header=not no_header,
            separator=separator,
            decimal=decimal,
        )
        X, y, _ = loaded.rows(data, reading)
        predicted = loaded.estimator.predict(X)
        if predicted.ndim == 2:
            raise ValueError(
                "models with several outputs cannot be evaluated by this command. In "
                "Python, model.score(X, y) does it."
            )
        if not loaded.is_classifier and y.dtype.kind not in "iuf":
            raise ValueError(
                f"the model predicts numbers; the labels are {str(y[0])!r}, ... Use "
                "--target if the labels are in another column."
            )
        tell(seen_before(loaded.preprocessing, X, y))
        figures = {"rows": len(y)}
        if loaded.is_classifier:
            classes = loaded.estimator.classes_
            tell(compare_labels(y, classes, data))
            figures |= of_classes(y, predicted, classes)
        else:
            figures |= of_quantities(y, predicted)
    if as_json:
        print(json.dumps(figures, indent=1))
    else:
        print(_text(figures))


def of_classes(y: Any, predicted: Any, classes: Any) -> dict[str, Any]:
    """Return the accuracy, and precision, recall and number of rows per class.

    All classes of the model are included, even those without a row.
    """
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    labels = sorted({*classes.tolist(), *y.tolist()})
    # As indices, since scikit-learn takes labels such as 0.5 for quantities.
    index = {label: i for i, label in enumerate(labels)}
    true, said = ([index[label] for label in of.tolist()] for of in (y, predicted))
    indices = range(len(labels))
    columns = precision_recall_fscore_support(
        true, said, labels=indices, zero_division=0
    )
    per_class = {
        str(label): {
            "precision": float(precision),
            "recall": float(recall),
            "f1": float(f1),
            "rows": int(rows),
        }
        for label, precision, recall, f1, rows in zip(labels, *columns, strict=True)
    }
    confusion = None
    if len(labels) <= MOST_CLASSES:
        confusion = confusion_matrix(true, said, labels=indices).tolist()
    return {
        "accuracy": float((y == predicted).mean()),
        "classes": per_class,
        "confusion": confusion,
    }


def compare_labels(y: Any, classes: Any, data: str) -> list[str]:
    """Refuse labels that the model does not know; if it knows some, only note it."""
    known, labels = classes.tolist(), y.tolist()
    strange = sorted({*labels} - {*known}, key=str)
    if len(strange) == len({*labels}):
        raise ValueError(
            f"{data}: the model knows none of the labels {listed(strange)}; its "
            f"classes are {listed(known)}. Use --target if the labels are in another "
            "column."
        )
    if not strange:
        return []
    n_rows = sum(label in set(strange) for label in labels)
    return [
        f"{n_rows} of {len(labels)} rows have a label that the model does not know "
        f"({listed(strange)}); they count as wrong"
    ]


def seen_before(preprocessing: "Preprocessing", X: Any, y: Any) -> list[str]:
    """Note that the model was trained on some of these rows."""
    sketch = preprocessing.trained_on
    share = 0.0 if sketch is None else sketch.share_of(X, y)
    if share == 0:
        return []
    about = "" if sketch is not None and sketch.complete else "about "
    return [
        f"{about}{100 * share:.0f} % of these rows are rows that the model was trained "
        "on: the score is too good. Use rows that it has not seen"
    ]


def of_quantities(y: Any, predicted: Any) -> dict[str, Any]:
    """Return R^2 and the root of the mean squared error."""
    from sklearn.metrics import r2_score, root_mean_squared_error

    if len(y) < 2:
        raise ValueError("R^2 needs two rows or more: add rows to the file.")
    return {
        "r2": float(r2_score(y, predicted)),
        "rmse": float(root_mean_squared_error(y, predicted)),
    }


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
