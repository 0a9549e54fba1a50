"""How a topology changes: one small file per method, one row in this table."""

from dataclasses import fields
from typing import Any

from cofire.core.layer import SparseLayer
from cofire.errors import unknown_name
from cofire.methods.cofire import Cofire
from cofire.methods.contract import Grown, Method, TrainingPoint, UpdateContext
from cofire.methods.ctre.ablations import (
    CTRESample2,
    CTRESample4,
    CTRESeqHebb,
    CTRESeqRandomFirst,
    CTRESeqRandomHalf,
    CTRESimEuclidean,
    CTRESimHebb,
    CTRESimLowToHigh,
    CTREWithoutRandom,
)
from cofire.methods.ctre.sequential import CTRESequential
from cofire.methods.ctre.simultaneous import CTRESimultaneous
from cofire.methods.dense import Dense
from cofire.methods.requests import Correlated, Gradient, Search, Similar
from cofire.methods.rigl import RigL, RigLUniform
from cofire.methods.set import SET
from cofire.methods.snip import SNIP
from cofire.methods.static import Static
from cofire.methods.table import MethodTable
from cofire.methods.update import TopologyUpdate, update_topology

__all__ = [
    "METHODS",
    "Correlated",
    "Gradient",
    "Grown",
    "Method",
    "Search",
    "Similar",
    "SparseLayer",
    "TopologyUpdate",
    "TrainingPoint",
    "UpdateContext",
    "make_method",
    "update_topology",
]

METHODS = MethodTable(
    {
        "cofire": Cofire,
        "ctre_sim": CTRESimultaneous,
        "ctre_seq": CTRESequential,
        "set": SET,
        "rigl": RigL,
        "snip": SNIP,
        "static": Static,
        "dense": Dense,
        # ablations of CTRE
        "ctre_wo_random": CTREWithoutRandom,
        "ctre_sim_lth": CTRESimLowToHigh,
        "ctre_sim_hebb": CTRESimHebb,
        "ctre_seq_hebb": CTRESeqHebb,
        "ctre_sim_euclidean": CTRESimEuclidean,
        "ctre_sample2": CTRESample2,
        "ctre_sample4": CTRESample4,
        "ctre_seq_abl1": CTRESeqRandomFirst,
        "ctre_seq_abl2": CTRESeqRandomHalf,
        # a control
        "rigl_uniform": RigLUniform,
    }
)


def make_method(method: str | Method, options: dict[str, Any] | None = None) -> Method:
    """Return the method of this name with these settings, or the object as it came.

    Settings that this method does not have but another one has are left out, so that
    one dict serves a comparison of methods.

    >>> make_method("set", {"returning": "kept", "patience": 40})
    SET(drop_rule='magnitude', new_values='normal', returning='kept')
    """
    if isinstance(method, Method):
        if options:
            raise ValueError(
                f"method_options={options!r}: {type(method).__name__} is an object "
                "that brings its own settings; options go with a method's name"
            )
        return method
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    known = METHODS[method]
    if not isinstance(options, dict | None):
        raise TypeError(f"method_options must be a dict or None, got {options!r}")
    options = options or {}
    for name in options.keys() - _settings(known):
        others = [_settings(other) for other in METHODS.usable().values()]
        if not any(name in other for other in others):
            every = _settings(known).union(*others)
            raise unknown_name("option in method_options", name, every)
    return known(**{k: v for k, v in options.items() if k in _settings(known)})


def _settings(known: type[Method]) -> frozenset[str]:
    return frozenset(field.name for field in fields(known) if field.init)
