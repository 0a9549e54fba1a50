"""The parameters of both estimators: what is allowed, and what follows from them."""

from collections.abc import Mapping
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval

from cofire.callbacks import Callback, Checkpoint
from cofire.core.machine import n_threads
from cofire.core.network import ACTIVATIONS
from cofire.core.optimizers import SGD, Adam, Optimizer
from cofire.engine.augmentation import Augmentation
from cofire.errors import unknown_name
from cofire.methods import METHODS, Method, make_method
from cofire.search import SIMILARITIES, Similarity, make_similarity
from cofire.topology.create import INITS
from cofire.topology.density import (
    connections_per_layer,
    counts_for_density,
    draws_per_layer,
    full_counts,
)
from cofire.training.progress import Settings
from cofire.training.schedules import DROP_SCHEDULES, SCHEDULES

# Parameters that name one of several things: a wrong one gets a suggestion.
CHOICES = {
    "activation": ACTIVATIONS,
    "init": INITS,
    "solver": ("sgd", "adam"),
    "drop_schedule": DROP_SCHEDULES,
    "last_batch": ("train", "drop"),
    "learning_rate": SCHEDULES,
    "similarity": tuple(SIMILARITIES),
}

LARGEST = float(np.finfo(np.float32).max)


class SparseMLPParameters(BaseEstimator):
    """Stores the parameters, checks them, and turns them into what training takes."""

    n_features_in_: int

    def _n_outputs(self) -> int:
        raise TypeError("the estimator says how many outputs it has")

    _parameter_constraints: dict[str, list[Any]] = {
        "hidden_layer_sizes": [
            "array-like",
            Interval(Integral, 1, None, closed="left"),
        ],
        "activation": [str],
        "method": [str, Method],
        "method_options": [dict, None],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "density": [Interval(Real, 0, 1, closed="right"), None],
        "with_replacement": ["boolean"],
        "init": [str],
        "drop_fraction": [Interval(Real, 0, 1, closed="left")],
        "drop_schedule": [str],
        "solver": [str],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "decoupled_decay": ["boolean"],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "last_batch": [str],
        "learning_rate": [str, dict],
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
        "similarity": [str, Similarity],
        "augmentation": [Augmentation, None],
        "input_dropout": [Interval(Real, 0, 1, closed="left")],
        "checkpoint": [str, PathLike, None],
        "callbacks": ["array-like"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        hidden_layer_sizes: Any,
        *,
        activation: str,
        method: str | Method,
        method_options: dict[str, Any] | None,
        epsilon: float,
        density: float | None,
        with_replacement: bool,
        init: str,
        drop_fraction: float,
        drop_schedule: str,
        solver: str,
        alpha: float,
        decoupled_decay: bool,
        batch_size: int,
        last_batch: str,
        learning_rate: str | Mapping[int, float],
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
        similarity: str | Similarity,
        augmentation: Augmentation | None,
        input_dropout: float,
        checkpoint: str | PathLike[str] | None,
        callbacks: Any,
        verbose: int,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.method = method
        self.method_options = method_options
        self.epsilon = epsilon
        self.density = density
        self.with_replacement = with_replacement
        self.init = init
        self.drop_fraction = drop_fraction
        self.drop_schedule = drop_schedule
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
        self.augmentation = augmentation
        self.input_dropout = input_dropout
        self.checkpoint = checkpoint
        self.callbacks = callbacks
        self.verbose = verbose

    def _check_parameters(self) -> None:
        self._validate_params()
        for name, known in CHOICES.items():
            value = getattr(self, name)
            if isinstance(value, str) and value not in known:
                raise unknown_name(name, value, known)
        self._check_learning_rate()
        self._check_single_precision()
        method = self._method()
        if self.with_replacement and self.density is not None:
            raise ValueError(
                f"with_replacement=True and density={self.density}: a density is "
                "exact, and drawing with replacement is not; leave one of them out."
            )
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
        self._checkpoint()
        self._hidden_sizes()

    def _checkpoint(self) -> Checkpoint | None:
        """Where and when checkpoints are written, if at all."""
        given = [c for c in self.callbacks if isinstance(c, Checkpoint)]
        if self.checkpoint is not None:
            given.append(Checkpoint(self.checkpoint))
        if len(given) > 1:
            raise ValueError(
                "checkpoint: one folder is enough; leave checkpoint= out, or all but "
                "one Checkpoint among the callbacks."
            )
        return given[0] if given else None

    def _check_learning_rate(self) -> None:
        if isinstance(self.learning_rate, str):
            return
        for epoch, factor in self.learning_rate.items():
            whole = isinstance(epoch, Integral) and epoch >= 0
            if not (whole and isinstance(factor, Real) and 0 < factor <= LARGEST):
                raise ValueError(
                    "learning_rate as a dict gives factors > 0 by the number of the "
                    f"epoch from which they act, got {self.learning_rate!r}."
                )

    def _check_single_precision(self) -> None:
        """The engine counts with float32: it must be able to hold the settings."""
        for name in ("learning_rate_init", "alpha", "adam_epsilon"):
            value = getattr(self, name)
            # A numpy number would have LARGEST cast to its own type.
            if (value.item() if isinstance(value, np.generic) else value) > LARGEST:
                raise ValueError(f"{name}={value!r} is too large for float32.")
        if np.float32(self.adam_epsilon) == 0:
            raise ValueError(
                f"adam_epsilon={self.adam_epsilon!r} is 0 in float32: Adam would "
                "divide by 0."
            )
        for name in ("beta_1", "beta_2"):
            value = getattr(self, name)
            if np.float32(value) == 1:
                raise ValueError(
                    f"{name}={value!r} is 1 in float32: Adam would divide by 0."
                )

    def _sizes(self) -> list[int]:
        """Number of inputs, then of neurons in each layer."""
        return [self.n_features_in_, *self._hidden_sizes(), self._n_outputs()]

    def _method(self) -> Method:
        return make_method(self.method, self.method_options)

    def _hidden_sizes(self) -> list[int]:
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes))
        whole = sizes.dtype.kind in "iu" or sizes.size == 0
        if sizes.ndim != 1 or not whole or (sizes < 1).any() or (sizes >= 2**31).any():
            raise ValueError(
                "hidden_layer_sizes must be whole numbers from 1 to 2**31 - 1, one per "
                f"hidden layer, got {self.hidden_layer_sizes!r}."
            )
        return [int(n) for n in sizes]

    def _connection_counts(self) -> list[int]:
        sizes = self._sizes()
        if self._method().full:
            return full_counts(sizes)
        if self.density is not None:
            return counts_for_density(sizes, self.density)
        if self.with_replacement:
            return draws_per_layer(sizes, self.epsilon)
        return connections_per_layer(sizes, self.epsilon)

    def _optimizer(self) -> Optimizer:
        shared: dict[str, Any] = {
            "learning_rate": self.learning_rate_init,
            "alpha": self.alpha,
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
            method=self._method(),
            drop_fraction=self.drop_fraction,
            drop_schedule=self.drop_schedule,
            batch_size=min(int(self.batch_size), 2**62),  # the engine has 64 bits
            drop_last=self.last_batch == "drop",
            shuffle=self.shuffle,
            learning_rate=self.learning_rate,
            learning_rate_init=self.learning_rate_init,
            max_epochs=self.max_iter,
            restore_best=self.restore_best,
            n_threads=n_threads(self.n_jobs),
            alpha=self.alpha,
            similarity=make_similarity(self.similarity),
            augmentation=self.augmentation,
            input_dropout=float(self.input_dropout),
        )
