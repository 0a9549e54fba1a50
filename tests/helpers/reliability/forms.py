"""Forms that the same values may have: arrays, tables and matrices of every sort."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp


@dataclass(frozen=True)
class Kind:
    """One kind of input: `make` turns plain values into it.

    `plain` are the values; where they are hostile themselves (too large, one row),
    they are given here, and `make` leaves them as they are.
    """

    name: str
    make: Callable[[np.ndarray], Any]
    plain: np.ndarray | None = None


def frozen(array):
    """The same array, read-only."""
    array = array.copy()
    array.flags.writeable = False
    return array


def on_disk(array):
    """The same array, mapped from a file that has lost its name."""
    with tempfile.NamedTemporaryFile() as file:
        mapped = np.memmap(file.name, array.dtype, "w+", shape=array.shape)
    mapped[:] = array
    return mapped


def unaligned(array):
    """The same array, beginning at an odd address."""
    room = np.empty(array.nbytes + 1, np.uint8)[1:]
    shifted = room.view(array.dtype).reshape(array.shape)
    shifted[:] = array
    return shifted


def frame(X, dtype=None):
    """A DataFrame with names of text, its columns of this type."""
    made = pd.DataFrame(X, columns=[f"column {i}" for i in range(X.shape[1])])
    return made if dtype is None else made.astype(dtype)


class Says:
    """An object that numpy may ask for an array; `shape` need not be the truth."""

    def __init__(self, array, shape=None):
        self.array, self.shape = array, shape or np.shape(array)

    def __array__(self, dtype=None, copy=None):
        if isinstance(self.array, Exception):
            raise self.array
        return np.array(self.array, dtype=dtype)

    def __len__(self):
        return self.shape[0]


class TableOfLists(list):
    """A subclass of list."""


def csr(X, **changes):
    """A CSR array with some of its parts changed behind SciPy's back."""
    made = sp.csr_array(X)
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def unsorted_csr(X):
    """Rows whose entries stand in descending order."""
    made = sp.csr_array(X)
    for start, end in zip(made.indptr[:-1], made.indptr[1:], strict=True):
        made.indices[start:end] = made.indices[start:end][::-1].copy()
        made.data[start:end] = made.data[start:end][::-1].copy()
    made.has_sorted_indices = False
    return made


def doubled_csr(X):
    """Every entry twice, each time with half of its value."""
    made = sp.csr_array(X)
    halves = np.repeat(made.data / 2, 2), np.repeat(made.indices, 2)
    return sp.csr_array((*halves, 2 * made.indptr), shape=made.shape)


def with_zeros(X):
    """Zeros that are stored: every place has an entry."""
    n, d = X.shape
    places = np.tile(np.arange(d), n), np.arange(n + 1) * d
    return sp.csr_array((X.ravel(), *places), shape=X.shape)


def long_indices(X):
    """64-bit indices."""
    made = sp.csr_array(X)
    made.indices = made.indices.astype(np.int64)
    made.indptr = made.indptr.astype(np.int64)
    return made


def put(X, value, at=(3, 1)):
    """The same values in float64, and one other."""
    changed = X.astype(np.float64)
    changed[at[: changed.ndim]] = value
    return changed


def masked(X):
    """A masked array that hides one value."""
    hidden = np.zeros(X.shape, bool)
    hidden.flat[3] = True
    return np.ma.masked_array(X, hidden)


def ragged(X):
    """Lists of which one is shorter."""
    lists = X.tolist()
    lists[3] = lists[3][:-1]
    return lists


def of_type(dtype):
    return lambda X: X.astype(dtype)


def as_objects(convert):
    """An array of Python objects."""

    def make(values):
        flat = np.empty(values.size, object)
        flat[:] = [convert(v) for v in values.ravel().tolist()]
        return flat.reshape(values.shape)

    return make


def nullable(dtype, gap=False):
    def make(X):
        made = frame(X, dtype)
        if gap:
            made.iloc[3, 1] = pd.NA
        return made

    return make


def with_object(X, value):
    """An array of objects, one of which is another."""
    made = X.astype(object)
    made[3, 1] = value
    return made


def broken(X, part, at, value, form=sp.csr_array):
    """A sparse array in which one number of one part is wrong."""
    made = form(X)
    array = getattr(made, part).copy()
    array[at] = value
    setattr(made, part, array)
    return made
