"""A pipeline that ends in an estimator of ours, as plain values, and back."""

import re
import warnings
from typing import Any

import sklearn
from sklearn.pipeline import Pipeline

from cofire.persistence.progress import Tensors
from cofire.persistence.values import Document, demand
from cofire.pipelines.classes import CLASSES
from cofire.pipelines.contents import Contents, Place
from cofire.pipelines.transformers import Transformer, describe

_VERSION = re.compile(r"(\d{1,4}\.\d{1,4})[\w.]{0,20}")


def describe_pipeline(
    pipeline: Any, model: Any, tensors: Tensors
) -> tuple[Document, list[str]]:
    """Return all but the model and the arrays, and notes on what was left out."""
    contents = Contents(tensors, CLASSES, model)
    steps = describe(pipeline, Place(contents))
    return {"scikit-learn": sklearn.__version__, "steps": steps}, contents.notes


def restore_pipeline(plain: Document, model: Any, tensors: Tensors) -> Pipeline:
    """Undo `describe_pipeline`; what is used is removed from `tensors`.

    Warns if another version of scikit-learn wrote it. Between releases with the same
    first two numbers nothing that is stored here changes.
    """
    demand(plain.keys() == {"scikit-learn", "steps"}, "pipeline: unknown entries")
    version = plain["scikit-learn"]
    found = _VERSION.fullmatch(version)
    demand(found is not None, "pipeline: unknown version")
    kind = Transformer(("Pipeline",))
    pipeline = kind.read(plain["steps"], Place(Contents(tensors, CLASSES, model)))
    right = bool(pipeline.steps) and pipeline.steps[-1][1] is model
    demand(right, "pipeline: its last step must be the model")
    assert found is not None
    if not sklearn.__version__.startswith(f"{found[1]}."):
        warnings.warn(
            f"The pipeline was saved with scikit-learn {version}, this is "
            f"{sklearn.__version__}: its steps may transform otherwise, or fail. "
            "Compare its predictions with known ones, or use the version it was saved "
            "with.",
            stacklevel=4,
        )
    return pipeline
