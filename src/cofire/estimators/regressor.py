"""SparseMLPRegressor: takes the place of scikit-learn's MLPRegressor."""

from typing import Any, Self, cast

import numpy as np
from sklearn.base import RegressorMixin

from cofire.engine.floats import standard_floats
from cofire.estimators.base import BaseSparseMLP
from cofire.estimators.declaration import with_parameters
from cofire.estimators.sklearn_callbacks import with_callbacks
from cofire.estimators.streaming import is_stream
from cofire.estimators.targets import NumberTargets


@with_parameters
class SparseMLPRegressor(RegressorMixin, BaseSparseMLP):
    """A regressor whose network is sparse from the first step to the last.

    Takes the place of `sklearn.neural_network.MLPRegressor`: squared error, one or
    several outputs. X is taken as it is: features are standardised inside, missing
    values and the categories of a DataFrame are understood. The targets are
    standardised too: the network works in units of `target_scale_` around
    `target_mean_`, and so do `loss_` and `history_`. What is left at None follows from
    the number of rows (docs/schedule.md).

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    target_mean_, target_scale_ : of each output, in units of y
    n_outputs_ : number of outputs
    networks_, network_, coefs_, intercepts_, density_, n_connections_,
        chosen_parameters_, history_, histories_, loss_, loss_curve_, n_iter_,
        validation_scores_, best_validation_score_, receipt_, resumed_after_, seed_,
        n_features_in_, feature_names_in_, feature_importances_, input_names_ : as
        those of `SparseMLPClassifier`

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(300, 20, random_state=0)
    >>> model = SparseMLPRegressor((100,), epsilon=3, random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.9
    True
    """

    _targets_kind, _stored_as = NumberTargets, "SparseMLPRegressor"

    solver: str = "adam"

    @with_callbacks
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train one epoch.

        k calls on the same rows give what `fit` with max_iter=k gives, bit for bit, if
        learning_rate, drop_schedule and alpha are given: left at None they depend
        neither on the number of epochs nor on that of rows here.
        With standardize=True the first call learns the columns of X, the others keep
        what it learnt.
        """
        return self._partial_fit(X, y, sample_weight)

    @standard_floats()
    def predict(self, X: Any) -> np.ndarray:
        """Predictions (n_samples,) or (n_samples, n_outputs), float64.

        For a `cofire.data.Stream` an iterator of these, one array per chunk.
        """
        if is_stream(X):
            return self._of_stream(self.predict, X)
        return self._targets.predictions(self._predict_outputs(X))

    @property
    def _targets(self) -> NumberTargets:
        return cast(NumberTargets, self._state.targets)

    @property
    def n_outputs_(self) -> int:
        """Number of outputs."""
        return self._targets.n_outputs

    @property
    def target_mean_(self) -> np.ndarray:
        """Mean of each output, in units of y."""
        return self._targets.mean

    @property
    def target_scale_(self) -> np.ndarray:
        """Standard deviation of each output, in units of y."""
        return self._targets.scale

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
