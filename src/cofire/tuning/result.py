"""Tuning: what a search found."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from cofire.tuning.front import best_of, default_of, front_of, rows_of, smallest_of
from cofire.tuning.space import given_parameters
from cofire.tuning.trial import Trial, as_given

Row = dict[str, Any]


class Tuning:
    """What `cofire.tune` found; `print` shows the front as a table.

    A row is a dict: trial, n_networks, score (mean over folds), standard_error,
    connections, bytes (of the networks' arrays), microseconds (of `predict` for one
    row), fits (how many models were scored), folds, scores (one per fit) and params.
    `pandas.DataFrame(front_)` is a table.

    Attributes
    ----------
    front_ : rows of finalists that no other of them beats with as few connections, the
        smallest first
    rows_ : one row per trial that was run to its end and per number of networks
    default_, best_, smallest_ : the estimator as it was given, the best ensemble, and
        the row with the fewest connections that is surely within `within` of the best
    preferred_ : best_ or smallest_, as was asked for
    best_params_ : parameters of `preferred_` that differ from the estimator's
    best_score_ : its mean score over folds
    best_estimator_ : trained with them on all rows; missing with refit=False
    trials_ : all trials: number, params, score, connections, seconds, state
    """

    best_estimator_: Any

    def __init__(
        self,
        estimator: Any,
        trials: Mapping[tuple[int, int], Trial],
        *,
        within: float,
        max_connections: int | None,
        prefer: str,
        score_name: str,
    ) -> None:
        self._estimator, self.within = estimator, within
        self.max_connections, self.score_name = max_connections, score_name
        self.rows_ = rows_of(trials)
        again = {number for number, repeat in trials if repeat > 0}
        final = [row for row in self.rows_ if row["trial"] in again]
        self.front_ = front_of(final)
        self.default_ = default_of(final)
        self.best_ = best_of(final, max_connections)
        self.smallest_ = smallest_of(final, within, max_connections)
        self.preferred_ = self.best_ if prefer == "best" else self.smallest_
        self.best_score_ = self.preferred_["score"]
        self.best_params_ = self.params(self.preferred_)
        self.trials_ = [
            _told(number, trial)
            for (number, repeat), trial in sorted(trials.items())
            if repeat == 0
        ]

    def params(self, row: Row) -> dict[str, Any]:
        """Return the parameters of a row that differ from the estimator's."""
        networks = {"n_networks": row["n_networks"]}
        same = row["n_networks"] == self._estimator.n_networks
        return as_given(row["params"]) | ({} if same else networks)

    def estimator(self, row: Row) -> Any:
        """Return the model of a row, not fitted."""
        return clone(self._estimator).set_params(**self.params(row))

    def code(self, row: Row) -> str:
        """Return the expression that makes the model of a row.

        The estimator's own parameters are in it, as far as they are not defaults.
        """
        model = self.estimator(row)
        given = [f"{n}={value!r}" for n, value in given_parameters(model).items()]
        return f"{type(model).__name__}({', '.join(given)})"

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the front: scores against connections, bytes and microseconds."""
        from cofire.plot import FrontDisplay

        return FrontDisplay.from_tuning(self, ax=ax)

    def table(self) -> Any:
        """Return the front as a table of text and numbers, with the rows that count."""
        from cofire.tuning.report import front_table

        return front_table(self)

    def __str__(self) -> str:
        from cofire.lab.table import to_markdown

        return to_markdown(replace(self.table(), caption=""), heading=0)


def _told(number: int, trial: Trial) -> Row:
    whole = trial.ensembles[-1] if trial.ensembles else None
    score = trial.scores[-1] if trial.scores else None
    state = "stopped" if trial.scores else "diverged"
    if whole is not None:
        state, score = "done", float(np.mean(whole.scores))
    return {
        "trial": number,
        "state": state,
        "score": score,
        "connections": None if whole is None else round(whole.connections),
        "seconds": trial.seconds,
        "params": as_given(trial.settings),
    }
