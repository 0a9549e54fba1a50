"""Split and scale; always fitted on the training part only."""

import math
from dataclasses import replace

import numpy as np

from cofire.data.catalog import Dataset


def standardised(dataset: Dataset) -> Dataset:
    """Scale to zero mean and unit variance, as found in the training set.

    The standard deviation is the population's (divided by n); a constant feature
    becomes 0. The test set has no say.
    """
    mean = dataset.X_train.mean(axis=0, dtype=np.float64)
    deviation = dataset.X_train.std(axis=0, dtype=np.float64)
    deviation[deviation == 0] = 1.0

    def scale(X: np.ndarray) -> np.ndarray:
        return ((X - mean) / deviation).astype(np.float32)

    return replace(
        dataset, X_train=scale(dataset.X_train), X_test=scale(dataset.X_test)
    )


def paper_split(n: int, seed: int = 42) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers to train on and to validate with: 90 and 10 per cent of n.

    The split of the CTRE paper, the same for every run: not stratified, drawn with
    NumPy's legacy generator as scikit-learn's train_test_split does.

    >>> training, validation = paper_split(2000)
    >>> len(training), validation[:3]
    (1800, array([1860,  353, 1333]))
    """
    order = np.random.RandomState(seed).permutation(n)
    n_validation = math.ceil(0.1 * n)
    return order[n_validation:], order[:n_validation]
