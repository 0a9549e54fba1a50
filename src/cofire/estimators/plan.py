"""Plan: the parameters of an estimator, checked once, as the objects they stand for."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from types import SimpleNamespace
from typing import Any

import numpy as np

from cofire.callbacks import Callback, Checkpoint
from cofire.core.machine import n_threads
from cofire.core.optimizers import OPTIMIZERS, Optimizer
from cofire.errors import unknown_name
from cofire.estimators.parameters import CHOICES, Parameters
from cofire.estimators.recipe import Recipe, choose
from cofire.methods import METHODS, Method, make_method
from cofire.search import make_similarity
from cofire.topology.density import (
    connections_per_layer,
    counts_for_density,
    full_counts,
)
from cofire.training.settings import Settings

LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Plan:
    """What one fit does, as far as it follows from the parameters alone."""

    settings: Settings
    hidden_sizes: list[int]
    activation: str
    init: str
    epsilon: float
    density: float | None
    optimizer: Optimizer
    """Not started: it has no state yet."""
    checkpoint: Checkpoint | None
    n_networks: int
    early_stopping: bool
    patience: int
    chosen: dict[str, Any]
    """The values of the parameters that may be None."""
    validation_fraction: float

    def connection_counts(self, sizes: Sequence[int]) -> list[int]:
        """How many connections each layer of a network of these sizes gets."""
        if self.settings.method.full:
            return full_counts(sizes)
        if self.density is not None:
            return counts_for_density(sizes, self.density)
        return connections_per_layer(sizes, self.epsilon)


def check_parameters(parameters: Parameters) -> Method:
    """Check all parameters; a ValueError or TypeError names the one that is wrong.

    Returns the method, which is built to be checked.
    """
    parameters._validate_params()
    for name, known in CHOICES.items():
        value = getattr(parameters, name)
        if isinstance(value, str) and value not in known:
            raise unknown_name(name, value, known)
    _check_learning_rate(parameters)
    _check_single_precision(parameters)
    method = make_method(parameters.method, parameters.method_options)
    if method.full and parameters.density is not None and parameters.density < 1:
        sparse = sorted(n for n, known in METHODS.usable().items() if not known.full)
        raise ValueError(
            f"density={parameters.density} and method={parameters.method!r}: this "
            "method has every connection; leave density out or choose among "
            f"{', '.join(sparse)}."
        )
    make_similarity(parameters.similarity)
    n_threads(parameters.n_jobs)
    _hidden_sizes(parameters)
    _checkpoint(parameters)
    return method


def make_plan(
    parameters: Parameters,
    method: Method,
    n_rows: int,
    *,
    numeric: bool,
    n_pieces: int = 0,
    n_inputs: int = 1,
    partial: bool = False,
) -> Plan:
    """Say what a fit of this many rows does, by parameters that were checked.

    n_pieces: of each column of numbers, as the encoder has them; n_inputs: of the
    network; numeric: whether targets are numbers; partial: whether it is one of
    partial_fit.
    """
    recipe = choose(
        parameters,
        n_rows,
        n_pieces=n_pieces,
        n_inputs=n_inputs,
        numeric=numeric,
        partial=partial,
    )
    optimizer = OPTIMIZERS[parameters.solver]
    return Plan(
        settings=_settings(parameters, method, recipe, partial),
        hidden_sizes=_hidden_sizes(parameters),
        activation=parameters.activation,
        init=parameters.init,
        epsilon=recipe.epsilon,
        density=parameters.density,
        optimizer=optimizer.from_parameters(
            SimpleNamespace(**{**vars(parameters), **recipe.chosen})
        ),
        patience=recipe.n_iter_no_change,
        chosen=recipe.chosen,
        checkpoint=_checkpoint(parameters),
        n_networks=int(parameters.n_networks),
        early_stopping=parameters.early_stopping,
        validation_fraction=parameters.validation_fraction,
    )


def _settings(
    parameters: Parameters, method: Method, recipe: Recipe, partial: bool
) -> Settings:
    interval = recipe.update_interval
    every_epoch = interval in ("epoch", recipe.steps_per_epoch)
    # partial_fit does not know when three quarters of it are done.
    endless = partial and parameters.max_iter is None
    return Settings(
        method=method,
        similarity=make_similarity(parameters.similarity),
        drop_fraction=parameters.drop_fraction,
        drop_schedule=recipe.drop_schedule,
        update_interval=None if every_epoch else int(interval),
        update_stop=1.0 if endless else float(parameters.update_stop),
        batch_size=min(int(recipe.batch_size), 2**62),  # the engine has 64 bits
        steps_per_epoch=recipe.steps_per_epoch,
        drop_last=parameters.last_batch == "drop",
        shuffle=parameters.shuffle,
        learning_rate=recipe.learning_rate,
        learning_rate_init=recipe.learning_rate_init,
        max_epochs=recipe.max_iter,
        augmentation=parameters.augmentation,
        label_smoothing=float(parameters.label_smoothing),
        input_dropout=float(recipe.input_dropout),
        restore_best=parameters.restore_best,
        n_threads=n_threads(parameters.n_jobs),
    )


def _hidden_sizes(parameters: Parameters) -> list[int]:
    sizes = np.atleast_1d(np.asarray(parameters.hidden_layer_sizes))
    whole = sizes.dtype.kind in "iu" or sizes.size == 0
    if sizes.ndim != 1 or not whole or (sizes < 1).any() or (sizes >= 2**31).any():
        raise ValueError(
            "hidden_layer_sizes must be whole numbers from 1 to 2**31 - 1, one per "
            f"hidden layer, got {parameters.hidden_layer_sizes!r}."
        )
    return [int(n) for n in sizes]


def _checkpoint(parameters: Parameters) -> Checkpoint | None:
    """Where and when checkpoints are written, if at all."""
    for callback in parameters.callbacks:
        if not isinstance(callback, Callback):
            raise TypeError(
                "callbacks: expected cofire.callbacks.Callback objects, got "
                f"{type(callback).__name__}. scikit-learn's go to set_callbacks."
            )
    given = [c for c in parameters.callbacks if isinstance(c, Checkpoint)]
    if parameters.checkpoint is not None:
        given.append(Checkpoint(parameters.checkpoint))
    if len(given) > 1:
        raise ValueError(
            "checkpoint: one folder is enough; leave checkpoint= out, or all but "
            "one Checkpoint among the callbacks."
        )
    return given[0] if given else None


def _check_learning_rate(parameters: Parameters) -> None:
    if parameters.learning_rate is None or isinstance(parameters.learning_rate, str):
        return
    for epoch, factor in parameters.learning_rate.items():
        whole = isinstance(epoch, Integral) and epoch >= 0
        if not (whole and isinstance(factor, Real) and 0 < factor <= LARGEST):
            raise ValueError(
                "learning_rate as a dict gives factors > 0 by the number of the "
                f"epoch from which they apply, got {parameters.learning_rate!r}."
            )


def _check_single_precision(parameters: Parameters) -> None:
    """The engine computes in float32: it must be able to hold the settings."""
    for name in ("learning_rate_init", "alpha", "adam_epsilon"):
        value = getattr(parameters, name)
        if value is None:
            continue
        # A numpy number would have LARGEST cast to its own type.
        if (value.item() if isinstance(value, np.generic) else value) > LARGEST:
            raise ValueError(f"{name}={value!r} is too large for float32.")
    if np.float32(parameters.adam_epsilon) == 0:
        raise ValueError(
            f"adam_epsilon={parameters.adam_epsilon!r} is 0 in float32: Adam would "
            "divide by 0."
        )
    for name in ("beta_1", "beta_2"):
        value = getattr(parameters, name)
        if np.float32(value) == 1:
            raise ValueError(
                f"{name}={value!r} is 1 in float32: Adam would divide by 0."
            )
