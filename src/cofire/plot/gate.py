"""GateDisplay: which pairs of neurons correlate beyond chance."""

from statistics import NormalDist
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import resample

from cofire.core.network import SparseNetwork
from cofire.estimators.inputs import ScaledBytes
from cofire.estimators.raw import check_rows
from cofire.methods import METHODS
from cofire.plot.display import Display, in_our_look
from cofire.plot.look import FAINT, INK, ORANGE, PURPLE, shown_on
from cofire.plot.models import check_model
from cofire.training.rewiring import chance_gate

N_BINS = 80
AT_ONCE = 2**22
"""Pairs whose correlations are held at a time."""


class GateDisplay(Display):
    """Pairs of neurons by how strongly they correlate, beside what chance would give.

    A pair is a neuron of a layer and one of the layer before. Its correlation is told
    in standard errors: unrelated neurons have 0, give or take one. Method "cofire"
    grows only to the right of the gate (docs/method.md).

    edges: of the bins. pairs: all pairs in each bin, connected: those that have a
    connection. gate: in standard errors. n_rows: that were looked at.

    >>> from cofire import SparseMLPClassifier
    >>> from cofire.plot import GateDisplay
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SparseMLPClassifier(max_iter=5, random_state=0).fit(X, y)
    >>> display = GateDisplay.from_estimator(model, X)
    >>> round(display.gate, 1)
    3.9
    """

    def __init__(
        self,
        edges: np.ndarray,
        pairs: np.ndarray,
        connected: np.ndarray,
        *,
        gate: float,
        n_rows: int,
        layer: int = 1,
    ) -> None:
        self.edges, self.pairs, self.connected = edges, pairs, connected
        self.gate, self.n_rows, self.layer = gate, n_rows, layer

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        layer: int = 1,
        network: int = 0,
        rows: int = 768,
        random_state: Any = 0,
        ax: Any = None,
    ) -> Self:
        """Draw the pairs of a layer of one network, over rows of X.

        layer: counted from 1. rows: how many are drawn from X at most. The gate is
        that of the model's method or, if it has none, that of "cofire" by default; in
        the output layer, where all pairs pass, it is where the gate would be.
        """
        where = "GateDisplay.from_estimator"
        model = check_model(model, where)
        net = model.networks_[network]
        if not 1 <= layer <= len(net.layers):
            raise ValueError(
                f"{where}: layer={layer!r}; expected 1 to {len(net.layers)}"
            )
        inputs = _rows(model, X, rows, random_state)
        below, above = _activations(net, inputs, layer)
        own = net.layers[layer - 1]
        gate = chance_gate(_false_alarms(model), own.n_in * own.n_out)
        edges, pairs, connected = _histograms(below, above, own)
        counts = edges, pairs, connected
        display = cls(*counts, gate=gate, n_rows=len(below), layer=layer)
        return display.plot(ax=ax)

    @property
    def chance(self) -> np.ndarray:
        """Return the pairs in each bin if no two neurons were related."""
        below = np.array([NormalDist().cdf(edge) for edge in self.edges])
        return 2 * np.diff(below) * self.pairs.sum()

    @in_our_look
    def plot(self, *, ax: Any = None) -> Self:
        """Draw."""
        (ax,) = self._begin(ax)
        grey, ink = shown_on(ax, FAINT), shown_on(ax, INK)
        ax.stairs(self.pairs, self.edges, fill=True, color=grey, label="all pairs")
        ax.stairs(
            self.connected,
            self.edges,
            fill=True,
            color=shown_on(ax, PURPLE),
            alpha=0.8,
            label="connected pairs",
        )
        ax.stairs(self.chance, self.edges, color=ink, lw=1.3, label="by chance alone")
        ax.axvline(self.gate, color=ORANGE, lw=1.8)
        ax.set_yscale("log", nonpositive="clip")
        ax.set_ylim(0.6, 3 * max(self.pairs.max(), self.chance.max(), 1))
        filled = np.flatnonzero(self.pairs)
        end = self.edges[filled[-1] + 1] if filled.size else self.edges[-1]
        end = max(end, 1.6 * self.gate)
        ax.set_xlim(0, end)
        near = self.gate > 0.7 * end
        ax.annotate(
            f"gate {self.gate:.1f}",
            (self.gate, 1),
            xycoords=("data", "axes fraction"),
            xytext=(-5 if near else 5, -4),
            textcoords="offset points",
            ha="right" if near else "left",
            va="top",
            color=ORANGE,
        )
        ax.set_xlabel(f"|correlation| in standard errors, over {self.n_rows:,} rows")
        ax.set_ylabel(f"Pairs of neurons, layer {self.layer}")
        ax.legend(loc="upper right", bbox_to_anchor=(1, 0.93))
        return self


def _false_alarms(model: Any) -> float:
    method = model.method
    if isinstance(method, str):
        options = model.method_options or {}
        value = options.get("false_alarms", getattr(METHODS[method], "false_alarms", 0))
    else:
        value = getattr(method, "false_alarms", None)
    return value or 3.0


def _rows(model: Any, X: Any, n: int, random_state: Any) -> np.ndarray:
    """Return some rows as the network gets them: float64."""
    if (X.shape[0] if hasattr(X, "shape") else len(X)) > n:
        X = resample(X, replace=False, n_samples=n, random_state=random_state)
    inputs = check_rows(model, X, model._state.encoder)
    if isinstance(inputs, ScaledBytes):
        return inputs.bytes.astype(np.float64) * inputs.scale + inputs.offset
    return np.asarray(inputs.todense() if issparse(inputs) else inputs, np.float64)


_FUNCTIONS: dict[str, Any] = {
    "relu": lambda x: np.maximum(x, 0),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "tanh": np.tanh,
    "identity": lambda x: x,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softmax": lambda x: np.exp(x - x.max(axis=1, keepdims=True)),
}


def _activations(
    network: SparseNetwork, rows: np.ndarray, layer: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return what arrives at a layer, and what leaves it: (rows, neurons) each."""
    below = above = rows
    for i, own in enumerate(network.layers[:layer]):
        is_last = i == len(network.layers) - 1
        name = network.output if is_last else network.activation
        below, above = above, _FUNCTIONS[name]((own.to_scipy() @ above.T).T + own.bias)
        if name == "softmax":
            above = above / above.sum(axis=1, keepdims=True)
    return below, above


def _histograms(
    below: np.ndarray, above: np.ndarray, layer: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count pairs by |correlation|, a block of outputs at a time."""
    n = len(below)
    (a, fires), (b, answers) = _unit(below), _unit(above)
    edges = np.linspace(0, np.sqrt(n), N_BINS + 1)
    pairs, connected = np.zeros(N_BINS, np.int64), np.zeros(N_BINS, np.int64)
    step, outputs = max(1, AT_ONCE // a.shape[1]), layer.rows
    for start in range(0, b.shape[1], step):
        block = b[:, start : start + step]
        r = np.minimum(np.abs(block.T @ a) * np.sqrt(n), edges[-1])
        known = answers[start : start + step, None] & fires[None, :]
        pairs += np.histogram(r[known], edges)[0]
        first, last = layer.indptr[start], layer.indptr[start + len(r)]
        at = outputs[first:last] - start, layer.indices[first:last]
        connected += np.histogram(r[at][known[at]], edges)[0]
    return edges, pairs, connected


def _unit(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return columns of mean 0 and length 1, and which of them vary at all."""
    centred = x - x.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    varies = length > 1e-9 * np.sqrt(len(x)) * (1 + np.abs(x).max(axis=0))
    return np.divide(centred, length, out=np.zeros_like(centred), where=varies), varies
