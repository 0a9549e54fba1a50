"""Figures are closed after each test: matplotlib warns if many are open."""

import matplotlib
import matplotlib.pyplot as plt
import pytest
from sklearn.datasets import load_digits

from cofire import SparseMLPClassifier

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def digits():
    return load_digits(return_X_y=True)


@pytest.fixture(scope="session")
def model(digits):
    """Two networks, with validation rows."""
    how = {"max_iter": 8, "n_networks": 2, "early_stopping": True, "random_state": 0}
    return SparseMLPClassifier((40, 30), n_pieces=0, **how).fit(*digits)
