"""What a parameter of a transformer may be, beside plain values: no code."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cofire.estimators.description import check_storable, plain_parameters
from cofire.estimators.plan import check_parameters
from cofire.estimators.restoring import ESTIMATORS, restored_parameters
from cofire.persistence.values import array_bytes, decode, demand, encode, is_array
from cofire.pipelines.contents import Place
from cofire.pipelines.kinds import Kind


class Plain(Kind):
    """Numbers, text, None, and lists, tuples or dicts of them; arrays become lists."""

    def write(self, value: Any, place: Place) -> Any:
        try:
            return encode(_without_arrays(value), place.name)
        except ValueError as error:
            raise place.refuse(str(error)) from None

    def read(self, plain: Any, place: Place) -> Any:
        demand(not is_array(plain), f"{place.key}: expected no array")
        return decode(plain)


def _without_arrays(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return type(value)(_without_arrays(one) for one in value)
    return value


class Pattern(Plain):
    """A regular expression, or None."""

    def read(self, plain: Any, place: Place) -> Any:
        value = super().read(plain, place)
        if value is not None:
            demand(type(value) is str and len(value) <= 10_000, f"{place.key}: long")
            try:
                re.compile(value)
            except re.error as error:
                raise ValueError(f"{place.key}: {error}") from error
        return value


class Lengths(Plain):
    """How many words or letters a term has: the least and the most."""

    def read(self, plain: Any, place: Place) -> Any:
        value = super().read(plain, place)
        pair = type(value) is tuple and [type(n) for n in value] == [int, int]
        demand(pair and 1 <= value[0] <= value[1], f"{place.key}: expected two numbers")
        return value


class Weights(Plain):
    """Numbers by the names of transformers, or None."""

    def read(self, plain: Any, place: Place) -> Any:
        value = super().read(plain, place)
        right = value is None or isinstance(value, dict)
        demand(right, f"{place.key}: expected numbers by name")
        numbers = all(type(w) in (int, float) for w in (value or {}).values())
        demand(numbers, f"{place.key}: expected numbers")
        return value


class Seed(Plain):
    """A random_state: a RandomState is left out."""

    def write(self, value: Any, place: Place) -> Any:
        if isinstance(value, np.random.RandomState):
            place.note("random_state was a RandomState and is None here")
            value = None
        return super().write(value, place)


@dataclass(frozen=True)
class LeftOut(Kind):
    """Not stored: it takes this value."""

    value: Any = None

    def write(self, value: Any, place: Place) -> Any:
        if value != self.value:
            place.note(f"{place.name} was left out")
        return None

    def read(self, plain: Any, place: Place) -> Any:
        demand(plain is None, f"{place.key}: expected null")
        return self.value


@dataclass(frozen=True)
class Only(Plain):
    """One of a few plain values; others are refused, and `why` says why."""

    values: tuple[Any, ...]
    why: str

    def write(self, value: Any, place: Place) -> Any:
        if not any(value is one or value == one for one in self.values):
            raise place.refuse(f"{place.name}={value!r}: {self.why}")
        return super().write(value, place)

    def read(self, plain: Any, place: Place) -> Any:
        value = super().read(plain, place)
        demand(value in self.values, f"{place.key}: unknown value")
        return value


@dataclass(frozen=True)
class Named(Kind):
    """A function, or None, by its name in a table."""

    table: Mapping[str, Any]
    why: str

    def write(self, value: Any, place: Place) -> Any:
        if value is None:
            return None
        for name, known in self.table.items():
            if value is known:
                return name
        shown = getattr(value, "__name__", repr(value))
        raise place.refuse(
            f"{place.name}={shown}: a function is code, which a model file does not "
            f"hold. {self.why} Known: {', '.join(self.table)}."
        )

    def read(self, plain: Any, place: Place) -> Any:
        return None if plain is None else self.table[plain]


class DType(Kind):
    """A type of numbers, or object."""

    _KNOWN = {
        np.dtype(name).name: np.dtype(name)
        for name in ("f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 bool object").split()
    }

    def write(self, value: Any, place: Place) -> Any:
        try:
            name = np.dtype(value).name
        except TypeError:
            name = repr(value)
        if name not in self._KNOWN:
            known = ", ".join(self._KNOWN)
            raise place.refuse(f"the dtype {name} cannot be stored. Known: {known}.")
        return name

    def read(self, plain: Any, place: Place) -> Any:
        return self._KNOWN[plain]


class ScalarType(DType):
    """The same as a class: np.float64."""

    def read(self, plain: Any, place: Place) -> Any:
        return super().read(plain, place).type


class Untrained(Kind):
    """An estimator of ours that is not fitted: its class and its parameters."""

    def write(self, value: Any, place: Place) -> Any:
        check_storable(value)
        parameters, notes = plain_parameters(value)
        for note in notes:
            place.note(note)
        return [value._stored_as, parameters]

    def read(self, plain: Any, place: Place) -> Any:
        name, parameters = plain
        known = ESTIMATORS[name]
        arrays = [value for value in parameters.values() if is_array(value)]
        place.make_room(sum(map(array_bytes, arrays)))
        estimator = known(**restored_parameters(known, parameters))
        check_parameters(estimator)
        return estimator
