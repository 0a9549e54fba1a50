"""The arrays of one layer, and nothing else."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

_DTYPES = {"indptr": "i8", "indices": "i4", "weights": "f4", "bias": "f4"}
_PART = 1 << 16  # connections that are converted at a time


@dataclass(frozen=True, eq=False)
class SparseLayer:
    """Connections by output neuron (CSR): canonical, that is sorted and unique.

    indptr (n_out + 1) int64, indices (nnz) int32, weights (nnz) and bias (n_out)
    float32. The fields are frozen, the arrays are not: the engine trains in place.
    A connection from input i to output o has the flat index o * n_in + i.

    >>> layer = SparseLayer.from_flat_indices([1, 3, 5], [0.5, 1, 2], [0, 0], 3, 2)
    >>> layer.to_scipy().toarray()
    array([[0. , 0.5, 0. ],
           [1. , 0. , 2. ]], dtype=float32)
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    bias: np.ndarray
    n_in: int

    @classmethod
    def from_flat_indices(
        cls,
        flat_indices: np.ndarray,
        weights: np.ndarray,
        bias: np.ndarray,
        n_in: int,
        n_out: int,
    ) -> "SparseLayer":
        """Build a layer from its strictly ascending flat indices and their weights."""
        flat_indices = np.asarray(flat_indices)
        if flat_indices.size and flat_indices.dtype.kind not in "iu":
            raise TypeError(
                f"flat_indices must be whole numbers, got {flat_indices.dtype}"
            )
        if not 1 <= n_in < 2**31 or n_out < 1:
            raise ValueError(
                f"n_in must lie in [1, 2**31), n_out above 0, got {n_in} and {n_out}"
            )
        flat_indices = flat_indices.astype(np.int64, copy=False)
        weights = np.ascontiguousarray(weights, dtype=np.float32)
        bias = np.ascontiguousarray(bias, dtype=np.float32)
        if (flat_indices[1:] <= flat_indices[:-1]).any():
            raise ValueError("flat_indices must be strictly ascending")
        if (
            len(flat_indices)
            and not 0 <= flat_indices[0] <= flat_indices[-1] < n_in * n_out
        ):
            raise ValueError(f"flat_indices must lie in [0, {n_in * n_out})")
        if weights.shape != flat_indices.shape or bias.shape != (n_out,):
            raise ValueError(
                f"{len(flat_indices)} flat_indices and {n_out} neurons need as many "
                f"weights and biases, got shapes {weights.shape} and {bias.shape}"
            )
        row_starts = np.arange(n_out + 1, dtype=np.int64) * n_in
        indptr = np.searchsorted(flat_indices, row_starts).astype(np.int64)
        indices = (flat_indices % n_in).astype(np.int32)
        return cls(indptr, indices, weights, bias, int(n_in))

    @property
    def n_out(self) -> int:
        """Number of output neurons."""
        return len(self.indptr) - 1

    @property
    def nnz(self) -> int:
        """Number of connections."""
        return len(self.indices)

    @property
    def density(self) -> float:
        """Fraction of the n_in * n_out possible connections that exist."""
        return self.nnz / (self.n_in * self.n_out)

    @property
    def is_full(self) -> bool:
        """Whether every possible connection exists."""
        return self.nnz == self.n_in * self.n_out

    @property
    def rows(self) -> np.ndarray:
        """Output neuron of each connection: (nnz) int64."""
        return np.repeat(np.arange(self.n_out, dtype=np.int64), np.diff(self.indptr))

    @property
    def flat_indices(self) -> np.ndarray:
        """Flat index of each connection, ascending: (nnz) int64; not stored."""
        flat = self.rows
        flat *= self.n_in
        # In parts, and as integers of the same size: NumPy ends the process where it
        # has no memory for the buffers in which it converts operands.
        for begin in range(0, len(flat), _PART):
            part = flat[begin : begin + _PART]
            part += self.indices[begin : begin + _PART].astype(np.int64)
        return flat

    def copy(self) -> "SparseLayer":
        """Return a layer that shares no array with this one."""
        return SparseLayer(
            self.indptr.copy(),
            self.indices.copy(),
            self.weights.copy(),
            self.bias.copy(),
            self.n_in,
        )

    def to_scipy(self) -> csr_array:
        """View as a SciPy array of shape (n_out, n_in), sharing weights and indices."""
        # SciPy wants both index arrays of one type, and would copy the int64 one.
        fits = self.nnz < 2**31
        indptr = self.indptr.astype(np.int32) if fits else self.indptr
        shape = (self.n_out, self.n_in)
        return csr_array((self.weights, self.indices, indptr), shape=shape)

    def check(self) -> None:
        """Raise a ValueError that names the first broken invariant, if any."""
        for name, dtype in _DTYPES.items():
            _check_array(name, getattr(self, name), dtype)
        for broken, invariant in self._invariants():
            if broken:
                raise ValueError(invariant)

    def _invariants(self) -> Iterator[tuple[bool | np.bool_, str]]:
        # A generator: each test may rely on those before it.
        indptr, indices = self.indptr, self.indices
        yield not 1 <= self.n_in < 2**31, "n_in must lie in [1, 2**31)"
        yield len(indptr) < 2, "indptr must have n_out + 1 >= 2 entries"
        yield indptr[0] != 0, "indptr must start at 0"
        yield (np.diff(indptr) < 0).any(), "indptr must not decrease"
        yield indptr[-1] != len(indices), "indptr must end at the number of indices"
        yield len(self.weights) != len(indices), "weights must be one per connection"
        yield len(self.bias) != self.n_out, "bias must be one per output neuron"
        outside = (indices < 0) | (indices >= self.n_in)
        yield outside.any(), f"indices must lie in [0, n_in = {self.n_in})"
        # A byte per connection: `flat_indices` would need more memory than the layer.
        first = indptr[(indptr > 0) & (indptr < len(indices))]
        falls = indices[1:] < indices[:-1]
        falls[first - 1] = (
            False  # a neuron's first input is not compared with the last of another
        )
        yield falls.any(), "indices must be sorted within each neuron"
        repeats = indices[1:] == indices[:-1]
        repeats[first - 1] = False
        yield repeats.any(), "indices must be unique within each neuron"
        yield not np.isfinite(self.weights).all(), "weights must be finite"
        yield not np.isfinite(self.bias).all(), "bias must be finite"


def _check_array(name: str, array: np.ndarray, dtype: str) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        got = getattr(array, "dtype", type(array).__name__)
        raise ValueError(f"{name} must be an array of {np.dtype(dtype)}, got {got}")
    if array.ndim != 1 or not array.flags.c_contiguous:
        raise ValueError(f"{name} must be one-dimensional and contiguous")
