"""Which rows train, which are held out."""

import math

import numpy as np


def paper_split(
    n: int, seed: int = 42, fraction: float = 0.1
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers to train on and to hold out: 90 and 10 per cent of n by default.

    The split of the CTRE paper, the same for every run: not stratified, drawn with
    NumPy's legacy generator as scikit-learn's train_test_split does.

    >>> training, validation = paper_split(2000)
    >>> len(training), validation[:3]
    (1800, array([1860,  353, 1333]))
    """
    order = np.random.RandomState(seed).permutation(n)
    n_held_out = math.ceil(fraction * n)
    return order[n_held_out:], order[:n_held_out]
