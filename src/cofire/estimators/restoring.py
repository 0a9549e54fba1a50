"""Estimators from plain values: what a model file says of their parameters, undone."""

import warnings
from reprlib import repr as shortened
from typing import Any

from cofire.errors import unknown_name
from cofire.estimators.base import BaseSparseMLP
from cofire.estimators.classifier import SparseMLPClassifier
from cofire.estimators.description import OBJECTS
from cofire.estimators.regressor import SparseMLPRegressor
from cofire.methods import METHODS
from cofire.persistence.values import Document, decode, demand, field_names, is_array
from cofire.profiles import DEFAULTS_0_1

# A file names its classes by this table; nothing else is ever looked up or imported.
ESTIMATORS: dict[str, type[BaseSparseMLP]] = {
    known._stored_as: known for known in (SparseMLPClassifier, SparseMLPRegressor)
}
# Parameters that early files have and estimators no longer have, with the value that
# had no effect. Only training used them: such a model predicts as before.
GONE = {"decoupled_decay": False, "with_replacement": False}


def restored_parameters(known: type[BaseSparseMLP], plain: Document) -> Document:
    """Return parameters for the constructor; a ValueError or TypeError for others."""
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
    # No file was ever written with one: it would choose where something is written.
    demand(given.get("checkpoint") is None, "checkpoint must be null")
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


def _defaults_before(known: type[BaseSparseMLP]) -> Document:
    """What files of version 0.1 mean by a parameter that they do not have."""
    before = dict(DEFAULTS_0_1)
    if known is SparseMLPRegressor:
        before["learning_rate_init"] = 0.001
    return {k: v for k, v in before.items() if k in known._get_param_names()}
