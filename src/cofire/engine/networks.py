"""A network as the native engine takes it."""

from typing import Any

import cofire.engine._native as _native
from cofire.core.network import SparseNetwork
from cofire.core.optimizers import LayerState


def native_network(
    network: SparseNetwork, state: list[LayerState] | None = None
) -> Any:
    """View a network, with the moments of an optimiser if it is to be trained."""
    native = _native.Network(activation=network.activation, output=network.output)
    states = state or [LayerState([], [])] * len(network.layers)
    for layer, moments in zip(network.layers, states, strict=True):
        native.add_layer(
            n_in=layer.n_in,
            indptr=layer.indptr,
            indices=layer.indices,
            weights=layer.weights,
            bias=layer.bias,
            weight_moments=moments.weights,
            bias_moments=moments.bias,
        )
    return native
