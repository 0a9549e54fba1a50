"""The smallest dense network that is as accurate as a given model."""

import warnings
from dataclasses import dataclass
from typing import Any

import scipy.sparse

from cofire.energy.joules import Energy
from cofire.energy.meter import measure

WIDTHS = (4, 8, 16, 32, 64, 128, 256, 512)


@dataclass(frozen=True)
class DenseNetwork:
    """A dense network of scikit-learn, what it scores, and what it took to train."""

    model: Any
    sizes: tuple[int, ...]
    score: float
    wanted_score: float
    """The score of the model that it was to equal."""
    training: Energy
    """Of this network alone, not of those that were tried before it."""
    search: Energy
    """Of all that were trained to find it."""

    @property
    def connections(self) -> int:
        """Connections, all there can be; biases are not counted."""
        pairs = zip(self.sizes[:-1], self.sizes[1:], strict=True)
        return sum(n_in * n_out for n_in, n_out in pairs)

    def to_dict(self) -> dict[str, Any]:
        """All but the model as plain values, for JSON."""
        return {
            "sizes": list(self.sizes),
            "connections": self.connections,
            "score": self.score,
            "wanted_score": self.wanted_score,
            "training": self.training.to_dict(),
            "search": self.search.to_dict(),
        }

    def __str__(self) -> str:
        sizes = "-".join(map(str, self.sizes))
        return (
            f"dense network of the same accuracy: {sizes}, "
            f"{self.connections:,} connections, score {self.score:.3f} (this model "
            f"{self.wanted_score:.3f})\n  its training: {self.training}"
        )


def smallest_dense(
    model: Any,
    X: Any,
    y: Any,
    X_val: Any,
    y_val: Any,
    *,
    widths: tuple[int, ...] = WIDTHS,
    n_layers: int = 2,
    random_state: int = 0,
    **settings: Any,
) -> DenseNetwork | None:
    """Find the narrowest dense network that scores what the fitted `model` scores.

    Networks of scikit-learn (`MLPClassifier`, `MLPRegressor`) with `n_layers` hidden
    layers are trained on X and y, narrow ones first, until one reaches the score of
    `model` on X_val and y_val; None if none does. They get standardised features, so
    X must be numbers without gaps. settings: for the network, such as `max_iter`.

    >>> from sklearn.datasets import load_iris
    >>> from cofire import SparseMLPClassifier, energy
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SparseMLPClassifier((20,), max_iter=5, random_state=0)
    >>> model = model.fit(X[::2], y[::2])
    >>> dense = energy.smallest_dense(model, X[::2], y[::2], X[1::2], y[1::2])
    >>> dense.score >= dense.wanted_score == model.score(X[1::2], y[1::2])
    True
    """
    from sklearn.base import is_regressor
    from sklearn.exceptions import ConvergenceWarning

    wanted, search = float(model.score(X_val, y_val)), None
    for width in widths:
        shape = {
            "hidden_layer_sizes": (width,) * n_layers,
            "random_state": random_state,
        }
        dense = _network(
            is_regressor(model), scipy.sparse.issparse(X), shape | settings
        )
        with measure() as spent, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            dense.fit(X, y)
        search = spent.energy if search is None else search + spent.energy
        score = float(dense.score(X_val, y_val))
        if score >= wanted:
            sizes = _sizes(dense)
            return DenseNetwork(dense, sizes, score, wanted, spent.energy, search)
    return None


def _network(regression: bool, sparse: bool, settings: dict[str, Any]) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    last: Any = MLPClassifier(**settings)
    if regression:
        last = TransformedTargetRegressor(
            MLPRegressor(**settings), transformer=StandardScaler()
        )
    return make_pipeline(StandardScaler(with_mean=not sparse), last)


def _sizes(dense: Any) -> tuple[int, ...]:
    last = dense[-1]
    coefs = getattr(last, "regressor_", last).coefs_
    return (coefs[0].shape[0], *(weights.shape[1] for weights in coefs))
