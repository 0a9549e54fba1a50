"""Models of all kinds that exporters must write, each with rows to predict."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    make_multilabel_classification,
)

from cofire import SparseMLPClassifier, SparseMLPRegressor


@dataclass(frozen=True)
class Case:
    """A fitted model and rows that it was not trained on."""

    model: Any
    X: Any

    @property
    def expected(self) -> np.ndarray:
        """Probabilities, or numbers: (n_rows, n_outputs)."""
        predict = getattr(self.model, "predict_proba", self.model.predict)
        return predict(self.X).reshape(len(self.X), -1)


def _classifier(sizes: tuple[int, ...] = (60, 40), **more: Any) -> SparseMLPClassifier:
    how = {"max_iter": 12, "n_networks": 1, "random_state": 0, "n_jobs": 1} | more
    return SparseMLPClassifier(sizes, **how)


def _split(model: Any, X: Any, y: Any, n: int) -> Case:
    rows = X.iloc if hasattr(X, "iloc") else X
    return Case(model.fit(rows[:n], y[:n]), rows[n:])


def _digits(**more: Any) -> Case:
    X, y = load_digits(return_X_y=True)
    return _split(_classifier(**more), X, y, 1200)


def _bytes() -> Case:
    X, y = load_digits(return_X_y=True)
    X = (15 * X).astype(np.uint8)
    X[:1200, 3] = np.minimum(X[:1200, 3], 20)  # others are cut off
    return _split(_classifier(), X, y, 1200)


def _not_standardised() -> Case:
    X, y = load_digits(return_X_y=True)
    return _split(_classifier(standardize=False), X / 16, y, 1200)


def _breast_cancer() -> Case:
    X, y = load_breast_cancer(return_X_y=True)
    return _split(_classifier(n_pieces=6), X, np.array(["bad", "good"])[y], 380)


def _missing() -> Case:
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    X[400, :] = 1e30
    return _split(_classifier(n_pieces=6, n_networks=3), X, y, 380)


def _large_offset() -> Case:
    X, y = load_breast_cancer(return_X_y=True)
    offset = np.r_[1e8, -1e9, 2000, np.zeros(X.shape[1] - 3)]
    return _split(_classifier(), X / X.std(axis=0) + offset, y, 380)


def table(n: int = 900, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with numbers, categories and gaps, and three classes."""
    rng = np.random.default_rng(seed)
    size, age = rng.normal(3, 1, n), rng.integers(18, 90, n)
    colour = rng.choice(["red", "green", "blue", "violet"], n, p=[0.5, 0.3, 0.19, 0.01])
    shape = rng.choice(["*/ round", 'a "flat" one', "??/", "µ"], n)
    y = (size + (colour == "red") - age / 60 > 2).astype(int) + (shape == "µ")
    frame = pd.DataFrame({"size": size, "age": age, "colour": colour, "shape": shape})
    frame.loc[rng.random(n) < 0.1, "size"] = np.nan
    frame.loc[rng.random(n) < 0.1, "colour"] = None
    return frame, y


def _categories() -> Case:
    X, y = table()
    X.loc[X.index[700:710], "colour"] = "never seen"
    X.loc[X.index[710:720], "shape"] = None  # never missing in fit
    X.loc[X.index[720:730], "colour"] = "(missing)"  # a text like any other
    X.loc[X.index[730:740], "colour"] = "(rare)"
    return _split(_classifier(), X, y, 700)


def _many_levels() -> Case:
    X, y = table(1500)
    rng = np.random.default_rng(1)
    X["town"] = [f"t{i}" for i in rng.integers(0, 400, len(X))]  # sparse rows, rare
    X.loc[::50, "town"] = None
    X.loc[X.index[1200:1220], "town"] = "(missing)"
    return _split(_classifier(), X, y, 1200)


def _constant() -> Case:
    """All columns are constant: no connection matters."""
    return _split(
        _classifier(), np.r_[np.ones((80, 3)), np.eye(3)], np.arange(83) % 2, 80
    )


def _labels() -> Case:
    X, y = make_multilabel_classification(600, 20, n_classes=4, random_state=0)
    return _split(_classifier(), X, y, 400)


def _numbers(n_outputs: int = 1) -> Case:
    X, y = load_diabetes(return_X_y=True)
    y = y if n_outputs == 1 else np.column_stack([1e4 + y, -y / 1e3])
    model = SparseMLPRegressor(
        (50,), max_iter=12, n_networks=2, random_state=0, n_jobs=1
    )
    return _split(model, X, y, 300)


CASES = {
    "digits": _digits,
    "several networks": lambda: _digits(n_networks=3),
    "tanh": lambda: _digits(activation="tanh"),
    "leaky_relu": lambda: _digits(activation="leaky_relu"),
    "identity": lambda: _digits(activation="identity"),
    "no hidden layer": lambda: _digits(sizes=()),
    "bytes": _bytes,
    "not standardised": _not_standardised,
    "two classes, in pieces": _breast_cancer,
    "missing values": _missing,
    "large offset": _large_offset,
    "categories": _categories,
    "many levels": _many_levels,
    "constant": _constant,
    "labels": _labels,
    "one number": _numbers,
    "two numbers": lambda: _numbers(2),
}


@cache
def case(name: str) -> Case:
    """Return a case of the table; fitted once."""
    return CASES[name]()
