"""Trainings of every kind, and the hash of what comes out; other processes run it too.

    python -m helpers.reliability.bits_cases here|fork|spawn|loky

prints the hash of `sample()`.
"""

import hashlib
import itertools
import locale
import multiprocessing
import sys
import warnings

import numpy as np
import scipy.sparse

from cofire import METHODS, SparseMLPClassifier, SparseMLPRegressor
from cofire.core.network import ACTIVATIONS
from cofire.diagnostics.proofs import fingerprint
from cofire.search import SIMILARITIES
from helpers.estimator_cases import earlier

THREADS = (1, 2, 3, 4, 7, 8, 16)
LOSSES = ("softmax", "sigmoid", "squared")
SOLVERS = ("sgd", "adam")
ROWS = 520


def searches(method):
    """Whether a method looks for neurons that fire alike: RigL looks for gradients."""
    return method.startswith("ctre")


def combinations():
    """(method, similarity, solver, activation, loss): all there are."""
    for method in METHODS:
        similarities = SIMILARITIES if searches(method) else ("screened",)
        rest = (similarities, SOLVERS, ACTIVATIONS, LOSSES)
        for how in itertools.product(*rest):
            yield method, *how


def sample():
    """A combination of each method; all similarities, solvers and losses among them."""
    for number, method in enumerate(METHODS):
        same = [how for how in combinations() if how[0] == method]
        yield same[number * 5 % len(same)]


def data(loss, kind="float32"):
    """Rows whose values are whole numbers below 256, in one of three forms."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 4, size=(ROWS, 20)) * rng.integers(0, 2, size=(ROWS, 20))
    score = X[:, :3].astype(float) @ np.array([1.0, -0.5, 0.8])
    y = {
        "softmax": np.digitize(score, [0.5, 2.0]),
        "sigmoid": np.stack([X[:, 0] > 1, X[:, 1] > 0, score > 1], 1).astype(int),
        "squared": score + rng.normal(size=ROWS),
    }[loss]
    if kind == "csr":
        return scipy.sparse.csr_array(X.astype(np.float32)), y
    return X.astype(kind), y


def model(method, similarity, solver, activation, loss, **more):
    of = SparseMLPRegressor if loss == "squared" else SparseMLPClassifier
    # A batch of 512 rows has eight parts, the last batch is nearly empty.
    defaults = {"batch_size": 512, "max_iter": 3, "random_state": 3, "n_jobs": 1}
    return earlier(
        of,
        hidden_layer_sizes=(24, 16),
        method=method,
        similarity=similarity,
        solver=solver,
        activation=activation,
        init="sparse_aware",
        learning_rate_init=0.02,
        **defaults | more,
    )


def trained(how, kind="float32", **more):
    """The fitted model; with validation data where its method needs them."""
    X, y = data(how[-1], kind)
    val = {}
    if METHODS[how[0]].needs_validation:
        val = {"X_val": X[:100], "y_val": y[:100]}
    return model(*how, **more).fit(X, y, **val)


def bits(how, kind="float32", **more):
    """The hash of what comes out."""
    return fingerprint(trained(how, kind, **more), data(how[-1], kind)[0])


def sample_bits(n_jobs=3):
    """The hash of all trainings of the sample."""
    found = [bits(how, n_jobs=n_jobs) for how in sample()]
    return hashlib.sha256(" ".join(found).encode()).hexdigest()


def elsewhere(how):
    """The same in a process that is started in another way."""
    if how == "here":
        return sample_bits()
    if how == "loky":
        from joblib import Parallel, delayed

        return Parallel(2, backend="loky")([delayed(sample_bits)()] * 2)[1]
    bits(next(sample()), n_jobs=4)  # threads before the fork
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of fork beside threads
        with multiprocessing.get_context(how).Pool(1) as pool:
            return pool.apply(sample_bits)


if __name__ == "__main__":
    locale.setlocale(locale.LC_ALL, "")
    sys.stdout.write(elsewhere(sys.argv[1]))
