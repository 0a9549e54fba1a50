"""save, load: a fitted estimator as a file, and back."""

import warnings
from os import PathLike
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cofire.errors import unknown_name
from cofire.estimators import SparseMLPClassifier, SparseMLPRegressor
from cofire.estimators.base import BaseSparseMLP
from cofire.estimators.description import OBJECTS, check_storable, describe
from cofire.estimators.encoder import Encoder
from cofire.estimators.plan import check_parameters
from cofire.estimators.state import FittedState
from cofire.methods import METHODS
from cofire.persistence import model_file
from cofire.persistence.atomic import check_writable
from cofire.persistence.progress import Tensors, restore_trainings
from cofire.persistence.values import (
    Document,
    decode,
    demand,
    field_names,
    is_array,
    whole,
)
from cofire.profiles import DEFAULTS_0_1

__all__ = ["load", "load_with_document", "save"]

# A file names its classes by this table; nothing else is ever looked up or imported.
ESTIMATORS: dict[str, type[BaseSparseMLP]] = {
    known._stored_as: known for known in (SparseMLPClassifier, SparseMLPRegressor)
}
# Parameters that early files have and estimators no longer have, with the value that
# had no effect. Only training used them: such a model predicts as before.
GONE = {"decoupled_decay": False, "with_replacement": False}


def _defaults_before(known: type[BaseSparseMLP]) -> Document:
    """What files of version 0.1 mean by a parameter that they do not have."""
    before = dict(DEFAULTS_0_1)
    if known is SparseMLPRegressor:
        before["learning_rate_init"] = 0.001
    return {k: v for k, v in before.items() if k in known._get_param_names()}


def save(
    estimator: BaseSparseMLP,
    path: str | PathLike[str],
    *,
    preprocessing: Document | None = None,
) -> None:
    """Write a fitted estimator to a file that `load` reads back to the bit.

    Everything that training needs to continue is in it. Callbacks are left out; a
    RandomState becomes None. Missing folders are created. If a file cannot be written
    there, an OSError says so before anything is. The file is written beside the path
    and renamed: after any failure the old file, if there was one, is intact.
    `preprocessing` (plain values,
    those of `cofire.data.Preprocessing`) says how rows became X: it is in the document
    that `load_with_document` returns. A loaded model keeps it until it is fitted again.
    """
    check_is_fitted(estimator)
    check_storable(estimator)
    check_parameters(estimator)  # refuses parameters that a file must not have
    tensors: Tensors = {}
    document = describe(estimator, estimator._fitted.trainings, tensors)
    if preprocessing is None:
        preprocessing = estimator._fitted.preprocessing
    if preprocessing is not None:
        document["preprocessing"] = preprocessing
    check_writable(path)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    model_file.write(path, document, tensors)


def load(path: str | PathLike[str]) -> Any:
    """Read the estimator that `save` wrote; `ModelFormatError` if the file is not one.

    No code from the file is ever run: it holds numbers and names from fixed tables.
    """
    return load_with_document(path)[0]


def load_with_document(path: str | PathLike[str]) -> tuple[BaseSparseMLP, Document]:
    """Like `load`, and return the description in the file too: version, notes."""
    document, tensors = model_file.read(path)
    with model_file.malformed_is(path):
        estimator = _restore(document, tensors)
        if "checkpoint" in document:  # callbacks are not part of a model
            tensors = {n: a for n, a in tensors.items() if n[:10] != "callbacks."}
        if tensors:
            raise ValueError(f"unknown tensor {next(iter(tensors))}")
    return estimator, document


def _restore(document: Document, tensors: Tensors) -> BaseSparseMLP:
    known = ESTIMATORS[document["estimator"]]
    estimator = known(**_restored_parameters(known, document["parameters"]))
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
    return None if plain is None else Encoder.from_plain(plain, tensors, n_features)


def _restored_columns(document: Document, n_features: int) -> Document:
    names = document["feature_names"]
    if names is None:
        return {"n_features_in_": n_features}
    demand(len(names) == n_features, "feature_names: expected one per feature")
    demand(all(type(name) is str for name in names), "feature_names: expected text")
    feature_names = np.array(names, dtype=object)
    return {"n_features_in_": n_features, "feature_names_in_": feature_names}


def _restored_parameters(known: type[BaseSparseMLP], plain: Document) -> Document:
    for name, neutral in GONE.items():
        if plain.get(name, neutral) != neutral:
            warnings.warn(
                f"The model was trained with {name}={plain[name]!r}, which no longer "
                "exists. It predicts as before; if its training continues, it does so "
                "without.",
                stacklevel=5,
            )
    plain = {name: value for name, value in plain.items() if name not in GONE}
    for name in plain.keys() - known._get_param_names():
        raise unknown_name("parameter", name, known._get_param_names())
    for name in plain.keys() - {"hidden_layer_sizes"}:
        demand(not is_array(plain[name]), f"{name} must not be an array")
    given = {name: decode(value) for name, value in plain.items()}
    parameters = _defaults_before(known) | given
    for name, (_, table) in OBJECTS.items():
        value = parameters.get(name)
        if isinstance(value, dict):
            parameters[name] = _restored_object(**value, table=table())
        elif isinstance(value, str):
            _known(value, table())
    # NumPy would make all of them as wide as the longest text.
    sizes = parameters.get("hidden_layer_sizes")
    if isinstance(sizes, list | tuple):
        right = all(type(n) is int for n in sizes)
        demand(right, "hidden_layer_sizes: expected numbers")
    _check_method_options(parameters.get("method_options"))
    return parameters


def _check_method_options(options: Any) -> None:
    """Refuse unknown options: to look them up would import packages."""
    if isinstance(options, dict):
        known = set[str]().union(*map(field_names, METHODS.loaded().values()))
        demand(options.keys() <= known, "method_options that no method here has")


def _restored_object(name: str, settings: Document, table: dict[str, type]) -> Any:
    known = _known(name, table)
    demand(settings.keys() <= field_names(known), f"{name}: unknown settings")
    return known(**settings)


def _known(name: str, table: dict[str, type]) -> type:
    """Look a name up; a file never causes an import, even of an installed package."""
    if name not in table:
        shown = shortened(name)
        raise ValueError(
            f"Unknown method {shown}. If a plug-in provides it, load it first with "
            f"cofire.METHODS[{shown}]."
        )
    return table[name]
