"""Which rows to train on, and which to hold out."""

import math

import numpy as np


def paper_split(
    n: int, seed: int = 42, fraction: float = 0.1
) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the rows to train on, and of the `fraction` to hold out.

    This is the split of the CTRE paper, the same for every run: not stratified, drawn
    with NumPy's legacy generator as scikit-learn's train_test_split does.

    >>> training, validation = paper_split(2000)
    >>> len(training), validation[:3]
    (1800, array([1860,  353, 1333]))
    """
    order = np.random.RandomState(seed).permutation(n)
    n_held_out = math.ceil(fraction * n)
    return order[n_held_out:], order[:n_held_out]
