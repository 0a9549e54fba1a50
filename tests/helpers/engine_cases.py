"""What the engine is tried on: networks, rows, optimisers, and one epoch of them."""

from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from cofire import engine
from cofire.core.layer import SparseLayer
from cofire.core.network import ACTIVATIONS, OUTPUTS, SparseNetwork
from cofire.core.optimizers import SGD, Adam, Optimizer
from helpers.naive import dropped_out
from helpers.oracle import DenseNetwork

ROW_KINDS = ("floats", "bytes", "sparse", "sparse_unsorted")
OPTIMIZERS = ("classical", "nesterov", "adam")
# Around the widths of a vector (8, 16), of a tile (64) and of a few tiles.
BATCH_SIZES = (
    1,
    7,
    8,
    9,
    15,
    16,
    17,
    48,
    63,
    64,
    65,
    100,
    127,
    128,
    129,
    200,
    513,
    600,
)
N_FEATURES = (1, 2, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 47, 48, 49)


def examples(n):
    """Settings of a test that tries n drawn cases, the same in every run."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(
        max_examples=n, deadline=None, derandomize=True, suppress_health_check=slow
    )


# ---- building blocks -----------------------------------------------------------------


def random_layer(rng, n_in, n_out, density, deaf=0.0, mute=0.0):
    """A layer in which a share of outputs has no input, of inputs no output."""
    mask = rng.random((n_out, n_in)) < density
    mask[rng.random(n_out) < deaf] = False
    mask[:, rng.random(n_in) < mute] = False
    indices = np.flatnonzero(mask)
    weights = rng.normal(size=len(indices)) / np.sqrt(1 + density * n_in)
    bias = np.where(rng.random(n_out) < 0.3, 0.0, rng.normal(size=n_out) / 2)
    return SparseLayer.from_flat_indices(indices, weights, bias, n_in, n_out)


def random_network(rng, sizes, activation="relu", output="softmax", **how):
    densities = how.pop("densities", [0.5] * (len(sizes) - 1))
    shapes = zip(sizes[:-1], sizes[1:], densities, strict=True)
    layers = [random_layer(rng, *shape, **how) for shape in shapes]
    network = SparseNetwork(layers, activation, output)
    network.check()
    return network


def make_optimizer(kind, **how):
    """An optimiser by one of the names in OPTIMIZERS."""
    if kind == "adam":
        return Adam(**{"learning_rate": 0.02, "epsilon": 1e-3} | how)
    nesterov = kind == "nesterov"
    return SGD(**{"learning_rate": 0.1, "nesterov": nesterov} | how)


def start_in_motion(rng, optimizer, network):
    """Begin as if some epochs had gone by: the moments are not zero."""
    optimizer.start(network)
    optimizer.steps_done = 5
    for state in optimizer.state:
        for moments in (state.weights, state.bias):
            moments[0][:] = rng.normal(size=len(moments[0])) / 10
            for second in moments[1:]:
                second[:] = rng.uniform(0.001, 0.1, size=len(second))


@dataclass
class Samples:
    """The same samples twice: as the engine reads them, and dense in float64."""

    rows: engine.Rows
    dense: np.ndarray

    @classmethod
    def random(cls, rng, kind, n_rows, n_features):
        shape = (n_rows, n_features)
        if kind == "bytes":
            X = rng.integers(0, 256, size=shape, dtype=np.uint8)
            scale = rng.uniform(0.001, 0.01, size=n_features).astype(np.float32)
            offset = (rng.normal(size=n_features) / 4).astype(np.float32)
            dense = X * scale.astype(np.float64) + offset
            return cls(engine.Rows(X, scale=scale, offset=offset), dense)
        X = rng.normal(size=shape).astype(np.float32)
        if kind == "floats":
            return cls(engine.Rows(X), X.astype(np.float64))
        X[rng.random(shape) < 0.7] = 0
        X[rng.random(n_rows) < 0.1] = 0
        sparse = scipy.sparse.csr_array(X)
        if kind == "sparse_unsorted":
            for a, b in zip(sparse.indptr[:-1], sparse.indptr[1:], strict=True):
                sparse.indices[a:b] = sparse.indices[a:b][::-1]
                sparse.data[a:b] = sparse.data[a:b][::-1]
            sparse.has_sorted_indices = False
        return cls(engine.Rows(sparse), X.astype(np.float64))


def random_targets(rng, output, n_rows, n_out):
    if output == "softmax":
        return rng.integers(0, n_out, size=n_rows, dtype=np.int32)
    if output == "sigmoid":
        return rng.integers(0, 2, size=(n_rows, n_out)).astype(np.float32)
    return rng.normal(size=(n_rows, n_out)).astype(np.float32)


# ---- one epoch -----------------------------------------------------------------------


@dataclass
class Case:
    """Everything one epoch is made of; train() and oracle() leave it as it is."""

    network: SparseNetwork
    optimizer: Optimizer
    samples: Samples
    targets: np.ndarray
    order: np.ndarray
    batch_size: int
    sample_weight: np.ndarray | None = None
    drop_last: bool = False
    label_smoothing: float = 0.0
    input_dropout: float = 0.0
    seed: int = 5

    @classmethod
    def random(
        cls,
        seed,
        *,
        sizes=(9, 8, 3),
        activation="relu",
        output="softmax",
        optimizer="nesterov",
        kind="floats",
        batch_size=16,
        n_used=40,
        weighted=False,
        moving=False,
        drop_last=False,
        optimizer_settings=None,
        label_smoothing=0.0,
        input_dropout=0.0,
        **how,
    ):
        """Draw a case from a seed; n_used of its rows are trained on, some twice."""
        rng = np.random.default_rng(seed)
        network = random_network(rng, sizes, activation, output, **how)
        how_fast = {"learning_rate": 0.02} if output == "identity" else {}  # stable
        stepper = make_optimizer(optimizer, **how_fast | (optimizer_settings or {}))
        stepper.start(network)
        if moving:
            start_in_motion(rng, stepper, network)
        n_rows = n_used + 3
        samples = Samples.random(rng, kind, n_rows, sizes[0])
        targets = random_targets(rng, output, n_rows, sizes[-1])
        order = rng.permutation(n_rows)[:n_used]
        order[rng.random(n_used) < 0.05] = order[0]
        weight = random_weights(rng, n_rows, order, batch_size) if weighted else None
        return cls(
            network,
            stepper,
            samples,
            targets,
            order,
            batch_size,
            weight,
            drop_last,
            0.0 if output == "identity" else label_smoothing,
            input_dropout,
        )

    def train(self, n_epochs=1, n_threads=1):
        """The engine's network, optimiser and last stats; the case's own stay."""
        network, optimizer = self.network.copy(), deepcopy(self.optimizer)
        for epoch in range(n_epochs):
            stats = engine.train_epoch(
                network,
                optimizer,
                self.samples.rows,
                self.targets,
                order=self.order,
                batch_size=self.batch_size,
                sample_weight=self.sample_weight,
                drop_last=self.drop_last,
                label_smoothing=self.label_smoothing,
                input_dropout=self.input_dropout,
                seed=self.seed,
                epoch=epoch,
                n_threads=n_threads,
            )
        return network, optimizer, stats

    def oracle(self, n_epochs=1):
        """The oracle's network after the same, and its last mean loss."""
        dense = DenseNetwork(self.network, self.optimizer, self.label_smoothing)
        for epoch in range(n_epochs):
            loss = dense.train_epoch(
                self.seen(epoch),
                self.targets,
                self.order,
                self.batch_size,
                self.sample_weight,
                self.drop_last,
            )
        return dense, loss

    def seen(self, epoch):
        """The samples, dense in float64, as an epoch sees them."""
        if self.input_dropout == 0:
            return self.samples.dense
        return dropped_out(self.samples.dense, self.input_dropout, self.seed, epoch)

    @property
    def n_steps(self):
        n_full, rest = divmod(len(self.order), self.batch_size)
        return n_full + (rest > 0 and not self.drop_last)


def random_weights(rng, n_rows, order, batch_size):
    """Weights of samples, some 0, but never a whole batch of zeros."""
    weight = rng.uniform(0.2, 3, size=n_rows).astype(np.float32)
    weight[rng.random(n_rows) < 0.2] = 0
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        if weight[rows].sum() == 0:
            weight[rows[0]] = 1
    return weight


@st.composite
def cases(draw, **given):
    """Draw a case: any of the shapes, kinds and settings, or those that are given."""

    def choose(name, options):
        return given.pop(name) if name in given else draw(st.sampled_from(options))

    output = choose("output", OUTPUTS)
    n_layers = draw(st.integers(1, 4))
    hidden = [draw(st.sampled_from([1, 2, 5, 8, 17])) for _ in range(n_layers - 1)]
    n_out = draw(st.sampled_from([1, 2, 3, 10]))
    sizes = given.pop("sizes", [draw(st.sampled_from(N_FEATURES)), *hidden, n_out])
    density = st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0])
    batch_size = choose("batch_size", BATCH_SIZES)
    n_full = draw(st.integers(0, 2))
    n_used = max(1, n_full * batch_size + draw(st.integers(0, batch_size - 1)))
    return Case.random(
        draw(st.integers(0, 2**32 - 1)),
        sizes=sizes,
        activation=choose("activation", ACTIVATIONS),
        output=output,
        optimizer=choose("optimizer", OPTIMIZERS),
        kind=choose("kind", ROW_KINDS),
        batch_size=batch_size,
        n_used=n_used,
        weighted=choose("weighted", [False, True]),
        moving=choose("moving", [False, True]),
        drop_last=draw(st.booleans()),
        densities=[draw(density) for _ in sizes[1:]],
        deaf=draw(st.sampled_from([0.0, 0.4])),
        mute=draw(st.sampled_from([0.0, 0.4])),
        optimizer_settings={"alpha": draw(st.sampled_from([0.0, 0.01]))},
        label_smoothing=choose("label_smoothing", [0.0, 0.1, 0.75]),
        input_dropout=choose("input_dropout", [0.0, 0.0, 0.5]),
        **given,
    )


def wide_case(seed, **how):
    """More parameters than one thread updates at a time (16384)."""
    return Case.random(seed, sizes=(120, 150, 140, 5), **{"densities": [0.5] * 3} | how)
