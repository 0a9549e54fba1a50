"""A transformer as plain values and arrays, and back; and what holds transformers."""

import inspect
from collections import UserList
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from reprlib import repr as shortened
from typing import Any

from cofire.persistence.values import Document, demand
from cofire.pipelines.contents import Place
from cofire.pipelines.kinds import (
    FeatureNames,
    Kind,
    OutputConfig,
    Size,
    Sometimes,
)
from cofire.pipelines.parameters import Plain

# What any transformer may have.
_COMMON: dict[str, Kind] = {
    "n_features_in_": Size(),  # first: it is the size of arrays
    "feature_names_in_": Sometimes(FeatureNames()),
    "_sklearn_output_config": Sometimes(OutputConfig()),
}
# What a file leaves out: an address in memory, and what only `fit` asks for.
_LEFT_OUT = {"_stop_words_id", "_metadata_request"}
_PARTS = {"class", "parameters", "defaults", "attributes"}


@dataclass(frozen=True)
class Row:
    """A class that a file may name, with what its objects are made of."""

    made: type
    attributes: Mapping[str, Kind] = field(default_factory=dict)
    parameters: Mapping[str, Kind] = field(default_factory=dict)
    """Those that are not `Plain`."""
    derived: tuple[str, ...] = ()
    """Attributes that `finish` gives, as they follow from the rest."""
    simplify: Callable[[Any, Place], Any] | None = None
    """Returns an object that transforms in the same way and can be stored."""
    finish: Callable[[Any], None] | None = None
    """Checks a restored object, and adds what follows from the rest."""
    counts_features: bool = True
    """Whether it must know their number: not if they are texts, or others count."""

    @property
    def all_attributes(self) -> dict[str, Kind]:
        """What a fitted object has, the number of features first."""
        counted = {} if self.counts_features else {"n_features_in_": Sometimes(Size())}
        return {**_COMMON, **counted, **self.attributes}

    def parameter(self, name: str) -> Kind:
        """Return what a parameter may be."""
        return self.parameters.get(name) or Plain()


def describe(transformer: Any, place: Place) -> Document:
    """Return all but the arrays as plain values; the arrays go to the contents."""
    name, row = _row_of(transformer, place)
    if row.simplify is not None:
        transformer = row.simplify(transformer, place)
    given = transformer.get_params(deep=False)
    signature = inspect.signature(row.made).parameters
    written: dict[str, Document] = {"parameters": {}, "defaults": {}}
    for parameter, value in given.items():
        kind, own = row.parameter(parameter), place.inside(parameter)
        plain, default = kind.write(value, own), signature[parameter].default
        same = default is not inspect.Parameter.empty and (
            value is default or plain == kind.write(default, own)
        )
        written["defaults" if same else "parameters"][parameter] = plain
    found = {k: v for k, v in vars(transformer).items() if k not in given}
    known = row.all_attributes
    for attribute in found.keys() - known.keys() - _LEFT_OUT - set(row.derived):
        raise place.refuse(
            f"it has the attribute {attribute!r}, which a model file does not hold. "
            "Remove it, or update cofire if it is one of a newer scikit-learn."
        )
    attributes = {
        attribute: kind.write(found[attribute], place.inside(attribute))
        for attribute, kind in known.items()
        if attribute in found
    }
    return {"class": name, **written, "attributes": attributes}


def _row_of(transformer: Any, place: Place) -> tuple[str, Row]:
    classes = place.contents.classes
    for name, row in classes.items():
        if type(transformer) is row.made:
            return name, row
    raise place.refuse(
        f"a model file does not hold objects of the class "
        f"{type(transformer).__name__}. It holds: {', '.join(sorted(classes))}; none "
        "derived from them. Use one of these, or do that step before the pipeline."
    )


def restore(plain: Document, place: Place) -> Any:
    """Undo `describe`; a ValueError, TypeError or LookupError for anything else."""
    demand(plain.keys() == _PARTS, f"{place.key}: expected {', '.join(sorted(_PARTS))}")
    place, name = replace(place, sizes={}), plain["class"]
    row = place.contents.classes.get(name)
    if row is None:
        raise ValueError(f"unknown class {shortened(name)}")
    demand(not plain["parameters"].keys() & plain["defaults"].keys(), "given twice")
    exists = row.made._get_param_names()
    parameters = {}
    for parameter, value in {**plain["defaults"], **plain["parameters"]}.items():
        if parameter in exists:
            kind = row.parameter(parameter)
            parameters[parameter] = kind.read(value, place.inside(parameter))
        else:  # of another scikit-learn; what had its default had no effect
            there = parameter in plain["defaults"]
            demand(there, f"{name} of this scikit-learn has no {shortened(parameter)}")
    transformer = row.made(**parameters)
    if hasattr(row.made, "_parameter_constraints"):
        transformer._validate_params()
    attributes, known = plain["attributes"], row.all_attributes
    for attribute in attributes.keys() - known.keys():
        raise ValueError(f"{name}: unknown attribute {shortened(attribute)}")
    fitted = bool(attributes.keys() - {"_sklearn_output_config"})
    for attribute, kind in known.items():
        if attribute in attributes:
            value = kind.read(attributes[attribute], place.inside(attribute))
            setattr(transformer, attribute, value)
        else:
            right = not fitted or isinstance(kind, Sometimes)
            demand(right, f"{name}: {attribute} is missing")
    if fitted and row.finish is not None:
        row.finish(transformer)
    return transformer


# ---- what holds transformers ---------------------------------------------------------


@dataclass(frozen=True)
class Transformer(Kind):
    """A transformer, or "drop" or "passthrough".

    classes: the only ones that it may have, if they are named.
    """

    classes: tuple[str, ...] = ()

    def write(self, value: Any, place: Place) -> Any:
        if value is None or isinstance(value, str):
            return value
        if value is place.contents.model:
            place.contents.model = None
            return "model"
        return describe(value, place)

    def read(self, plain: Any, place: Place) -> Any:
        if plain == "model":
            model, place.contents.model = place.contents.model, None
            demand(model is not None, "the model is a step twice")
            return model
        if plain is None or plain in ("drop", "passthrough"):
            demand(not self.classes, f"{place.key}: expected a transformer")
            return plain
        transformer = restore(plain, place)
        right = not self.classes or plain["class"] in self.classes
        demand(right, f"{place.key}: expected {' or '.join(self.classes)}")
        return transformer


class Steps(Kind):
    """Pairs of a name and a transformer."""

    def write(self, value: Any, place: Place) -> Any:
        return [
            [str(name), Transformer().write(step, _step(place, i, name, step))]
            for i, (name, step) in enumerate(value)
        ]

    def read(self, plain: Any, place: Place) -> Any:
        steps = [
            (name, Transformer().read(step, place.inside(i)))
            for i, (name, step) in enumerate(plain)
        ]
        demand(all(type(name) is str for name, _ in steps), "steps: expected names")
        return steps


class Columns(Kind):
    """Which columns a transformer gets: one, a slice, or a list of names or numbers."""

    def write(self, value: Any, place: Place) -> Any:
        if isinstance(value, slice):
            return {"slice": [_column(v, place) for v in _ends(value)]}
        if isinstance(value, str | Integral):
            return _column(value, place)
        if isinstance(value, UserList):  # of scikit-learn 1.6; it warns when it is read
            value = value.data
        if callable(value):
            raise place.refuse(
                "its columns are chosen by a function, which a model file does not "
                "hold. Fit the pipeline first: then it knows them."
            )
        return [_column(one, place) for one in value]

    def read(self, plain: Any, place: Place) -> Any:
        if isinstance(plain, dict):
            demand(plain.keys() == {"slice"}, f"{place.key}: expected a slice")
            return slice(*(_read_column(end, place) for end in plain["slice"]))
        if isinstance(plain, list):
            return [_read_column(one, place) for one in plain]
        return _read_column(plain, place)


def _ends(value: slice) -> tuple[Any, Any, Any]:
    return value.start, value.stop, value.step


def _column(value: Any, place: Place) -> Any:
    value = value.item() if hasattr(value, "item") else value
    if value is None or isinstance(value, str | int):
        return value
    raise place.refuse(f"the column {value!r} is neither a name nor a number")


def _read_column(plain: Any, place: Place) -> Any:
    right = plain is None or type(plain) in (str, int, bool)
    demand(right, f"{place.key}: expected a column")
    return plain


class Part(Kind):
    """A name, a transformer and its columns."""

    def write(self, value: Any, place: Place) -> Any:
        name, transformer, columns = value
        own = _step(place, 0, name, transformer)
        return [
            str(name),
            Transformer().write(transformer, own),
            Columns().write(columns, own),
        ]

    def read(self, plain: Any, place: Place) -> Any:
        name, transformer, columns = plain
        demand(type(name) is str, f"{place.key}: expected a name")
        own = place.inside(0)
        return name, Transformer().read(transformer, own), Columns().read(columns, own)


def _step(place: Place, i: int, name: str, step: Any) -> Place:
    return place.inside(i).of_step(name, type(step).__name__)
