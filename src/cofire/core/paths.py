"""How strongly the inputs of a network reach its outputs, along all paths."""

from typing import Any

import numpy as np

from cofire.core.network import SparseNetwork


def path_strengths(network: SparseNetwork, first: Any = None) -> np.ndarray:
    """Return the strength of all paths from each input to each output.

    The strength of a path is the product of its squared weights; the result, an array
    (n_outputs, n_inputs) of float64, has the sums over all paths. If inputs and
    neurons were independent, had variance 1 and were never cut off by an activation, it
    would be the variance that each input gives to each output. Softmax sees only the
    differences of its outputs: there, the mean over the outputs is first taken from the
    weights of the last layer.

    One walk backward per output, over the connections that exist: no array of a layer's
    inputs by its outputs is made. first: a sparse array (n_neurons, n_inputs) to take
    in place of the squared weights of the first layer, centred if it is the last.
    """
    return _walk(network, first, squared=True)


def path_signs(network: SparseNetwork, first: Any = None) -> np.ndarray:
    """Return the sum over all paths of the product of their weights.

    An array (n_outputs, n_inputs). Its sign says whether an input raises an output or
    lowers it where all neurons are active; softmax as in `path_strengths`. first: what
    to take in place of the weights of the first layer, centred if it is the last.
    """
    return _walk(network, first, squared=False)


def _walk(network: SparseNetwork, first: Any, *, squared: bool) -> np.ndarray:
    if first is not None and len(network.layers) == 1:
        return np.asarray(first.toarray())
    layers = [layer.to_scipy().astype(np.float64) for layer in network.layers]
    last = layers[-1]
    mean = last.sum(axis=0) / last.shape[0] if network.output == "softmax" else 0.0
    factors = [layer.power(2) if squared else layer for layer in layers[:-1]]
    if first is not None:
        factors[0] = first
    back = [layer.T.tocsr() for layer in factors]
    found = np.empty((last.shape[0], network.layers[0].n_in))
    for output in range(last.shape[0]):
        weights = last[[output], :].toarray().ravel() - mean
        reached = weights**2 if squared else weights
        for layer in reversed(back):
            reached = layer @ reached
        found[output] = reached
    return found
