"""What each feature contributes to right predictions, on rows that did not train."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from cofire.core.network import SparseNetwork
from cofire.estimators.importances import by_feature, input_sizes
from cofire.estimators.inputs import ScaledBytes
from cofire.estimators.raw import check_rows

_VALUES = 2**22
"""Gradients that are held at a time."""
_LEAKY_SLOPE = 0.01


class Contributions(NamedTuple):
    """Per feature of X, mean over the rows and networks."""

    mean: np.ndarray
    """Contribution to the right outputs: above 0 if the feature helped."""
    gradient: np.ndarray
    """Root of the mean squared gradient: how much the outputs depend on the feature.

    With respect to inputs of variance 1.
    """
    positive: np.ndarray
    """Fraction of the networks in which the contribution is above 0."""


def contributions(model: Any, X: Any, y: Any) -> Contributions:
    """Return what the features contribute to the right outputs for rows X.

    A row's contribution of an input x is x times the derivative, with respect to x, of
    the network's outputs, weighted by the row's centred targets (1 for its class and 0
    for the others, minus the mean over the rows; or the standardised number). It is
    what the input added to the right output and took from the wrong ones. On rows that
    did not train, a feature without information has a mean near or below 0, however
    many connections it has; on rows that did, it may have learnt them by heart.

    >>> from sklearn.datasets import load_iris
    >>> from cofire import SparseMLPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SparseMLPClassifier(random_state=0).fit(X[::2], y[::2])
    >>> found = contributions(model, X[1::2], y[1::2])
    >>> bool(found.mean[2] > found.mean[1])  # petal length, sepal width
    True
    """
    targets = _centred(model, y)
    rows = check_rows(model, X, model._state.encoder)
    n_rows, n_inputs = rows.shape
    step = max(1, _VALUES // n_inputs)
    means, squares = [], []
    for network in model.networks_:
        layers = [layer.to_scipy().astype(np.float64) for layer in network.layers]
        mean, square = np.zeros(n_inputs), np.zeros(n_inputs)
        for start in range(0, n_rows, step):
            part = slice(start, start + step)
            inputs = _dense(rows, part)
            gradient = _gradient(network, layers, inputs, targets[part])
            mean += (inputs * gradient).sum(axis=0)
            square += (gradient**2).sum(axis=0)
        means.append(by_feature(model, mean / n_rows))
        squares.append(by_feature(model, input_sizes(model) ** 2 * square / n_rows))
    return Contributions(
        np.mean(means, axis=0),
        np.sqrt(np.mean(squares, axis=0)),
        np.mean(np.array(means) > 0, axis=0),
    )


def _centred(model: Any, y: Any) -> np.ndarray:
    """Targets per output, minus their mean; a class that fit did not see has zeros."""
    targets = model._state.targets
    if targets.output == "softmax":
        own = np.asarray(y)[:, None] == targets.classes
        encoded = own.astype(np.float64)
    else:
        encoded = np.asarray(targets.encode(np.asarray(y)), dtype=np.float64)
    return encoded - encoded.mean(axis=0)


def _dense(rows: Any, part: slice) -> np.ndarray:
    """Some of the rows, as the networks see them."""
    if isinstance(rows, ScaledBytes):
        return rows.bytes[part] * rows.scale.astype(np.float64) + rows.offset
    own = rows[part]
    return (own.toarray() if scipy.sparse.issparse(own) else own).astype(np.float64)


def _gradient(
    network: SparseNetwork,
    layers: list[Any],
    inputs: np.ndarray,
    directions: np.ndarray,
) -> np.ndarray:
    """Derivative of the outputs before their function, in each row's direction."""
    slopes = []
    values = inputs
    for sparse, layer in zip(layers[:-1], network.layers[:-1], strict=True):
        values, slope = _activated((sparse @ values.T).T + layer.bias, network)
        slopes.append(slope)
    gradient = (layers[-1].T @ directions.T).T
    for sparse, slope in zip(reversed(layers[:-1]), reversed(slopes), strict=True):
        gradient = (sparse.T @ (gradient * slope).T).T
    return gradient


def _activated(
    values: np.ndarray, network: SparseNetwork
) -> tuple[np.ndarray, np.ndarray]:
    """Values after the activation, and its slope there."""
    if network.activation == "tanh":
        after = np.tanh(values)
        return after, 1 - after**2
    low = {"relu": 0.0, "leaky_relu": _LEAKY_SLOPE, "identity": 1.0}
    slope = np.where(values > 0, 1.0, low[network.activation])
    return values * slope, slope
