"""What displays ask of a fitted estimator."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cofire.estimators.base import BaseSparseMLP


def check_model(model: Any, display: str) -> BaseSparseMLP:
    """Return an estimator of ours that is fitted, or say what to pass."""
    if not isinstance(model, BaseSparseMLP):
        raise TypeError(
            f"{display}: expected a fitted SparseMLPClassifier or SparseMLPRegressor, "
            f"got {type(model).__name__}. Of a pipeline pass the last step, "
            "pipeline[-1]; of a search, best_estimator_."
        )
    _ = model.networks_  # one that is not fitted says so
    return model


def feature_names(model: Any, n: int) -> list[str]:
    """Return the names of the features, "feature 0" and so on if they have none."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or len(names) != n:
        return [f"feature {i}" for i in range(n)]
    return [str(name) for name in names]


def short_names(names: Sequence[str], longest: int = 32) -> list[str]:
    """Shorten long names in the middle, but never so that two become the same.

    >>> short_names(["age", "kilometres per litre in town"], longest=12)
    ['age', 'kilom… town']
    >>> short_names(["height of tree 1 in metres", "height of tree 2 in metres"], 12)
    ['height of t…1 in metres', 'height of t…2 in metres']
    """
    most = max(map(len, names), default=0)
    while longest < most:
        half = (longest - 1) // 2
        short = [
            name if len(name) <= longest else f"{name[:half]}…{name[-half:]}"
            for name in names
        ]
        if len(set(short)) == len(set(names)):
            return short
        longest += 2
    return list(names)


def columns_of_inputs(model: Any) -> np.ndarray:
    """For each input of the networks the feature, a column of X, that it comes from."""
    encoder = model._state.encoder
    if encoder is None:
        return np.arange(model.n_features_in_)
    return encoder.input_columns()


def per_feature(
    network: Any, columns: np.ndarray, n_features: int, *, strength: bool = False
) -> np.ndarray:
    """Return the connections of each feature, or the sum of their absolute weights."""
    layer = network.layers[0]
    weights = np.abs(layer.weights).astype(np.float64) if strength else None
    inputs = np.bincount(layer.indices, weights, minlength=layer.n_in)
    return np.bincount(columns, inputs, minlength=n_features)
