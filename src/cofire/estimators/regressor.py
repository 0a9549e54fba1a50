"""SparseMLPRegressor: takes the place of scikit-learn's MLPRegressor."""

from collections.abc import Mapping
from os import PathLike
from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from cofire.engine.augmentation import Augmentation
from cofire.engine.floats import standard_floats
from cofire.estimators.base import BaseSparseMLP
from cofire.estimators.inputs import naming
from cofire.estimators.sklearn_callbacks import with_callbacks
from cofire.methods import Method
from cofire.search import Similarity


class SparseMLPRegressor(RegressorMixin, BaseSparseMLP):
    """A regressor whose network is sparse from the first step to the last.

    Takes the place of `sklearn.neural_network.MLPRegressor`: squared error, one or
    several outputs. Scale the inputs (`StandardScaler`); the targets are standardised
    inside, so that the learning rate does not depend on their unit: the network works
    in units of `target_scale_` around `target_mean_`, and so do `loss_` and `history_`.
    Parameters and attributes are those of `SparseMLPClassifier`, but for its classes;
    the default solver is "adam" with a rate of 0.001, which does not diverge where a
    user forgot to scale (docs/decisions/0004).

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(300, 20, random_state=0)
    >>> model = SparseMLPRegressor((100,), epsilon=3, random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.9
    True
    """

    _output = "identity"
    _output_is_numeric = True

    def __init__(
        self,
        hidden_layer_sizes: Any = (1000, 1000, 1000),
        *,
        activation: str = "relu",
        method: str | Method = "ctre_sim",
        method_options: dict[str, Any] | None = None,
        epsilon: float = 5.0,
        density: float | None = None,
        with_replacement: bool = False,
        init: str = "normal",
        drop_fraction: float = 0.2,
        drop_schedule: str = "constant",
        solver: str = "adam",
        alpha: float = 1e-4,
        decoupled_decay: bool = False,
        batch_size: int = 100,
        last_batch: str = "train",
        learning_rate: str | Mapping[int, float] = "constant",
        learning_rate_init: float = 0.001,
        momentum: float = 0.9,
        nesterovs_momentum: bool = True,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        adam_epsilon: float = 1e-8,
        max_iter: int = 200,
        shuffle: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 40,
        restore_best: bool = True,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        similarity: str | Similarity = "screened",
        augmentation: Augmentation | None = None,
        input_dropout: float = 0.0,
        checkpoint: str | PathLike[str] | None = None,
        callbacks: Any = (),
        verbose: int = 0,
    ) -> None:
        super().__init__(
            hidden_layer_sizes,
            activation=activation,
            method=method,
            method_options=method_options,
            epsilon=epsilon,
            density=density,
            with_replacement=with_replacement,
            init=init,
            drop_fraction=drop_fraction,
            drop_schedule=drop_schedule,
            solver=solver,
            alpha=alpha,
            decoupled_decay=decoupled_decay,
            batch_size=batch_size,
            last_batch=last_batch,
            learning_rate=learning_rate,
            learning_rate_init=learning_rate_init,
            momentum=momentum,
            nesterovs_momentum=nesterovs_momentum,
            beta_1=beta_1,
            beta_2=beta_2,
            adam_epsilon=adam_epsilon,
            max_iter=max_iter,
            shuffle=shuffle,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            restore_best=restore_best,
            warm_start=warm_start,
            random_state=random_state,
            n_jobs=n_jobs,
            similarity=similarity,
            augmentation=augmentation,
            input_dropout=input_dropout,
            checkpoint=checkpoint,
            callbacks=callbacks,
            verbose=verbose,
        )

    @with_callbacks
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train one epoch; k calls equal `fit` with max_iter=k, bit for bit."""
        self._refuse_validation_in_partial_fit()
        with standard_floats():
            return self._fit(X, y, sample_weight, partial=True)

    @standard_floats()
    def predict(self, X: Any) -> np.ndarray:
        """Predictions (n_samples,) or (n_samples, n_outputs), float64."""
        check_is_fitted(self)
        outputs = self._in_units_of_y(self._predict_outputs(X))
        return outputs.ravel() if self._one_column else outputs

    # ---- what the base asks ----------------------------------------------------------

    def _validate(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        X, y = super()._validate(X, y, reset=reset)
        if scipy.sparse.issparse(y):
            raise TypeError("y is sparse: targets of a regressor are a dense array.")
        with naming("y"):
            y = np.asarray(y, dtype=np.float64)
        if np.isnan(y).any():
            raise ValueError("Input y contains NaN.")
        if np.abs(y).max() > np.finfo(np.float32).max:
            raise ValueError("Input y contains a value too large for dtype('float32').")
        return X, y

    def _learn_targets(self, y: Any, classes: Any = None) -> None:
        self._one_column = y.ndim == 1 or y.shape[1] == 1
        self.n_outputs_ = 1 if self._one_column else y.shape[1]

    def _encode_targets(self, y: Any) -> np.ndarray:
        if self._one_column:
            y = column_or_1d(y, warn=True).reshape(-1, 1)
        if y.ndim != 2 or y.shape[1] != self.n_outputs_:
            raise ValueError(
                f"y: expected {self.n_outputs_} columns, got shape {y.shape}."
            )
        return ((y - self.target_mean_) / self.target_scale_).astype(np.float32)

    def _learn_scale(self, y: Any, weight: np.ndarray | None) -> None:
        y = y.reshape(len(y), -1)
        self.target_mean_ = np.average(y, axis=0, weights=weight)
        deviation = y - self.target_mean_
        # The square of 1e-200 is 0: so squares are taken of numbers near 1, which a
        # power of 2 makes of any without rounding.
        power = np.frexp(np.abs(deviation).max(axis=0))[1]
        squares = np.ldexp(deviation, -power) ** 2
        spread = np.ldexp(np.sqrt(np.average(squares, axis=0, weights=weight)), power)
        # A constant column, or one that differs by rounding alone, keeps its unit.
        constant = spread <= 1e-7 * np.abs(self.target_mean_)
        self.target_scale_ = np.where(constant, 1.0, spread)

    def _in_units_of_y(self, outputs: np.ndarray) -> np.ndarray:
        return outputs * self.target_scale_ + self.target_mean_

    def _n_outputs(self) -> int:
        return self.n_outputs_

    def _score_and_loss(
        self, outputs: np.ndarray, targets: np.ndarray, weight: np.ndarray | None
    ) -> tuple[float, float]:
        # In float64: squares of large outputs, and sums of large weights, fit in it.
        outputs, targets = outputs.astype(np.float64), targets.astype(np.float64)
        weight = None if weight is None else weight.astype(np.float64)
        loss = np.average(0.5 * ((outputs - targets) ** 2).sum(axis=1), weights=weight)
        return float(r2_score(targets, outputs, sample_weight=weight)), float(loss)

    def _check_scorable(self, targets: np.ndarray) -> None:
        if len(targets) < 2:
            raise ValueError("R^2 needs at least two rows.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
