"""SparseMLPClassifier: takes the place of scikit-learn's MLPClassifier."""

from numbers import Real
from typing import Any, Self, cast

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions

from cofire.engine.floats import standard_floats
from cofire.estimators.base import BaseSparseMLP
from cofire.estimators.declaration import with_parameters
from cofire.estimators.log_outputs import log_outputs_of
from cofire.estimators.parameters import BATCHES, REGULARISATION
from cofire.estimators.sklearn_callbacks import with_callbacks
from cofire.estimators.streaming import is_stream
from cofire.estimators.targets import ClassTargets
from cofire.methods import Method


@with_parameters
class SparseMLPClassifier(ClassifierMixin, BaseSparseMLP):
    """A classifier whose network is sparse from the first step to the last.

    Takes the place of `sklearn.neural_network.MLPClassifier`: binary, multi-class and
    multi-label targets, dense or sparse X. X is taken as it is: features are
    standardised inside, missing values and the categories of a DataFrame are
    understood; a uint8 X is not copied, a sparse X is never made dense. What is left at
    None follows from the number of rows (docs/schedule.md).

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : labels (for multi-label targets the column numbers)
    networks_ : the networks whose outputs are averaged
    network_ : the first: layers with `indptr`, `indices`, `weights`, `bias`
    coefs_, intercepts_ : the same as SciPy sparse arrays (n_in, n_out), and biases
    density_, n_connections_ : how sparse all of them are
    chosen_parameters_ : what the fit used for the parameters that may be None
    history_ : one dict per epoch of the first network: its losses and seconds, and per
        layer how many connections were dropped and grown (`replaced`), the fraction
        drawn at random, how many there are, the active units; epochs since the last
        better validation score, whether a phase was switched. loss_curve_, loss_,
        n_iter_ come from it. histories_ has those of all networks.
    validation_scores_, best_validation_score_ : None without validation data
    receipt_ : what the fit cost, beside its dense twin
    resumed_after_ : the epoch after which the fit continued from a checkpoint, else 0
    seed_, n_features_in_, feature_names_in_
    feature_importances_ : how strongly each feature reaches the outputs
    input_names_ : of the network's inputs, which may be more than the features

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> X, y = load_digits(return_X_y=True)
    >>> X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    >>> clf = SparseMLPClassifier(random_state=0).fit(X, y)
    >>> clf.score(X_test, y_test) > 0.97
    True
    >>> len(clf.networks_), clf.density_ < 0.1, clf.chosen_parameters_["epsilon"]
    (4, True, 3.0)
    """

    _targets_kind, _stored_as = ClassTargets, "SparseMLPClassifier"

    class_weight: Any = BATCHES(
        'dict, "balanced" or None',
        [StrOptions({"balanced"}), dict, list, None],
        """Weights of the rows by their class; "balanced" gives all classes the same
        total weight. For multi-label targets a list of dicts.""",
        default=None,
    )
    label_smoothing: float = REGULARISATION(
        "float",
        [Interval(Real, 0, 1, closed="left")],
        """Train towards targets that are less certain: this fraction of each is spread
        evenly over all classes (a multi-label target is moved towards 1/2). `loss_` and
        `loss_curve_` are the losses of these targets, validation losses are not.""",
        default=0.05,
    )

    @with_callbacks
    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None
    ) -> Self:
        """Train one epoch; the first call needs `classes` if its y lacks some.

        k calls on the same rows give what `fit` with max_iter=k gives, bit for bit, if
        learning_rate and drop_schedule are given: left at None they stay constant here.
        With standardize=True the first call learns the columns of X, the others keep
        what it learnt.
        """
        return self._partial_fit(X, y, sample_weight, classes)

    def predict(self, X: Any) -> np.ndarray:
        """Labels for X: (n_samples,), or 0/1 columns for multi-label targets.

        For a `cofire.data.Stream` an iterator of these, one array per chunk.
        """
        if is_stream(X):
            return self._of_stream(self.predict, X)
        return self._state.targets.predictions(self.predict_proba(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (n_samples, n_classes) float32; per label for multi-label.

        For a `cofire.data.Stream` an iterator of these, one array per chunk.
        """
        if is_stream(X):
            return self._of_stream(self.predict_proba, X)
        return self._predict_outputs(X)

    @standard_floats()
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of `predict_proba`: float32, of the same shape.

        They stay exact where a probability is too small for float32: there, they come
        from the network's outputs before softmax or sigmoid.
        """
        return self._of_networks(log_outputs_of, X)

    @property
    def classes_(self) -> np.ndarray:
        """The labels, ascending; for multi-label targets the column numbers."""
        return cast(ClassTargets, self._state.targets).classes

    def _refuse_partial_fit(self, method: Method) -> None:
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all of y at once and cannot be used "
                "with partial_fit; give the weights as a dict."
            )
        super()._refuse_partial_fit(method)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
