"""Contents: what a file holds of a pipeline, while it is written or read.

A `Place` says where in the pipeline a value stands: it words errors, names arrays and
knows the sizes that arrays of the same transformer share.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cofire.persistence.progress import Tensors
from cofire.persistence.values import (
    MAX_ARRAY_BYTES,
    Document,
    array_bytes,
    decode,
    demand,
    encode,
    whole,
)

_TENSORS = {"<f8": "F64", "<f4": "F32", "<i8": "I64", "<i4": "I32"}


@dataclass
class Contents:
    """What all transformers of a pipeline share."""

    tensors: Tensors
    classes: Mapping[str, Any]
    """The transformers that a file may name."""
    model: Any
    """The estimator at the end, which is stored apart: once found, it is None here."""
    notes: list[str] = field(default_factory=list)
    room: int = MAX_ARRAY_BYTES
    """Bytes that labels may still take."""


@dataclass
class Place:
    """Where a value stands."""

    contents: Contents
    words: str = ""
    """For errors: "step 'scale' (StandardScaler)"."""
    key: str = "pipeline"
    """For the names of arrays: "pipeline.0.mean_"."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Of the axes of arrays, by name; n is the number of features."""

    @property
    def name(self) -> str:
        """Of the attribute or parameter, for errors."""
        return next(part for part in self.key.split(".")[::-1] if not part.isdigit())

    def inside(self, key: object) -> "Place":
        """Return the place of a part: an attribute, or one of several."""
        return replace(self, key=f"{self.key}.{key}")

    def of_step(self, name: str, kind: str) -> "Place":
        """Return the place of a transformer, which has sizes of its own."""
        before = f"{self.words}, " if self.words else ""
        return replace(self, words=f"{before}step {name!r} ({kind})", sizes={})

    def refuse(self, what: str) -> ValueError:
        """Return the error for what cannot be stored here."""
        return ValueError(f"{self.words}: {what}" if self.words else what)

    def note(self, what: str) -> None:
        """Say in the file what was left out."""
        self.contents.notes.append(f"{self.words}: {what}")

    # ---- arrays ---------------------------------------------------------------------

    def put(self, array: np.ndarray) -> Document:
        """Store an array of numbers, and return what the description says of it."""
        kind = _TENSORS.get(array.dtype.str)
        if kind is None or array.ndim not in (1, 2):
            raise self.refuse(
                f"{self.name}: an array of {array.dtype} with {array.ndim} axes cannot "
                "be stored. Fit on float64."
            )
        # The order in memory decides how products are summed, and so their bits.
        is_fortran = array.ndim == 2 and array.strides[0] < array.strides[1]
        order: Any = "F" if is_fortran and not array.flags.c_contiguous else "C"
        self.contents.tensors[self.key] = np.ascontiguousarray(array.ravel(order))
        return {"$tensor": {"dtype": kind, "shape": list(array.shape), "order": order}}

    def take(self, plain: Any) -> np.ndarray:
        """Undo `put`."""
        (entry,) = plain.values()
        demand(entry.keys() == {"dtype", "shape", "order"}, f"{self.key}: wrong entry")
        array = self.contents.tensors.pop(self.key)
        right = _TENSORS.get(array.dtype.str) == entry["dtype"]
        demand(right, f"{self.key}: wrong dtype")
        shape = [whole(n) for n in entry["shape"]]
        demand(len(shape) in (1, 2), f"{self.key}: wrong number of axes")
        demand(int(np.prod(shape, dtype=object)) == array.size, f"{self.key}: shape")
        demand(entry["order"] in ("C", "F"), f"{self.key}: wrong order")
        order: Any = entry["order"]
        return array.reshape(shape, order=order)

    def put_labels(self, array: np.ndarray) -> Document:
        """Store an array of one axis that holds text, numbers, None, True or False."""
        if array.dtype.str in _TENSORS and array.ndim == 1:
            return self.put(array)
        try:
            return encode(array, self.name)
        except ValueError as error:
            raise self.refuse(str(error)) from None

    def take_labels(self, plain: Any) -> np.ndarray:
        """Undo `put_labels`."""
        if is_tensor(plain):
            array = self.take(plain)
        else:
            self.make_room(array_bytes(plain))
            array = decode(plain)
        demand(array.ndim == 1, f"{self.key}: expected one axis")
        return array

    def make_room(self, n_bytes: int) -> None:
        """Refuse labels that take more memory than all of a file may."""
        self.contents.room -= n_bytes
        demand(self.contents.room >= 0, "labels: more than a model file may hold")

    def measure(self, array: np.ndarray, axes: str) -> None:
        """Refuse an array that has not the sizes that others have; * is any size."""
        names = axes.split()
        demand(array.ndim == len(names), f"{self.key}: wrong number of axes")
        for name, size in zip(names, array.shape, strict=True):
            expected = size if name == "*" else self.sizes.setdefault(name, size)
            demand(size == expected, f"{self.key}: expected {expected}, got {size}")


def is_tensor(plain: Any) -> bool:
    """Whether `take` will make an array of it."""
    return isinstance(plain, dict) and plain.keys() == {"$tensor"}
