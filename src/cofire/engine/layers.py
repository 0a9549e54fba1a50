"""A network as the native engine takes it."""

from typing import Any

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.core.optimizers import LayerState


def native_layers(
    network: SparseNetwork, state: list[LayerState] | None = None
) -> list[tuple[Any, ...]]:
    """Each layer as (n_in, indptr, indices, weights, bias), the last with moments."""

    def triple(values: np.ndarray, moments: list[np.ndarray]) -> tuple[Any, ...]:
        return (values, *moments, *[None] * (2 - len(moments)))

    def one(layer: SparseLayer, moments: LayerState) -> tuple[Any, ...]:
        weights = triple(layer.weights, moments.weights)
        bias = triple(layer.bias, moments.bias)
        return (layer.n_in, layer.indptr, layer.indices, weights, bias)

    states = state or [LayerState([], [])] * len(network.layers)
    return [one(*pair) for pair in zip(network.layers, states, strict=True)]
