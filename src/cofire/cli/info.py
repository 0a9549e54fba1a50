"""`cofire info`: describe a saved model."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cofire.cli.inputs import errors_in_words, load_model, read_model
from cofire.cli.options import AsJson


def info(
    model: Annotated[Path, typer.Argument(help="A file written by `model.save(...)`.")],
    as_json: AsJson = False,
) -> None:
    """Describe a saved model, after checking the whole file."""
    with errors_in_words():
        estimator, document = read_model(model)
        how = load_model(model).preprocessing if "preprocessing" in document else None
    facts = _facts(estimator, document)
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


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if not isinstance(value, list):
        return str(value)
    more = f", ... ({len(value)} in all)" if len(value) > 10 else ""
    return ", ".join(map(str, value[:10])) + more
