"""Hostile inputs: what X, y, sample_weight and classes may look like, kind by kind.

An answered kind comes with the plain form of the same values (C-contiguous float32, or
a plain array of labels): both must give the same bits. A refused kind comes with
nothing: an error that names the argument is what it must give.
"""

import io

import numpy as np
import pandas as pd
import scipy.sparse as sp

from helpers.reliability.forms import (
    Kind,
    Says,
    TableOfLists,
    as_objects,
    broken,
    csr,
    doubled_csr,
    frame,
    frozen,
    long_indices,
    masked,
    nullable,
    of_type,
    on_disk,
    put,
    ragged,
    unaligned,
    unsorted_csr,
    with_object,
    with_zeros,
)

N, D = 40, 6
MAX = float(np.finfo(np.float32).max)
NAN, INF = float("nan"), float("inf")


def _table(seed=0):
    rng = np.random.default_rng(seed)
    return np.maximum(rng.integers(-4, 8, size=(N, D)), 0).astype(np.float32)


WHOLE = _table()
"""Whole numbers 0 to 7, a third of them 0: every type of number can hold them."""
FRACTIONS = ((WHOLE - 3) / 8).astype(np.float32)
BITS = (WHOLE > 3).astype(np.float32)

# ---- X that is answered --------------------------------------------------------------

DENSE_X = {
    "float16": of_type(np.float16),
    "float64": of_type(np.float64),
    "longdouble": of_type(np.longdouble),
    "big-endian float32": of_type(">f4"),
    "big-endian float64": of_type(">f8"),
    "int8": of_type(np.int8),
    "uint8": of_type(np.uint8),
    "big-endian int16": of_type(">i2"),
    "int64": of_type(np.int64),
    "uint64": of_type(np.uint64),
    "Fortran order": np.asfortranarray,
    "every second column of a wider array": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "every second row of a longer array": lambda X: np.repeat(X, 2, axis=0)[::2],
    "negative strides": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": frozen,
    "read-only uint8": lambda X: frozen(X.astype(np.uint8)),
    "uint8 in Fortran order": lambda X: np.asfortranarray(X.astype(np.uint8)),
    "memory map": on_disk,
    "unaligned": unaligned,
    "np.matrix of a subclass": lambda X: X.view(np.recarray),
    "masked array that hides nothing": np.ma.masked_array,
    "objects that are int": as_objects(int),
    "objects that are float": as_objects(float),
    "objects that are numpy scalars": as_objects(np.float16),
    "objects that are text of numbers": as_objects(str),
    "text of numbers": lambda X: X.astype(str),
    "bytes of numbers": lambda X: X.astype("S8"),
    "list of lists": lambda X: X.tolist(),
    "tuple of tuples": lambda X: tuple(map(tuple, X.tolist())),
    "list of arrays": list,
    "subclass of list": lambda X: TableOfLists(X.tolist()),
    "object with __array__": Says,
    "memoryview": memoryview,
    "DataFrame": frame,
    "DataFrame float64": lambda X: frame(X, np.float64),
    "DataFrame of mixed types": lambda X: frame(X).astype(
        {"column 0": np.int8, "column 2": np.float64, "column 3": "Int32"}
    ),
    "DataFrame with numbers as names": pd.DataFrame,
    "DataFrame Int64": nullable("Int64"),
    "DataFrame Float32": nullable("Float32"),
    "DataFrame of text": lambda X: frame(X).astype(str),
    "DataFrame of categories that are numbers": nullable("category"),
    "DataFrame in another row order": lambda X: frame(X[::-1])[::-1],
    "DataFrame sparse": lambda X: frame(X, pd.SparseDtype(np.float32, 0)),
    "DataFrame sparse int": lambda X: frame(X, pd.SparseDtype(np.int64, 0)),
}
SPARSE_X = {
    "CSR array": sp.csr_array,
    "CSR matrix": sp.csr_matrix,
    "CSC array": sp.csc_array,
    "CSC matrix": sp.csc_matrix,
    "COO array": sp.coo_array,
    "COO matrix": sp.coo_matrix,
    "LIL array": sp.lil_array,
    "LIL matrix": sp.lil_matrix,
    "DOK array": sp.dok_array,
    "DIA array": sp.dia_array,
    "BSR array": sp.bsr_array,
    "BSR matrix": lambda X: sp.bsr_matrix(X, blocksize=(2, 3)),
    "CSR float64": lambda X: sp.csr_array(X.astype(np.float64)),
    "CSR uint8": lambda X: sp.csr_array(X.astype(np.uint8)),
    "CSR int64": lambda X: sp.csr_array(X.astype(np.int64)),
    "CSR big-endian": lambda X: csr(X, data=sp.csr_array(X).data.astype(">f4")),
    "CSR with unsorted indices": unsorted_csr,
    "CSR with every entry twice": doubled_csr,
    "COO with every entry twice": lambda X: doubled_csr(X).tocoo(),
    "CSR with explicit zeros": with_zeros,
    "CSR with 64-bit indices": long_indices,
    "CSC with 64-bit indices": lambda X: long_indices(X).tocsc(),
    "CSR that is read-only": lambda X: csr(
        X, data=frozen(sp.csr_array(X).data), indices=frozen(sp.csr_array(X).indices)
    ),
}
SPECIAL_X = {
    "bool": (of_type(bool), BITS),
    "DataFrame boolean": (nullable("boolean"), BITS),
    "CSR bool": (lambda X: sp.csr_array(X.astype(bool)), BITS),
    "fractions in float16": (of_type(np.float16), FRACTIONS),
    "fractions in longdouble": (of_type(np.longdouble), FRACTIONS),
    "negative zeros": (lambda X: np.where(X == 0, -0.0, X), FRACTIONS),
    "denormals": (of_type(np.float64), WHOLE * np.float32(1e-45)),
    "below float32": (lambda X: np.where(X == 0, 1e-60, X), WHOLE),
    "int64 beyond float32": (
        lambda X: (WHOLE.astype(np.int64) << 40) + 1,
        ((WHOLE.astype(np.int64) << 40) + 1).astype(np.float32),
    ),
    "uint64 beyond int64": (
        lambda X: np.where(WHOLE > 6, np.uint64(2**64 - 1), WHOLE.astype(np.uint64)),
        np.where(WHOLE > 6, 2.0**64, WHOLE).astype(np.float32),
    ),
    "one row broadcast in memory": (
        lambda X: np.broadcast_to(X[0], X.shape),
        np.tile(WHOLE[0], (N, 1)),
    ),
    "all zero": (of_type(np.int8), 0 * WHOLE),
    "all zero CSR": (sp.csr_array, 0 * WHOLE),
    "constant": (of_type(np.int8), 0 * WHOLE + 7),
    "one column": (of_type(np.float64), WHOLE[:, :1].copy()),
    "two rows": (of_type(np.float64), WHOLE[:2].copy()),
    "one row": (of_type(np.float64), WHOLE[:1].copy()),
    "values of 1e10": (of_type(np.float64), WHOLE * np.float32(1e10)),
    "values of 1e38": (of_type(np.float64), WHOLE * np.float32(1e37)),
    "float32 max": (of_type(np.float64), np.where(WHOLE > 3, MAX, -MAX).astype("f4")),
    "CSR of float32 max": (sp.csr_array, np.where(WHOLE > 3, MAX, 0).astype("f4")),
}

ANSWERED_X = [
    *(Kind(name, make, WHOLE) for name, make in (DENSE_X | SPARSE_X).items()),
    *(Kind(name, make, plain) for name, (make, plain) in SPECIAL_X.items()),
]

# ---- X that is refused ---------------------------------------------------------------

REFUSED_X = [
    Kind(name, make)
    for name, make in {
        "NaN": lambda X: put(X, NAN),
        "infinity": lambda X: put(X, INF),
        "minus infinity": lambda X: put(X, -INF),
        "NaN in float16": lambda X: put(X, NAN).astype(np.float16),
        "beyond float32": lambda X: put(X, 1e39),
        "beyond float32 in longdouble": lambda X: put(X, 1e300).astype(np.longdouble),
        "NaN in a list": lambda X: put(X, NAN).tolist(),
        "None in a list": lambda X: [[None] * D, *X.tolist()[1:]],
        "CSR with NaN": lambda X: sp.csr_array(put(X, NAN)),
        "CSC with infinity": lambda X: sp.csc_array(put(X, INF)),
        "COO beyond float32": lambda X: sp.coo_array(put(X, 1e39)),
        "complex": of_type(np.complex64),
        "CSR complex": lambda X: sp.csr_array(X.astype(complex)),
        "masked array": masked,
        "objects with None": lambda X: with_object(X, None),
        "objects with text": lambda X: with_object(X, "a"),
        "objects with a list": lambda X: with_object(X, [1, 2]),
        "objects with an int beyond float": lambda X: with_object(X, 10**400),
        "objects with complex": lambda X: with_object(X, 1j),
        "objects that are dicts": as_objects(lambda v: {"value": v}),
        "text": lambda X: np.full(X.shape, "a"),
        "bytes": lambda X: np.full(X.shape, b"a"),
        "datetime64": lambda X: X.astype("datetime64[s]"),
        "timedelta64": lambda X: X.astype("timedelta64[s]"),
        "records": lambda X: np.zeros(X.shape, [("a", "f4"), ("b", "f4")]),
        "DataFrame with duplicate names": lambda X: pd.DataFrame(
            X, columns=list("aabbcc")
        ),
        "DataFrame with names of mixed types": lambda X: pd.DataFrame(
            X, columns=[0, "a", 2, "b", 4, "c"]
        ),
        "DataFrame Int64 with NA": nullable("Int64", gap=True),
        "DataFrame boolean with NA": lambda X: nullable("boolean", gap=True)(X > 3),
        "DataFrame of words": lambda X: frame(X).astype(str) + "cm",
        "DataFrame of categories that are words": lambda X: (
            frame(X).astype(str) + "cm"
        ).astype("category"),
        "DataFrame with a column of words": lambda X: frame(X).assign(
            **{"column 3": "a"}
        ),
        "DataFrame of points in time": lambda X: frame(X).apply(pd.to_datetime),
        "DataFrame of time spans": lambda X: frame(X).apply(pd.to_timedelta),
        "DataFrame with a time zone": lambda X: frame(X).apply(
            pd.to_datetime, utc=True
        ),
        "DataFrame sparse with NaN": lambda X: frame(
            put(X, NAN), pd.SparseDtype(float, 0)
        ),
        "Series": lambda X: pd.Series(X[:, 0]),
        "ragged lists": ragged,
        "ragged objects": lambda X: np.array([*map(list, ragged(X))], dtype=object),
        "one dimension": lambda X: X[:, 0].copy(),
        "three dimensions": lambda X: X[:, :, None].copy(),
        "zero dimensions": lambda X: np.float32(1),
        "a number": lambda X: 1.5,
        "a word": lambda X: "data.csv",
        "None": lambda X: None,
        "a dict": lambda X: {"column": X},
        "a set": lambda X: set(X.ravel().tolist()),
        "a class": lambda X: np.ndarray,
        "a file": lambda X: io.BytesIO(X.tobytes()),
        "a generator": lambda X: (row for row in X),
        "empty list": lambda X: [],
        "no rows": lambda X: X[:0],
        "no columns": lambda X: X[:, :0],
        "CSR without rows": lambda X: sp.csr_array(X[:0]),
        "CSR of one dimension": lambda X: sp.coo_array(X[:, 0]),
        "one row too few": lambda X: X[:-1],
        "CSR with one row too few": lambda X: sp.csr_array(X[:-1]),
        "__array__ of another shape": lambda X: Says(X[:-1], X.shape),
        "__array__ of words": lambda X: Says(np.full(X.shape, "a")),
        "__array__ that raises ValueError": lambda X: Says(ValueError("no"), X.shape),
        "__array__ that raises TypeError": lambda X: Says(TypeError("no"), X.shape),
        "CSR with an index too large": lambda X: broken(X, "indices", 5, D),
        "CSR with a huge index": lambda X: broken(X, "indices", 5, 2**31 - 1),
        "CSR with a negative index": lambda X: broken(X, "indices", 5, -3),
        "CSR with an index beyond 32 bits": lambda X: broken(
            X, "indices", 5, 2**32 + 1, long_indices
        ),
        "CSR whose indptr falls": lambda X: broken(X, "indptr", 5, 0),
        "CSR whose indptr jumps": lambda X: broken(X, "indptr", 5, 10**6),
        "CSR whose indptr is negative": lambda X: broken(X, "indptr", 5, -7),
        "CSR whose indptr starts late": lambda X: broken(X, "indptr", 0, 2),
        "CSR whose indptr ends late": lambda X: broken(X, "indptr", -1, 10**6),
        "CSR whose indptr is short": lambda X: csr(X, indptr=np.zeros(4, np.int32)),
        "CSR with too few values": lambda X: csr(X, data=np.ones(3, np.float32)),
        "CSR with too few indices": lambda X: csr(X, indices=np.ones(3, np.int32)),
        "CSC with an index too large": lambda X: broken(
            X, "indices", 5, 10**6, sp.csc_array
        ),
        "COO with an index too large": lambda X: broken(
            X, "col", 5, 10**6, sp.coo_array
        ),
    }.items()
]
