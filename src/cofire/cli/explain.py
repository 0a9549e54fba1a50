"""`cofire explain`: which columns a saved model uses."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofire.cli.inputs import Model, check_out, errors_in_words, load_model, tell
from cofire.cli.options import (
    AsJson,
    Decimal,
    NoHeader,
    Samples,
    Separator,
    Target,
)

if TYPE_CHECKING:
    import numpy as np

PICTURES = (".png", ".svg", ".pdf")
MOST_CLASSES = 10
"""For more classes than this, the features of each are not printed."""
LONGEST_NAME = 40
"""Longer names are shortened in the text; JSON has all of them."""
_BAR = 30


def explain(
    model: Annotated[Path, typer.Argument(help="A file that `cofire train` wrote.")],
    data: Annotated[
        str | None,
        typer.Argument(
            help="Labelled rows that did not train the model: then what the score "
            "loses when a column is shuffled is measured, too."
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many columns to show.")] = 15,
    out: Annotated[
        Path | None, typer.Option(help="Draw it: a PNG, SVG or PDF file.")
    ] = None,
    target: Target = None,
    samples: Samples = None,
    no_header: NoHeader = False,
    separator: Separator = None,
    decimal: Decimal = None,
    as_json: AsJson = False,
) -> None:
    """Show which columns matter to a model, by name.

    The importance of a column is the strength of all paths from it to the outputs, by
    the weights alone; all columns together have 100 %. The features that one column
    became (the categories of a column of words) are added up.
    """
    with errors_in_words():
        if out is not None:
            _check_picture(out)
        loaded = load_model(model)
        facts = _facts(loaded, top)
        if data is not None:
            from cofire.data import Reading

            reading = Reading(
                target,
                samples=samples,
                labelled=True,
                header=not no_header,
                separator=separator,
                decimal=decimal,
            )
            X, y, *_ = loaded.rows(data, reading)
            facts |= _measured(loaded, X, y, facts)
        if out is not None:
            _draw(facts, out, top)
    print(json.dumps(_short(facts, top), indent=1) if as_json else _text(facts, top))


# ---- what is known of the model ------------------------------------------------------


def _facts(loaded: Model, top: int) -> dict[str, Any]:
    """All columns, the most important first, and the features of each class."""
    import numpy as np

    from cofire.explain import feature_importances

    estimator = loaded.estimator
    names, groups = _columns(loaded)
    importances = feature_importances(estimator)
    shares = np.array([importances[group].sum() for group in groups])
    order = np.argsort(-shares, kind="stable")
    return {
        "columns": [
            {"column": names[i], "importance": float(shares[i])} for i in order
        ],
        "classes": _of_classes(estimator, loaded, top=5),
        "_groups": [groups[i] for i in order],
        "_top": top,
    }


def _columns(loaded: Model) -> tuple[list[str], list[slice]]:
    """Names of the columns of a file, and the features that each became."""
    steps, groups, start = loaded.preprocessing.steps, [], 0
    columns = getattr(steps, "columns", None)
    if columns is None:
        n = loaded.estimator.n_features_in_
        return [f"feature {i}" for i in range(n)], [slice(i, i + 1) for i in range(n)]
    for column in columns:
        groups.append(slice(start, start + column.n_features))
        start += column.n_features
    return [column.name for column in columns], groups


def _of_classes(estimator: Any, loaded: Model, top: int) -> dict[str, Any]:
    """Of each class, the inputs that reach it most, and whether they raise it."""
    import numpy as np

    from cofire.estimators.importances import input_strengths
    from cofire.explain import directions

    if not loaded.is_classifier or len(estimator.classes_) > MOST_CLASSES:
        return {}
    names = _input_names(loaded)
    own = [input_strengths(estimator, network) for network in estimator.networks_]
    strengths = np.mean(own, axis=0)
    signs = directions(estimator)
    found = {}
    for i, label in enumerate(estimator.classes_.tolist()):
        best = np.argsort(-strengths[i], kind="stable")[:top]
        found[str(label)] = [
            {"input": names[j], "direction": float(signs[i, j])}
            for j in best
            if strengths[i, j] > 0
        ]
    return found


def _input_names(loaded: Model) -> list[str]:
    """Names of the networks' inputs, by the columns of the file."""
    features = loaded.preprocessing.feature_names
    encoder = loaded.estimator._state.encoder
    if features is None:
        return [
            name.replace("x", "feature ", 1) for name in loaded.estimator.input_names_
        ]
    return features if encoder is None else encoder.input_names(features)


# ---- with labelled rows --------------------------------------------------------------


def _measured(
    loaded: Model, X: Any, y: "np.ndarray", facts: dict[str, Any]
) -> dict[str, Any]:
    """Shuffle the most important columns, one after the other."""
    from cofire.explain.shuffling import shuffled_losses

    top = facts["_top"]
    if X.shape[0] < 20:
        tell([f"{X.shape[0]} rows are few: what shuffling costs is uncertain"])
    losses = shuffled_losses(loaded.estimator, X, y, facts["_groups"][:top])
    columns = [dict(column) for column in facts["columns"]]
    for column, mean, deviation in zip(columns, *losses, strict=False):
        column |= {"loss": float(mean), "loss_deviation": float(deviation)}
    score = float(loaded.estimator.score(X, y))
    return {
        "columns": columns,
        "score": score,
        "score_name": "accuracy" if loaded.is_classifier else "R^2",
        "rows": int(X.shape[0]),
    }


# ---- showing it ----------------------------------------------------------------------


def _short(facts: dict[str, Any], top: int) -> dict[str, Any]:
    shown = {k: v for k, v in facts.items() if not k.startswith("_")}
    return shown | {"columns": facts["columns"][:top]}


def _text(facts: dict[str, Any], top: int) -> str:
    from cofire.plot.models import short_names

    columns = facts["columns"][:top]
    names = short_names([column["column"] for column in columns], LONGEST_NAME)
    width = max(6, *map(len, names))
    most = columns[0]["importance"] or 1.0
    header = f"{'column':<{width}}  importance"
    if "score" in facts:
        header += f"{'':<{_BAR - 2}}  {facts['score_name']} lost when shuffled"
    lines = [header]
    for name, column in zip(names, columns, strict=True):
        bar = "#" * round(_BAR * column["importance"] / most)
        line = f"{name:<{width}}  {column['importance']:>6.1%}  "
        if "loss" in column:
            losses = f"{column['loss']:+.4f} ± {column['loss_deviation']:.4f}"
            line += f"{bar:<{_BAR}}  {losses}"
        else:
            line += bar
        lines.append(line.rstrip())
    left = facts["columns"][top:]
    if left:
        share = sum(column["importance"] for column in left)
        lines.append(f"{len(left)} more columns: {share:.1%} together")
    if facts["classes"]:
        lines += ["", "What reaches each class most (+ raises it, - lowers it):"]
        for label, inputs in facts["classes"].items():
            own = short_names([one["input"] for one in inputs], LONGEST_NAME)
            words = ", ".join(
                f"{name} ({'+' if one['direction'] > 0 else '-'})"
                for name, one in zip(own, inputs, strict=True)
            )
            lines.append(f"  {label}: {words or 'nothing'}")
    if "score" in facts:
        score = f"{facts['score_name']} {facts['score']:.4f}"
        lines += ["", f"{score} on these {facts['rows']} rows"]
    else:
        lines += ["", "Give labelled rows too, to measure what each column is worth."]
    return "\n".join(lines)


def _check_picture(out: Path) -> None:
    if out.suffix.lower() not in PICTURES:
        raise ValueError(
            f"--out {out}: the name of a picture ends in .png, .svg or .pdf, this one "
            f"{f'in {out.suffix}' if out.suffix else 'in none of them'}. Try --out "
            f"{out.with_suffix('.png')}"
        )
    check_out(out)


def _draw(facts: dict[str, Any], out: Path, top: int) -> None:
    from cofire.plot import ImportancesDisplay

    names = [column["column"] for column in facts["columns"]]
    values = [column["importance"] for column in facts["columns"]]
    out.parent.mkdir(parents=True, exist_ok=True)
    display = ImportancesDisplay(values, names).plot(top=top)
    display.figure_.savefig(out, bbox_inches="tight", dpi=150)
    tell([f"drawn: {out}"])
