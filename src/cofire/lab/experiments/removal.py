"""The experiment of figure 4: accuracy while connections are removed."""

from typing import Any

import numpy as np
from scipy.special import softmax

from cofire import engine
from cofire.callbacks import Callback
from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.training.progress import Progress
from cofire.training.record import EpochRecord

STEPS = 100
ORDERS = ("ascending", "descending")
CHECKPOINTS = (10, 30, 50, 100)


class RemovalStudy(Callback):
    """After some epochs, remove a hundredth of each layer's connections at a time.

    Connections are scored once, on the trained network: by the magnitude of the weight,
    by the cosine similarity of the two neurons over the training rows, or at random.
    Biases stay, nothing is trained again. `curves` has the test accuracy after 0, 1,
    ... 100 steps, by "removal EPOCH SCORE ORDER".
    """

    def __init__(
        self,
        X: np.ndarray,
        X_test: np.ndarray,
        y_test: np.ndarray,
        seed: int,
        epochs: tuple[int, ...] = CHECKPOINTS,
    ) -> None:
        self.X, self.X_test, self.y_test = X, X_test, y_test
        self.seed, self.epochs = seed, epochs
        self.curves: dict[str, np.ndarray] = {}

    def on_train_begin(self, estimator: Any, progress: Progress, n_epochs: int) -> None:
        if estimator.standardize:
            raise ValueError(
                "RemovalStudy gives the network its rows as they are, got an estimator "
                "with standardize=True: set it to False, and scale the rows before."
            )
        self._labels = np.searchsorted(estimator.classes_, self.y_test)

    def on_epoch_end(self, progress: Progress, record: EpochRecord) -> None:
        epoch = record["epoch"] + 1
        if epoch not in self.epochs:
            return
        network = progress.network
        rng = np.random.default_rng([self.seed, epoch])
        scores = {
            "magnitude": [np.abs(layer.weights) for layer in network.layers],
            "cosine": connection_cosines(network, self.X),
            "random": [rng.random(layer.nnz) for layer in network.layers],
        }
        for name, own in scores.items():
            for order in ORDERS[:1] if name == "random" else ORDERS:
                self.curves[f"removal {epoch} {name} {order}"] = self._accuracies(
                    network, own, descending=order == "descending"
                )

    def _accuracies(
        self, network: SparseNetwork, scores: list[np.ndarray], *, descending: bool
    ) -> np.ndarray:
        rows = engine.Rows(self.X_test)
        order = [np.argsort(-s if descending else s, kind="stable") for s in scores]
        found = []
        for step in range(STEPS + 1):
            layers = [
                without_first(layer, ranked, round(step * layer.nnz / STEPS))
                for layer, ranked in zip(network.layers, order, strict=True)
            ]
            pruned = SparseNetwork(layers, network.activation, network.output)
            outputs = engine.predict(pruned, rows)
            found.append(float((outputs.argmax(axis=1) == self._labels).mean()))
        return np.array(found)


def without_first(layer: SparseLayer, ranked: np.ndarray, n: int) -> SparseLayer:
    """Return the layer without the first n of its connections in this order."""
    stays = np.ones(layer.nnz, dtype=bool)
    stays[ranked[:n]] = False
    return SparseLayer.from_flat_indices(
        layer.flat_indices[stays],
        layer.weights[stays],
        layer.bias,
        layer.n_in,
        layer.n_out,
    )


def connection_cosines(
    network: SparseNetwork, X: np.ndarray, block: int = 1000
) -> list[np.ndarray]:
    """Return the cosine similarity of each connection's neurons over the rows of X.

    Activations are compared as in growth: after ReLU, at the output after softmax. The
    similarity of a neuron that never fires is 0. A full layer needs the products of all
    pairs, a sparse one only those of its connections.
    """
    if network.activation != "relu" or network.output != "softmax":
        raise ValueError("only networks with ReLU and softmax are studied")
    products = [np.zeros(layer.nnz) for layer in network.layers]
    squares = [np.zeros(n) for n in network.sizes]
    for start in range(0, len(X), block):
        before = np.asarray(X[start : start + block], dtype=np.float32)
        squares[0] += np.square(before, dtype=np.float64).sum(axis=0)
        for i, layer in enumerate(network.layers):
            after = (layer.to_scipy() @ before.T).T + layer.bias
            last = i == len(network.layers) - 1
            after = softmax(after, axis=1) if last else np.maximum(after, 0)
            squares[i + 1] += np.square(after, dtype=np.float64).sum(axis=0)
            products[i] += _products(layer, before, after)
            before = after
    return [
        _divided(products[i], squares[i][layer.indices] * squares[i + 1][layer.rows])
        for i, layer in enumerate(network.layers)
    ]


def _products(layer: SparseLayer, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    if layer.is_full:
        return (after.T @ before).ravel().astype(np.float64)
    found = np.empty(layer.nnz)
    rows = layer.rows
    for start in range(0, layer.nnz, 4096):
        part = slice(start, start + 4096)
        found[part] = np.einsum(
            "ij,ij->j", before[:, layer.indices[part]], after[:, rows[part]]
        )
    return found


def _divided(products: np.ndarray, squares: np.ndarray) -> np.ndarray:
    norms = np.sqrt(squares)
    return np.abs(np.divide(products, norms, out=np.zeros_like(norms), where=norms > 0))
