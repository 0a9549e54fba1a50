"""Split and scale; always fitted on the training part only."""

import math
from dataclasses import replace

import numpy as np

from cofire.data.catalog import Dataset, load

Part = tuple[np.ndarray, np.ndarray]
"""Samples X (n, n_features) and their labels y (n)."""


def paper_data(name: str) -> Dataset:
    """Read a data set and split and scale it as the CTRE paper does.

    Madelon is standardised, the others are brought to [0, 1]; Isolet is split anew, 80
    and 20 per cent of all rows.

    >>> round(abs(float(paper_data("madelon").X_train.mean())), 6)
    0.0
    """
    dataset = load(name)
    if name == "isolet":
        dataset = _split_anew(dataset)
    return standardised(dataset) if name == "madelon" else min_max_scaled(dataset)


def paper_parts(name: str) -> tuple[Part, Part, Part]:
    """Return the CTRE paper's rows to train on, to validate with and to test with.

    >>> [len(X) for X, y in paper_parts("madelon")]
    [1800, 200, 600]
    """
    data = paper_data(name)
    train, held_out = paper_split(len(data.X_train))
    return (
        (data.X_train[train], data.y_train[train]),
        (data.X_train[held_out], data.y_train[held_out]),
        (data.X_test, data.y_test),
    )


def standardised(dataset: Dataset) -> Dataset:
    """Scale to zero mean and unit variance, as found in the training set.

    The standard deviation is the population's (divided by n); a constant feature
    becomes 0. The test set has no say.
    """
    mean = dataset.X_train.mean(axis=0, dtype=np.float64)
    return _scaled(dataset, mean, dataset.X_train.std(axis=0, dtype=np.float64))


def min_max_scaled(dataset: Dataset) -> Dataset:
    """Bring each feature of the training set to [0, 1], a constant one to 0.

    The test set has no say: its values may lie outside.
    """
    low = dataset.X_train.min(axis=0).astype(np.float64)
    return _scaled(dataset, low, dataset.X_train.max(axis=0) - low)


def _scaled(dataset: Dataset, origin: np.ndarray, unit: np.ndarray) -> Dataset:
    unit = np.where(unit == 0, 1.0, unit)

    def scale(X: np.ndarray) -> np.ndarray:
        return ((X - origin) / unit).astype(np.float32)

    return replace(
        dataset, X_train=scale(dataset.X_train), X_test=scale(dataset.X_test)
    )


def paper_split(
    n: int, seed: int = 42, share: float = 0.1
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers to train on and to hold out: 90 and 10 per cent of n by default.

    The split of the CTRE paper, the same for every run: not stratified, drawn with
    NumPy's legacy generator as scikit-learn's train_test_split does.

    >>> training, validation = paper_split(2000)
    >>> len(training), validation[:3]
    (1800, array([1860,  353, 1333]))
    """
    order = np.random.RandomState(seed).permutation(n)
    n_held_out = math.ceil(share * n)
    return order[n_held_out:], order[:n_held_out]


def _split_anew(dataset: Dataset) -> Dataset:
    X = np.concatenate([dataset.X_train, dataset.X_test])
    y = np.concatenate([dataset.y_train, dataset.y_test])
    train, test = paper_split(len(X), share=0.2)
    return replace(
        dataset, X_train=X[train], y_train=y[train], X_test=X[test], y_test=y[test]
    )
