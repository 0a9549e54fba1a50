"""Searches whose sums float32 holds exactly, and what brute force makes of them."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse

from cofire import engine
from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from helpers import naive
from helpers.engine_cases import random_network, random_targets
from helpers.oracle import DenseNetwork, activate, finish, slope, wanted

KINDS = ("floats", "bytes", "sparse")
# By what weights and targets are multiplied so that activations are whole numbers in
# float32: tanh is -1, 0 or 1 at multiples of 32; 0.01f * 100 is rounded to 1.
SIZES = {"relu": 1, "identity": 1, "tanh": 32, "leaky_relu": 100}

# Means are not whole numbers: correlations have tests of their own
# (tests/engine/test_search_correlations.py).
SCORES = tuple(score for score in engine.SCORES if score != "pearson")


def whole_layer(rng, n_in, n_out, dead, size):
    """At most two connections a neuron, weights ±size; some neurons never fire."""
    mask = np.zeros((n_out, n_in), bool)
    mask[np.arange(n_out), rng.integers(n_in, size=n_out)] = True
    mask[np.arange(n_out), rng.integers(n_in, size=n_out)] = True
    mask[rng.random(n_out) < dead / 2] = False
    indices = np.flatnonzero(mask)
    weights = size * rng.choice([-1.0, 1.0], size=len(indices))
    bias = rng.integers(-1, 2, size=n_out).astype(np.float32)
    bias[rng.random(n_out) < dead] = -100
    return SparseLayer.from_flat_indices(indices, weights, size * bias, n_in, n_out)


def as_floats(x):
    """Rounded to float32, as the engine holds what it finds."""
    return x.astype(np.float32).astype(np.float64)


def unit(x):
    """The largest whole number of which all of x are multiples; 0 if there is none."""
    whole = np.abs(x).astype(np.int64)
    if (whole != np.abs(x)).any():
        return 0
    return max(1, int(np.gcd.reduce(whole, axis=None)))


@dataclass
class Case:
    """A search; `dense` are the rows in float64, sample-major."""

    network: SparseNetwork
    rows: engine.Rows
    dense: np.ndarray
    row_ids: np.ndarray
    sample_weight: np.ndarray | None
    kept: list[np.ndarray]
    n_wanted: list[int]
    seed: int = 7
    epoch: int = 3
    score: str = "cosine"
    ties: str = "random"
    targets: np.ndarray | None = None

    @classmethod
    def random(
        cls,
        seed,
        *,
        sizes,
        n_rows,
        kind="floats",
        weighted=False,
        dead=0.2,
        activation="relu",
        fullness=0.3,
        wish=0.5,
        **more,
    ):
        """Draw whole numbers; `wish` is the wanted fraction of the free indices.

        For a `dead` share of the outputs the targets are what the network says.
        """
        rng = np.random.default_rng(seed)
        shapes = zip(sizes[:-1], sizes[1:], strict=True)
        size = SIZES[activation]
        layers = [whole_layer(rng, *shape, dead, size) for shape in shapes]
        network = SparseNetwork(layers, activation, "identity")
        X = rng.integers(0 if kind == "bytes" else -3, 4, size=(n_rows + 2, sizes[0]))
        X[:, rng.random(sizes[0]) < dead] = 0
        if kind == "sparse":
            X[rng.random(X.shape) < 0.6] = 0
        weight = rng.integers(0, 4, size=len(X)).astype(np.float32)
        free = [rng.random(x.n_in * x.n_out) >= fullness for x in layers]
        case = cls(
            network,
            as_rows(X, kind),
            X.astype(np.float64),
            rng.permutation(len(X))[:n_rows],
            weight if weighted else None,
            [np.flatnonzero(~f) for f in free],
            [int(wish * f.sum()) for f in free],
            int(rng.integers(2**31)),
            int(rng.integers(1000)),
            **more,
        )
        targets = size * rng.integers(-3, 4, size=(len(X), sizes[-1]))
        told = rng.random(sizes[-1]) < dead
        targets[:, told] = case.levels(slice(None))[-1][:, told]
        case.targets = targets.astype(np.float32)
        return case

    def search(self, n_threads=1, **changes):
        how = {
            "row_ids": self.row_ids,
            "sample_weight": self.sample_weight,
            "kept": self.kept,
            "n_wanted": self.n_wanted,
            "seed": self.seed,
            "epoch": self.epoch,
            "score": self.score,
            "ties": self.ties,
            "targets": self.targets if self.score == "gradient" else None,
        }
        indices, n_firing, _ = engine.best_pairs(
            engine.PairSearch(
                network=self.network,
                rows=self.rows,
                n_threads=n_threads,
                **how | changes,
            )
        )
        return indices, n_firing

    def levels(self, rows=None):
        """What each level shows for the rows in use: (n_used, n_neurons) each."""
        dense = DenseNetwork(self.network)
        levels = [self.dense[self.row_ids if rows is None else rows]]
        for i in range(len(dense.layers)):
            z = self.sums(dense, levels, i)
            if i + 1 < len(dense.layers):
                levels.append(as_floats(activate(z, self.network.activation)))
            else:
                levels.append(as_floats(finish(z, self.network.output)))
        return levels

    @staticmethod
    def sums(dense, levels, i):
        return levels[i] @ dense.weights[i].T + dense.biases[i]

    def deltas(self):
        """The gradients of each row's loss at the sums of each level but the inputs."""
        dense, levels = DenseNetwork(self.network), self.levels()
        error = levels[-1] - wanted(self.targets[self.row_ids], levels[-1].shape[1])
        deltas = [as_floats(error)]
        for i in reversed(range(1, len(dense.layers))):
            slopes = slope(self.sums(dense, levels, i - 1), self.network.activation)
            deltas.insert(0, as_floats(deltas[0] @ dense.weights[i] * slopes))
        return deltas

    @property
    def weight(self):
        """Of the rows in use."""
        if self.sample_weight is None:
            return np.ones(len(self.row_ids))
        return self.sample_weight[self.row_ids].astype(np.float64)

    def pairs(self):
        """Per layer what its inputs and its outputs show."""
        levels = self.levels()
        outputs = self.deltas() if self.score == "gradient" else levels[1:]
        return zip(levels[:-1], outputs, strict=True)

    def sums_are_exact(self):
        """Whether float32 holds every sum on the way, in whatever order it is made."""

        def holds(sums, unit):
            return np.max(sums, initial=0) < 2**24 * unit

        dense, found = DenseNetwork(self.network), []
        for w, bias, (a, b) in zip(
            dense.weights, dense.biases, self.pairs(), strict=True
        ):
            step = math.gcd(unit(a) * unit(w), unit(bias))
            found.append(holds(np.abs(a) @ np.abs(w.T) + np.abs(bias), step))
            if self.score == "gradient":
                found.append(holds(np.abs(b) @ np.abs(w), unit(b) * unit(w)))
            if len(self.row_ids) > 256:
                sums = naive.products(np.abs(a), np.abs(b), self.weight)
                found.append(holds(sums, unit(a) * unit(b)))
                squares = (self.weight[:, None] * a * a).sum(axis=0)
                found.append(holds(squares, unit(a) ** 2))
        return all(found)

    def ranks(self):
        return [naive.ranks(self.score, a, b, self.weight) for a, b in self.pairs()]

    def brute_force(self):
        how = {"seed": self.seed, "epoch": self.epoch, "ties": self.ties}
        return [
            naive.best_indices(r, kept, n, layer=i, **how)
            for i, (r, kept, n) in enumerate(
                zip(self.ranks(), self.kept, self.n_wanted, strict=True)
            )
        ]


def as_rows(X, kind):
    if kind == "bytes":
        return engine.Rows(X.astype(np.uint8))
    X = X.astype(np.float32)
    return engine.Rows(scipy.sparse.csr_array(X) if kind == "sparse" else X)


def assert_same_indices(actual, expected):
    assert len(actual) == len(expected)
    for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
        np.testing.assert_array_equal(a, b, err_msg=f"layer {i}")


def wide_case(n, n_rows):
    rng = np.random.default_rng(0)
    layer = SparseLayer.from_flat_indices(
        np.arange(n) * (n + 1), rng.normal(size=n), np.zeros(n), n, n
    )
    network = SparseNetwork([layer], "relu", "identity")
    X = rng.normal(size=(16, n)).astype(np.float32)
    kept = [np.empty(0, np.int64)]
    ids = np.resize(np.arange(16), n_rows)
    case = Case(network, engine.Rows(X), X, ids, None, kept, [n])
    case.targets = X[::-1].copy()
    return case


of_every_score = pytest.mark.parametrize("score", SCORES)


of_all_ties = pytest.mark.parametrize("ties", engine.TIES)


def with_real_numbers(case, activation, output, seed=3):
    rng = np.random.default_rng(seed)
    sizes = [case.dense.shape[1], *(x.n_out for x in case.network.layers)]
    case.network = random_network(rng, sizes, activation, output)
    X = rng.normal(size=case.dense.shape).astype(np.float32)
    case.rows, case.dense = engine.Rows(X), X.astype(np.float64)
    case.targets = random_targets(rng, output, len(X), sizes[-1])
    if case.sample_weight is not None:
        case.sample_weight += np.float32(0.37)
    return case
