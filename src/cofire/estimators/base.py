"""What classifier and regressor share: prepare, train, publish; then predict."""

import warnings
from copy import copy
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from sklearn.exceptions import NotFittedError

from cofire import engine
from cofire.callbacks import Callback, EarlyStopping, ProgressDisplay
from cofire.core.machine import n_threads
from cofire.core.network import SparseNetwork
from cofire.engine.floats import standard_floats
from cofire.estimators.description import (
    check_storable,
    describe,
    fingerprint,
    remembering,
)
from cofire.estimators.encoder import Encoder
from cofire.estimators.holdout import outputs_of, scorer_of
from cofire.estimators.inputs import engine_rows
from cofire.estimators.parameters import Parameters
from cofire.estimators.plan import Plan, make_plan
from cofire.estimators.prepare import COLUMNS, Prepared, check_data, prepare
from cofire.estimators.raw import check_rows
from cofire.estimators.sklearn_callbacks import (
    CallbackSupport,
    sklearn_bridge,
    with_callbacks,
)
from cofire.estimators.targets import Targets
from cofire.persistence.checkpoints import FitCheckpoints
from cofire.training.cost import Receipt, receipt
from cofire.training.loop import train
from cofire.training.progress import Progress, Scorer
from cofire.training.record import EpochRecord
from cofire.training.rewiring import begin


@dataclass(frozen=True, eq=False)
class FittedState:
    """All that a fit leaves on an estimator, besides the columns of X.

    The fitted attributes are read from it, so that there is one of each.
    """

    progress: Progress
    targets: Targets
    simd_level: str
    threads: int
    resumed_after: int = 0
    preprocessing: dict[str, Any] | None = None
    """Of a loaded model: how rows became X."""
    encoder: Encoder | None = None
    """How X becomes the inputs of the network, with standardize=True."""


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
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Train on X (n_samples, n_features) and y (n_samples,) or several columns.

        With X_val and y_val, the score after each epoch (accuracy or R^2) is recorded,
        and `restore_best` ends with the best epoch. Test data do not belong here: see
        `cofire.callbacks.Monitor`.
        """
        with standard_floats():
            data = X, y, sample_weight, X_val, y_val, sample_weight_val
            return self._fit(prepare(self, make_plan(self), *data), self.max_iter)

    def _partial_fit(
        self, X: Any, y: Any, sample_weight: Any, classes: Any = None
    ) -> Self:
        """Train one epoch."""
        with standard_floats():
            plan = make_plan(self)
            self._refuse_partial_fit(plan)
            prepared = prepare(
                self, plan, X, y, sample_weight, partial=True, classes=classes
            )
            return self._fit(prepared, None)

    def _fit(self, prepared: Prepared, max_epochs: int | None) -> Self:
        """Train what was prepared, then publish it; max_epochs None: one epoch more.

        The estimator changes in one step, when training has begun and ended, however
        it ended: also after an interrupt or a divergence, what was trained can be used.
        """
        plan, progress = prepared.plan, prepared.progress
        state = FittedState(
            progress,
            prepared.targets,
            engine.simd_level(),
            plan.settings.n_threads,
            preprocessing=self._fitted.preprocessing if prepared.continues else None,
            encoder=prepared.encoder,
        )
        fitting = copy(self)  # for callbacks and checkpoints: it has the network
        fitting._publish(prepared.columns, state)
        watchers: list[Callback] = []
        try:
            checkpoints = None
            if plan.checkpoint is not None and max_epochs is not None:
                checkpoints = fitting._checkpoints(prepared)
                watchers.append(checkpoints)
            found = None if checkpoints is None else checkpoints.latest()
            if found is not None:
                progress = found
                state = replace(state, progress=found, resumed_after=found.epoch)
                fitting._publish(prepared.columns, state)
            data = prepared.data(
                progress.seed,
                early_stopping=self.early_stopping,
                fraction=self.validation_fraction,
            )
            if found is None and not prepared.continues:
                if plan.settings.method.starts_full:
                    begin(progress, data, plan.settings, prepared.counts)
                _warn_if_full(progress.network, plan)
            done = progress.epoch - progress.first_epoch
            n_epochs = 1 if max_epochs is None else max_epochs - done
            if checkpoints is not None and checkpoints.finished:
                n_epochs = 0
            if max_epochs is None and done >= self.max_iter:
                self._warn_if_schedule_is_over()
            for watcher in self._watchers(prepared):
                watcher.on_train_begin(fitting, progress, n_epochs)
                # Checkpoints stay last: they keep what the others remember.
                watchers.insert(len(watchers) - (checkpoints is not None), watcher)
            try:
                train(progress, data, plan.settings, watchers, n_epochs=n_epochs)
                if progress.best_network is not None and self.restore_best:
                    rest = progress.optimizer.at_rest(progress.best_network)
                    progress.network, progress.optimizer = progress.best_network, rest
                if checkpoints is not None and not checkpoints.finished:
                    checkpoints.write(progress, finished=True)
            finally:
                self._publish(prepared.columns, state)
        finally:
            for watcher in watchers:
                watcher.on_train_end(progress)
        return self

    def _publish(self, columns: dict[str, Any], state: FittedState) -> None:
        """Be fitted, in one statement, should an interrupt come."""
        others = {k: v for k, v in vars(self).items() if k not in COLUMNS}
        self.__dict__ = others | columns | {"_fitted": state}

    def _checkpoints(self, prepared: Prepared) -> FitCheckpoints:
        """The checkpoints of a fit; self is the copy that has its state."""
        assert prepared.plan.checkpoint is not None
        check_storable(self)
        start = prepared.progress if prepared.continues else None
        return FitCheckpoints(
            prepared.plan.checkpoint,
            fingerprint(self, prepared.arrays, start),
            describe=lambda progress, tensors: describe(self, progress, tensors),
            callbacks=remembering(self.callbacks),
            max_epochs=self.max_iter,
            repeats=self.random_state is not None,
        )

    def _watchers(self, prepared: Prepared) -> list[Callback]:
        bridge = sklearn_bridge(self, prepared.X, prepared.y)
        watchers = [*self.callbacks, *bridge]
        if self.early_stopping:
            watchers.append(EarlyStopping(self.n_iter_no_change))
        if self.verbose:
            watchers.append(ProgressDisplay())
        return watchers

    def _refuse_partial_fit(self, plan: Plan) -> None:
        if self.early_stopping:
            raise ValueError(
                "early_stopping=True cannot be used with partial_fit: one epoch has "
                "nothing to stop. Use fit, or score the model between the calls."
            )
        if plan.settings.method.needs_validation:
            raise ValueError(
                f"method={self.method!r} needs validation data and cannot be used with "
                "partial_fit; use fit."
            )

    def _warn_if_schedule_is_over(self) -> None:
        if self.learning_rate == "cosine":
            warnings.warn(
                f"learning_rate='cosine' is 0 after max_iter={self.max_iter} epochs: "
                "this partial_fit changes no weight. Use learning_rate='constant' (and "
                "a learning_rate_init that suits it), or a larger max_iter.",
                stacklevel=6,
            )

    # ---- after fitting --------------------------------------------------------------

    @standard_floats()
    def _predict_outputs(self, X: Any) -> np.ndarray:
        network = self.network_  # first: an estimator that is not fitted says so
        rows = engine_rows(check_rows(self, X, self._state.encoder))
        return outputs_of(network, rows, n_threads(self.n_jobs), "X")

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
        """Write the fitted model to a file; `cofire.load` reads it back."""
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
        return self._state.progress

    @property
    def network_(self) -> SparseNetwork:
        """The layers, each with `indptr`, `indices`, `weights`, `bias`."""
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
    def coefs_(self) -> list[scipy.sparse.csc_array]:
        """Weights of each layer: SciPy sparse arrays of shape (n_in, n_out)."""
        return [layer.to_scipy().T for layer in self.network_.layers]

    @property
    def intercepts_(self) -> list[np.ndarray]:
        """Biases of each layer."""
        return [layer.bias for layer in self.network_.layers]

    @property
    def density_(self) -> float:
        """Fraction of all possible connections that exist."""
        return self.network_.density

    @property
    def n_connections_(self) -> int:
        """Number of connections in all layers; biases are not counted."""
        return self.network_.n_connections

    @property
    def history_(self) -> list[EpochRecord]:
        """One record per epoch."""
        return self._progress.history

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
    def resumed_after_(self) -> int:
        """The epoch after which the fit continued from a checkpoint, else 0."""
        return self._state.resumed_after

    @property
    def receipt_(self) -> Receipt:
        """What the fit cost, beside its dense twin."""
        state = self._state
        return receipt(
            self.network_,
            self.history_,
            simd_level=state.simd_level,
            threads=state.threads,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = bool(self.standardize)
        return tags


def _warn_if_full(network: SparseNetwork, plan: Plan) -> None:
    if network.is_full and not plan.settings.method.full:
        warnings.warn(
            "Every layer is full: this network is dense. Lower epsilon (or density), "
            "or use larger hidden layers.",
            stacklevel=4,
        )
