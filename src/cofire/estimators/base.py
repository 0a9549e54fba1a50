"""What classifier and regressor share: validate, translate, delegate to `train`."""

import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from copy import copy
from numbers import Integral, Real
from os import PathLike
from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, validate_data

from cofire import engine
from cofire.callbacks import Callback, EarlyStopping, ProgressDisplay
from cofire.cost import receipt
from cofire.errors import unknown_name
from cofire.estimators.sklearn_callbacks import (
    CallbackSupport,
    sklearn_bridge,
    sklearn_context,
)
from cofire.methods import METHODS, Method, make_method
from cofire.network import ACTIVATIONS, SparseNetwork
from cofire.optimizers import SGD, Adam, Optimizer
from cofire.schedules import SCHEDULES
from cofire.threads import n_threads
from cofire.topology.create import INITS, create_network
from cofire.topology.density import connections_per_layer, counts_for_density
from cofire.training import Progress, Settings, TrainingData, train

# Parameters that name one of several things: a wrong one gets a suggestion.
CHOICES = {
    "activation": ACTIVATIONS,
    "init": INITS,
    "solver": ("sgd", "adam"),
    "last_batch": ("train", "drop"),
    "learning_rate": SCHEDULES,
    "similarity": ("exact",),
}


class BaseSparseMLP(CallbackSupport, BaseEstimator, metaclass=ABCMeta):
    """Parameters, fitting and prediction; the targets are the subclasses' affair."""

    _parameter_constraints: dict[str, list[Any]] = {
        "hidden_layer_sizes": [
            "array-like",
            Interval(Integral, 1, None, closed="left"),
        ],
        "activation": [str],
        "method": [str, Method],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "density": [Interval(Real, 0, 1, closed="right"), None],
        "init": [str],
        "drop_fraction": [Interval(Real, 0, 1, closed="left")],
        "solver": [str],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "decoupled_decay": ["boolean"],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "last_batch": [str],
        "learning_rate": [str],
        "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
        "momentum": [Interval(Real, 0, 1, closed="both")],
        "nesterovs_momentum": ["boolean"],
        "beta_1": [Interval(Real, 0, 1, closed="left")],
        "beta_2": [Interval(Real, 0, 1, closed="left")],
        "adam_epsilon": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "restore_best": ["boolean"],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "similarity": [str],
        "callbacks": ["array-like"],
        "verbose": ["verbose"],
    }

    network_: SparseNetwork
    seed_: int
    n_features_in_: int

    def __init__(
        self,
        hidden_layer_sizes: Any,
        *,
        activation: str,
        method: str | Method,
        epsilon: float,
        density: float | None,
        init: str,
        drop_fraction: float,
        solver: str,
        alpha: float,
        decoupled_decay: bool,
        batch_size: int,
        last_batch: str,
        learning_rate: str,
        learning_rate_init: float,
        momentum: float,
        nesterovs_momentum: bool,
        beta_1: float,
        beta_2: float,
        adam_epsilon: float,
        max_iter: int,
        shuffle: bool,
        early_stopping: bool,
        validation_fraction: float,
        n_iter_no_change: int,
        restore_best: bool,
        warm_start: bool,
        random_state: Any,
        n_jobs: int | None,
        similarity: str,
        callbacks: Any,
        verbose: int,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.method = method
        self.epsilon = epsilon
        self.density = density
        self.init = init
        self.drop_fraction = drop_fraction
        self.solver = solver
        self.alpha = alpha
        self.decoupled_decay = decoupled_decay
        self.batch_size = batch_size
        self.last_batch = last_batch
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.momentum = momentum
        self.nesterovs_momentum = nesterovs_momentum
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.adam_epsilon = adam_epsilon
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.restore_best = restore_best
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.similarity = similarity
        self.callbacks = callbacks
        self.verbose = verbose

    # ---- what the subclasses say ----------------------------------------------------

    _output: str  # of the network: "softmax", "sigmoid" or "identity"

    @abstractmethod
    def _learn_targets(self, y: Any, classes: Any = None) -> None:
        """Take from y what predictions need: the classes, the number of outputs."""

    @abstractmethod
    def _encode_targets(self, y: Any) -> np.ndarray:
        """Turn y into what the engine takes: int32 class numbers or float32 rows."""

    @abstractmethod
    def _n_outputs(self) -> int:
        """Number of output neurons."""

    @abstractmethod
    def _score_and_loss(
        self, outputs: np.ndarray, targets: np.ndarray, weight: np.ndarray | None
    ) -> tuple[float, float]:
        """Score (accuracy or R^2) and mean loss of predictions."""

    def _learn_scale(self, y: Any, weight: np.ndarray | None) -> None:
        """Take the scale of numeric targets; classes have none."""

    def _class_weights(self, y: Any, weight: np.ndarray | None) -> np.ndarray | None:
        return weight

    def _strata(self, targets: np.ndarray) -> np.ndarray | None:
        """Groups that a validation split should keep in proportion."""
        return None

    # ---- fitting --------------------------------------------------------------------

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        *,
        go_on: bool,
        n_epochs: int,
        classes: Any = None,
    ) -> Self:
        before = self.__dict__.copy()
        watchers: list[Callback] = []  # those that were told of the beginning
        try:
            self._check_parameters()
            X, y = self._validate(X, y, reset=not go_on)
            if go_on:
                self._check_classes_unchanged(classes)
            else:
                self._learn_targets(y, classes)
            weight = self._weights(X, y, sample_weight)
            if not go_on:
                self._learn_scale(y, weight)
            targets = self._encode_targets(y)
            row_ids = _existing_rows(len(targets), weight)
            progress = self._resume() if go_on else self._start()
            validate, row_ids = self._validation(
                X, targets, weight, row_ids, X_val, y_val, sample_weight_val
            )
            self._check_there_is_a_batch(len(row_ids))
            data = TrainingData(engine.Rows(X), targets, weight, row_ids, validate)
            settings = self._settings()
            for watcher in self._watchers(X, y):
                watcher.on_train_begin(self, progress, n_epochs)
                watchers.append(watcher)
        except BaseException:
            # A refused argument leaves the estimator as it was.
            self.__dict__ = before | sklearn_context(self)
            for watcher in watchers:
                watcher.on_train_end(progress)
            raise
        try:
            train(progress, data, settings, watchers, n_epochs=n_epochs)
            if progress.best_network is not None and settings.restore_best:
                progress.network = progress.best_network
                progress.optimizer.start(progress.network)
        finally:
            # Also after an interrupt or a divergence: what was trained can be used.
            self._finish(progress, settings)
            for watcher in watchers:
                watcher.on_train_end(progress)
        return self

    def _check_parameters(self) -> None:
        self._validate_params()
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise unknown_name(name, getattr(self, name), known)
        method = make_method(self.method)
        if method.full and self.density is not None and self.density < 1:
            raise ValueError(
                f"density={self.density} and method={self.method!r}: this method has "
                f"every connection; leave density out or choose among "
                f"{', '.join(sorted(set(METHODS) - {'dense'}))}."
            )
        for callback in self.callbacks:
            if not isinstance(callback, Callback):
                raise TypeError(
                    "callbacks: expected cofire.callbacks.Callback objects, got "
                    f"{type(callback).__name__}. scikit-learn's go to set_callbacks."
                )
        self._hidden_sizes()

    def _refuse_validation_in_partial_fit(self) -> None:
        if self.early_stopping:
            raise ValueError(
                "early_stopping=True does not go with partial_fit: one epoch has "
                "nothing to stop. Use fit, or score the model between the calls."
            )
        if "validation" in make_method(self.method).needs:
            raise ValueError(
                f"method={self.method!r} needs validation data and does not go with "
                "partial_fit; use fit."
            )

    def _hidden_sizes(self) -> list[int]:
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes))
        whole = sizes.dtype.kind in "iu" or sizes.size == 0
        if sizes.ndim != 1 or not whole or (sizes < 1).any():
            raise ValueError(
                "hidden_layer_sizes must be whole numbers >= 1, one per hidden layer, "
                f"got {self.hidden_layer_sizes!r}."
            )
        return [int(n) for n in sizes]

    def _validate(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        X, y = validate_data(
            self,
            X,
            y,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float32, np.uint8],
            order="C",
            multi_output=True,
            y_numeric=self._output_is_numeric,
        )
        return X, y

    _output_is_numeric = False

    def _weights(self, X: Any, y: Any, sample_weight: Any) -> np.ndarray | None:
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight, X, dtype=np.float32, ensure_non_negative=True
            )
        weight = self._class_weights(y, weight)
        return None if weight is None else weight.astype(np.float32)

    def _check_there_is_a_batch(self, n_rows: int) -> None:
        if self.last_batch == "drop" and n_rows < self.batch_size:
            raise ValueError(
                f"last_batch='drop' leaves nothing to train on: batch_size="
                f"{self.batch_size}, and there are {n_rows} rows."
            )

    def _check_classes_unchanged(self, classes: Any) -> None:
        """Nothing to say for a regressor."""

    def _start(self) -> Progress:
        self.seed_ = int(check_random_state(self.random_state).randint(2**31))
        sizes = [self.n_features_in_, *self._hidden_sizes(), self._n_outputs()]
        network = create_network(
            sizes,
            self._connection_counts(sizes),
            init=self.init,
            activation=self.activation,
            output=self._output,
            seed=self.seed_,
        )
        self._warn_if_full(network)
        optimizer = self._optimizer()
        optimizer.start(network)
        return Progress(network, optimizer, self.seed_)

    def _resume(self) -> Progress:
        progress = copy(self._progress)
        progress.optimizer = copy(progress.optimizer)
        if type(progress.optimizer) is not type(self._optimizer()):
            raise ValueError(
                f"solver={self.solver!r}: training began with another solver and "
                "cannot go on with this one."
            )
        # The network handed out by the last fit is not trained behind its owner's back,
        # and arrays from a memory-mapped pickle cannot be written to.
        progress.history = list(progress.history)
        progress.network = progress.network.copy()
        progress.optimizer.state = [state.copy() for state in progress.optimizer.state]
        for name, value in self._optimizer().settings().items():
            setattr(progress.optimizer, name, value)
        return progress

    def _connection_counts(self, sizes: list[int]) -> list[int]:
        if make_method(self.method).full:
            return [n_in * n_out for n_in, n_out in zip(sizes, sizes[1:], strict=False)]
        if self.density is not None:
            return counts_for_density(sizes, self.density)
        return connections_per_layer(sizes, self.epsilon)

    def _warn_if_full(self, network: SparseNetwork) -> None:
        full = [i + 1 for i, layer in enumerate(network.layers) if layer.is_full]
        if len(full) == len(network.layers) and not make_method(self.method).full:
            warnings.warn(
                "Every layer is full: this network is dense. Lower epsilon (or "
                "density), or use larger hidden layers.",
                stacklevel=4,
            )

    def _optimizer(self) -> Optimizer:
        shared: dict[str, Any] = {
            "learning_rate": self.learning_rate_init,
            "alpha": self.alpha,
            "decoupled_decay": self.decoupled_decay,
        }
        if self.solver == "adam":
            return Adam(
                **shared,
                beta_1=self.beta_1,
                beta_2=self.beta_2,
                epsilon=self.adam_epsilon,
            )
        return SGD(**shared, momentum=self.momentum, nesterov=self.nesterovs_momentum)

    def _settings(self) -> Settings:
        return Settings(
            method=make_method(self.method),
            drop_fraction=self.drop_fraction,
            batch_size=self.batch_size,
            drop_last=self.last_batch == "drop",
            shuffle=self.shuffle,
            learning_rate=self.learning_rate,
            learning_rate_init=self.learning_rate_init,
            max_epochs=self.max_iter,
            restore_best=self.restore_best,
            n_threads=n_threads(self.n_jobs),
        )

    def _validation(
        self,
        X: Any,
        targets: np.ndarray,
        weight: np.ndarray | None,
        row_ids: np.ndarray,
        X_val: Any,
        y_val: Any,
        sample_weight_val: Any,
    ) -> tuple[Callable[[SparseNetwork], tuple[float, float]] | None, np.ndarray]:
        """How to validate, if at all, and the rows that are left to train on."""
        if X_val is not None:
            if y_val is None:
                raise ValueError("y_val is missing: X_val came without it.")
            try:
                return self._evaluator(X_val, y_val, sample_weight_val), row_ids
            except ValueError as error:
                raise ValueError(
                    f"validation data (X_val, y_val, sample_weight_val): {error}"
                ) from error
        if y_val is not None or sample_weight_val is not None:
            raise ValueError(
                "X_val is missing: y_val or sample_weight_val came without it."
            )
        needed = "validation" in make_method(self.method).needs
        if not (self.early_stopping or needed):
            return None, row_ids
        strata = self._strata(targets)
        n_rows = len(row_ids)
        try:
            row_ids, held_out = train_test_split(
                row_ids,
                test_size=self.validation_fraction,
                random_state=self.seed_,
                stratify=None if strata is None else strata[row_ids],
            )
            held_out_weight = None if weight is None else weight[held_out]
            validate = self._scorer(X[held_out], targets[held_out], held_out_weight)
        except ValueError as error:
            raise ValueError(
                f"validation_fraction={self.validation_fraction} of {n_rows} rows: "
                f"too few to hold out. {error}"
            ) from error
        return validate, np.sort(row_ids)

    def _evaluator(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> Callable[[SparseNetwork], tuple[float, float]]:
        X, y = self._validate(X, y, reset=False)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight, X, dtype=np.float32, ensure_non_negative=True
            )
        return self._scorer(X, self._encode_targets(y), weight)

    def _scorer(
        self, X: Any, targets: np.ndarray, weight: np.ndarray | None
    ) -> Callable[[SparseNetwork], tuple[float, float]]:
        rows, threads = engine.Rows(X), n_threads(self.n_jobs)

        def score(network: SparseNetwork) -> tuple[float, float]:
            outputs = engine.predict(network, rows, n_threads=threads)
            return self._score_and_loss(outputs, targets, weight)

        return score

    def _watchers(self, X: Any, y: Any) -> list[Callback]:
        watchers = [*self.callbacks, *sklearn_bridge(self, X, y)]
        if self.early_stopping:
            watchers.append(EarlyStopping(self.n_iter_no_change))
        if self.verbose:
            watchers.append(ProgressDisplay())
        return watchers

    def _finish(self, progress: Progress, settings: Settings) -> None:
        self._progress = progress
        self.network_ = progress.network
        self.history_ = progress.history
        self.n_iter_ = progress.epoch
        self.loss_curve_ = [record["loss"] for record in progress.history]
        self.loss_ = self.loss_curve_[-1] if self.loss_curve_ else None
        scores = [record["validation_score"] for record in progress.history]
        validated = progress.best_score is not None
        self.validation_scores_ = scores if validated else None
        self.best_validation_score_ = progress.best_score
        self.receipt_ = receipt(
            progress.network,
            progress.history,
            simd_level=engine.simd_level(),
            threads=settings.n_threads,
        )

    # ---- after fitting --------------------------------------------------------------

    def _predict_outputs(self, X: Any) -> np.ndarray:
        X = validate_data(
            self,
            X,
            reset=False,
            accept_sparse="csr",
            dtype=[np.float32, np.uint8],
            order="C",
        )
        threads = n_threads(self.n_jobs)
        return engine.predict(self.network_, engine.Rows(X), n_threads=threads)

    @property
    def coefs_(self) -> list[scipy.sparse.csc_array]:
        """Weights of each layer: SciPy sparse arrays of shape (n_in, n_out)."""
        return [layer.to_scipy().T for layer in self.network_.layers]

    @property
    def intercepts_(self) -> list[np.ndarray]:
        """Biases of each layer."""
        return [layer.bias for layer in self.network_.layers]

    @property
    def density_(self) -> float:
        """Share of all possible connections that exist."""
        return self.network_.density

    @property
    def n_connections_(self) -> int:
        """Number of connections in all layers; biases are not counted."""
        return self.network_.n_connections

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file; `cofire.load` reads it back."""
        from cofire.saving import save

        save(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _existing_rows(n: int, weight: np.ndarray | None) -> np.ndarray:
    """Row numbers of weight > 0: a row of weight 0 does not exist."""
    if weight is None:
        return np.arange(n)
    row_ids = np.flatnonzero(weight > 0)
    if len(row_ids) == 0:
        raise ValueError("sample_weight: no row has a weight above 0.")
    return row_ids
