"""Rank columns: eliminate the weakest, round after round, on rows that did not train.

1. Halve: from all columns to a base of a few strong ones.
2. Screen: train every other column again, in small groups beside the base. A column
   that matters only together with others is found here: its partners are in the base,
   and little noise is. Then halve and screen once more, beside a better base.
3. Eliminate: from the base and the best of the others, a fifth per round, by scores
   that are averaged over the rounds.

A round trains networks on all folds but one and scores the columns on that one, so that
every row scores networks that did not see it.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from cofire.explain.columns import Columns
from cofire.explain.contributions import contributions

BASE = 20
"""Columns that all others are screened beside."""
GROUP = 100
"""Columns that are screened together, at least."""
MOST_GROUPS = 32
MOST_AT_ONCE = 4096
"""Columns of one network; more are scored in several groups."""
SCREENS = 2
"""The second time beside a better base."""
KEPT_OF_HALVES, KEPT_OF_FIFTHS = 0.5, 0.8


@dataclass(frozen=True, eq=False)
class Scores:
    """Of the columns of one round, or of several, averaged."""

    mean: np.ndarray
    """Mean contribution to right outputs."""
    square: np.ndarray
    """Mean squared gradient: how much the outputs depend on the column."""
    positive: np.ndarray
    """Fraction of the networks in which the column helped."""

    @property
    def values(self) -> np.ndarray:
        """How much outputs depend, if the column helped; else how much it harmed."""
        return np.where(self.mean > 0, np.sqrt(self.square), self.mean)

    def take(self, places: np.ndarray) -> "Scores":
        """Return the scores of some of the columns."""
        return Scores(self.mean[places], self.square[places], self.positive[places])

    def averaged(self, before: "Scores | None") -> "Scores":
        """Return the mean with the averages of the rounds before."""
        if before is None:
            return self
        return Scores(
            (self.mean + before.mean) / 2,
            (self.square + before.square) / 2,
            self.positive,
        )


@dataclass(eq=False)
class Ranking:
    """The columns that took part in the last stage, the best first."""

    order: np.ndarray
    stability: np.ndarray
    """Of each column in `order`, from the last round in which it took part."""
    scores: np.ndarray
    """Of each column in `order`, from the first round of the stage: comparable."""


class Elimination:
    """Rounds of training over columns; `tell` gets a line about each round."""

    def __init__(
        self,
        columns: Columns,
        y: np.ndarray,
        estimator: Any,
        *,
        n_folds: int,
        seed: int,
        tell: Callable[[str], None],
    ) -> None:
        self.columns, self.y, self.estimator = columns, y, estimator
        self.n_folds, self.seed, self.tell = n_folds, seed, tell
        self.n_rounds = 0

    def rank(self, n_last: int) -> Ranking:
        """Rank columns; n_last: how many take part in the last stage, at least."""
        everything = np.arange(self.columns.n_all)
        pool = everything
        if len(everything) > 2 * max(n_last, BASE + GROUP):
            for _ in range(SCREENS):
                base = self._halve(pool)
                others = self._screen(base, np.setdiff1d(everything, base))
                pool = np.union1d(base, others[: n_last - len(base)])
        return self._eliminate(pool)

    # ---- stages ---------------------------------------------------------------------

    def _halve(self, columns: np.ndarray) -> np.ndarray:
        while len(columns) > BASE:
            n = _fewer(len(columns), KEPT_OF_HALVES, BASE)
            columns = self._best(columns, n)
        return columns

    def _best(self, columns: np.ndarray, n: int) -> np.ndarray:
        self.tell(f"{len(columns)} columns, the better {n} stay")
        values = np.empty(len(columns))
        for group in self._groups(len(columns), MOST_AT_ONCE):
            values[group] = self._score(columns[group]).values
        return np.sort(columns[np.argsort(-values, kind="stable")[:n]])

    def _screen(self, base: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return the other columns, the best first."""
        size = max(GROUP, -(-len(others) // MOST_GROUPS))
        groups = list(self._groups(len(others), size))
        values = np.empty(len(others))
        for i, group in enumerate(groups):
            self.tell(f"screening {len(others)} columns, group {i + 1}/{len(groups)}")
            together = np.union1d(base, others[group])
            found = self._score(together).values
            values[group] = found[np.searchsorted(together, others[group])]
        return others[np.argsort(-values, kind="stable")]

    def _eliminate(self, pool: np.ndarray) -> Ranking:
        """Rank the pool by the round in which a column left, then by its score."""
        left: list[np.ndarray] = []
        steady: list[np.ndarray] = []
        first: Scores | None = None
        before: Scores | None = None
        everybody = pool
        while len(pool):
            n = _fewer(len(pool), KEPT_OF_FIFTHS, 0) if len(pool) > 5 else 0
            self.tell(f"{len(pool)} columns, {n} stay")
            scores = self._score(pool).averaged(before)
            first = first or scores
            order = np.argsort(-scores.values, kind="stable")
            left.append(pool[order[n:]])
            steady.append(scores.positive[order[n:]])
            kept = np.sort(order[:n])
            pool, before = pool[kept], scores.take(kept)
        ranked = np.concatenate(left[::-1])
        assert first is not None
        values = first.values[np.searchsorted(everybody, ranked)]
        return Ranking(ranked, np.concatenate(steady[::-1]), values)

    # ---- one round ------------------------------------------------------------------

    def _score(self, columns: np.ndarray) -> Scores:
        """Score columns on the held-out fold of networks, for all folds."""
        X = self.columns.take(columns)
        mean, square = np.zeros(len(columns)), np.zeros(len(columns))
        positive = np.zeros(len(columns))
        self.n_rounds += 1
        for i, (train, test) in enumerate(self._folds()):
            seed = np.random.SeedSequence([self.seed, self.n_rounds, i])
            model = clone(self.estimator)
            model.set_params(random_state=int(seed.generate_state(1)[0]))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a weak group may not learn at all
                model.fit(_rows(X, train), self.y[train])
                found = contributions(model, _rows(X, test), self.y[test])
            share = len(test) / len(self.y)
            mean += share * found.mean
            square += share * found.gradient**2
            positive += found.positive / self.n_folds
        return Scores(mean, square, positive)

    def _folds(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        one_column = self.y.ndim == 1
        kind = (
            StratifiedKFold if is_classifier(self.estimator) and one_column else KFold
        )
        # Other folds in each round: no split of the rows decides alone.
        folds = kind(self.n_folds, shuffle=True, random_state=self.seed + self.n_rounds)
        with warnings.catch_warnings():  # a class may have fewer rows than folds
            warnings.simplefilter("ignore", UserWarning)
            yield from folds.split(np.zeros(len(self.y)), self.y)

    def _groups(self, n: int, size: int) -> Iterator[np.ndarray]:
        """Random groups of about equal size, ascending inside."""
        if n <= size:
            yield np.arange(n)
            return
        random = np.random.default_rng([self.seed, self.n_rounds, n])
        for group in np.array_split(random.permutation(n), -(-n // size)):
            yield np.sort(group)


def _fewer(n: int, fraction: float, least: int) -> int:
    """How many of n stay.

    >>> _fewer(100, 0.5, 20), _fewer(25, 0.5, 20)
    (50, 20)
    """
    return max(least, int(n * fraction))


def _rows(X: Any, rows: np.ndarray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
