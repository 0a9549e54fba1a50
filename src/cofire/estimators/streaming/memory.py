"""How the memory that a fit over a stream may need is shared out."""

from collections.abc import Sequence
from dataclasses import dataclass

_FIXED = 20 * 2**20
"""Bytes for what does not grow with rows or networks."""
_PER_CONNECTION, _PER_NEURON = 160, 512
"""Bytes of a network that trains: its arrays, their copies in the engine, the best."""
LEAST_ROWS = 1024
"""Rows of a buffer and of a sample, at least."""


@dataclass(frozen=True)
class Memory:
    """The shares of a budget: a sixth for each of two buffers, less for other needs.

    These are the sample (as it comes, and encoded), rows held out, parts of chunks that
    are being read and encoded, and what the allocator does not give back.
    """

    budget: int
    others: float
    """Bytes of the networks, and of reading."""
    encoded: float
    """Bytes of a row as the engine reads it."""
    raw: float
    """Bytes of a row as it comes."""

    @property
    def usable(self) -> float:
        """Bytes for rows."""
        return self.budget - _FIXED - self.others

    @property
    def buffer_rows(self) -> int:
        """Rows of a buffer, of which there are two."""
        return max(0, int(self.usable / 6 / self.encoded))

    @property
    def held_rows(self) -> int:
        """Rows that may be held out."""
        return max(0, int(self.usable / 16 / self.encoded))

    def sample_rows(self) -> int:
        """Rows of a sample, encoded, with a copy that searches make."""
        return max(0, int(self.usable / 8 / (2 * self.encoded)))

    def holds_all(self, n_rows: int) -> bool:
        """Whether an ordinary fit of all rows stays within the budget."""
        return n_rows * (3 * self.raw + 3 * self.encoded) <= self.usable

    def least(self, batch_size: int) -> float:
        """Return the least budget that works."""
        rows = max(LEAST_ROWS, batch_size)
        return _FIXED + self.others + 16 * rows * max(self.encoded, self.raw / 2)


def network_bytes(
    sizes: Sequence[int], counts: Sequence[int], n_networks: int
) -> float:
    """Return what networks need in training, at most."""
    each = _PER_CONNECTION * sum(counts) + _PER_NEURON * sum(sizes)
    return float(n_networks * each)
