"""What classifier and regressor share: prepare, train, publish; then predict."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial as partial_call
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from sklearn.exceptions import NotFittedError

from cofire import engine
from cofire.callbacks import Callback, EarlyStopping, ProgressDisplay
from cofire.core.machine import n_threads
from cofire.core.network import SparseNetwork
from cofire.energy import measure
from cofire.engine.floats import standard_floats
from cofire.estimators.checkpointing import open_checkpoints
from cofire.estimators.fit_energy import FitEnergy
from cofire.estimators.holdout import outputs_of, scorer_of
from cofire.estimators.importances import feature_importances
from cofire.estimators.inputs import engine_rows
from cofire.estimators.network_training import (
    NetworkTraining,
    prepare_network,
    run_all,
    warn_if_schedule_is_over,
    warn_of_failures,
)
from cofire.estimators.parameters import Parameters
from cofire.estimators.plan import check_parameters
from cofire.estimators.prepare import COLUMNS, Prepared, check_data, prepare
from cofire.estimators.raw import check_rows
from cofire.estimators.sklearn_callbacks import (
    CallbackSupport,
    sklearn_bridge,
    with_callbacks,
)
from cofire.estimators.state import FittedState
from cofire.estimators.streaming import is_stream
from cofire.estimators.streaming.prepare import prepare_stream
from cofire.estimators.targets import Targets
from cofire.methods import Method
from cofire.training.cost import Receipt, receipt
from cofire.training.progress import Progress, Scorer
from cofire.training.record import EpochRecord


class BaseSparseMLP(CallbackSupport, Parameters):
    """Fitting and prediction; what y means is the affair of its `Targets`."""

    n_features_in_: int
    _fitted: FittedState
    _targets_kind: ClassVar[type[Targets]]
    _stored_as: ClassVar[str]
    """The name by which a model file calls the class."""

    # ---- fitting --------------------------------------------------------------------

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Train on X (n_samples, n_features) and y (n_samples,) or several columns.

        X may be a `cofire.data.Stream` of rows that memory does not hold, with their
        targets (docs/stream.md); y and sample_weight are left out then.
        With X_val and y_val, the score after each epoch (accuracy or R^2) is recorded,
        and `restore_best` ends with the best epoch. Test data do not belong here: see
        `cofire.callbacks.Monitor`.
        """
        with standard_floats(), measure() as meter:
            data = X, y, sample_weight, X_val, y_val, sample_weight_val
            make = prepare_stream if is_stream(X) else prepare
            prepared = make(self, check_parameters(self), *data)
            return self._fit(prepared, FitEnergy(meter))

    def _partial_fit(
        self, X: Any, y: Any, sample_weight: Any, classes: Any = None
    ) -> Self:
        """Train one epoch."""
        with standard_floats(), measure() as meter:
            if is_stream(X):
                raise TypeError(
                    "X is a stream: partial_fit takes rows in memory. Use fit, or call "
                    "partial_fit with each chunk."
                )
            method = check_parameters(self)
            self._refuse_partial_fit(method)
            prepared = prepare(
                self, method, X, y, sample_weight, partial=True, classes=classes
            )
            return self._fit(prepared, FitEnergy(meter), partial=True)

    def _fit(
        self, prepared: Prepared, spent: FitEnergy, *, partial: bool = False
    ) -> Self:
        """Train what was prepared, then publish it; partial: one epoch more.

        The estimator changes in one step, when training has begun and ended, however
        it ended: also after an interrupt or a divergence, what was trained can be used.
        """
        plan, n = prepared.plan, len(prepared.trainings)
        state = FittedState(
            tuple(prepared.trainings),
            prepared.targets,
            engine.simd_level(),
            plan.settings.n_threads,
            preprocessing=self._fitted.preprocessing if prepared.continues else None,
            chosen=plan.chosen,
            encoder=prepared.encoder,
        )

        def copy_with(progress: Progress, resumed_after: int) -> "BaseSparseMLP":
            fitting = copy(self)
            own = replace(state, trainings=(progress,), resumed_after=resumed_after)
            fitting._publish(prepared.columns, own)
            return fitting

        opened = None
        if plan.checkpoint is not None and not partial:
            opened = partial_call(open_checkpoints, prepared, spent)
        if prepared.continues:
            spent.continues(self._fitted.energy)
        watched = bool(self._callbacks(prepared))
        trainings: list[NetworkTraining] = []
        try:
            for i in range(n):
                training = prepare_network(
                    prepared,
                    i,
                    copy_with=copy_with,
                    open_checkpoints=opened,
                    watchers=self._watchers(prepared, i),
                    n_epochs=1 if partial else None,
                )
                trainings.append(training)
                resumed_after = training.estimator._fitted.resumed_after
                if training.checkpoints is not None and resumed_after > 0:
                    spent.continues(training.checkpoints.energy)
            if partial:
                warn_if_schedule_is_over(trainings[0])
            try:
                run_all(
                    trainings,
                    plan.settings.n_threads,
                    watched=watched,
                    alone=bool(self.verbose),
                )
            finally:
                if any(training.begun for training in trainings):
                    resumed_after = trainings[0].estimator._fitted.resumed_after
                    progress = tuple(training.progress for training in trainings)
                    final = replace(
                        state,
                        trainings=progress,
                        resumed_after=resumed_after,
                        energy=spent.total,
                    )
                    self._publish(prepared.columns, final)
        finally:
            for training in trainings:
                training.close()
        warn_of_failures(trainings)
        return self

    def _publish(self, columns: dict[str, Any], state: FittedState) -> None:
        """Be fitted, in one statement, should an interrupt come."""
        others = {k: v for k, v in vars(self).items() if k not in COLUMNS}
        self.__dict__ = others | columns | {"_fitted": state}

    def _callbacks(self, prepared: Prepared) -> list[Callback]:
        return [*self.callbacks, *sklearn_bridge(self, prepared.X, prepared.y)]

    def _watchers(self, prepared: Prepared, index: int) -> list[Callback]:
        """What watches the training of one network; callbacks watch the first."""
        watchers = self._callbacks(prepared) if index == 0 else []
        if self.early_stopping:
            watchers.append(EarlyStopping(prepared.plan.patience))
        if self.verbose and (index == 0 or not is_stream(prepared.X)):
            n_networks = prepared.plan.n_networks
            watchers.append(ProgressDisplay(index + 1, n_networks))
        return watchers

    def _refuse_partial_fit(self, method: Method) -> None:
        if self.early_stopping:
            raise ValueError(
                "early_stopping=True cannot be used with partial_fit: one epoch has "
                "nothing to stop. Use fit, or score the model between the calls."
            )
        if method.needs_validation:
            raise ValueError(
                f"method={self.method!r} needs validation data and cannot be used with "
                "partial_fit; use fit."
            )

    # ---- after fitting --------------------------------------------------------------

    @standard_floats()
    def _predict_outputs(self, X: Any) -> np.ndarray:
        return self._of_networks(outputs_of, X)

    def _of_stream(self, predict: Callable[[Any], np.ndarray], X: Any) -> Any:
        """Predict for each chunk of a stream, when it is asked for."""
        _ = self._state  # first: an estimator that is not fitted says so
        return (predict(chunk.X) for _, chunk in X.chunks())

    def _of_networks(self, function: Callable[..., np.ndarray], X: Any) -> np.ndarray:
        """Apply a function of networks, rows, threads and a name for errors."""
        networks = self.networks_  # first: an estimator that is not fitted says so
        rows = engine_rows(check_rows(self, X, self._state.encoder))
        threads = n_threads(self.n_jobs, engine.parallel_tasks(rows))
        return function(networks, rows, threads, "X")

    def scorer(
        self, X: Any, y: Any, sample_weight: Any = None, *, name: str = "scorer (X, y)"
    ) -> Scorer:
        """Return a function that gives a network's score and mean loss on these rows.

        For callbacks, whose `on_train_begin` gets an estimator that can do this while
        it is being fitted. `name` says in errors which data are meant.
        """
        targets, encoder = self._state.targets, self._state.encoder
        rows = check_data(self, targets, encoder, X, y, sample_weight, name=name)
        return scorer_of(targets, rows, n_threads(self.n_jobs), name)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file; `cofire.load` reads it back.

        Missing folders are created.
        """
        from cofire.saving import save

        save(self, path)

    @property
    def _state(self) -> FittedState:
        try:
            return vars(self)["_fitted"]
        except KeyError:
            name = type(self).__name__
            raise NotFittedError(
                f"This {name} instance is not fitted yet. Call fit first."
            ) from None

    @property
    def _progress(self) -> Progress:
        return self._state.trainings[0]

    @property
    def networks_(self) -> list[SparseNetwork]:
        """The networks whose outputs are averaged: `n_networks`."""
        return self._state.networks

    @property
    def network_(self) -> SparseNetwork:
        """The first network: layers with `indptr`, `indices`, `weights`, `bias`."""
        return self._progress.network

    @property
    def input_names_(self) -> list[str]:
        """Names of the network's inputs: "age", "income missing", "colour=red"."""
        encoder = self._state.encoder
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{i}" for i in range(self.n_features_in_)]
        return list(names) if encoder is None else encoder.input_names(list(names))

    @property
    def feature_importances_(self) -> np.ndarray:
        """How strongly each feature of X reaches the outputs, by the weights alone.

        They add up to 1; see `cofire.explain.feature_importances`.
        """
        return feature_importances(self)

    @property
    def coefs_(self) -> list[scipy.sparse.csc_array]:
        """Weights of `network_`: SciPy sparse arrays (n_in, n_out), one per layer."""
        return [layer.to_scipy().T for layer in self.network_.layers]

    @property
    def intercepts_(self) -> list[np.ndarray]:
        """Biases of `network_`, an array per layer."""
        return [layer.bias for layer in self.network_.layers]

    @property
    def density_(self) -> float:
        """Fraction of all possible connections that exist, in all networks."""
        return float(np.mean([network.density for network in self.networks_]))

    @property
    def n_connections_(self) -> int:
        """Number of connections in all networks; biases are not counted."""
        return sum(network.n_connections for network in self.networks_)

    @property
    def history_(self) -> list[EpochRecord]:
        """One record per epoch of the first network; `histories_` has all."""
        return self._progress.history

    @property
    def histories_(self) -> list[list[EpochRecord]]:
        """For each network a record per epoch."""
        return [progress.history for progress in self._state.trainings]

    @property
    def n_iter_(self) -> int:
        """Number of epochs trained."""
        return self._progress.epoch

    @property
    def loss_curve_(self) -> list[float]:
        """Training loss of each epoch."""
        return [record["loss"] for record in self.history_]

    @property
    def loss_(self) -> float | None:
        """Training loss of the last epoch."""
        return self.loss_curve_[-1] if self.history_ else None

    @property
    def validation_scores_(self) -> list[Any] | None:
        """Validation score of each epoch; None without validation data."""
        if self._progress.best_score is None:
            return None
        return [record["validation_score"] for record in self.history_]

    @property
    def best_validation_score_(self) -> float | None:
        """The best of the validation scores; None without validation data."""
        return self._progress.best_score

    @property
    def seed_(self) -> int:
        """The seed that all random numbers of the fit came from."""
        return self._progress.seed

    @property
    def chosen_parameters_(self) -> dict[str, Any]:
        """The values that the fit used for the parameters that may be None."""
        return dict(self._state.chosen)

    @property
    def resumed_after_(self) -> int:
        """The epoch after which the fit continued from a checkpoint, else 0."""
        return self._state.resumed_after

    @property
    def receipt_(self) -> Receipt:
        """What the fit cost, beside its dense twin."""
        state = self._state
        return receipt(
            self.networks_,
            self.histories_,
            simd_level=state.simd_level,
            threads=state.threads,
            energy=state.energy,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = bool(self.standardize)
        return tags
