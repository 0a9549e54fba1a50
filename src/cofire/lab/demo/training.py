"""The demo: dense, SET and CTRE side by side on the bundled Madelon."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

import numpy as np

from cofire.callbacks import Callback, Monitor
from cofire.data import CATALOG, load, paper_split, standardised
from cofire.estimators import SparseMLPClassifier
from cofire.lab.experiments.statistics import selected_so_far
from cofire.profiles import DEFAULTS_0_1

TITLES = {"dense": "Dense", "set": "SET", "ctre_sim": "CTRE"}
OURS = "ctre_sim"
"""The method that the others are compared with."""
# The smallest network of the CTRE paper, trained by plain settings: none of them was
# chosen by accuracy.
PARAMETERS: dict[str, Any] = DEFAULTS_0_1 | {
    "hidden_layer_sizes": (100, 100, 100),
    "epsilon": 1,
}


@dataclass(frozen=True)
class FittedNetwork:
    """One fitted network, and its test accuracy after every epoch."""

    method: str
    seed: int
    model: SparseMLPClassifier
    test_scores: list[float]

    @property
    def test_accuracy(self) -> float:
        """Return the test accuracy of the epoch that the validation data chose."""
        return self.selected_scores[-1]

    @property
    def selected_scores(self) -> list[float]:
        """Return the test accuracy of the best validated epoch so far, per epoch."""
        validation = self.model.validation_scores_ or []
        return selected_so_far(validation, self.test_scores)


def train_all(
    seeds: Iterable[int], epochs: int, watch: Callable[[str, int, Monitor], Callback]
) -> list[FittedNetwork]:
    """Train every method with every seed; `watch` returns an observer for each run.

    A tenth of the training rows, the same for all, chooses the epoch. Only a `Monitor`
    sees the test rows.
    """
    data = standardised(load("madelon"))
    training, validation = paper_split(len(data.y_train))
    runs = []
    for method in TITLES:
        for seed in seeds:
            monitor = Monitor(data.X_test, data.y_test)
            model = SparseMLPClassifier(
                **PARAMETERS | {"method": method, "max_iter": epochs},
                random_state=seed,
                callbacks=[monitor, watch(method, seed, monitor)],
            )
            model.fit(
                data.X_train[training],
                data.y_train[training],
                X_val=data.X_train[validation],
                y_val=data.y_train[validation],
            )
            runs.append(FittedNetwork(method, seed, model, monitor.scores))
    return runs


def summary(runs: list[FittedNetwork], seconds: float) -> dict[str, Any]:
    """Return everything that the tables and the page show, as plain values."""
    methods = {
        method: _summarise([run for run in runs if run.method == method])
        for method in TITLES
    }
    ctre = methods[OURS]
    rivals = [method for method in methods if method != OURS]
    last = next(run for run in runs if run.method == OURS)
    return {
        "data": "madelon",
        "sizes": last.model.network_.sizes,
        "epochs": last.model.n_iter_,
        "seeds": sorted({run.seed for run in runs}),
        "methods": methods,
        "points_above": {m: 100 * (ctre["mean"] - methods[m]["mean"]) for m in rivals},
        "informative_features": list(CATALOG["madelon"].relevant_features),
        "receipt": str(last.model.receipt_),
        "seconds": seconds,
    }


def _summarise(runs: list[FittedNetwork]) -> dict[str, Any]:
    accuracies = [run.test_accuracy for run in runs]
    curves = np.array([run.selected_scores for run in runs])
    inputs = [run.model.network_.layers[0] for run in runs]
    counts = [np.bincount(layer.indices, minlength=layer.n_in) for layer in inputs]
    receipts = [run.model.receipt_ for run in runs]
    return {
        "title": TITLES[runs[0].method],
        "accuracies": accuracies,
        "mean": mean(accuracies),
        "sd": stdev(accuracies) if len(accuracies) > 1 else 0.0,
        "connections": runs[0].model.n_connections_,
        "density": runs[0].model.density_,
        "seconds": mean(r.train_seconds + r.rewire_seconds for r in receipts),
        "curve": {
            "mean": curves.mean(axis=0).tolist(),
            "low": curves.min(axis=0).tolist(),
            "high": curves.max(axis=0).tolist(),
        },
        "input_connections": np.mean(counts, axis=0).tolist(),
    }
