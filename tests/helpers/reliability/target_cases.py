"""Hostile inputs beside X: labels, targets, sample weights and classes, kind by kind.

As in input_cases.py: an answered kind has a plain form that gives the same bits, a
refused kind must give an error that names the argument.
"""

import numpy as np
import pandas as pd
import scipy.sparse as sp

from cofire import SparseMLPClassifier, SparseMLPRegressor
from helpers.reliability.forms import (
    Kind,
    Says,
    as_objects,
    frozen,
    masked,
    of_type,
    on_disk,
    put,
    unaligned,
)
from helpers.reliability.input_cases import INF, MAX, NAN, WHOLE, N

LABELS = (WHOLE.sum(axis=1) % 3).astype(np.int64)
NUMBERS = WHOLE.astype(np.float64) @ np.arange(1, 7) / 4
ONES = np.ones(N)
WEIGHTS = 1 + WHOLE[:, 0].astype(np.float64)


def named(*names):
    """Labels with these names, in their order."""
    return lambda y: np.array(names)[y]


# ---- in what form labels, targets and weights may come: all three of them ------------

FORMS = {
    "list": lambda v: v.tolist(),
    "tuple": lambda v: tuple(v.tolist()),
    "int8": of_type(np.int8),
    "uint64": of_type(np.uint64),
    "float16": of_type(np.float16),
    "float64": of_type(np.float64),
    "longdouble": of_type(np.longdouble),
    "big-endian": of_type(">f8"),
    "negative strides": lambda v: v[::-1].copy()[::-1],
    "every second value of a longer array": lambda v: np.repeat(v, 2)[::2],
    "read-only": frozen,
    "memory map": on_disk,
    "unaligned": unaligned,
    "objects that are int": as_objects(int),
    "Series": pd.Series,
    "Series with another index": lambda v: pd.Series(v, index=np.arange(len(v))[::-1]),
    "Series Int64": lambda v: pd.Series(v).astype("Int64"),
    "masked array that hides nothing": np.ma.masked_array,
    "object with __array__": Says,
}
COLUMNS = {
    "column": lambda v: v.reshape(-1, 1),
    "DataFrame of one column": lambda v: pd.DataFrame({"target": v}),
}

# ---- y of a classifier ---------------------------------------------------------------

# scikit-learn takes objects for words; no file holds a longdouble.
NO_LABELS = ("objects that are int", "longdouble")
# Labels of any sort mean the same classes, in their order: 0, 1, 2.
ANSWERED_LABELS = [
    Kind(name, make, LABELS)
    for name, make in {
        **{name: FORMS[name] for name in FORMS if name not in NO_LABELS},
        **COLUMNS,
        "negative": lambda y: y - 5,
        "floats": lambda y: y / 1.0,
        "beyond int64": lambda y: y.astype(np.uint64) + np.uint64(2**63),
        "the smallest and the largest int64": named(-(2**63), 0, 2**63 - 1),
        "text": named("apple", "pear", "plum"),
        "text that begins alike": named("a", "a ", "a" * 300),
        "text of numbers": named("10", "2", "9"),
        "text in many scripts": named("a", "é", "日本"),
        "objects that are text": lambda y: named("a", "b", "c")(y).astype(object),
        "categories": lambda y: pd.Series(named("a", "b", "c")(y)).astype("category"),
        "pandas text": lambda y: pd.Series(named("a", "b", "c")(y)).astype("string"),
    }.items()
] + [
    Kind("bool", of_type(bool), (LABELS > 0).astype(np.int64)),
    Kind("pandas boolean", lambda y: pd.Series(y > 0).astype("boolean"), LABELS > 0),
    Kind("two classes of text", named("no", "yes"), (LABELS > 0).astype(np.int64)),
    Kind("a class for each row", of_type(np.int16), np.arange(N)),
]

REFUSED_LABELS = [
    Kind(name, make)
    for name, make in {
        "one class": lambda y: 0 * y,
        "NaN": lambda y: put(y, NAN),
        "infinity": lambda y: put(y, INF),
        "fractions": lambda y: y + 0.5,
        "complex": of_type(complex),
        "bytes": lambda y: np.array([b"a", b"b", b"c"])[y],
        "mixed numbers and text": lambda y: np.array([1, "a", 2.5], object)[y],
        "text and None": lambda y: np.array(["a", "b", None], object)[y],
        "Series Int64 with NA": lambda y: (
            pd.Series(y).astype("Int64").replace(2, pd.NA)
        ),
        "objects that are lists": as_objects(lambda v: [v]),
        "objects that are dicts": as_objects(lambda v: {"label": v}),
        "points in time": lambda y: y.astype("datetime64[D]"),
        "masked array": masked,
        "two columns of three classes": lambda y: np.stack([y, y], axis=1),
        "two columns of text": lambda y: np.stack(
            [named("a", "b", "c")(y)] * 2, axis=1
        ),
        "three dimensions": lambda y: y.reshape(-1, 1, 1),
        "zero dimensions": lambda y: np.int64(1),
        "a word": lambda y: "target",
        "None": lambda y: None,
        "a generator": lambda y: (label for label in y),
        "a set": lambda y: set(y.tolist()),
        "empty": lambda y: y[:0],
        "one too few": lambda y: y[:-1],
        "one too many": lambda y: np.append(y, 1),
        "sparse column": lambda y: sp.csr_array(y.reshape(-1, 1)),
        "ragged lists": lambda y: [[1], [1, 2]] * (len(y) // 2),
        "__array__ that raises": lambda y: Says(ValueError("no"), y.shape),
    }.items()
]

# ---- y of a regressor ----------------------------------------------------------------

ANSWERED_NUMBERS = [
    *(Kind(name, make, NUMBERS.round()) for name, make in (FORMS | COLUMNS).items()),
    Kind("fractions in float32", of_type(np.float32), NUMBERS),
    Kind("fractions in longdouble", of_type(np.longdouble), NUMBERS),
    Kind("objects that are float", as_objects(float), NUMBERS),
    Kind("objects that are text of numbers", as_objects(str), NUMBERS),
    Kind("text of numbers", of_type(str), NUMBERS),
    Kind("bool", of_type(bool), (LABELS > 0).astype(np.float64)),
    Kind("constant", of_type(np.int8), 0 * NUMBERS + 7),
    Kind("all zero", of_type(np.int8), 0 * NUMBERS),
    Kind("tiny", of_type(np.longdouble), NUMBERS * 1e-30),
    Kind("denormal", as_objects(float), NUMBERS * 1e-310),
    Kind("tiny around 0", as_objects(float), (NUMBERS - 20) * 1e-200),
    Kind("1e38", of_type(np.longdouble), NUMBERS * 1e36),
    Kind("float32 max", of_type(np.longdouble), np.where(LABELS > 0, MAX, -MAX)),
    Kind("offset of 1e12", of_type(np.longdouble), NUMBERS + 1e12),
]

REFUSED_NUMBERS = [
    Kind(name, make)
    for name, make in {
        "NaN": lambda y: put(y, NAN),
        "infinity": lambda y: put(y, -INF),
        "beyond float32": lambda y: y * 1e300,
        "beyond float64": lambda y: (
            put(y, 1).astype(np.longdouble) * np.longdouble("1e4000")
        ),
        "complex": of_type(complex),
        "text": lambda y: np.full(len(y), "a"),
        "objects with text": lambda y: np.array([1.5, "a"] * (len(y) // 2), object),
        "objects with None": lambda y: np.array([1.5, None] * (len(y) // 2), object),
        "objects with an int beyond float": as_objects(lambda v: 10**400),
        "bytes": lambda y: np.full(len(y), b"a"),
        "points in time": lambda y: y.astype("datetime64[s]"),
        "spans of time": lambda y: pd.Series(pd.to_timedelta(y)),
        "masked array": masked,
        "Series with NA": lambda y: pd.Series(y).astype("Float64").replace(y[0], pd.NA),
        "three dimensions": lambda y: y.reshape(-1, 1, 1),
        "no columns": lambda y: np.empty((len(y), 0)),
        "zero dimensions": lambda y: np.float64(1),
        "None": lambda y: None,
        "a generator": lambda y: (value for value in y),
        "empty": lambda y: y[:0],
        "one too few": lambda y: y[:-1],
        "one too many": lambda y: np.append(y, 1),
        "sparse column": lambda y: sp.csr_array(y.reshape(-1, 1)),
        "ragged lists": lambda y: [[1], [1, 2]] * (len(y) // 2),
        "__array__ that raises": lambda y: Says(ValueError("no"), y.shape),
    }.items()
]

ANSWERED_Y = {
    SparseMLPClassifier: ANSWERED_LABELS,
    SparseMLPRegressor: ANSWERED_NUMBERS,
}
REFUSED_Y = {SparseMLPClassifier: REFUSED_LABELS, SparseMLPRegressor: REFUSED_NUMBERS}

# ---- sample_weight -------------------------------------------------------------------

ANSWERED_WEIGHTS = [
    *(Kind(name, make, WEIGHTS) for name, make in FORMS.items()),
    Kind("a number", lambda w: 1.0, ONES),
    Kind("some zero", of_type(np.float32), np.where(LABELS > 1, 0.0, WEIGHTS)),
    Kind("1e38", of_type(np.float32), WEIGHTS * 1e37),
    Kind("float32 max", of_type(np.float32), ONES * MAX),
    Kind("tiny", of_type(np.float32), WEIGHTS * np.float32(1e-38)),
    Kind("denormal", of_type(np.float32), WEIGHTS * float(np.float32(1e-45))),
    Kind("from tiny to huge", of_type(np.float32), 10.0 ** np.linspace(-30, 30, N)),
]

REFUSED_WEIGHTS = [
    Kind(name, make)
    for name, make in {
        "negative": lambda w: put(w, -1),
        "all zero": lambda w: 0 * w,
        "below float32": lambda w: 1e-60 * w,
        "NaN": lambda w: put(w, NAN),
        "infinity": lambda w: put(w, INF),
        "beyond float32": lambda w: 1e60 * w,
        "complex": of_type(complex),
        "text": lambda w: np.full(len(w), "heavy"),
        "objects with None": lambda w: np.array([1.0, None] * (len(w) // 2), object),
        "objects with an int beyond float": as_objects(lambda v: 10**400),
        "masked array": masked,
        "spans of time": lambda w: w.astype("timedelta64[s]"),
        "Series with NA": lambda w: pd.Series(w).astype("Float64").replace(1.0, pd.NA),
        "two columns": lambda w: np.stack([w, w], axis=1),
        "a column": lambda w: w.reshape(-1, 1),
        "sparse column": lambda w: sp.csr_array(w.reshape(-1, 1)),
        "one too few": lambda w: w[:-1],
        "one too many": lambda w: np.append(w, 1),
        "empty": lambda w: w[:0],
        "a generator": lambda w: (value for value in w),
        "a word": lambda w: "balanced",
        "a dict": lambda w: {0: 1.0},
        "__array__ that raises": lambda w: Says(ValueError("no"), w.shape),
    }.items()
]

# ---- classes of partial_fit ----------------------------------------------------------

ANSWERED_CLASSES = {
    "list": [0, 1, 2],
    "unsorted": [2, 0, 1],
    "with repetition": [0, 1, 1, 2],
    "floats": [0.0, 1.0, 2.0],
    "uint8": np.arange(3, dtype=np.uint8),
    "Series": pd.Series([0, 1, 2]),
}
REFUSED_CLASSES = {
    "empty": [],
    "one class": [1],
    "a label is missing": [0, 1],
    "NaN": [0, 1, 2, NAN],
    "None": [0, 1, 2, None],
    "text": ["0", "1", "2"],
    "mixed": [0, "a", 2.5],
    "two columns": [[0, 1], [2, 3]],
    "a number": 3,
    "a word": "012",
    "ragged": [[0], [1, 2]],
    "bytes": [b"a", b"b"],
    "a dict": {0: "a", 1: "b", 2: "c"},
    "points in time": np.arange(3).astype("datetime64[D]"),
    "masked array": np.ma.masked_array([0, 1, 2], [True, False, False]),
}
