"""save, load: what of a fitted estimator goes into a file, and how it comes back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from reprlib import repr as shortened
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cofire import __version__
from cofire.engine.augmentation import Augmentation
from cofire.errors import ModelFormatError, unknown_name
from cofire.estimators import SparseMLPClassifier, SparseMLPRegressor
from cofire.estimators.base import BaseSparseMLP
from cofire.methods import METHODS, Method
from cofire.persistence import model_file as container
from cofire.persistence.model_file import Document
from cofire.persistence.progress import (
    Tensors,
    demand,
    describe_progress,
    field_names,
    restore_progress,
    whole,
)
from cofire.persistence.values import decode, encode, is_array
from cofire.search import SIMILARITIES, Similarity
from cofire.training.progress import Progress

# A file names its classes by these tables; nothing else is ever looked up or imported.
ESTIMATORS: dict[str, type[BaseSparseMLP]] = {
    "SparseMLPClassifier": SparseMLPClassifier,
    "SparseMLPRegressor": SparseMLPRegressor,
}
# What an estimator learnt of its targets: per attribute one entry per output.
_TARGETS = {
    "SparseMLPClassifier": ("classes_",),
    "SparseMLPRegressor": ("target_mean_", "target_scale_"),
}
# Parameters that may be objects: their class, and those that a file may name.
_OBJECTS: dict[str, tuple[type, Callable[[], dict[str, type]]]] = {
    "method": (Method, lambda: dict(METHODS.loaded())),
    "similarity": (Similarity, lambda: dict(SIMILARITIES)),
    "augmentation": (Augmentation, lambda: {"images": Augmentation}),
}
_MALFORMED = (
    *(ValueError, TypeError, LookupError),
    *(AttributeError, OverflowError, RecursionError),
)


def save(
    estimator: BaseSparseMLP,
    path: str | PathLike[str],
    *,
    preprocessing: Document | None = None,
) -> None:
    """Write a fitted estimator to a file that `load` reads back to the bit.

    Everything that training needs to go on is in it. Callbacks are left out; a
    RandomState becomes None. Written beside the path and renamed: after any failure the
    old file, if there was one, is still whole. `preprocessing` (plain values, those of
    `cofire.data.Preprocessing`) says how rows became X: it stands in the document that
    `load_with_document` returns. A loaded model keeps it until it is fitted anew.
    """
    check_is_fitted(estimator)
    check_storable(estimator)
    estimator._check_parameters()
    tensors: Tensors = {}
    made = estimator.receipt_
    document = describe(
        estimator,
        estimator._progress,
        tensors,
        simd_level=made.simd_level,
        threads=made.threads,
    )
    if preprocessing is None:
        preprocessing = estimator._preprocessing
    if preprocessing is not None:
        document["preprocessing"] = preprocessing
    container.write(path, document, tensors)


def check_storable(estimator: BaseSparseMLP) -> None:
    """Refuse a class that no file may name, such as one derived from an estimator."""
    if ESTIMATORS.get(type(estimator).__name__) is not type(estimator):
        raise ValueError(
            f"{type(estimator).__name__} cannot be stored: a model file holds a "
            f"{' or a '.join(ESTIMATORS)}."
        )


def load(path: str | PathLike[str]) -> Any:
    """Read the estimator that `save` wrote; `ModelFormatError` if the file is not one.

    No code from the file is ever run: it holds numbers and names from fixed tables.
    """
    return load_with_document(path)[0]


def load_with_document(path: str | PathLike[str]) -> tuple[BaseSparseMLP, Document]:
    """Like `load`, and what the file says of itself: version, notes."""
    document, tensors = container.read(path)
    with malformed_is(path):
        estimator = _restore(document, tensors)
        if "checkpoint" in document:  # callbacks are not part of a model
            tensors = {n: a for n, a in tensors.items() if n[:10] != "callbacks."}
        if tensors:
            raise ValueError(f"unknown tensor {next(iter(tensors))}")
    estimator._preprocessing = document.get("preprocessing")
    return estimator, document


@contextmanager
def malformed_is(path: str | PathLike[str]) -> Iterator[None]:
    """Turn whatever a malformed document leads to into a ModelFormatError."""
    try:
        yield
    except _MALFORMED as error:
        raise ModelFormatError(
            f"{path}: not a whole cofire model: {container.reason(error)}"
        ) from error


def describe(
    estimator: BaseSparseMLP,
    progress: Progress,
    tensors: Tensors,
    *,
    simd_level: str,
    threads: int,
) -> Document:
    """Return all but the arrays as plain values; the arrays go to `tensors`."""
    parameters, notes = plain_parameters(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "cofire": __version__,
        "estimator": type(estimator).__name__,
        "parameters": parameters,
        "notes": notes,
        "n_features": int(estimator.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "targets": plain_targets(estimator),
        "simd_level": simd_level,
        "threads": threads,
        "resumed_after": estimator.resumed_after_,
        "progress": describe_progress(progress, tensors),
    }


def _restore(document: Document, tensors: Tensors) -> BaseSparseMLP:
    known = ESTIMATORS[document["estimator"]]
    parameters = _restored_parameters(known, document["parameters"])
    estimator = known(**parameters)
    estimator._check_parameters()
    progress = restore_progress(document["progress"], tensors)
    sizes, output = progress.network.sizes, progress.network.output

    demand(type(document["cofire"]) is str, "no version of cofire")
    demand(type(document["simd_level"]) is str, "simd_level is no name")
    demand(all(type(note) is str for note in document["notes"]), "notes are no text")
    estimator.n_features_in_ = whole(document["n_features"])
    demand(sizes[0] == estimator.n_features_in_, "n_features and first layer differ")
    if document["feature_names"] is not None:
        names = document["feature_names"]
        demand(len(names) == sizes[0], "feature_names are not one per feature")
        demand(all(type(name) is str for name in names), "feature_names are no names")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    for name in _TARGETS[document["estimator"]]:
        values = decode(document["targets"][name])
        demand(values.shape == (sizes[-1],), f"{name} is not one per output")
        setattr(estimator, name, values)
    if isinstance(estimator, SparseMLPClassifier):
        demand(output in ("softmax", "sigmoid"), "not the output of a classifier")
        classes = estimator.classes_
        demand(bool((classes[1:] > classes[:-1]).all()), "classes are not in order")
        estimator._output = output
    else:
        demand(output == "identity", "not the output of a regressor")
        mean, scale = estimator.target_mean_, estimator.target_scale_
        demand(mean.dtype == scale.dtype == np.float64, "targets are not float64")
        demand(bool(np.isfinite(mean).all()), "target_mean_ is not finite")
        demand(bool((np.isfinite(scale) & (scale > 0)).all()), "target_scale_ <= 0")
        estimator.n_outputs_, estimator._one_column = sizes[-1], sizes[-1] == 1
    estimator.seed_ = progress.seed
    estimator.resumed_after_ = whole(document.get("resumed_after", 0))
    estimator._finish(progress, estimator._settings())
    estimator.receipt_ = replace(
        estimator.receipt_,
        simd_level=document["simd_level"],
        threads=whole(document["threads"]),
    )
    return estimator


def plain_targets(estimator: BaseSparseMLP) -> Document:
    """Return what an estimator learnt of its targets, as JSON holds it."""
    names = _TARGETS[type(estimator).__name__]
    return {name: encode(getattr(estimator, name), name) for name in names}


def plain_parameters(estimator: BaseSparseMLP) -> tuple[Document, list[str]]:
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
    for name, (base, table) in _OBJECTS.items():
        if isinstance(parameters[name], base):
            parameters[name] = _describe_object(parameters[name], name, table())
    return {name: encode(value, name) for name, value in parameters.items()}, notes


def _restored_parameters(known: type[BaseSparseMLP], plain: Document) -> Document:
    for name in plain.keys() - known._get_param_names():
        raise unknown_name("parameter", name, known._get_param_names())
    for name in plain.keys() - {"hidden_layer_sizes"}:
        demand(not is_array(plain[name]), f"{name} is an array")
    parameters = {name: decode(value) for name, value in plain.items()}
    for name, (_, table) in _OBJECTS.items():
        value = parameters.get(name)
        if isinstance(value, dict):
            parameters[name] = _restore_object(**value, table=table())
        elif isinstance(value, str):
            _known(value, table())
    # NumPy would make all of them as wide as the longest text among them.
    sizes = parameters.get("hidden_layer_sizes")
    if isinstance(sizes, list | tuple):
        demand(all(type(n) is int for n in sizes), "hidden_layer_sizes are no numbers")
    _check_method_options(parameters.get("method_options"))
    return parameters


def _check_method_options(options: Any) -> None:
    """An unknown option would be looked for in packages that are not imported yet."""
    if isinstance(options, dict):
        known = set[str]().union(*map(field_names, METHODS.loaded().values()))
        demand(options.keys() <= known, "method_options that no method here has")


def _describe_object(value: Any, parameter: str, table: dict[str, type]) -> Document:
    for name, known in table.items():
        if type(value) is known:
            settings = {field: getattr(value, field) for field in field_names(known)}
            return {"name": name, "settings": settings}
    raise ValueError(
        f"{parameter}: {type(value).__name__} cannot be stored in a model file, only "
        f"those that go by a name: {', '.join(table)}."
    )


def _restore_object(name: str, settings: Document, table: dict[str, type]) -> Any:
    known = _known(name, table)
    demand(settings.keys() <= field_names(known), f"{name}: unknown settings")
    return known(**settings)


def _known(name: str, table: dict[str, type]) -> type:
    """A file does not make anything be imported: not even an installed package."""
    if name not in table:
        shown = shortened(name)
        raise ValueError(
            f"{shown} is not one of cofire's own. If an installed package adds this "
            f"method, say cofire.METHODS[{shown}] first."
        )
    return table[name]
