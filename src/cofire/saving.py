"""save, load: a fitted estimator, or a pipeline with one, as a file, and back."""

from os import PathLike
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cofire.energy.joules import energy_from
from cofire.estimators import encoder_storing
from cofire.estimators.base import BaseSparseMLP
from cofire.estimators.description import check_storable, describe
from cofire.estimators.encoder import Encoder
from cofire.estimators.plan import check_parameters
from cofire.estimators.restoring import ESTIMATORS, restored_parameters
from cofire.estimators.state import FittedState
from cofire.persistence import model_file
from cofire.persistence.atomic import check_writable, make_folder
from cofire.persistence.progress import Tensors, restore_trainings
from cofire.persistence.values import Document, decode, demand, whole

__all__ = ["load", "load_with_document", "save"]


def save(
    estimator: Any,
    path: str | PathLike[str],
    *,
    preprocessing: Document | None = None,
) -> None:
    """Write a fitted estimator or pipeline to a file that `load` reads to the bit.

    Everything that training needs to continue is in it. Callbacks are left out; a
    RandomState becomes None. A scikit-learn Pipeline must end in an estimator of
    cofire; the transformers that its other steps may be are listed in docs/saving.md,
    and others are refused by name.

    Missing folders are created. If a file cannot be written there, an OSError says so
    before anything is; what is there and no regular file (a folder, a device) is left
    alone. The file is written beside the path and renamed: after any failure the old
    file, if there was one, is intact. A symbolic link stays one: its file is replaced.

    `preprocessing` (plain values, those of `cofire.data.Preprocessing`) says how rows
    became X: it is in the document that `load_with_document` returns. A loaded model
    keeps it until it is fitted again.

    >>> import cofire, tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = cofire.SparseMLPClassifier((50,), max_iter=5, random_state=0)
    >>> pipeline = make_pipeline(PCA(8), model).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cofire.save(pipeline, f"{folder}/pipeline.cofire")
    ...     loaded = cofire.load(f"{folder}/pipeline.cofire")
    >>> (loaded.predict_proba(X) == pipeline.predict_proba(X)).all()
    np.True_
    """
    model = _model_of(estimator)
    check_is_fitted(model)
    check_storable(model)
    check_parameters(model)  # refuses parameters that a file must not have
    tensors: Tensors = {}
    document = describe(model, model._fitted.trainings, tensors)
    if preprocessing is None:
        preprocessing = model._fitted.preprocessing
    if preprocessing is not None:
        document["preprocessing"] = preprocessing
    if model is not estimator:
        from cofire.pipelines.pipeline import describe_pipeline

        document["pipeline"], notes = describe_pipeline(estimator, model, tensors)
        document["notes"] = [*document["notes"], *notes]
    check_writable(path)
    make_folder(path)
    model_file.write(path, document, tensors)


def _model_of(estimator: Any) -> BaseSparseMLP:
    """Return the estimator, or the one at the end of a pipeline."""
    steps = getattr(estimator, "steps", None)
    name, model = steps[-1] if isinstance(steps, list) and steps else ("", estimator)
    if isinstance(model, BaseSparseMLP):
        return model
    found = type(model).__name__
    what = f"its last step, {name!r}, is a {found}" if name else f"got a {found}"
    raise ValueError(
        f"cofire.save stores {' and '.join(ESTIMATORS)}, and pipelines of scikit-learn "
        f"that end in one of them: {what}."
    )


def load(path: str | PathLike[str]) -> Any:
    """Read what `save` wrote; `ModelFormatError` if the file is no such file.

    No code from the file is ever run: it holds numbers and names from fixed tables. A
    pipeline that was saved with another release of scikit-learn is read with a warning.
    """
    return load_with_document(path)[0]


def load_with_document(path: str | PathLike[str]) -> tuple[Any, Document]:
    """Like `load`, and return the description in the file too: version, notes."""
    document, tensors = model_file.read(path)
    with model_file.malformed_is(path):
        estimator: Any = _restore(document, tensors)
        if "pipeline" in document:
            from cofire.pipelines.pipeline import restore_pipeline

            estimator = restore_pipeline(document["pipeline"], estimator, tensors)
        if "checkpoint" in document:  # callbacks are not part of a model
            tensors = {n: a for n, a in tensors.items() if n[:10] != "callbacks."}
        if tensors:
            raise ValueError(f"unknown tensor {next(iter(tensors))}")
    return estimator, document


def _restore(document: Document, tensors: Tensors) -> BaseSparseMLP:
    known = ESTIMATORS[document["estimator"]]
    estimator = known(**restored_parameters(known, document["parameters"]))
    check_parameters(estimator)  # refuses what no estimator could have been fitted with
    trainings = restore_trainings(document, tensors)
    network = trainings[0].network
    sizes, output = network.sizes, network.output
    n_features = whole(document["n_features"])
    encoder = _restored_encoder(document.get("encoder"), tensors, n_features)
    n_inputs = n_features if encoder is None else encoder.n_inputs
    demand(n_inputs == sizes[0], "the features and the inputs of layer 1 differ")
    for name in ("cofire", "simd_level"):
        demand(type(document[name]) is str, f"{name}: expected a text")
    demand(all(type(note) is str for note in document["notes"]), "notes: expected text")
    state = FittedState(
        tuple(trainings),
        known._targets_kind.from_plain(document["targets"], output, sizes[-1]),
        simd_level=document["simd_level"],
        threads=whole(document["threads"]),
        resumed_after=whole(document.get("resumed_after", 0)),
        chosen=_restored_choice(document.get("chosen", {})),
        preprocessing=document.get("preprocessing"),
        encoder=encoder,
        energy=energy_from(document.get("energy")),
    )
    estimator._publish(_restored_columns(document, n_features), state)
    return estimator


def _restored_choice(plain: Document) -> Document:
    chosen = decode(plain)
    demand(isinstance(chosen, dict), "chosen: expected values by name")
    return chosen


def _restored_encoder(
    plain: Document | None, tensors: Tensors, n_features: int
) -> Encoder | None:
    if plain is None:
        return None
    return encoder_storing.from_plain(plain, tensors, n_features)


def _restored_columns(document: Document, n_features: int) -> Document:
    names = document["feature_names"]
    if names is None:
        return {"n_features_in_": n_features}
    demand(len(names) == n_features, "feature_names: expected one per feature")
    demand(all(type(name) is str for name in names), "feature_names: expected text")
    feature_names = np.array(names, dtype=object)
    return {"n_features_in_": n_features, "feature_names_in_": feature_names}
