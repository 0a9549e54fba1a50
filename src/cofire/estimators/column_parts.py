"""What a column of numbers gives to the neurons of the first layer, pieces and all.

A column and its pieces (pieces.py) rise together: their weights do not count one by
one. What they give to a neuron is a function of the column, a line with a bend at each
edge of a piece. How strong it is, is its variance, as a multiple of the variance of the
column itself; where it leads, is its slope. A column without pieces has the squared
weight and the weight.
"""

from typing import Any

import numpy as np
import scipy.sparse

from cofire.core.network import SparseNetwork


def columns_as_one(model: Any, network: SparseNetwork, *, squared: bool) -> Any:
    """Return the first layer's weights, or squared ones, with columns in one piece.

    A sparse array (n_neurons, n_inputs): at a column that has pieces the slope, or the
    variance, of what it gives to each neuron; nothing at its pieces. None where there
    are no pieces.
    """
    encoder = model._state.encoder
    if encoder is None or len(encoder.pieces) == 0:
        return None
    weights = network.layers[0].to_scipy().astype(np.float64).tocsc()
    if len(network.layers) == 1 and network.output == "softmax":
        weights = weights.toarray()  # few outputs, and centred they are dense
        weights = scipy.sparse.csc_array(weights - weights.mean(axis=0))
    first = encoder.n_inputs - len(encoder.pieces)
    merged = (weights.power(2) if squared else weights.copy()).tolil()
    merged[:, first:] = 0
    for column in np.unique(encoder.pieces.column):
        own = encoder.pieces.of(column)
        number = int(encoder.number_input(column))
        inputs = [number, *range(first + own.start, first + own.stop)]
        values = encoder.at_edges(int(column))  # (n_edges, n_inputs)
        given = np.asarray(weights[:, inputs] @ values.T)
        line = values[:, 0]
        slope = _covariance(given, line) / _covariance(line, line)
        strength = _covariance(given, given) / _covariance(line, line)
        merged[:, [number]] = (strength if squared else slope)[:, None]
    return scipy.sparse.csr_array(merged)


def _covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Covariance of lines between edges, given their values there, on the last axis.

    As many rows are between any two edges, evenly.
    """
    a0, a1, b0, b1 = a[..., :-1], a[..., 1:], b[..., :-1], b[..., 1:]
    products = (2 * (a0 * b0 + a1 * b1) + a0 * b1 + a1 * b0).mean(axis=-1) / 6
    return products - (a0 + a1).mean(axis=-1) * (b0 + b1).mean(axis=-1) / 4
