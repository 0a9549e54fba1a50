"""Columns of X and their shadows: the same columns with the rows in another order."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from cofire.estimators.frames import is_frame


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of X, numbered from 0, and after them those of each shadow.

    A shadow is X with its rows permuted as a whole: its columns are related to each
    other as those of X are, and to the targets by chance alone.
    """

    X: Any
    orders: tuple[np.ndarray, ...]
    """Of each shadow, the order of its rows."""

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return int(self.X.shape[1])

    @property
    def n_all(self) -> int:
        """Columns of X and of all shadows."""
        return self.n_features * (1 + len(self.orders))

    def is_shadow(self, columns: np.ndarray) -> np.ndarray:
        """Say of columns whether they belong to a shadow."""
        return columns >= self.n_features

    def take(self, columns: np.ndarray) -> Any:
        """Copy columns, given by ascending numbers; frames stay frames."""
        copies, own = np.divmod(columns, self.n_features)
        parts = []
        for copy in np.unique(copies):
            part = self._part(own[copies == copy])
            if copy > 0:
                order = self.orders[copy - 1]
                part = part.iloc[order] if is_frame(part) else part[order]
            parts.append(part)
        if is_frame(self.X):
            return _joined_frames(parts)
        if scipy.sparse.issparse(self.X):
            return scipy.sparse.hstack(parts, format="csr")
        return np.hstack(parts)

    def _part(self, own: np.ndarray) -> Any:
        return self.X.iloc[:, own] if is_frame(self.X) else self.X[:, own]


def _joined_frames(parts: list[Any]) -> Any:
    import pandas as pd

    parts = [part.reset_index(drop=True) for part in parts]
    joined = pd.concat(parts, axis=1)
    joined.columns = [f"x{i}" for i in range(joined.shape[1])]
    return joined
