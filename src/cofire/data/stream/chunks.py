"""Chunk: some consecutive rows of a stream. Columns: which of a table are what."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cofire.errors import unknown_name


class Chunk(NamedTuple):
    """Some consecutive rows: X as `fit` takes it, targets y and weights, if any."""

    X: Any
    y: Any = None
    weight: Any = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    def rows(self, which: Any) -> "Chunk":
        """Copy some of the rows: a slice, or one truth value for each row."""
        X = self.X.iloc[which] if hasattr(self.X, "iloc") else self.X[which]
        y, weight = (None if v is None else np.asarray(v)[which] for v in self[1:])
        return Chunk(X, y, weight)


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are targets or weights, and which are left out."""

    target: str | Sequence[str] | None = None
    weight: str | None = None
    drop: Sequence[str] = ()

    @property
    def targets(self) -> list[str]:
        """The names of the targets."""
        if self.target is None:
            return []
        return [self.target] if isinstance(self.target, str) else list(self.target)

    def features(self, names: Sequence[str]) -> list[str]:
        """Return the columns that are features; an error names one that is missing."""
        others = [*self.targets, *([self.weight] if self.weight else []), *self.drop]
        for name in others:
            if name not in names:
                raise unknown_name("column", name, list(names))
        found = [name for name in names if name not in others]
        if not found:
            raise ValueError(
                "X: the stream has no column besides the target: expected at least "
                "one feature."
            )
        return found

    def split(self, frame: Any) -> Chunk:
        """Cut a DataFrame into features, targets and weights."""
        X = frame[self.features(list(frame.columns))]
        y = None
        if self.target is not None:
            y = frame[self.targets].to_numpy()
            y = y[:, 0] if isinstance(self.target, str) else y
        weight = None if self.weight is None else frame[self.weight].to_numpy()
        return Chunk(X, y, weight)
