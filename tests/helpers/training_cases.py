"""A small network at rest, rows to train it on, and settings."""

from dataclasses import dataclass

import numpy as np

from cofire import engine
from cofire.core.optimizers import SGD
from cofire.methods import Grown, Method
from cofire.methods.set import SET
from cofire.search import Exact
from cofire.topology.create import create_network
from cofire.training.progress import Progress, TrainingData
from cofire.training.rewiring import rewire_network
from cofire.training.settings import Settings
from helpers.estimator_cases import classes

SETTINGS = Settings(
    method=SET(),
    drop_fraction=0.3,
    batch_size=20,
    drop_last=False,
    shuffle=True,
    learning_rate="constant",
    learning_rate_init=0.05,
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


def begin(optimizer=SGD, counts=(40, 20), seed=3, **how):
    """A network 12-10-3 at rest, and 90 rows to train it on."""
    X, y = classes(n=90, n_features=12, n_classes=3)
    network = create_network(
        [12, 10, 3],
        counts,
        init="normal",
        activation="relu",
        output="softmax",
        seed=seed,
    )
    progress = Progress(network, optimizer(), seed)
    progress.optimizer.start(network)
    data = TrainingData(
        engine.Rows(X), y.astype(np.int32), None, np.arange(len(y)), **how
    )
    return progress, data


def rewire_now(progress, data, settings):
    """The rewiring that opens the epoch which comes next."""
    steps = data.steps(settings, progress.seed)
    stretch = next(steps.stretches(progress.epoch))
    return rewire_network(progress, data, settings, stretch)


@dataclass(frozen=True)
class Telling(Method):
    """Drops the first connections, grows the first free indices, and remembers when."""

    epochs: tuple[int, ...] = (1, 3)

    def rewires(self, point):
        return point.epoch in self.epochs

    def drop(self, layer, n, context):
        return layer.flat_indices[:n]

    def grow(self, layer, dropped, n, context):
        free = np.setdiff1d(np.arange(layer.n_in * layer.n_out), layer.flat_indices)
        return Grown(free[:n], n_random=1)
