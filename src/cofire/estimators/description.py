"""An estimator as plain values: what a model file and a checkpoint say of it."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from cofire import __version__
from cofire.callbacks import Callback, Checkpoint
from cofire.engine import Augmentation
from cofire.estimators import encoder_storing
from cofire.estimators.inputs import ScaledBytes
from cofire.methods import METHODS, Method
from cofire.persistence.progress import (
    Tensors,
    describe_progress,
    describe_trainings,
)
from cofire.persistence.values import Document, canonical, encode, field_names
from cofire.search import SIMILARITIES, Similarity
from cofire.training.progress import Progress

# Parameters that may be objects: their class, and the classes that a file may name.
OBJECTS: dict[str, tuple[type, Callable[[], dict[str, type]]]] = {
    "method": (Method, lambda: dict(METHODS.loaded())),
    "similarity": (Similarity, lambda: dict(SIMILARITIES)),
    "augmentation": (Augmentation, lambda: {"images": Augmentation}),
}
# They change how a fit looks and how long it takes, not what comes of it.
_WITHOUT_EFFECT = ("n_jobs", "verbose", "checkpoint", "callbacks", "random_state")


def check_storable(estimator: Any) -> None:
    """Refuse a class that no file may name, such as one derived from an estimator."""
    if "_stored_as" not in vars(type(estimator)):
        raise ValueError(
            f"{type(estimator).__name__} cannot be stored: a model file holds a "
            "SparseMLPClassifier or a SparseMLPRegressor, not a class derived from one."
        )


def describe(
    estimator: Any, trainings: Sequence[Progress], tensors: Tensors
) -> Document:
    """Return all but the arrays as plain values; the arrays go to `tensors`."""
    parameters, notes = plain_parameters(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    fitted = estimator._fitted
    return {
        "cofire": __version__,
        "estimator": estimator._stored_as,
        "parameters": parameters,
        "notes": notes,
        "n_features": int(estimator.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "targets": fitted.targets.to_plain(),
        "encoder": _describe_encoder(fitted, tensors),
        "simd_level": fitted.simd_level,
        "threads": fitted.threads,
        "resumed_after": fitted.resumed_after,
        "chosen": encode(fitted.chosen, "chosen_parameters_"),
        "energy": None if fitted.energy is None else fitted.energy.to_dict(),
        **describe_trainings(trainings, tensors),
    }


def fingerprint(
    estimator: Any, data: Iterable[Any], start: Progress | None, network: int
) -> str:
    """Hash all that a network's fit depends on: data, parameters, callbacks, its start.

    estimator: one that has learnt its targets; start: what an earlier fit left, if the
    fit continues it; network: its number among those of the estimator. Without a
    random_state the seed is left out: a fit that was interrupted continues with the
    seed it had.
    """
    parameters, _ = plain_parameters(estimator)
    tensors: Tensors = {}
    document = {
        "estimator": estimator._stored_as,
        "parameters": {k: v for k, v in parameters.items() if k not in _WITHOUT_EFFECT},
        "targets": estimator._fitted.targets.to_plain(),
        "encoder": _describe_encoder(estimator._fitted, tensors),
        "callbacks": [type(c).__qualname__ for c in remembering(estimator.callbacks)],
        "seed": None if estimator.random_state is None else estimator.seed_,
        "start": None if start is None else describe_progress(start, tensors),
        "network": network,
    }
    digest = hashlib.sha256(canonical(document).encode())
    for array in (*data, *tensors.values()):
        _feed(digest, array)
    return digest.hexdigest()


def remembering(callbacks: Iterable[Callback]) -> list[Callback]:
    """The callbacks whose state belongs to a checkpoint: all but checkpoints."""
    return [c for c in callbacks if not isinstance(c, Checkpoint)]


def plain_parameters(estimator: Any) -> tuple[Document, list[str]]:
    """Return the parameters as JSON holds them, and notes on what it does not hold."""
    parameters, notes = estimator.get_params(deep=False), []
    if parameters["checkpoint"] is not None:
        # A file does not choose where on a disk something is written.
        notes.append("checkpoint was left out")
        parameters["checkpoint"] = None
    if len(parameters["callbacks"]):
        notes.append("callbacks were left out")
    parameters["callbacks"] = ()
    if isinstance(parameters["random_state"], np.random.RandomState):
        notes.append("random_state was a RandomState and is None here")
        parameters["random_state"] = None
    for name, (base, table) in OBJECTS.items():
        if isinstance(parameters[name], base):
            parameters[name] = _describe_object(parameters[name], name, table())
    return {name: encode(value, name) for name, value in parameters.items()}, notes


def _describe_object(value: Any, parameter: str, table: dict[str, type]) -> Document:
    for name, known in table.items():
        if type(value) is known:
            settings = {field: getattr(value, field) for field in field_names(known)}
            return {"name": name, "settings": settings}
    raise ValueError(
        f"{parameter}: {type(value).__name__} cannot be stored in a model file, only "
        f"objects of the classes that have a name: {', '.join(table)}."
    )


def _describe_encoder(fitted: Any, tensors: Tensors) -> Document | None:
    encoder = fitted.encoder
    return None if encoder is None else encoder_storing.to_plain(encoder, tensors)


def _feed(digest: Any, array: Any) -> None:
    if scipy.sparse.issparse(array):
        for part in (array.indptr, array.indices, array.data, np.array(array.shape)):
            _feed(digest, part)
    elif isinstance(array, ScaledBytes):
        for part in array:
            _feed(digest, part)
    elif array is None:
        digest.update(b"none;")
    else:
        digest.update(f"{array.dtype.str}{array.shape};".encode())
        digest.update(np.ascontiguousarray(array).data)
