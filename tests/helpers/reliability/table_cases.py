"""Hostile files for the command line: each is written, and must be refused in words."""

import gzip
import io
import os
import struct
import zipfile

import numpy as np
import scipy.io
import scipy.sparse

ROWS = "".join(f"{i % 7},{i % 5},{'ab'[i % 2]}\n" for i in range(40))
PLAIN = "x,z,kind\n" + ROWS


class Bomb:
    """What unpickling it would do can be seen: it makes a file."""

    def __reduce__(self):
        return os.mkdir, ("pickle-was-run",)


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def mat(**arrays):
    file = io.BytesIO()
    scipy.io.savemat(file, arrays)
    return file.getvalue()


def raw_npz(name, content):
    """An .npz whose one member holds these bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, content)
    return file.getvalue()


def npy_header(text):
    """The bytes of an .npy file that begins with this header and has nothing else."""
    header = text.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


X, Y = np.arange(80.0).reshape(40, 2) % 7, np.arange(40) % 2
NOISE = np.random.default_rng(0).bytes(4096)
HUGE_SHAPE = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 9999)}"

# Refused by train: name of the file -> what is in it.
NO_TRAINING = {
    "empty.csv": b"",
    "newlines.csv": b"\n\n\n",
    "header.csv": b"x,z,kind\n",
    "one-row.csv": b"x,z,kind\n1,2,a\n",
    "one-column.csv": b"kind\na\nb\n",
    "ragged.csv": PLAIN.encode() + b"1,2,a,4,5\n",
    "numbers-only.csv": b"1,2,3\n4,5,6\n",
    "nul.csv": b"x,z,kind\n\x00\x00,\x00,\x00\n1,2,a\n",
    "only-nul.csv": b"\x00" * 100,
    "utf16.csv": PLAIN.encode("utf-16"),
    "utf32.csv": PLAIN.encode("utf-32"),
    "latin1.csv": PLAIN.replace("a", "ä").encode("latin-1"),
    "bad-utf8.csv": PLAIN.encode() + b"1,2,\xff\xfe\n",
    "noise.csv": NOISE,
    "gzip-in-name.csv.gz": PLAIN.encode(),
    "cut.csv.gz": gzip.compress(PLAIN.encode() * 50)[:-30],
    "duplicate.csv": PLAIN.replace("x,z", "x,x").encode(),
    "quote.csv": PLAIN.encode() + b'1,"2,a\n' * 3,
    "missing-target.csv": PLAIN.encode() + b"1,2,\n",
    "missing-column.csv": PLAIN.replace("\n", ",\n").encode(),
    "all-missing.csv": b"x,z,kind\n" + b",2,a\n,3,b\n" * 20,
    "one-class.csv": PLAIN.replace("b", "a").encode(),
    "infinite.csv": PLAIN.encode() + b"inf,2,a\n",
    "minus-infinite.csv": PLAIN.encode() + b"-Infinity,2,a\n",
    "overflow.csv": PLAIN.encode() + b"1e400,2,a\n",
    "infinite-target.csv": b"x,z,y\n" + b"1,2,3.5\n3,4,inf\n" * 20,
    "a-name-each.csv": b"name,kind\n"
    + b"".join(f"name{i},{'ab'[i % 2]}\n".encode() for i in range(300)),
    "noise.npz": NOISE,
    "empty.npz": b"",
    "no-arrays.npz": npz(),
    "no-y.npz": npz(X=X),
    "no-X.npz": npz(y=Y),
    "cut.npz": npz(X=X, y=Y)[:400],
    "short-y.npz": npz(X=X, y=Y[:-1]),
    "two-columns.npz": npz(X=X, y=np.stack([Y, Y], axis=1)),
    "text.npz": npz(X=X.astype(str), y=Y),
    "complex.npz": npz(X=X.astype(complex), y=Y),
    "three-dimensions.npz": npz(X=X[:, :, None], y=Y),
    "infinite.npz": npz(X=np.where(X > 5, np.inf, X), y=Y),
    "one-class.npz": npz(X=X, y=0 * Y),
    "no-rows.npz": npz(X=X[:0], y=Y[:0]),
    "no-columns.npz": npz(X=X[:, :0], y=Y),
    "objects.npz": npz(X=X.astype(object), y=Y),
    "bomb.npz": npz(X=np.array([[Bomb()]], dtype=object), y=Y[:1]),
    "bomb-y.npz": npz(X=X, y=np.array([Bomb()] * 40, dtype=object)),
    "bad-header.npz": raw_npz("X.npy", npy_header("{'descr': '<f8'")),
    "bad-shape.npz": raw_npz("X.npy", npy_header(HUGE_SHAPE)),
    "no-npy.npz": raw_npz("X.npy", b"hello"),
    "points.npz": npz(X=X.astype("datetime64[s]"), y=Y),
    "noise.mat": NOISE,
    "empty.mat": b"",
    "cut.mat": mat(X=X, y=Y)[:300],
    "hdf5.mat": b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + NOISE,
    "no-X.mat": mat(y=Y),
    "text.mat": mat(X="text", y=Y),
    "cells.mat": mat(X=np.array([[1, "a"]], dtype=object), y=Y[:1]),
    "struct.mat": mat(X={"a": 1}, y=Y),
    "sparse-nan.mat": mat(X=scipy.sparse.csc_matrix([[np.nan, 1.0]] * 40), y=Y),
    "empty.libsvm": b"",
    "noise.libsvm": NOISE,
    "words.libsvm": b"cat 1:2 2:3\n",
    "negative.libsvm": b"1 -3:2\n0 1:1\n" * 20,
    "huge-index.libsvm": b"1 99999999999999999999:2\n0 1:1\n" * 20,
    "index-beyond-32-bits.libsvm": b"1 4294967299:2\n0 1:1\n" * 20,
    "unsorted.libsvm": b"1 3:2 1:1\n0 1:1\n" * 20,
    "no-colon.libsvm": b"1 3 4\n0 1:1\n" * 20,
    "bad-value.libsvm": b"1 3:x\n0 1:1\n" * 20,
    "nan.libsvm": b"1 3:nan 4:1\n0 1:1\n" * 20,
    "infinite.libsvm": b"1 3:inf 4:1\n0 1:1\n" * 20,
    "nan-label.libsvm": b"nan 3:2\n0 1:1\n" * 20,
    "one-class.libsvm": b"1 3:2\n1 1:1\n" * 20,
    "several-labels.libsvm": b"1,2 3:2\n0 1:1\n" * 20,
    "no-features.libsvm": b"1\n0\n" * 20,
    "noise.parquet": NOISE,
    "empty.parquet": b"",
    "magic.parquet": b"PAR1" + NOISE + b"PAR1",
    "what.xlsx": NOISE,
    "nothing": NOISE,
}
# Refused by predict and evaluate with a model that was trained on PLAIN.
NO_ROWS = {
    name: content
    for name, content in NO_TRAINING.items()
    if name
    not in (
        *("one-row.csv", "missing-target.csv", "one-class.csv"),
        *("a-name-each.csv", "missing-column.csv", "infinite-target.csv"),
        "all-missing.csv",
    )
} | {
    "other-columns.csv": b"a,b,kind\n1,2,a\n",
    "words.csv": b"x,z,kind\nred,2,a\n",
    "huge-integer.csv": b"x,z,kind\n" + b"9" * 400 + b",2,a\n",
}
