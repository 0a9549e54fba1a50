"""Where to look next: Optuna's TPE sampler, told of all trials so far.

The study is made again for each trial, from the trials alone, with a seed of its own:
a search that was interrupted continues with the trials it would have had.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from cofire.tuning.space import Range, Settings, Space
from cofire.tuning.trial import Trial

DIRECTIONS = ("maximize", "minimize")  # the score, the logarithm of connections


def propose(space: Space, trials: Sequence[Trial], seed: int) -> Settings:
    """Return the settings of the next trial; the first has those of the recipe."""
    if not trials:
        return {}
    optuna = needed()
    number = len(trials)
    state = np.random.SeedSequence([seed, number]).generate_state(1)[0]
    distributions = {n: _distribution(optuna, r) for n, r in space.ranges.items()}
    with _quiet(optuna):
        study = optuna.create_study(
            directions=DIRECTIONS,
            sampler=optuna.samplers.TPESampler(seed=int(state)),
        )
        for trial, values in zip(trials, _values(trials), strict=True):
            study.add_trial(
                optuna.trial.create_trial(
                    params=space.params(trial.settings),
                    distributions=distributions,
                    values=values,
                )
            )
        asked = study.ask(distributions)
    return space.settings(asked.params)


def needed() -> Any:
    """Import Optuna, or say how to install it."""
    try:
        return import_module("optuna")
    except ImportError as error:
        raise ImportError(
            f"cofire.tune searches with Optuna, which cannot be imported ({error}): "
            "pip install 'cofire[tune]'"
        ) from None


def _values(trials: Sequence[Trial]) -> list[tuple[float, float]]:
    """Return score and size of each trial.

    One whose curve was beaten has what it reached; one that diverged the worst of all.
    """
    n_networks = trials[0].ensembles[-1].n_networks
    found = [_reached(trial, n_networks) for trial in trials]
    known = [value for value in found if value is not None]
    worst = min(v[0] for v in known), max(v[1] for v in known)
    return [worst if value is None else value for value in found]


def _reached(trial: Trial, n_networks: int) -> tuple[float, float] | None:
    if trial.ensembles:
        whole = trial.ensembles[-1]
        score, connections = float(np.mean(whole.scores)), whole.connections
    elif trial.scores:
        score, connections = trial.scores[-1], n_networks * trial.connections[-1]
    else:
        return None
    return (score, math.log(max(connections, 1))) if math.isfinite(score) else None


def _distribution(optuna: Any, of: Range) -> Any:
    if of.whole:
        whole = optuna.distributions.IntDistribution
        return whole(int(of.low), int(of.high), log=of.log)
    return optuna.distributions.FloatDistribution(of.low, of.high, log=of.log)


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Let Optuna say nothing of studies that exist for a moment."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
