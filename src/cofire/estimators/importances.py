"""Importances of the features of X, from the weights of the networks alone."""

from typing import Any

import numpy as np

from cofire.core.network import SparseNetwork
from cofire.core.paths import path_signs, path_strengths
from cofire.estimators.column_parts import columns_as_one


def feature_importances(model: Any) -> np.ndarray:
    """Return how strongly each feature of X reaches the outputs; they add up to 1.

    Of each network the root of the summed strengths of all paths (`path_strengths`)
    from the feature to all outputs, as a fraction of the sum over the features; then
    the mean over the networks. The inputs of one feature (the levels of a category,
    whether it is missing) are added up before the root; the pieces of a number are part
    of it (`columns_as_one`). Zeros if nothing is connected.
    """
    return _shares(network_importances(model).sum(axis=0))


def network_importances(model: Any) -> np.ndarray:
    """Return the same for each network alone: (n_networks, n_features)."""
    strengths = [input_strengths(model, own).sum(axis=0) for own in model.networks_]
    return _shares(np.sqrt(by_feature(model, np.array(strengths))))


def class_importances(model: Any) -> np.ndarray:
    """Return the same for each output alone: (n_outputs, n_features), rows sum to 1.

    Outputs are the classes of a classifier, or the columns of y of a regressor.
    """
    total = np.zeros((model.network_.sizes[-1], model.n_features_in_))
    for network in model.networks_:
        total += _shares(np.sqrt(by_feature(model, input_strengths(model, network))))
    return _shares(total)


def directions(model: Any) -> np.ndarray:
    """Return whether inputs raise an output (up to 1) or lower it (down to -1).

    (n_outputs, n_inputs), for the inputs of the networks (`model.input_names_`): the
    sum over all paths of the product of their weights, divided by its largest size for
    the output; mean over the networks. It holds where all neurons are active: 0 is not
    "unimportant", since what one path raises another may lower. Pieces are part of
    their column and have 0 themselves.
    """
    total = np.zeros((model.network_.sizes[-1], model.network_.sizes[0]))
    for network in model.networks_:
        effects = path_signs(network, columns_as_one(model, network, squared=False))
        effects = np.where(_always_zero(model), 0.0, effects)
        largest = np.abs(effects).max(axis=1, keepdims=True)
        total += effects / np.where(largest > 0, largest, 1)
    return total / len(model.networks_)


def input_strengths(model: Any, network: SparseNetwork) -> np.ndarray:
    """Return the strengths of all paths from the inputs: (n_outputs, n_inputs).

    The pieces of a column of numbers count as part of the column. What was constant in
    training gives nothing, though it may still have connections.
    """
    strengths = path_strengths(network, columns_as_one(model, network, squared=True))
    return np.where(_always_zero(model), 0.0, strengths)


def by_feature(model: Any, values: np.ndarray) -> np.ndarray:
    """Add up values of the networks' inputs, the last axis, by feature of X."""
    encoder = model._state.encoder
    if encoder is None:
        return values
    sums = np.zeros((model.n_features_in_, *values.shape[:-1]))
    np.add.at(sums, encoder.input_columns(), np.moveaxis(values, -1, 0))
    return np.moveaxis(sums, 0, -1)


def input_sizes(model: Any) -> np.ndarray:
    """Return how far each input of the networks spreads: 1, pieces of numbers less."""
    encoder = model._state.encoder
    return np.ones(1) if encoder is None else encoder.input_sizes()


def _always_zero(model: Any) -> Any:
    encoder = model._state.encoder
    return False if encoder is None else encoder.scale == 0


def _shares(values: np.ndarray) -> np.ndarray:
    total = values.sum(axis=-1, keepdims=True)
    return values / np.where(total > 0, total, 1)
