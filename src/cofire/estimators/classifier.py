"""SparseMLPClassifier: takes the place of scikit-learn's MLPClassifier."""

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from os import PathLike
from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from cofire.engine.augmentation import Augmentation
from cofire.engine.floats import standard_floats
from cofire.estimators.base import BaseSparseMLP
from cofire.estimators.inputs import naming, refuse_disguised
from cofire.estimators.sklearn_callbacks import with_callbacks
from cofire.methods import Method
from cofire.search import Similarity
from cofire.training.progress import Settings


class SparseMLPClassifier(ClassifierMixin, BaseSparseMLP):
    """A classifier whose network is sparse from the first step to the last.

    Takes the place of `sklearn.neural_network.MLPClassifier`: binary, multi-class and
    multi-label targets, dense or sparse X. Scale the inputs (`StandardScaler`) as for
    any neural network. A uint8 X is used as it is, a sparse X is never made dense.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int
        Neurons in each hidden layer.
    activation : {"relu", "leaky_relu", "tanh", "identity"}
        Of the hidden layers; leaky ReLU has slope 0.01 below zero.
    method : str or Method
        How connections change: a name in `cofire.METHODS` ("ctre_sim", "ctre_seq",
        "set", "rigl", "snip", "static", "dense", ablations of CTRE, or one that another
        package adds), or a method object with its own settings.
    method_options : dict, optional
        Settings for the method of that name, such as {"returning": "kept"}; those that
        it does not have but another one has are left out.
    epsilon : float
        A layer gets epsilon * (n_in + n_out) connections, at most all of them.
        (scikit-learn's `epsilon`, the constant of Adam, is `adam_epsilon` here.)
    density : float, optional
        Share of all possible connections that shall exist, in (0, 1]; goes before
        epsilon.
    with_replacement : bool
        Draw the first connections with replacement: those drawn twice count once, so
        that there are fewer than epsilon says (as in SET's first program).
    init : {"normal", "small_normal", "glorot", "sparse_aware"}
        First weights: N(0, 0.1^2), N(0, 0.05^2), uniform with the dense fans, or normal
        by the number of connections a neuron really has.
    drop_fraction : float
        Share of each layer's connections that is replaced before every epoch but the
        first.
    drop_schedule : {"constant", "cosine"}
        Whether that share stays, or falls to 0 over max_iter.
    solver : {"sgd", "adam"}
    alpha : float
        Strength of the L2 penalty alpha / 2 * ||W||^2 on weights (not biases). Unlike
        scikit-learn's it is not divided by the batch size.
    decoupled_decay : bool
        Take the share alpha off weights and biases at each step instead.
    batch_size : int
    last_batch : {"train", "drop"}
        What to do with a last batch that is not full.
    learning_rate : {"constant", "cosine", "adaptive"} or dict
        Of the epochs; "cosine" falls to 0 over max_iter, "adaptive" is divided by 5
        when the training loss has not fallen for two epochs. A dict gives factors by
        the number of the epoch from which they act: {60: 1 / 3, 80: 1 / 3}.
    learning_rate_init, momentum, nesterovs_momentum, beta_1, beta_2, adam_epsilon
        As in scikit-learn.
    max_iter : int
        Number of epochs. Exactly so many run, unless early_stopping or a callback ends
        the fit.
    shuffle : bool
        Whether rows come in a new order in each epoch.
    early_stopping : bool
        Hold out `validation_fraction` of the rows (stratified) and stop when their
        score has not improved for `n_iter_no_change` epochs.
    restore_best : bool
        With validation data, end with the network (weights and topology) of the best
        validated epoch.
    class_weight : dict, "balanced" or None
    label_smoothing : float
        Train towards targets that are less sure: this share of each is spread evenly
        over all classes (of a multi-label answer, it is moved to 1/2). `loss_` and
        `loss_curve_` are the losses of these targets, validation losses are not.
    warm_start : bool
        Let `fit` go on with the network of the fit before, for max_iter more epochs.
    random_state : int, RandomState or None
        The same seed gives the same bits for any number of threads.
    n_jobs : int or None
        Threads; None means all cores, and 1 inside a joblib worker.
    similarity : {"screened", "exact", "linear"} or cofire.search.Similarity
        How pairs of neurons that fire alike are searched: nearly the best for a small
        part of the price, the very best, or good ones in layers of any width.
    augmentation : cofire.Augmentation, optional
        For rows that are images: training sees them flipped and shifted at random,
        otherwise in every epoch. X must not be sparse.
    input_dropout : float
        In training each value of a row is 0 with this probability, drawn afresh in
        every epoch, and otherwise multiplied by 1 / (1 - input_dropout).
    checkpoint : path of a folder, optional
        Where `fit` writes its state every 10 epochs and at the end. The same fit again
        (data, parameters, random_state) goes on where it was cut off, to the bit;
        another one has a sub-folder of its own. Without a random_state, a fit that had
        come to its end begins anew. `cofire.callbacks.Checkpoint` sets the rhythm.
    callbacks : sequence of cofire.callbacks.Callback
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : labels (for multi-label targets the column numbers)
    network_ : the layers, each with `indptr`, `indices`, `weights`, `bias`
    coefs_, intercepts_ : the same as SciPy sparse arrays (n_in, n_out), and biases
    density_, n_connections_ : how sparse it is
    history_ : one dict per epoch: its losses and seconds, and per layer how many
        connections were replaced, the share that chance chose, the units alive;
        epochs since the last better validation score, whether a phase was switched.
        loss_curve_, loss_, n_iter_ come from it.
    validation_scores_, best_validation_score_ : None without validation data
    receipt_ : what the fit cost, beside its dense twin
    resumed_after_ : the epoch after which the fit went on from a checkpoint, else 0
    seed_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> X, y = load_digits(return_X_y=True)
    >>> X, X_test, y, y_test = train_test_split(X / 16, y, random_state=0)
    >>> clf = SparseMLPClassifier((200,), epsilon=3, max_iter=40, random_state=0)
    >>> clf.fit(X, y).score(X_test, y_test) > 0.9
    True
    >>> clf.n_connections_, round(clf.density_, 3)
    (1422, 0.096)
    """

    _parameter_constraints = {
        **BaseSparseMLP._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, list, None],
        "label_smoothing": [Interval(Real, 0, 1, closed="left")],
    }

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
        solver: str = "sgd",
        alpha: float = 1e-4,
        decoupled_decay: bool = False,
        batch_size: int = 100,
        last_batch: str = "train",
        learning_rate: str | Mapping[int, float] = "constant",
        learning_rate_init: float = 0.01,
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
        class_weight: Any = None,
        label_smoothing: float = 0.0,
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
        self.class_weight = class_weight
        self.label_smoothing = label_smoothing

    @with_callbacks
    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None
    ) -> Self:
        """Train one epoch; the first call needs `classes` if its y lacks some.

        k calls on the same rows give what `fit` with max_iter=k gives, bit for bit.
        """
        self._check_parameters()
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all of y at once and does not go with "
                "partial_fit; give the weights as a dict."
            )
        self._refuse_validation_in_partial_fit()
        with standard_floats():
            return self._fit(X, y, sample_weight, partial=True, classes=classes)

    def predict(self, X: Any) -> np.ndarray:
        """Labels for X: (n_samples,), or 0/1 columns for multi-label targets."""
        probabilities = self.predict_proba(X)
        if self._output == "sigmoid":
            return (probabilities > 0.5).astype(int)
        return self.classes_[probabilities.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (n_samples, n_classes) float32; per label for multi-label."""
        check_is_fitted(self)
        return self._predict_outputs(X)

    # ---- what the base asks ----------------------------------------------------------

    def _learn_targets(self, y: Any, classes: Any = None) -> None:
        with naming("y"):
            check_classification_targets(y)
            kind = type_of_target(y, input_name="y")
        if kind == "multilabel-indicator":
            self._output = "sigmoid"
            self.classes_ = np.arange(y.shape[1])
            return
        if kind.startswith("multiclass-multioutput"):
            raise ValueError(
                "y: several columns of more than two classes are not supported; "
                "multi-label targets have columns of 0 and 1."
            )
        self._output = "softmax"
        y = column_or_1d(y, warn=True)
        name = "y" if classes is None else "classes"
        self.classes_ = np.unique(y) if classes is None else _distinct(classes)
        if len(self.classes_) < 2:
            only = ", ".join(map(repr, self.classes_.tolist())) or "none"
            raise ValueError(
                f"{name} has one class only ({only}): a classifier needs at least two "
                "classes."
            )

    def _check_classes_unchanged(self, classes: Any) -> None:
        if classes is not None and not np.array_equal(
            _distinct(classes), self.classes_
        ):
            raise ValueError(
                f"classes={classes!r} differs from those of the first call: "
                f"{self.classes_.tolist()!r}."
            )

    def _encode_targets(self, y: Any) -> np.ndarray:
        if self._output == "sigmoid":
            columns = y.toarray() if scipy.sparse.issparse(y) else np.asarray(y)
            if columns.ndim != 2 or columns.shape[1] != len(self.classes_):
                raise ValueError(
                    f"y: expected {len(self.classes_)} columns of 0 and 1, got shape "
                    f"{columns.shape}."
                )
            if not np.isin(columns, (0, 1)).all():
                raise ValueError(
                    f"y: expected {len(self.classes_)} columns of 0 and 1, got other "
                    "values too."
                )
            return np.ascontiguousarray(columns, dtype=np.float32)
        with naming("y"):
            y = column_or_1d(y, warn=True)
            place = np.searchsorted(self.classes_, y)
            place = np.minimum(place, len(self.classes_) - 1)
            unknown = self.classes_[place] != y
        if unknown.any():
            raise ValueError(
                f"y contains the label {y[unknown].tolist()[0]!r}, which is not among "
                f"the classes {self.classes_.tolist()!r}."
            )
        return place.astype(np.int32)

    def _n_outputs(self) -> int:
        return len(self.classes_)

    def _settings(self) -> Settings:
        return replace(super()._settings(), label_smoothing=float(self.label_smoothing))

    def _class_weights(self, y: Any, weight: np.ndarray | None) -> np.ndarray | None:
        if self.class_weight is None:
            return weight
        if scipy.sparse.issparse(y):
            y = y.toarray()
        by_class = compute_sample_weight(self.class_weight, y)
        if not (
            np.isfinite(by_class).all() and (by_class >= 0).all() and by_class.any()
        ):
            raise ValueError(
                "class_weight must be finite numbers >= 0, not all of them 0, got "
                f"{self.class_weight!r}."
            )
        return by_class if weight is None else by_class * weight

    def _strata(self, targets: np.ndarray) -> np.ndarray | None:
        return targets if self._output == "softmax" else None

    def _score_and_loss(
        self, outputs: np.ndarray, targets: np.ndarray, weight: np.ndarray | None
    ) -> tuple[float, float]:
        # The smallest probability that float32 tells from 0; a loss stays finite.
        tiny = np.finfo(np.float32).tiny
        if self._output == "sigmoid":
            right = ((outputs > 0.5) == (targets > 0.5)).all(axis=1)
            of_target = np.where(targets > 0.5, outputs, 1 - outputs)
            loss = -np.log(np.maximum(of_target, tiny)).sum(axis=1)
        else:
            right = outputs.argmax(axis=1) == targets
            loss = -np.log(np.maximum(outputs[np.arange(len(targets)), targets], tiny))
        return (
            float(np.average(right, weights=weight)),
            float(np.average(loss.astype(np.float64), weights=weight)),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _distinct(classes: Any) -> np.ndarray:
    """The classes that a user announces, ascending and each of them once."""
    refuse_disguised("classes", classes)
    with naming("classes"):
        labels = np.asarray(classes)
        if labels.ndim != 1 or (
            labels.dtype.kind in "fc" and not np.isfinite(labels).all()
        ):
            raise ValueError(f"expected a list of labels, got {classes!r}")
        return np.unique(labels)
