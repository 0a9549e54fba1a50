"""Trials that are beaten early: a validation curve beside those of finished trials.

Optuna's pruners are for one objective. Here a small network may well score less than a
large one: it is stopped only if a network that had no more connections at the same
epoch was better by more than chance explains.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cofire.callbacks import Monitor

SMOOTH = 3  # epochs whose mean score is compared
FIRST = 1 / 3  # the fraction of the fit before which no trial is stopped
SPREADS = 2.0  # standard deviations of the folds' scores by which it must be worse


@dataclass(frozen=True)
class Rival:
    """A finished trial: scores and connections after each epoch, and how far apart.

    margin: how much less another one may score at the same epoch.
    """

    scores: Sequence[float]
    connections: Sequence[float]
    margin: float

    def beats(self, scores: Sequence[float], connections: float) -> bool:
        """Whether it was clearly better after as many epochs, with no more connections.

        >>> rival = Rival([0.5, 0.8, 0.9], [100, 90, 90], margin=0.05)
        >>> rival.beats([0.4, 0.4], 90), rival.beats([0.4, 0.4], 89)
        (True, False)
        """
        n = len(scores)
        if n > len(self.scores) or self.connections[n - 1] > connections:
            return False
        return _level(scores) < _level(self.scores[:n]) - self.margin


def _level(scores: Sequence[float]) -> float:
    return float(np.mean(scores[-SMOOTH:]))


def margin(fold_scores: Sequence[Sequence[float]]) -> float:
    """Return how much less a trial may score on one fold, by chance.

    fold_scores: of each finished trial; their spreads are pooled, as a single one of a
    few folds may be tiny.

    >>> margin([[0.7, 0.9], [0.8, 0.8]])
    0.2
    """
    variances = [np.var(scores, ddof=1) for scores in fold_scores if len(scores) > 1]
    if not variances:
        return np.inf
    return round(SPREADS * float(np.sqrt(np.mean(variances))), 12)


class Beaten(Exception):
    """Ends the fit of a trial that no longer can be of interest."""


class Watch(Monitor):
    """Notes scores and connections after each epoch; raises Beaten if a rival is."""

    def __init__(self, X: Any, y: Any, rivals: Sequence[Rival]) -> None:
        super().__init__(X, y)
        self.rivals, self.connections = rivals, list[int]()

    def on_train_begin(self, estimator: Any, progress: Any, n_epochs: int) -> None:
        super().on_train_begin(estimator, progress, n_epochs)
        del self.connections[progress.epoch :]
        self._first = progress.epoch + FIRST * n_epochs

    def on_epoch_end(self, progress: Any, record: Any) -> None:
        super().on_epoch_end(progress, record)
        self.connections.append(sum(record["connections"]))
        if len(self.scores) < self._first:
            return
        if any(r.beats(self.scores, self.connections[-1]) for r in self.rivals):
            raise Beaten
