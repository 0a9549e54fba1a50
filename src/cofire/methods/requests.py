"""What a method may ask for before it grows: one class per kind of search.

A search looks at pairs of neurons, an input and an output of a layer, and finds the
pairs with the highest score among those that are free. It never holds an n_in x n_out
array.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from cofire.errors import unknown_name

ROWS = ("all", "last_batch", "next_batch", "random_batch")
TIES = ("random", "index")
SIMILARITY_SCORES = ("cosine", "pearson", "lowest_cosine", "hebb", "euclidean")


class Search:
    """A request for all layers: a `Similar`, a `Correlated` or a `Gradient`.

    score: what pairs are ranked by (see `cofire.engine.PairSearch`).
    rows: the rows that are looked at: "all" rows to learn from, a fraction (0.5) or a
    number (384) of them, drawn again at each update, the "last_batch" of the epoch
    before, the "next_batch" or a "random_batch".
    ties: which of several equal pairs come first: "random" ones, or those of the
    lowest input and then output ("index").
    false_alarms, sharpness: see `Correlated`.
    """

    score: str
    rows: str | float
    ties: str = "random"
    false_alarms: float | None = None
    sharpness: int = 0
    uses_targets: bool = False
    """Whether the output side is a back-propagated error instead of an activation."""

    def __post_init__(self) -> None:
        if not _is_rows(self.rows):
            raise ValueError(
                f"rows must be one of {', '.join(map(repr, ROWS))}, a fraction in "
                f"(0, 1] or a whole number of rows >= 1, got {self.rows!r}"
            )


@dataclass(frozen=True)
class Similar(Search):
    """Look for neurons whose activations are similar.

    score: "cosine", "pearson" (the correlation), "lowest_cosine" (the least similar
    first), "hebb" (the plain product) or "euclidean" (the distance).
    """

    score: str = "cosine"
    rows: str | float = "all"
    ties: str = "random"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choices(self, score=SIMILARITY_SCORES, ties=TIES)


@dataclass(frozen=True)
class Correlated(Search):
    """Look for neurons whose activations are correlated, positively or negatively.

    false_alarms: only correlations that chance does not explain are found: so large
    that, if no two neurons of a layer were related, this many of its pairs would be
    expected to pass. So fewer pairs may be found than asked for. None: all pairs pass.
    The output layer is exempt, and so is a layer that would keep less than half a
    connection per output neuron.
    sharpness: 0 finds the highest correlations; otherwise pairs are drawn with
    probabilities in proportion to this power of the correlation.
    """

    score = "pearson"
    rows: str | float = "all"
    false_alarms: float | None = None
    sharpness: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.false_alarms is not None and not 0 < self.false_alarms < np.inf:
            raise ValueError(
                f"false_alarms must be None or a number > 0, got {self.false_alarms!r}"
            )
        if not isinstance(self.sharpness, int) or not 0 <= self.sharpness <= 64:
            raise ValueError(
                f"sharpness must be a whole number in [0, 64], got {self.sharpness!r}"
            )


@dataclass(frozen=True)
class Gradient(Search):
    """Look for pairs whose weight would have the largest gradient.

    The score of a pair is |a . d|: a is the input neuron's activation, d the error that
    is back-propagated to the output neuron.
    """

    score = "gradient"
    uses_targets = True
    rows: str | float = "next_batch"


def check_choices(settings: Any, **known: Collection[str]) -> None:
    """Refuse an object whose settings are not among those known: name=names."""
    for name, names in known.items():
        if getattr(settings, name) not in names:
            raise unknown_name(name, getattr(settings, name), names)


def _is_rows(rows: Any) -> bool:
    if isinstance(rows, float):
        return 0 < rows <= 1
    if isinstance(rows, int):
        return not isinstance(rows, bool) and rows >= 1
    return rows in ROWS
