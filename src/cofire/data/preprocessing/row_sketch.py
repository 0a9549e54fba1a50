"""RowSketch: which rows a model was trained on, in a few kilobytes."""

import hashlib
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse

MOST_KEPT = 256
"""Hashes that are kept: the smallest ones."""


@dataclass(frozen=True)
class RowSketch:
    """The smallest hashes of rows and their labels.

    Of other rows, those whose hash is as small tell how many are among the first: all
    of them are compared up to MOST_KEPT rows, a random part of larger tables.
    """

    hashes: tuple[int, ...]
    complete: bool
    """Whether all rows are in it."""

    @classmethod
    def of(cls, X: Any, y: Any) -> Self:
        """Remember rows."""
        found = sorted(set(_hashes(X, y)))
        return cls(tuple(found[:MOST_KEPT]), len(found) <= MOST_KEPT)

    def share_of(self, X: Any, y: Any) -> float:
        """Estimate which share of these rows are among the remembered ones.

        >>> X, y = np.arange(8.0)[:, None], np.arange(8)
        >>> RowSketch.of(X[:6], y[:6]).share_of(X, y)
        0.75
        """
        known = set(self.hashes)
        hashes = _hashes(X, y)
        if not self.complete:
            hashes = [own for own in hashes if own <= self.hashes[-1]]
        return sum(own in known for own in hashes) / max(1, len(hashes))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {"hashes": [f"{h:016x}" for h in self.hashes], "complete": self.complete}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Self:
        """Undo `to_dict`; anything else is a ValueError, TypeError or LookupError."""
        hashes = tuple(int(text, 16) for text in plain["hashes"])
        if type(plain["complete"]) is not bool or len(hashes) > MOST_KEPT:
            raise ValueError("trained_on is not what cofire writes")
        if not hashes or list(hashes) != sorted(set(hashes)):
            raise ValueError("trained_on must be ascending")
        return cls(hashes, plain["complete"])


def _hashes(X: Any, y: Any) -> list[int]:
    labels = [str(label).encode() for label in np.asarray(y).tolist()]
    return [_hash(row, label) for row, label in zip(_rows(X), labels, strict=True)]


def _hash(row: bytes, label: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(row + label, digest_size=8).digest(), "big")


def _rows(X: Any) -> list[bytes]:
    if not scipy.sparse.issparse(X):
        X = np.ascontiguousarray(X)
        if X.dtype.kind == "f":  # a missing value may have any of many NaNs
            X = np.where(np.isnan(X), X.dtype.type(np.nan), X)
        return [row.tobytes() for row in X]
    X = scipy.sparse.csr_array(X)
    parts = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return [
        X.indices[a:b].astype(np.int64).tobytes() + X.data[a:b].tobytes()
        for a, b in parts
    ]
