"""Dataset: samples and labels to train on and to test with."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

Samples = Any
"""X (n_samples, n_features): a NumPy array, or a SciPy sparse array in CSR form."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples X (n_samples, n_features) and labels y (n_samples), int64 from 0.

    X is float32, or uint8 if the source has bytes; word counts are a SciPy sparse array
    in CSR form.
    """

    name: str
    X_train: Samples
    y_train: np.ndarray
    X_test: Samples
    y_test: np.ndarray
    features: str
    source: str

    def digest(self) -> str:
        """Return the sha256 of all values, which does not depend on the file format.

        >>> X, y = np.eye(2, dtype=np.uint8), np.arange(2)
        >>> one, copy = (Dataset(n, X, y, X, y, "", "") for n in ("one", "copy"))
        >>> one.digest() == copy.digest()
        True
        """
        digest = hashlib.sha256()
        for part in (self.X_train, self.y_train, self.X_test, self.y_test):
            for array in _arrays(part):
                little = array.dtype.newbyteorder("<")
                digest.update(f"{little.str}{array.shape}".encode())
                digest.update(np.ascontiguousarray(array, dtype=little).data)
        return digest.hexdigest()


def _arrays(part: Any) -> list[np.ndarray]:
    if scipy.sparse.issparse(part):
        shape = np.array(part.shape, np.int64)
        return [shape, part.indptr.astype(np.int64), part.indices, part.data]
    return [part]


def in_order_of_content(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort rows by their sha256, so that the order they came in does not matter.

    >>> X, y = np.arange(6, dtype=np.uint8).reshape(3, 2), np.array([0, 1, 2])
    >>> a, b = in_order_of_content(X, y), in_order_of_content(X[::-1], y[::-1])
    >>> np.array_equal(a[0], b[0]), np.array_equal(a[1], b[1])
    (True, True)
    """
    labels = y.astype("<i8")
    keys = [
        hashlib.sha256(label.tobytes() + row.tobytes()).digest()
        for row, label in zip(X, labels, strict=True)
    ]
    order = np.array(sorted(range(len(keys)), key=keys.__getitem__))
    return X[order], y[order]
