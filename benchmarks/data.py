"""The networks, rows and topologies that every contestant gets alike."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Task:
    """One network to train: its shape, its connections, its rows and batches."""

    sizes: tuple[int, ...]
    epsilon: float = 1.0
    rows: int = 54_000
    batch: int = 128
    threads: int = 2

    def connections(self):
        """Connections of each layer: epsilon * (n_in + n_out), at most all of them.

        >>> Task((784, 1000, 1000, 1000, 10), epsilon=13).connections()
        [23192, 26000, 26000, 10000]
        """
        pairs = zip(self.sizes[:-1], self.sizes[1:], strict=True)
        return [min(round(self.epsilon * (a + b)), a * b) for a, b in pairs]

    def samples(self, seed=0):
        """Standard normal float32 rows and random labels."""
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((self.rows, self.sizes[0]), dtype=np.float32)
        return X, rng.integers(0, self.sizes[-1], self.rows, dtype=np.int32)

    def topology(self, seed=0):
        """For each layer (rows, columns) of its connections, in CSR order."""
        rng = np.random.default_rng(seed)
        pairs = zip(self.sizes[:-1], self.sizes[1:], strict=True)
        for (n_in, n_out), n in zip(pairs, self.connections(), strict=True):
            indices = rng.choice(n_in * n_out, size=n, replace=False, shuffle=False)
            yield np.divmod(np.sort(indices), n_in)


def mlp(n, epsilon, **settings):
    """784-n-n-n-10, the shape of the table.

    >>> mlp(1000, 1).sizes
    (784, 1000, 1000, 1000, 10)
    """
    return Task((784, n, n, n, 10), epsilon, **settings)


def batches(rows, size):
    """Cut the row numbers `rows` into batches; the last one may be smaller."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
