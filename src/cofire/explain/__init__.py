"""Which inputs matter: importances from the weights, and features that beat chance."""

from cofire.estimators.importances import (
    class_importances,
    directions,
    feature_importances,
    network_importances,
)
from cofire.explain.contributions import contributions
from cofire.explain.selector import SparseFeatureSelector

__all__ = [
    "SparseFeatureSelector",
    "class_importances",
    "contributions",
    "directions",
    "feature_importances",
    "network_importances",
]
