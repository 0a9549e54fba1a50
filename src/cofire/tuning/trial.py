"""One trial: settings, rows and seeds in, scores and sizes out; nothing else is used.

Of an ensemble, the networks are trained independently of each other: the first k of
them are the ensemble of k networks. So one trial measures several ensembles.
"""

import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing

from cofire.tuning.curves import Beaten, Rival, Watch
from cofire.tuning.space import Settings

Fold = tuple[np.ndarray, np.ndarray]
"""Rows to train on, rows to validate with."""
TIMED, WARM_UP, SECONDS = 110, 10, 0.2  # calls of `predict` with one row


@dataclass(frozen=True)
class Ensemble:
    """What the first n_networks of a trial reached: a score per fold, means of sizes.

    bytes: of the networks' arrays. microseconds: of `predict` for one row, the median.
    """

    n_networks: int
    scores: list[float]
    connections: float
    bytes: float
    microseconds: float


@dataclass(frozen=True)
class Trial:
    """What a trial found; without ensembles, its curve was beaten, or it diverged.

    scores, connections: of the first network after each epoch, on the first fold, as
    the store keeps them (float32).
    sizes: of the layers of its networks. n_pieces: that a column has.
    """

    settings: Settings
    ensembles: list[Ensemble]
    scores: list[float] = field(default_factory=list)
    connections: list[float] = field(default_factory=list)
    seconds: float = 0.0
    sizes: list[int] = field(default_factory=list)
    n_pieces: int = 0
    density: float = 0.0

    @property
    def stopped(self) -> bool:
        """Whether it was not run to its end."""
        return not self.ensembles


@dataclass(frozen=True)
class Part:
    """What the fit of one fold gave to a trial; without ensembles, it was beaten."""

    ensembles: list[Ensemble]
    sizes: list[int]
    n_pieces: int
    density: float
    seconds: float
    scores: list[float] = field(default_factory=list)
    connections: list[float] = field(default_factory=list)


def run_trial(
    estimator: Any,
    settings: Settings,
    X: Any,
    y: Any,
    folds: Sequence[Fold],
    seeds: Sequence[int],
    scorer: Any,
    rivals: Sequence[Rival] = (),
) -> Trial:
    """Fit the estimator with these settings on each fold, and measure what comes.

    seeds: one per fold. The curve on the first fold is compared with the rivals'.
    """
    return combined(
        settings,
        (
            run_fold(
                *(estimator, settings, X, y, fold, seed, scorer),
                rivals if number == 0 else None,
            )
            for number, (fold, seed) in enumerate(zip(folds, seeds, strict=True))
        ),
    )


def combined(settings: Settings, parts: Iterable[Part]) -> Trial:
    """Return the trial of some folds, in their order; none is asked for if beaten."""
    found: list[Part] = []
    for part in parts:
        found.append(part)
        if not part.ensembles:
            break
    first, last = found[0], found[-1]
    return Trial(
        settings,
        [_mean(own) for own in zip(*(part.ensembles for part in found), strict=True)],
        first.scores,
        first.connections,
        sum(part.seconds for part in found),
        last.sizes,
        last.n_pieces,
        last.density,
    )


def run_fold(
    estimator: Any,
    settings: Settings,
    X: Any,
    y: Any,
    fold: Fold,
    seed: int,
    scorer: Any,
    rivals: Sequence[Rival] | None = None,
) -> Part:
    """Fit and measure on one fold; it uses nothing but its arguments.

    rivals: None for all folds but the first, which alone has a curve.
    """
    begun = time.perf_counter()
    train, test = fold
    model = clone(estimator).set_params(**as_given(settings), random_state=seed)
    held_out = _safe_indexing(X, test), _safe_indexing(y, test)
    watch = None
    if rivals is not None:
        known = test[_can_be_right(estimator, y[train], y[test])]
        watch = Watch(_safe_indexing(X, known), y[known], rivals)
        model.set_params(callbacks=[watch])
    ensembles: list[Ensemble] = []
    with suppress(Beaten):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of models that are poor
            model.fit(_safe_indexing(X, train), _safe_indexing(y, train))
        model.set_params(callbacks=())
        ensembles = [
            _measured(
                first_networks(model, n), *held_out, scorer, timed=watch is not None
            )
            for n in n_networks_of(estimator)
        ]
    return Part(
        ensembles,
        list(model.network_.sizes),
        int(model.chosen_parameters_["n_pieces"]),
        model.density_,
        time.perf_counter() - begun,
        *([] if watch is None else [_kept(watch.scores), _kept(watch.connections)]),
    )


def _kept(curve: Sequence[float]) -> list[float]:
    """Return a curve as the store will give it back."""
    return np.asarray(curve, np.float32).tolist()


def _can_be_right(estimator: Any, y: np.ndarray, y_test: np.ndarray) -> np.ndarray:
    """Return which rows have a class that training has seen: a curve needs that."""
    if is_classifier(estimator) and y.ndim == 1:
        return np.isin(y_test, y)
    return np.ones(len(y_test), bool)


def n_networks_of(estimator: Any) -> list[int]:
    """Return of how many networks the ensembles of a trial consist.

    >>> from cofire import SparseMLPClassifier
    >>> n_networks_of(SparseMLPClassifier(n_networks=6))
    [1, 2, 4, 6]
    """
    most = int(estimator.n_networks)
    return [*(2**i for i in range(most.bit_length()) if 2**i < most), most]


def first_networks(model: Any, n: int) -> Any:
    """Return the model that the same fit with n_networks=n would have given."""
    own = copy(model)
    own.n_networks = n
    own._fitted = replace(model._fitted, trainings=model._fitted.trainings[:n])
    return own


def as_given(settings: Settings) -> Settings:
    """Return settings as parameters of an estimator; a list of sizes is a tuple."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in settings.items()
    }


def _measured(model: Any, X: Any, y: Any, scorer: Any, *, timed: bool) -> Ensemble:
    score = float(scorer(model, X, y))
    if not np.isfinite(score):
        raise ValueError(
            f"scoring: {score} on {len(y)} rows that were held out, expected a number. "
            "Give fewer folds (`cv`), so that each has more rows, or another scoring."
        )
    return Ensemble(
        model.n_networks,
        [score],
        model.n_connections_,
        n_bytes(model),
        microseconds(model, X) if timed else np.nan,
    )


def _mean(parts: Sequence[Ensemble]) -> Ensemble:
    """Return one of all folds; only on the first, `predict` was timed."""
    return Ensemble(
        parts[0].n_networks,
        [score for part in parts for score in part.scores],
        float(np.mean([part.connections for part in parts])),
        float(np.mean([part.bytes for part in parts])),
        parts[0].microseconds,
    )


def n_bytes(model: Any) -> int:
    """Return what the arrays of its networks take: all that `predict` needs of them.

    Weights and the index of each (4 bytes each), biases, and where neurons begin.
    """
    layers = [layer for network in model.networks_ for layer in network.layers]
    return sum(
        array.nbytes
        for layer in layers
        for array in (layer.weights, layer.indices, layer.bias, layer.indptr)
    )


def microseconds(model: Any, X: Any) -> float:
    """Return how long `model.predict` takes for one row: the median of many calls.

    Slow ones, of a DataFrame, are called less often.
    """
    times: list[float] = []
    while len(times) < WARM_UP or (len(times) < TIMED and sum(times) < SECONDS):
        row = _safe_indexing(X, [len(times) % X.shape[0]])
        start = time.perf_counter()
        model.predict(row)
        times.append(time.perf_counter() - start)
    return 1e6 * median(times[WARM_UP // 2 :])
