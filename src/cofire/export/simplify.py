"""simplify: leave out of a `PlainModel` what does not change its outputs.

A sparse network has neurons that nothing reads, and neurons that read nothing, which
are constant. Without them it is smaller and computes the same numbers, but for the last
bits: a constant moves into the biases of those that read it.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse

from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.export.plain import Inputs, Kind, PlainModel, activated


def simplify(model: PlainModel) -> PlainModel:
    """Return a model of the same outputs without what they do not depend on.

    No scale of it is 0 where one divides by it, and inputs of a kind are neighbours.
    """
    of = model.inputs
    measured = np.isin(of.kind, (Kind.NUMBER, Kind.PIECE))
    always_zero = measured & (of.scale == 0)
    of = replace(of, scale=np.where(always_zero, 1.0, of.scale))  # nothing reads them
    networks = [_simplified(own, always_zero) for own in model.networks]
    first = [own.layers[0] for own in networks]
    used = _some(np.unique(np.concatenate([layer.indices for layer in first])))
    used = used[np.argsort(of.kind[used], kind="stable")]
    return replace(
        model,
        inputs=selected(of, used),
        networks=tuple(_with_first(own, used) for own in networks),
    )


def fold_bytes(model: PlainModel) -> PlainModel:
    """Let simplified networks take bytes: the first layers standardise them.

    Bytes are not bent, so that (byte - centre) / scale is a part of the weighted sum.
    """
    assert model.takes_bytes and not model.inputs.bent
    of, n = model.inputs, len(model.inputs)
    factor = 1 / of.scale
    networks = []
    for own in model.networks:
        first = own.layers[0]
        weights = first.weights * factor[first.indices]
        moved = _matrix(replace(first, weights=weights)) @ of.centre
        folded = replace(
            first,
            weights=weights.astype(np.float32),
            bias=(first.bias - moved).astype(np.float32),
        )
        networks.append(replace(own, layers=[folded, *own.layers[1:]]))
    inputs = replace(of, centre=np.zeros(n), scale=np.ones(n))
    return replace(model, inputs=inputs, networks=tuple(networks))


def selected(inputs: Inputs, used: np.ndarray) -> Inputs:
    """Return some of the inputs."""
    arrays = {
        name: values[used]
        for name, values in vars(inputs).items()
        if isinstance(values, np.ndarray)
    }
    return replace(inputs, **arrays)


def reordered(network: SparseNetwork, orders: Sequence[np.ndarray]) -> SparseNetwork:
    """Return the network with hidden neurons in another order.

    orders: per hidden layer, which neurons of it are kept, in this order.
    """
    layers, before = [], np.arange(network.sizes[0])
    for layer, order in zip(network.layers, [*orders, None], strict=True):
        order = np.arange(layer.n_out) if order is None else order
        matrix = _matrix(layer)[order][:, before]
        layers.append(_layer(matrix, layer.bias[order]))
        before = order
    return replace(network, layers=layers)


def _simplified(network: SparseNetwork, always_zero: np.ndarray) -> SparseNetwork:
    """Leave out connections from constants, then neurons that nothing reads."""
    constant = np.where(always_zero, 0.0, np.nan)  # NaN: it is not
    layers = []
    for layer in network.layers:
        matrix, known = _matrix(layer), ~np.isnan(constant)
        moved = matrix[:, known] @ constant[known]
        bias = (layer.bias + moved).astype(np.float32)
        matrix = matrix @ scipy.sparse.diags_array((~known).astype(np.float64))
        layers.append(_layer(matrix, bias))
        alone = np.diff(layers[-1].indptr) == 0
        value = activated(network.activation, bias.astype(np.float64))
        constant = np.where(alone, value, np.nan)
    kept, read = [], None
    for layer in layers[::-1]:
        read = np.arange(layer.n_out) if read is None else _some(read)
        kept.append(read)
        read = np.unique(_layer(_matrix(layer)[read], layer.bias[read]).indices)
    return reordered(replace(network, layers=layers), kept[:0:-1])


def _some(indices: np.ndarray) -> np.ndarray:
    """Keep one at least: there are no empty layers."""
    return indices if len(indices) else np.zeros(1, np.int64)


def _with_first(network: SparseNetwork, used: np.ndarray) -> SparseNetwork:
    first = network.layers[0]
    own = _layer(_matrix(first)[:, used], first.bias)
    return replace(network, layers=[own, *network.layers[1:]])


def _matrix(layer: SparseLayer) -> scipy.sparse.csr_array:
    return layer.to_scipy().astype(np.float64)


def _layer(matrix: scipy.sparse.csr_array, bias: np.ndarray) -> SparseLayer:
    matrix = scipy.sparse.csr_array(matrix)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return SparseLayer(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data.astype(np.float32),
        np.ascontiguousarray(bias, dtype=np.float32),
        matrix.shape[1],
    )
