"""What classifier and regressor share: validate, translate, delegate to `train`."""

import warnings
from abc import ABCMeta, abstractmethod
from copy import copy
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse
from sklearn.utils import check_random_state

from cofire import engine
from cofire.callbacks import Callback, EarlyStopping, ProgressDisplay
from cofire.core.machine import check_memory
from cofire.core.network import SparseNetwork
from cofire.engine.floats import standard_floats
from cofire.estimators.sklearn_callbacks import (
    CallbackSupport,
    sklearn_bridge,
    sklearn_context,
    with_callbacks,
)
from cofire.estimators.validation import Scorer, ValidationSupport
from cofire.topology.create import create_network
from cofire.topology.density import full_counts
from cofire.training.cost import receipt
from cofire.training.loop import train
from cofire.training.progress import Progress, Settings, TrainingData
from cofire.training.rewiring import begin

if TYPE_CHECKING:
    from cofire.persistence.checkpoints import FitCheckpoints


class BaseSparseMLP(CallbackSupport, ValidationSupport, metaclass=ABCMeta):
    """Fitting and prediction; the targets are the subclasses' affair."""

    network_: SparseNetwork
    seed_: int
    resumed_after_: int
    n_features_in_: int
    _preprocessing: dict[str, Any] | None = None  # of a loaded model: how rows became X

    # ---- what the subclasses say ----------------------------------------------------

    _output: str  # of the network: "softmax", "sigmoid" or "identity"

    @abstractmethod
    def _learn_targets(self, y: Any, classes: Any = None) -> None:
        """Take from y what predictions need: the classes, the number of outputs."""

    @abstractmethod
    def _n_outputs(self) -> int:
        """Number of output neurons."""

    def _learn_scale(self, y: Any, weight: np.ndarray | None) -> None:
        """Take the scale of numeric targets; classes have none."""

    def _class_weights(self, y: Any, weight: np.ndarray | None) -> np.ndarray | None:
        return weight

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
        validation = X_val, y_val, sample_weight_val
        with standard_floats():
            return self._fit(X, y, sample_weight, *validation, partial=False)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        *,
        partial: bool,
        classes: Any = None,
    ) -> Self:
        from cofire.persistence.checkpoints import checkpoints_of

        go_on = hasattr(self, "network_") and (partial or self.warm_start)
        before = self.__dict__.copy()
        watchers: list[Callback] = []  # those to be told of the end
        try:
            self._check_parameters()
            X, y = self._validate(X, y, reset=not go_on)
            self._check_images(X)
            if go_on:
                self._check_classes_unchanged(classes)
            else:
                self._preprocessing = None
                self._learn_targets(y, classes)
            weight = self._weights(X, y, sample_weight)
            if not go_on:
                self._learn_scale(y, weight)
            targets = self._encode_targets(y)
            rows, targets, weight, row_ids = self._existing(X, targets, weight)
            given = self._given_validation(X_val, y_val, sample_weight_val)
            progress = self._resume() if go_on else self._start()
            if not partial:
                progress.begin_fit()
            arrays = (rows, targets, weight, *(given or ()))
            checkpoints = checkpoints_of(
                self, None if partial else arrays, progress if go_on else None
            )
            watchers.append(checkpoints)
            found = checkpoints.latest()
            self.resumed_after_ = 0 if found is None else found.epoch
            progress = found or progress
            self.seed_ = progress.seed
            validate, row_ids = self._validation(rows, targets, weight, row_ids, given)
            self._check_there_is_a_batch(len(row_ids))
            settings = self._settings()
            data = self._training_data(rows, targets, weight, row_ids, validate)
            if not go_on and found is None:
                begin(progress, data, settings, self._connection_counts())
                self._warn_if_full(progress.network)
            done = progress.epoch - progress.first_epoch
            if partial and done >= self.max_iter:
                self._warn_if_schedule_is_over()
            n_epochs = 1 if partial else self.max_iter - done
            if checkpoints.finished:
                n_epochs = 0
            for watcher in self._watchers(X, y):
                watcher.on_train_begin(self, progress, n_epochs)
                # Checkpoints stay last: they keep what the others remember.
                watchers.insert(-1, watcher)
            # A `try` of its own within this one would have an instruction that neither
            # covers, and an interrupt there would leave an estimator of two halves.
            self._train(progress, data, settings, watchers, checkpoints, n_epochs)
        except BaseException:
            # A refused argument, or an interrupt before there was anything to use,
            # leaves the estimator as it was.
            if self.__dict__.get("_progress") is before.get("_progress"):
                self.__dict__ = before | sklearn_context(self)
            raise
        finally:
            for watcher in watchers:
                watcher.on_train_end(progress)
        return self

    def _train(
        self,
        progress: Progress,
        data: TrainingData,
        settings: Settings,
        watchers: list[Callback],
        checkpoints: "FitCheckpoints",
        n_epochs: int,
    ) -> None:
        """Train, and be fitted however it ends."""
        try:
            train(progress, data, settings, watchers, n_epochs=n_epochs)
            if progress.best_network is not None and settings.restore_best:
                rest = progress.optimizer.at_rest(progress.best_network)
                progress.network, progress.optimizer = progress.best_network, rest
            if not checkpoints.finished:
                checkpoints.write(progress, finished=True)
        finally:
            # Also after an interrupt or a divergence: what was trained can be used.
            self._finish(progress, settings)

    def _refuse_validation_in_partial_fit(self) -> None:
        self._check_parameters()
        if self.early_stopping:
            raise ValueError(
                "early_stopping=True does not go with partial_fit: one epoch has "
                "nothing to stop. Use fit, or score the model between the calls."
            )
        if "validation" in self._method().needs:
            raise ValueError(
                f"method={self.method!r} needs validation data and does not go with "
                "partial_fit; use fit."
            )

    def _weights(self, X: Any, y: Any, sample_weight: Any) -> np.ndarray | None:
        weight = self._class_weights(y, self._validate_weight(sample_weight, X))
        if weight is None:
            return None
        if weight.max() > np.finfo(np.float32).max:
            raise ValueError("class_weight and sample_weight: too large for float32.")
        return weight.astype(np.float32)

    def _existing(
        self, X: Any, targets: np.ndarray, weight: np.ndarray | None
    ) -> tuple[Any, np.ndarray, np.ndarray | None, np.ndarray]:
        """The rows to hand on, and the numbers of those that exist: of weight > 0.

        Which inputs are hidden and how images are moved follows from a row's number:
        there a row that does not exist must not be counted.
        """
        row_ids = _existing_rows(len(targets), weight)
        counted = self.input_dropout > 0 or self.augmentation is not None
        if weight is None or len(row_ids) == len(targets) or not counted:
            return X, targets, weight, row_ids
        there = np.arange(len(row_ids))
        return X[row_ids], targets[row_ids], weight[row_ids], there

    def _check_images(self, X: Any) -> None:
        images = self.augmentation
        if images is None:
            return
        if scipy.sparse.issparse(X):
            raise ValueError(
                "augmentation moves the pixels of images and does not go with a sparse "
                "X; give a dense one (float32 or uint8), or augmentation=None."
            )
        if images.n_features != X.shape[1]:
            raise ValueError(
                f"augmentation={images!r} is for rows of height * width * channels = "
                f"{images.n_features} features, X has {X.shape[1]}."
            )

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
        sizes, counts = self._sizes(), self._connection_counts()
        if self._method().starts_full:
            counts = full_counts(sizes)
        check_memory(sizes, counts)
        network = create_network(
            sizes,
            counts,
            init=self.init,
            activation=self.activation,
            output=self._output,
            seed=self.seed_,
            with_replacement=self.with_replacement and not self._method().starts_full,
        )
        optimizer = self._optimizer()
        optimizer.start(network)
        return Progress(network, optimizer, self.seed_)

    def _training_data(
        self,
        X: Any,
        targets: np.ndarray,
        weight: np.ndarray | None,
        row_ids: np.ndarray,
        validate: Scorer | None,
    ) -> TrainingData:
        rows = engine.Rows(X)

        def measure(network: SparseNetwork) -> tuple[float, float]:
            outputs = self._outputs(network, rows, "X")[row_ids]
            used = None if weight is None else weight[row_ids]
            return self._score_and_loss(outputs, targets[row_ids], used)

        return TrainingData(rows, targets, weight, row_ids, validate, measure)

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

    def _warn_if_full(self, network: SparseNetwork) -> None:
        full = [i + 1 for i, layer in enumerate(network.layers) if layer.is_full]
        if len(full) == len(network.layers) and not self._method().full:
            warnings.warn(
                "Every layer is full: this network is dense. Lower epsilon (or "
                "density), or use larger hidden layers.",
                stacklevel=4,
            )

    def _warn_if_schedule_is_over(self) -> None:
        if self.learning_rate == "cosine":
            warnings.warn(
                f"learning_rate='cosine' is 0 after max_iter={self.max_iter} epochs: "
                "this partial_fit changes no weight. Use learning_rate='constant' (and "
                "a learning_rate_init that suits it), or a larger max_iter.",
                stacklevel=4,
            )

    def _watchers(self, X: Any, y: Any) -> list[Callback]:
        watchers = [*self.callbacks, *sklearn_bridge(self, X, y)]
        if self.early_stopping:
            watchers.append(EarlyStopping(self.n_iter_no_change))
        if self.verbose:
            watchers.append(ProgressDisplay())
        return watchers

    def _finish(self, progress: Progress, settings: Settings) -> None:
        losses = [record["loss"] for record in progress.history]
        scores = [record["validation_score"] for record in progress.history]
        fitted = {
            "_progress": progress,
            "network_": progress.network,
            "history_": progress.history,
            "n_iter_": progress.epoch,
            "loss_curve_": losses,
            "loss_": losses[-1] if losses else None,
            "validation_scores_": None if progress.best_score is None else scores,
            "best_validation_score_": progress.best_score,
            "receipt_": receipt(
                progress.network,
                progress.history,
                simd_level=engine.simd_level(),
                threads=settings.n_threads,
            ),
        }
        self.__dict__.update(fitted)  # all at once, should an interrupt come

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    # ---- after fitting --------------------------------------------------------------

    @standard_floats()
    def _predict_outputs(self, X: Any) -> np.ndarray:
        rows = engine.Rows(self._validate_rows(X))
        return self._outputs(self.network_, rows, "X")

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
