"""`cofire info`: describe a saved model."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cofire.cli.inputs import errors_in_words, load_model, read_model
from cofire.cli.options import AsJson


def info(
    model: Annotated[
        Path, typer.Argument(help="A file written by `cofire.save` or `cofire train`.")
    ],
    as_json: AsJson = False,
) -> None:
    """Describe a saved model or pipeline, after checking the whole file."""
    with errors_in_words():
        estimator, document = read_model(model)
        pipeline, how = None, None
        if "pipeline" in document:
            pipeline, estimator = estimator, estimator[-1]
        elif "preprocessing" in document:
            how = load_model(model).preprocessing
    facts = _facts(estimator, document)
    if pipeline is not None:
        facts = _of_pipeline(pipeline, document) | facts
    if how is not None:
        facts |= {"target": how.target, "preprocessing": how.summary()}
    if as_json:
        print(json.dumps(facts, indent=1))
        return
    for name, value in facts.items():
        if value is not None:
            print(f"{name.replace('_', ' '):<24}{_shown(value)}")
    print(f"\n{estimator.receipt_}")


def _facts(estimator: Any, document: dict[str, Any]) -> dict[str, Any]:
    classes = getattr(estimator, "classes_", None)
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "estimator": document["estimator"],
        "written_by": f"cofire {document['cofire']}, format {document['format']}",
        "networks": len(estimator.networks_),
        "sizes": estimator.network_.sizes,
        "connections": estimator.n_connections_,
        "density": estimator.density_,
        "method": str(estimator.method),
        "activation": estimator.network_.activation,
        "epochs": estimator.n_iter_,
        "loss_of_last_epoch": estimator.loss_,
        "best_validation_score": estimator.best_validation_score_,
        "classes": None if classes is None else classes.astype(str).tolist(),
        "features": estimator.n_features_in_ if names is None else names.tolist(),
        "notes": document["notes"] or None,
    }


def _of_pipeline(pipeline: Any, document: dict[str, Any]) -> dict[str, Any]:
    columns = getattr(pipeline, "feature_names_in_", None)
    return {
        "pipeline": _steps(pipeline),
        "scikit_learn": document["pipeline"]["scikit-learn"],
        "columns": None if columns is None else columns.tolist(),
    }


def _steps(pipeline: Any) -> list[str]:
    """Return the steps by name and class, those inside of others after them."""
    found = []
    for name, step in pipeline.steps:
        inside: Any = getattr(step, "transformers_", getattr(step, "steps", ()))
        kinds = ", ".join(_kind(part[1]) for part in inside)
        found.append(f"{name}: {_kind(step)}" + (f" ({kinds})" if kinds else ""))
    return found


def _kind(step: Any) -> str:
    return str(step) if step is None or isinstance(step, str) else type(step).__name__


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if not isinstance(value, list):
        return str(value)
    more = f", ... ({len(value)} in all)" if len(value) > 10 else ""
    return ", ".join(map(str, value[:10])) + more
