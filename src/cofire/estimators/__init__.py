"""The scikit-learn face: validate, translate, delegate."""

from cofire.estimators.classifier import SparseMLPClassifier
from cofire.estimators.regressor import SparseMLPRegressor

__all__ = ["SparseMLPClassifier", "SparseMLPRegressor"]
