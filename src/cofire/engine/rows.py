"""Samples as the engine reads them."""

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

import cofire.engine._native as _native
from cofire.engine.checks import csr_parts

TILE = 64
"""Rows that are read together."""


class Rows:
    """Samples as the engine reads them, copied only if the layout does not fit.

    X is (n_rows, n_features): C-contiguous float32, uint8 (then value f of a row is
    ``scale[f] * byte + offset[f]``), or a SciPy sparse matrix in CSR format with
    float32 values, whose rows are made dense a tile at a time and never all at once.
    """

    def __init__(
        self,
        X: Any,
        *,
        scale: np.ndarray | None = None,
        offset: np.ndarray | None = None,
    ) -> None:
        self._is_dense = not scipy.sparse.issparse(X) and X.dtype != np.uint8
        if scipy.sparse.issparse(X):
            parts = csr_parts(X)
            self.native, self._values = _native.sparse_rows(*parts), parts[2]
        elif X.dtype == np.uint8:
            n = X.shape[1]
            scale = np.ones(n) if scale is None else scale
            offset = np.zeros(n) if offset is None else offset
            self._values = np.stack([offset, 255.0 * scale + offset])
            self.native = _native.byte_rows(
                np.ascontiguousarray(X),
                np.ascontiguousarray(scale, dtype=np.float32),
                np.ascontiguousarray(offset, dtype=np.float32),
            )
        else:
            self._values = np.ascontiguousarray(X, dtype=np.float32)
            self.native = _native.float_rows(self._values)

    def __len__(self) -> int:
        return self.native.n_rows

    @property
    def is_dense(self) -> bool:
        """Whether every value is stored, in four bytes each."""
        return self._is_dense

    @cached_property
    def largest(self) -> float:
        """The largest absolute value of a row, or a number that is larger."""
        if self._values.size == 0:
            return 0.0
        entry = max(float(self._values.max()), -float(self._values.min()))
        # Entries of a sparse row with the same feature are summed.
        return entry if self._values.ndim == 2 else entry * self._values.size

    def tiles(self, order: np.ndarray) -> "Rows":
        """Copy rows in an order (int64) so that a few features are fast to read.

        Row k of the copy is row order[k]. A value is stored in 16 bits, as a number of
        steps from 0; the step of a feature, a power of 2, is less than 2**-14 of the
        range from its smallest value or 0 to its largest. Fastest to read are 64
        consecutive rows, from a multiple of 64 on.
        """
        n_features = self.native.n_features
        copy = Rows.__new__(Rows)
        copy._is_dense = False
        copy.native = _native.tile_rows(
            self.native,
            order,
            np.empty((-(-len(order) // TILE), n_features, TILE), np.uint16),
            np.empty(n_features, np.float32),
            np.empty(n_features, np.int32),
        )
        return copy

    def rarity(self, row_ids: np.ndarray) -> np.ndarray:
        """For each of these rows, in how many of them its rarest feature is not 0."""
        rarity = np.empty(len(row_ids), np.int64)
        _native.rarity(self.native, row_ids, rarity)
        return rarity
