"""The data sets as the CTRE paper splits and scales them.

Scales are always computed from the training rows only.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse

from cofire.data.catalog import entry_of, load
from cofire.data.catalog.dataset import Dataset, Samples
from cofire.data.catalog.splits import paper_split
from cofire.data.preprocessing.scales import origin_and_unit, scaled

Part = tuple[Samples, np.ndarray]
"""Samples X (n, n_features) and their labels y (n)."""


def paper_data(name: str) -> Dataset:
    """Read a data set and split and scale it as the CTRE paper does.

    Madelon is standardised, the others are scaled to [0, 1]; Isolet is split again, 80
    and 20 per cent of all rows. X is float32: dense, or sparse in CSR form for PCMAC
    and BASEHOCK. Images take four times the memory that they take after `load`, since
    each pixel has a scale of its own.

    >>> round(abs(float(paper_data("madelon").X_train.mean())), 6)
    0.0
    """
    dataset = paper_rows(name)
    return _scaled(dataset, *paper_scale(dataset))


def paper_rows(name: str) -> Dataset:
    """Read a data set and split it as the CTRE paper does; values are not scaled."""
    dataset, fraction = load(name), entry_of(name).paper_test_fraction
    return dataset if fraction is None else _split_again(dataset, fraction=fraction)


def paper_scale(dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return origin and unit of each feature, as the CTRE paper has them."""
    return _SCALES[entry_of(dataset.name).paper_scale](dataset.X_train)


def paper_parts(
    name: str, split: int | None = None, scale: str | None = None
) -> tuple[Part, Part, Part]:
    """Return the CTRE paper's rows to train on, to validate with and to test with.

    A `split` is a seed: then all rows are divided at random into parts of these sizes.
    The features have the paper's scale, or `scale`, one of `SCALES`.

    >>> [len(y) for X, y in paper_parts("madelon")]
    [1800, 200, 600]
    """
    data = paper_rows(name)
    if split is None:
        train, held_out = paper_split(len(data.y_train))
    else:
        fraction = len(data.y_test) / (len(data.y_train) + len(data.y_test))
        data = _split_again(data, split, fraction)
        train, held_out = paper_split(len(data.y_train), seed=split)
    of_features = (
        paper_scale(data) if scale is None else origin_and_unit(data.X_train, scale)
    )
    data = _scaled(data, *of_features)
    return (
        (data.X_train[train], data.y_train[train]),
        (data.X_train[held_out], data.y_train[held_out]),
        (data.X_test, data.y_test),
    )


def standardised(dataset: Dataset) -> Dataset:
    """Scale to zero mean and unit variance in the training set.

    The standard deviation is the population's (divided by n); a constant feature
    becomes 0. The test set has no influence. For dense X only, since zeros change.
    """
    return _scaled(dataset, *_mean_and_deviation(dataset.X_train))


def min_max_scaled(dataset: Dataset) -> Dataset:
    """Scale each feature of the training set to [0, 1], a constant one to 0.

    The test set has no influence: its values may lie outside. Sparse X stays sparse: a
    zero is stored only if it becomes another number, that is in the few features (such
    as a word that occurs in every training text) whose smallest value is not 0.
    """
    return _scaled(dataset, *_low_and_range(dataset.X_train))


def _mean_and_deviation(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)


def _low_and_range(X: Samples) -> tuple[np.ndarray, np.ndarray]:
    low, high = X.min(axis=0), X.max(axis=0)
    if scipy.sparse.issparse(X):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    low = low.astype(np.float64)
    return low, high - low


_SCALES: dict[str, Callable[[Samples], tuple[np.ndarray, np.ndarray]]] = {
    "standard": _mean_and_deviation,
    "minmax": _low_and_range,
}
"""Origin and unit of each feature, by the `paper_scale` of a data set."""


def _scaled(dataset: Dataset, origin: np.ndarray, unit: np.ndarray) -> Dataset:
    X_train, X_test = (
        scaled(X, origin, unit) for X in (dataset.X_train, dataset.X_test)
    )
    return replace(dataset, X_train=X_train, X_test=X_test)


def _split_again(dataset: Dataset, seed: int = 42, fraction: float = 0.2) -> Dataset:
    parts = [dataset.X_train, dataset.X_test]
    sparse = scipy.sparse.issparse(dataset.X_train)
    X = scipy.sparse.vstack(parts, format="csr") if sparse else np.concatenate(parts)
    y = np.concatenate([dataset.y_train, dataset.y_test])
    train, test = paper_split(len(y), seed, fraction)
    return replace(
        dataset, X_train=X[train], y_train=y[train], X_test=X[test], y_test=y[test]
    )
