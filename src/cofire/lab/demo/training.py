"""The demo: dense, SET and CTRE, the default and gradient boosting on Madelon."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from statistics import mean, stdev
from typing import Any, Protocol

import numpy as np

from cofire.callbacks import Callback, Monitor
from cofire.data import CATALOG, Dataset, load, paper_split, standardised
from cofire.estimators import SparseMLPClassifier
from cofire.lab.experiments.baselines import BASELINES
from cofire.lab.experiments.statistics import selected_so_far
from cofire.lab.names import method_name
from cofire.profiles import DEFAULTS_0_1

NETWORKS = {"dense": "Dense", "set": "SET", "ctre_sim": "CTRE"}
"""Ways to connect one and the same network, and their titles."""
OURS = "ctre_sim"
"""The one that the others are compared with."""
DEFAULT, BOOSTING = "default", "gradient_boosting"
TITLES = NETWORKS | {DEFAULT: "Default", BOOSTING: method_name(BOOSTING)}
WITHOUT_SETTINGS = {
    DEFAULT: "SparseMLPClassifier()",
    BOOSTING: BASELINES[BOOSTING].python["classification"].rpartition(".")[2],
}
"""What a user writes for the two that come without settings."""
# The smallest network of the CTRE paper, trained by plain settings: none of them was
# chosen by accuracy.
PARAMETERS: dict[str, Any] = DEFAULTS_0_1 | {
    "hidden_layer_sizes": (100, 100, 100),
    "epsilon": 1,
}


@dataclass(frozen=True)
class Fitted:
    """A fitted model, its test accuracy, and what its training took.

    scores: the test accuracy of the best validated epoch so far, after each epoch; None
    where no validation rows choose an epoch.
    """

    method: str
    seed: int
    model: Any
    test_accuracy: float
    scores: list[float] | None
    seconds: float


class Observer(Protocol):
    """Who is told what happens."""

    def watch(self, method: str, seed: int, monitor: Monitor | None) -> Callback:
        """Return a callback for a training that begins."""

    def finish(self, fitted: Fitted) -> None:
        """Hear of a model that is trained and tested."""


def train_all(seeds: Iterable[int], epochs: int, observer: Observer) -> list[Fitted]:
    """Train the networks and the default with every seed, and gradient boosting once.

    A tenth of the training rows, the same for all networks, chooses their epoch. The
    default and gradient boosting choose nothing and learn from all training rows. Only
    a `Monitor` sees the test rows before a model is finished.
    """
    data, seeds = standardised(load("madelon")), list(seeds)
    found = []
    for fitted in chain(
        _networks(data, seeds, epochs, observer),
        _defaults(data, seeds, observer),
        _boosting(data),
    ):
        found.append(fitted)
        observer.finish(fitted)
    return found


def _networks(
    data: Dataset, seeds: list[int], epochs: int, observer: Observer
) -> Iterator[Fitted]:
    training, validation = paper_split(len(data.y_train))
    for method in NETWORKS:
        for seed in seeds:
            monitor = Monitor(data.X_test, data.y_test)
            model = SparseMLPClassifier(
                **PARAMETERS | {"method": method, "max_iter": epochs},
                random_state=seed,
                callbacks=[monitor, observer.watch(method, seed, monitor)],
            )
            model.fit(
                data.X_train[training],
                data.y_train[training],
                X_val=data.X_train[validation],
                y_val=data.y_train[validation],
            )
            scores = selected_so_far(model.validation_scores_ or [], monitor.scores)
            cost = model.receipt_
            seconds = cost.train_seconds + cost.rewire_seconds
            yield Fitted(method, seed, model, scores[-1], scores, seconds)


def _defaults(data: Dataset, seeds: list[int], observer: Observer) -> Iterator[Fitted]:
    for seed in seeds:
        watching = observer.watch(DEFAULT, seed, None)
        model = SparseMLPClassifier(random_state=seed, callbacks=[watching])
        start = time.perf_counter()
        model.fit(data.X_train, data.y_train)
        seconds = time.perf_counter() - start
        score = float(model.score(data.X_test, data.y_test))
        yield Fitted(DEFAULT, seed, model, score, None, seconds)


def _boosting(data: Dataset) -> Iterator[Fitted]:
    """Train it once: with so few rows nothing about it is drawn at random."""
    start = time.perf_counter()
    model = BASELINES[BOOSTING].fit(data.X_train, data.y_train, "classification")
    seconds = time.perf_counter() - start
    score = float(model.score(data.X_test, data.y_test))
    yield Fitted(BOOSTING, 0, model, score, None, seconds)


def summary(runs: list[Fitted], seconds: float) -> dict[str, Any]:
    """Return everything that the tables and the page show, as plain values."""
    methods = {
        method: _summarise([run for run in runs if run.method == method])
        for method in TITLES
    }
    means = {method: row["mean"] for method, row in methods.items()}
    rivals = [method for method in NETWORKS if method != OURS]
    first = {run.method: run.model for run in reversed(runs)}
    ours, default = first[OURS], first[DEFAULT]
    return {
        "data": "madelon",
        "sizes": ours.network_.sizes,
        "epochs": ours.n_iter_,
        "default_sizes": default.network_.sizes,
        "default_networks": len(default.networks_),
        "seeds": sorted({run.seed for run in runs}),
        "methods": methods,
        "points_above": {m: 100 * (means[OURS] - means[m]) for m in rivals},
        "default_above_boosting": 100 * (means[DEFAULT] - means[BOOSTING]),
        "informative_features": list(CATALOG["madelon"].relevant_features),
        "receipt": str(ours.receipt_),
        "seconds": seconds,
    }


def _summarise(runs: list[Fitted]) -> dict[str, Any]:
    accuracies = [run.test_accuracy for run in runs]
    model = runs[0].model
    is_network = isinstance(model, SparseMLPClassifier)
    return {
        "title": TITLES[runs[0].method],
        "model": WITHOUT_SETTINGS.get(runs[0].method),
        "accuracies": accuracies,
        "mean": mean(accuracies),
        "sd": stdev(accuracies) if len(accuracies) > 1 else 0.0,
        "connections": model.n_connections_ if is_network else None,
        "density": model.density_ if is_network else None,
        "seconds": mean(run.seconds for run in runs),
        "curve": _curve(runs),
        "input_connections": _inputs(runs) if is_network else None,
    }


def _curve(runs: list[Fitted]) -> dict[str, list[float]] | None:
    known = [run.scores for run in runs if run.scores is not None]
    if not known:
        return None
    curves = np.array(known)
    return {
        "mean": curves.mean(axis=0).tolist(),
        "low": curves.min(axis=0).tolist(),
        "high": curves.max(axis=0).tolist(),
    }


def _inputs(runs: list[Fitted]) -> list[float]:
    """Return the connections of each input, mean over all networks."""
    layers = [net.layers[0] for run in runs for net in run.model.networks_]
    counts = [np.bincount(layer.indices, minlength=layer.n_in) for layer in layers]
    means: list[float] = np.mean(counts, axis=0).tolist()
    return means
