"""What an attribute of a transformer may be: one class per kind of value.

`write` turns a value into what JSON holds, its arrays go to the contents of the place;
a ValueError says what cannot be stored. `read` undoes it; a ValueError, TypeError or
LookupError for anything that `write` never writes.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from cofire.persistence.values import decode, demand, encode, whole
from cofire.pipelines.contents import Place, is_tensor


class Kind(ABC):
    """How a value is written and read."""

    @abstractmethod
    def write(self, value: Any, place: Place) -> Any:
        """Return what the file says."""

    @abstractmethod
    def read(self, plain: Any, place: Place) -> Any:
        """Undo `write`."""


class Size(Kind):
    """A number of features; it is the size n of arrays."""

    def write(self, value: Any, place: Place) -> Any:
        return int(value)

    def read(self, plain: Any, place: Place) -> Any:
        return place.sizes.setdefault("n", whole(plain))


class Whole(Kind):
    """A whole number >= 0."""

    def write(self, value: Any, place: Place) -> Any:
        return int(value)

    def read(self, plain: Any, place: Place) -> Any:
        return whole(plain)


class Number(Kind):
    """A number; one that is not whole is a np.float64."""

    def write(self, value: Any, place: Place) -> Any:
        return encode(value, place.key)

    def read(self, plain: Any, place: Place) -> Any:
        value = decode(plain)
        demand(type(value) in (int, float), f"{place.key}: expected a number")
        return value if type(value) is int else np.float64(value)


class Flag(Kind):
    """True or False."""

    def write(self, value: Any, place: Place) -> Any:
        return bool(value)

    def read(self, plain: Any, place: Place) -> Any:
        demand(type(plain) is bool, f"{place.key}: expected true or false")
        return plain


class Text(Kind):
    """A text."""

    def write(self, value: Any, place: Place) -> Any:
        return str(value)

    def read(self, plain: Any, place: Place) -> Any:
        demand(type(plain) is str, f"{place.key}: expected a text")
        return plain


@dataclass(frozen=True)
class Array(Kind):
    """Numbers: the letters of their dtypes, and the axes by name."""

    kinds: str = "f"
    axes: str = "n"

    def write(self, value: Any, place: Place) -> Any:
        return place.put(np.asarray(value))

    def read(self, plain: Any, place: Place) -> Any:
        array = place.take(plain)
        demand(array.dtype.kind in self.kinds, f"{place.key}: wrong dtype")
        place.measure(array, self.axes)
        return array


@dataclass(frozen=True)
class Labels(Kind):
    """Text, numbers, None, True and False in an array of one axis.

    ascending: whether numbers must be, as the encoders look them up by bisection.
    """

    axes: str = "n"
    ascending: bool = False

    def write(self, value: Any, place: Place) -> Any:
        return place.put_labels(value)

    def read(self, plain: Any, place: Place) -> Any:
        array = place.take_labels(plain)
        place.measure(array, self.axes)
        if self.ascending and array.dtype.kind not in "OUS":
            known = array[:-1] if np.isnan(array[-1:]).any() else array
            demand(bool((known[1:] > known[:-1]).all()), f"{place.key}: not ascending")
        return array


class Mask(Kind):
    """True or False per feature."""

    def write(self, value: Any, place: Place) -> Any:
        return place.put(value.astype(np.int32))

    def read(self, plain: Any, place: Place) -> Any:
        array = place.take(plain)
        place.measure(array, "n")
        right = array.dtype == np.int32 and bool(np.isin(array, (0, 1)).all())
        demand(right, f"{place.key}: expected 0 and 1")
        return array.astype(bool)


class Names(Kind):
    """Names of features: an array of objects, all of them text."""

    def write(self, value: Any, place: Place) -> Any:
        return [str(name) for name in value]

    def read(self, plain: Any, place: Place) -> Any:
        demand(type(plain) is list, f"{place.key}: expected a list")
        demand(all(type(name) is str for name in plain), f"{place.key}: expected text")
        return np.array(plain, dtype=object)


class FeatureNames(Names):
    """The same, one per feature."""

    def read(self, plain: Any, place: Place) -> Any:
        names = super().read(plain, place)
        place.measure(names, "n")
        return names


class Vocabulary(Kind):
    """Terms and their columns: every column has one term."""

    def write(self, value: Any, place: Place) -> Any:
        terms = sorted(value, key=value.get)
        if [int(value[term]) for term in terms] != list(range(len(terms))):
            raise place.refuse("vocabulary_: expected a term per column")
        return [str(term) for term in terms]

    def read(self, plain: Any, place: Place) -> Any:
        demand(type(plain) is list, f"{place.key}: expected a list")
        demand(all(type(term) is str for term in plain), f"{place.key}: expected text")
        terms = {term: i for i, term in enumerate(plain)}
        demand(len(terms) == len(plain), f"{place.key}: a term occurs twice")
        return terms


class OutputConfig(Kind):
    """What `set_output` was told."""

    def write(self, value: Any, place: Place) -> Any:
        return value.get("transform")

    def read(self, plain: Any, place: Place) -> Any:
        known = plain in (None, "default", "pandas", "polars")
        demand(known, f"{place.key}: unknown output")
        return {} if plain is None else {"transform": plain}


# ---- made of others ------------------------------------------------------------------


@dataclass(frozen=True)
class Maybe(Kind):
    """None, or a value of a kind."""

    kind: Kind

    def write(self, value: Any, place: Place) -> Any:
        return None if value is None else self.kind.write(value, place)

    def read(self, plain: Any, place: Place) -> Any:
        return None if plain is None else self.kind.read(plain, place)


@dataclass(frozen=True)
class Sometimes(Kind):
    """A value of a kind, or no such attribute."""

    kind: Kind

    def write(self, value: Any, place: Place) -> Any:
        return self.kind.write(value, place)

    def read(self, plain: Any, place: Place) -> Any:
        return self.kind.read(plain, place)


@dataclass(frozen=True)
class Each(Kind):
    """A list of values of a kind."""

    kind: Kind
    per_feature: bool = True

    def write(self, value: Any, place: Place) -> Any:
        return [self.kind.write(v, place.inside(i)) for i, v in enumerate(value)]

    def read(self, plain: Any, place: Place) -> Any:
        demand(type(plain) is list, f"{place.key}: expected a list")
        right = not self.per_feature or len(plain) == place.sizes["n"]
        demand(right, f"{place.key}: expected one per feature")
        return [self.kind.read(p, place.inside(i)) for i, p in enumerate(plain)]


@dataclass(frozen=True)
class ByKey(Kind):
    """A dict: keys are text, or whole numbers where `numbered`; values of a kind."""

    kind: Kind
    numbered: bool = False

    def write(self, value: Any, place: Place) -> Any:
        key = int if self.numbered else str
        items = enumerate(value.items())
        return [[key(k), self.kind.write(v, place.inside(i))] for i, (k, v) in items]

    def read(self, plain: Any, place: Place) -> Any:
        expected = int if self.numbered else str
        found = {}
        for i, (key, value) in enumerate(plain):
            demand(type(key) is expected, f"{place.key}: wrong key")
            found[key] = self.kind.read(value, place.inside(i))
        demand(len(found) == len(plain), f"{place.key}: a key occurs twice")
        return found


class Count(Kind):
    """A number of rows: one, or one per feature."""

    def write(self, value: Any, place: Place) -> Any:
        one = np.ndim(value) == 0
        return Number().write(value, place) if one else Array("fi").write(value, place)

    def read(self, plain: Any, place: Place) -> Any:
        kind = Array("fi") if is_tensor(plain) else Number()
        return kind.read(plain, place)
