"""Streams of all kinds over the same rows, and a training over them done naively."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from cofire import engine
from cofire.core.random import stream as random_stream
from cofire.estimators.inputs import engine_rows
from cofire.training.loop import train
from cofire.training.progress import TrainingData
from cofire.training.steps import Steps


def make_rows(n=1500, n_columns=6, seed=0):
    """Rows with a target that can be learnt; the last columns are a 0/1 and gaps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    X[:, -1] = rng.random(n) < 0.1
    X[rng.random(n) < 0.05, -2] = np.nan
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    return X, y


def make_frame(n=1500, seed=0):
    import pandas as pd

    X, y = make_rows(n, seed=seed)
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    frame["colour"] = rng.choice(["red", "green", "blue"], n)
    start = np.datetime64("2020-01-01")
    frame["day"] = (start + rng.integers(0, 700, n)).astype("datetime64[ns]")
    return frame, np.where(y > 0, "yes", "no")


def chunked(*arrays, size=100):
    """A function that returns an iterator of chunks, as users write one."""
    n = arrays[0].shape[0]

    def chunks():
        for start in range(0, n, size):
            part = slice(start, start + size)
            yield tuple(v.iloc[part] if hasattr(v, "iloc") else v[part] for v in arrays)

    return chunks


def save_csr(folder, X, y):
    X = scipy.sparse.csr_array(X)
    folder.mkdir(exist_ok=True)
    for name, part in (("data", X.data), ("indices", X.indices), ("indptr", X.indptr)):
        np.save(folder / f"{name}.npy", part)
    np.save(folder / "shape.npy", np.array(X.shape))
    np.save(folder / "y.npy", y)
    return folder


def all_bits(model):
    """The bits of all networks of an estimator."""
    return [
        (layer.indptr.tobytes(), layer.indices.tobytes())
        + (layer.weights.tobytes(), layer.bias.tobytes())
        for network in model.networks_
        for layer in network.layers
    ]


# ---- the oracle ----------------------------------------------------------------------


def pass_rows(lengths, seed, number, shuffle):
    """The rows of one pass: chunks in a random order, each as it is."""
    starts = np.cumsum([0, *lengths])
    order = range(len(lengths))
    if shuffle:
        order = random_stream(seed, "order", layer=1, epoch=number).permutation(
            len(lengths)
        )
    return [row for c in order for row in range(starts[c], starts[c + 1])]


@dataclass(frozen=True, eq=False)
class NaiveSteps(Steps):
    """The order of all rows that a fit takes, written down beforehand."""

    n: int
    walked: np.ndarray

    @property
    def n_rows(self):
        return self.n

    def order(self, begin, end):
        size = self.batch_size
        if self.settings.steps_per_epoch is not None:
            return self.walked[begin * size : end * size]
        epoch, first = divmod(begin, self.per_epoch)
        own = self.walked[epoch * self.n : (epoch + 1) * self.n]
        return own[first * size : (end - epoch * self.per_epoch) * size]


class NaiveData(TrainingData):
    """All rows in memory; `row_ids` are those that searches may look at."""

    def steps(self, settings, seed):
        return NaiveSteps(self.row_ids, settings, seed, *self.walk)


def naive_fit(prepared, X, y, lengths, index=0):
    """Train a network of a prepared fit on arrays, by an order that is spelt out."""
    layout, settings = prepared.layout, prepared.plan.settings
    progress = prepared.fresh(prepared.trainings[index].seed)
    n, seed = len(y), prepared.X.seed
    in_steps = settings.steps_per_epoch is not None
    n_passes = settings.max_epochs
    if in_steps:
        n_passes = settings.max_epochs * settings.steps_per_epoch
        n_passes = -(-n_passes * settings.batch_size // n) + layout.size // n + 1
    passes = [pass_rows(lengths, seed, p, settings.shuffle) for p in range(n_passes)]
    size = layout.size
    if in_steps:
        rows = np.concatenate(passes)
        blocks = [rows[i : i + size] for i in range(0, len(rows) - size + 1, size)]
    else:
        blocks = [p[i : i + size] for p in passes for i in range(0, n, size)]
    walked = []
    for k, block in enumerate(blocks):
        own = np.arange(len(block))
        if settings.shuffle:
            own = random_stream(progress.seed, "order", epoch=k).permutation(own)
        walked.extend(np.asarray(block)[own])
    encoder = prepared.encoder
    rows = engine_rows(X if encoder is None else encoder.encode(X))
    assert isinstance(rows, engine.Rows)
    data = NaiveData(rows, prepared.targets.encode(y), None, prepared.facts.numbers)
    object.__setattr__(data, "walk", (n, np.array(walked)))
    train(progress, data, settings, n_epochs=settings.max_epochs)
    return progress.network
