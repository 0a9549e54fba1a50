"""What the estimators are tried on: small data, small networks, and their bits."""

import numpy as np

from cofire import METHODS, SparseMLPClassifier, SparseMLPRegressor
from cofire.callbacks import Callback
from cofire.profiles import DEFAULTS_0_1

ESTIMATORS = (SparseMLPClassifier, SparseMLPRegressor)
# Methods that train without validation data: fit alone and partial_fit go with these.
METHODS_ALONE = sorted(n for n in METHODS if not METHODS[n].needs_validation)


def classes(n=150, n_features=12, n_classes=3, seed=0):
    """Blobs that overlap: X float32, y int64."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    y[:n_classes] = np.arange(n_classes)
    centres = rng.normal(size=(n_classes, n_features))
    X = centres[y] + rng.normal(size=(n, n_features))
    return X.astype(np.float32), y


def numbers(n=150, n_features=12, n_outputs=1, seed=0):
    """A noisy linear target: X float32, y float64."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)).astype(np.float32)
    y = X @ rng.normal(size=(n_features, n_outputs))
    y += 0.1 * rng.normal(size=(n, n_outputs))
    return X, y[:, 0] if n_outputs == 1 else y


def data_for(estimator, **how):
    """What `classes` or `numbers` gives, as the estimator (or its class) needs it."""
    of = estimator if isinstance(estimator, type) else type(estimator)
    return (classes if issubclass(of, SparseMLPClassifier) else numbers)(**how)


def before(of):
    """The defaults of version 0.1: one network, an epoch is a pass, no recipe."""
    defaults = dict(DEFAULTS_0_1)
    if issubclass(of, SparseMLPRegressor):
        defaults["learning_rate_init"] = 0.001
    return {k: v for k, v in defaults.items() if k in of._get_param_names()}


def earlier(of=SparseMLPClassifier, **how):
    """An estimator with the defaults of version 0.1, but for what is given."""
    return of(**before(of) | how)


def small(of=SparseMLPClassifier, **how):
    """A small network: epochs of a few batches, the last one not full."""
    defaults = {
        "hidden_layer_sizes": (10, 8),
        "epsilon": 1.5,
        "init": "sparse_aware",  # with the default, so small a network hardly fires
        "solver": "sgd",
        "learning_rate_init": 0.05,
        "batch_size": 32,
        "max_iter": 4,
        "random_state": 7,
    }
    return earlier(of, **defaults | how)


def network_bits(network):
    """Every array of a network, layer after layer."""
    return [
        array
        for layer in network.layers
        for array in (layer.indptr, layer.indices, layer.weights, layer.bias)
    ]


def moments(model):
    """Every array of the optimiser's state."""
    return [
        array
        for state in model._progress.optimizer.state
        for array in (*state.weights, *state.bias)
    ]


def same(ours, theirs):
    """Whether two lists of arrays hold the same bits."""
    return len(ours) == len(theirs) and all(
        a.dtype == b.dtype and np.array_equal(a, b)
        for a, b in zip(ours, theirs, strict=True)
    )


def same_training(one, two):
    """Whether two fits are the same to the bit: arrays, losses and steps done."""
    return (
        same(network_bits(one.network_), network_bits(two.network_))
        and same(moments(one), moments(two))
        and one.loss_curve_ == two.loss_curve_
        and one._progress.optimizer.steps_done == two._progress.optimizer.steps_done
        and one.seed_ == two.seed_
    )


class Snapshots(Callback):
    """Keeps a copy of the network as each epoch left it."""

    def on_train_begin(self, estimator, progress, n_epochs):
        self.networks = []

    def on_epoch_end(self, progress, record):
        self.networks.append(progress.network.copy())


def labels_of_columns(X):
    """Three yes-or-no questions about X."""
    return (X[:, :3] > 0).astype(int)
