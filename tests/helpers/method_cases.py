"""Networks of whole numbers, in the middle of training: every sum is exact."""

from dataclasses import dataclass, replace

import numpy as np

from cofire import engine
from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.core.optimizers import SGD
from cofire.methods import TrainingPoint, UpdateContext
from cofire.methods.snip import SNIP
from cofire.search import Exact
from cofire.training.progress import Progress, TrainingData
from cofire.training.settings import Settings


@dataclass(frozen=True)
class WholeData(TrainingData):
    """Training data with its rows once more as a float64 array."""

    dense: np.ndarray | None = None


def whole_layer(rng, n_in, n_out):
    """Some connections of small whole weights, half of which are repeated values."""
    n_possible = n_in * n_out
    n = int(rng.integers(0, n_possible + 1)) if rng.random() < 0.3 else n_possible // 3
    indices = np.sort(rng.choice(n_possible, n, replace=False))
    weights = rng.integers(-4, 5, size=n)
    bias = rng.integers(-2, 3, size=n_out)
    return SparseLayer.from_flat_indices(indices, weights, bias, n_in, n_out)


def in_training(seed, method, *, epoch=3, max_neurons=9, n_rows=24, **how):
    """Progress, data and settings, drawn from a seed."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, max_neurons + 1, size=rng.integers(2, 5))
    layers = [
        whole_layer(rng, int(a), int(b))
        for a, b in zip(sizes[:-1], sizes[1:], strict=True)
    ]
    network = SparseNetwork(layers, "relu", "identity")
    X = rng.integers(-2, 3, size=(n_rows, sizes[0]))
    targets = rng.integers(-3, 4, size=(n_rows, sizes[-1])).astype(np.float32)
    weight = rng.integers(1, 3, size=n_rows).astype(np.float32)
    data = WholeData(
        engine.Rows(X.astype(np.float32)),
        targets,
        weight if rng.random() < 0.5 else None,
        np.sort(rng.choice(n_rows, n_rows - 3, replace=False)),
        dense=X.astype(np.float64),
    )
    progress = Progress(network, SGD(), int(rng.integers(2**31)), epoch=epoch)
    progress.optimizer.start(network)
    for i, state in enumerate(progress.optimizer.state):
        state.weights[0][:] = np.arange(1, layers[i].nnz + 1)  # who is who
    settings = Settings(
        method=method,
        drop_fraction=float(rng.choice([0.2, 0.3, 0.5, 0.9])),
        batch_size=7,
        drop_last=False,
        shuffle=True,
        learning_rate="constant",
        learning_rate_init=0.01,
        max_epochs=10,
        update_interval=None,
        update_stop=1.0,
        steps_per_epoch=None,
        restore_best=True,
        n_threads=1,
        similarity=Exact(),
        drop_schedule="constant",
        augmentation=None,
        label_smoothing=0.0,
        input_dropout=0.0,
    )
    for name, value in how.items():
        setattr(progress, name, value)
    return progress, data, settings


def at(epoch, max_epochs=10, **how):
    """Where training stands before this epoch, with one update per epoch."""
    return TrainingPoint(update=epoch, epoch=epoch, max_epochs=max_epochs, **how)


def update(method, layer, n, seed=0, candidates=None, **moment):
    """Drop and grow in one layer: what the trainer does with it."""
    moment = {"epoch": 3, "max_epochs": 10} | moment
    moment |= {"update": moment["epoch"]}
    context = UpdateContext(seed=seed, layer_index=0, drop_fraction=0.2, **moment)
    dropped = method.drop(layer, n, context)
    if candidates is not None:
        context = replace(context, candidates=np.array(candidates))
    return dropped, method.grow(layer, dropped, len(dropped), context)


#     inputs 0 1 2
# output 0:  x . .     indices 0 1 2
# output 1:  . x .     indices 3 4 5


def two_connections(weights=(0.1, 5)):
    return SparseLayer.from_flat_indices([0, 4], weights, [0, 0], n_in=3, n_out=2)


def full_network(weights):
    """One full layer of three inputs and two outputs."""
    layer = SparseLayer.from_flat_indices(range(6), weights, [0, 0], n_in=3, n_out=2)
    progress, data, how = in_training(0, SNIP())
    network = replace(progress.network, layers=[layer])
    progress = Progress(network, SGD(), 1)
    progress.optimizer.start(network)
    return progress, data, how
