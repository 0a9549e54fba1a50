"""What the trials amount to: the front of scores against connections, and choices."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cofire.tuning.trial import Trial

Row = dict[str, Any]
"""An ensemble of a trial: plain values, see `rows_of`."""
FEW = 3  # the ensembles with the highest scores that are measured again


def rows_of(trials: Mapping[tuple[int, int], Trial]) -> list[Row]:
    """Return a row per ensemble of each trial that was run to its end.

    trial: its number, 0 being the recipe. score: the mean of `scores`, one per fit. Of
    a finalist these are the fits of the later repeats, as it was chosen for those of
    the first. standard_error: of a mean over one repeat's folds, as repeats have the
    same rows. connections, bytes: means.
    """
    found = []
    for number in sorted({number for number, _ in trials}):
        own = {key[1]: trials[key] for key in sorted(trials) if key[0] == number}
        later = [own[repeat] for repeat in own if repeat > 0]
        repeats = [one for one in later or [own[0]] if one.ensembles]
        for same in zip(*(trial.ensembles for trial in repeats), strict=True):
            found.append(_row(number, repeats[0], same))
    return found


def _row(number: int, trial: Trial, repeats: Sequence[Any]) -> Row:
    scores = [score for one in repeats for score in one.scores]
    n_folds = len(repeats[0].scores)
    return {
        "trial": number,
        "n_networks": repeats[0].n_networks,
        "score": float(np.mean(scores)),
        "standard_error": _error(scores, n_folds),
        "connections": round(float(np.mean([one.connections for one in repeats]))),
        "bytes": round(float(np.mean([one.bytes for one in repeats]))),
        "microseconds": min(one.microseconds for one in repeats),
        "fits": len(scores),
        "folds": n_folds,
        "scores": scores,
        "params": dict(trial.settings),
    }


def _error(values: Sequence[float], n_folds: int) -> float | None:
    return float(np.std(values, ddof=1)) / n_folds**0.5 if n_folds > 1 else None


def front_of(rows: Iterable[Row]) -> list[Row]:
    """Return the rows that no other beats with as few connections, the smallest first.

    >>> sizes = [(0.8, 9), (0.7, 8), (0.8, 8)]
    >>> front_of({"score": score, "connections": n} for score, n in sizes)
    [{'score': 0.8, 'connections': 8}]
    """
    found: list[Row] = []
    for row in sorted(rows, key=lambda row: (row["connections"], -row["score"])):
        if not found or row["score"] > found[-1]["score"]:
            found.append(row)
    return found


def default_of(rows: Sequence[Row]) -> Row:
    """Return the estimator as it was given: the first trial, with all networks."""
    own = [row for row in rows if row["trial"] == 0]
    if not own:
        raise ValueError(
            "estimator: its training diverges on these rows, and there is nothing to "
            "compare with. Lower learning_rate_init, or leave it at None."
        )
    return own[-1]


def best_of(rows: Sequence[Row], max_connections: int | None = None) -> Row:
    """Return the best: with all networks, or of all that are small enough.

    Of equal scores the one with fewer connections counts.
    """
    if max_connections is None:
        most = max(row["n_networks"] for row in rows)
        able = [row for row in rows if row["n_networks"] == most]
    else:
        able = _small_enough(rows, max_connections)
    return max(able, key=lambda row: (row["score"], -row["connections"]))


def smallest_of(
    rows: Sequence[Row], within: float, max_connections: int | None = None
) -> Row:
    """Return the one with the fewest connections that is surely as good as the best.

    That is: the mean difference over the same fits, and its standard error on top, is
    at most `within`. Without the error, the smallest would be the luckiest.
    """
    best = best_of(rows, max_connections)
    able = [row for row in rows if _behind(row, best) <= within]
    return min(able, key=lambda row: (row["connections"], -row["score"]))


def _behind(row: Row, best: Row) -> float:
    """Return how far a row is behind the best, at most, as far as one can tell."""
    if len(row["scores"]) != len(best["scores"]):  # one of them diverged in a repeat
        return float("inf")
    apart = np.subtract(best["scores"], row["scores"])
    return float(np.mean(apart)) + (_error(apart, row["folds"]) or 0.0)


def finalists(rows: Sequence[Row], max_connections: int | None = None) -> list[int]:
    """Return the trials that may be chosen: the recipe, the front and the best few."""
    whole = max(row["n_networks"] for row in rows)
    able = [row for row in rows if row["n_networks"] == whole]
    few = sorted(able, key=lambda row: -row["score"])[:FEW]
    chosen = [*few, *front_of(rows), best_of(rows, max_connections)]
    return sorted({0, *(row["trial"] for row in chosen)})


def _small_enough(rows: Sequence[Row], most: int) -> list[Row]:
    able = [row for row in rows if row["connections"] <= most]
    if not able:
        least = min(row["connections"] for row in rows)
        raise ValueError(
            f"`max_connections={most}`: no trial has so few connections, the smallest "
            f"has {least}. Allow more, or give more trials (`n_trials`)."
        )
    return able
