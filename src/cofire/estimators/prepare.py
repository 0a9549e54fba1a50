"""prepare(): everything between a call of fit and the first epoch that can be checked.

It writes nothing to the estimator: a fit that is refused changes nothing.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils import check_random_state

from cofire import engine
from cofire.core.machine import check_memory
from cofire.core.network import SparseNetwork
from cofire.estimators.encoder import Encoder
from cofire.estimators.holdout import hold_out, outputs_of, scorer_of, subset
from cofire.estimators.inputs import Rows, engine_rows
from cofire.estimators.plan import Plan, make_plan
from cofire.estimators.raw import check_training
from cofire.estimators.repeats import merge
from cofire.estimators.targets import Targets
from cofire.methods import Method
from cofire.topology.create import create_network
from cofire.topology.density import full_counts
from cofire.training.progress import Progress, TrainingData

COLUMNS = ("n_features_in_", "feature_names_in_")
"""What scikit-learn learns of the columns of X."""
VALIDATION = "validation data (X_val, y_val, sample_weight_val)"


@dataclass(frozen=True, eq=False)
class Prepared:
    """A fit that is ready to begin."""

    plan: Plan
    X: Any
    """As it was given, checked; `rows` leaves out those of weight 0 where it must."""
    y: Any
    columns: dict[str, Any]
    encoder: Encoder | None
    targets: Targets
    rows: Rows
    row_ids: np.ndarray
    """Those that exist: of weight > 0."""
    n_counted: float | None
    """How many rows they stand for, where equal rows were merged."""
    validation: Rows | None
    trainings: list[Progress]
    """One per network."""
    sizes: list[int]
    counts: list[int]
    """How many connections each layer of a new network is to have."""
    continues: bool
    """Whether it continues an earlier fit: a warm start, or partial_fit."""
    chosen_rate: bool
    """Whether the learning rate is the default recipe's, not a user's."""

    def fresh(self, seed: int) -> Progress:
        """Create the network of this seed once more, untrained."""
        network = create_network(
            self.sizes,
            full_counts(self.sizes)
            if self.plan.settings.method.starts_full
            else self.counts,
            init=self.plan.init,
            activation=self.plan.activation,
            output=self.targets.output,
            seed=seed,
        )
        return Progress(network, self.plan.optimizer.at_rest(network), seed)

    @property
    def arrays(self) -> list[Any]:
        """All data that the outcome depends on."""
        return [*self.rows, *(self.validation or ())]

    def outputs(self, network: SparseNetwork, ids: np.ndarray) -> np.ndarray:
        """Return the outputs of a network for some of the rows."""
        some = engine_rows(subset(self.rows, ids).X)
        return outputs_of([network], some, self.plan.settings.n_threads, "X")

    def data(self, seed: int) -> TrainingData:
        """Return what to train on; rows are held out where validation data are needed.

        The seed is that of the network, whose training may be one that is resumed.
        """
        targets, settings = self.targets, self.plan.settings
        n_threads, validate, row_ids = settings.n_threads, None, self.row_ids
        if self.validation is not None:
            validate = scorer_of(targets, self.validation, n_threads, VALIDATION)
        elif self.plan.early_stopping or settings.method.needs_validation:
            validate, row_ids = hold_out(
                targets,
                self.rows,
                row_ids,
                fraction=self.plan.validation_fraction,
                seed=seed,
                n_threads=n_threads,
            )
        if settings.drop_last and len(row_ids) < settings.batch_size:
            raise ValueError(
                f"last_batch='drop' leaves nothing to train on: batch_size="
                f"{settings.batch_size}, and there are {len(row_ids)} rows. Use a "
                "smaller batch_size, or last_batch='train'."
            )
        X, encoded, weight = self.rows
        rows = engine_rows(X)

        def measure(network: SparseNetwork) -> tuple[float, float]:
            outputs = outputs_of([network], rows, n_threads, "X")[row_ids]
            used = None if weight is None else weight[row_ids]
            return targets.score_and_loss(outputs, encoded[row_ids], used)

        return TrainingData(
            rows,
            encoded,
            weight,
            row_ids,
            validate,
            measure,
            self.outputs,
            n_counted=self.n_counted,
        )


def prepare(
    estimator: Any,
    method: Method,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    sample_weight_val: Any = None,
    *,
    partial: bool = False,
    classes: Any = None,
) -> Prepared:
    """Check the data, learn what y means, and create or copy the network to train."""
    kind: type[Targets] = estimator._targets_kind
    continues = "_fitted" in vars(estimator) and (partial or estimator.warm_start)
    # scikit-learn writes what it learns of the columns of X to the estimator it is
    # given: to a copy of ours.
    columns = copy(estimator)
    encoder = kept_encoder(estimator) if continues else None
    X, y, weight = check_training(
        columns,
        X,
        y,
        sample_weight,
        raw=estimator.standardize,
        encoder=encoder,
        reset=not continues,
        numeric=kind.is_numeric,
    )
    y = kind.check(y)
    if continues:
        targets = estimator._fitted.targets
        targets.check_unchanged(classes)
    else:
        targets = kind.learn(y, weight, classes)
    rows = Rows(X, targets.encode(y), targets.weigh(y, weight, estimator.class_weight))
    holds_out = estimator.early_stopping or method.needs_validation
    few = None
    if X_val is not None or not holds_out:
        few = merge(rows, y if kind.is_numeric else None, estimator.batch_size)
    if few is not None:
        rows = subset(rows, few.row_ids)._replace(weight=few.weight)
        if kind.is_numeric and not continues:
            targets = kind.learn(y[few.row_ids], few.weight)
            rows = rows._replace(targets=targets.encode(y[few.row_ids]))
    rows = rows._replace(weight=_in_float32(rows.weight))
    if estimator.standardize:
        images = estimator.augmentation is not None
        n_pieces = 0 if images else estimator.n_pieces
        encoder = encoder or Encoder.learn(rows.X, rows.weight, n_pieces=n_pieces)
        rows = rows._replace(X=encoder.encode(rows.X))
    check_images(estimator.augmentation, rows.X)
    plan = make_plan(
        estimator,
        method,
        _number_of_rows(rows),
        numeric=kind.is_numeric,
        n_pieces=0 if encoder is None else encoder.pieces.per_column,
        n_inputs=rows.X.shape[1],
        partial=partial,
    )
    rows, row_ids = _existing(rows, plan)
    validation = given_validation(
        columns, targets, encoder, X_val, y_val, sample_weight_val
    )
    sizes = [rows.X.shape[1], *plan.hidden_sizes, targets.n_outputs]
    counts = plan.connection_counts(sizes)
    learnt = {name: vars(columns)[name] for name in COLUMNS if name in vars(columns)}
    prepared = Prepared(
        plan=plan,
        X=X,
        y=y,
        columns=learnt,
        encoder=encoder,
        targets=targets,
        rows=rows,
        row_ids=row_ids,
        n_counted=None if few is None else few.n_rows,
        validation=validation,
        trainings=[],
        sizes=sizes,
        counts=counts,
        continues=continues,
        chosen_rate=estimator.learning_rate_init is None and not partial,
    )
    if not continues:
        starts_full = plan.settings.method.starts_full
        check_memory(
            sizes, full_counts(sizes) if starts_full else counts, plan.n_networks
        )
    begin_trainings(prepared, estimator, partial=partial)
    return prepared


def begin_trainings(prepared: Prepared, estimator: Any, *, partial: bool) -> None:
    """Create the networks to train, or copy those of the fit that is continued."""
    plan = prepared.plan
    if not prepared.continues:
        rng = check_random_state(estimator.random_state)
        seeds = [int(rng.randint(2**31)) for _ in range(plan.n_networks)]
        prepared.trainings.extend(prepared.fresh(seed) for seed in seeds)
        return
    trainings = _continued(estimator._fitted.trainings, plan, estimator)
    for progress in trainings:
        if estimator.learning_rate_init is not None:
            progress.rate_factor = 1.0  # a user's rate is taken as it is
        if not partial:
            progress.begin_fit()
    prepared.trainings.extend(trainings)


def check_data(
    estimator: Any,
    targets: Targets,
    encoder: Encoder | None,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    name: str,
) -> Rows:
    """Check data that networks are scored on; `name` says in errors what they are."""
    try:
        X, y, weight = check_training(
            estimator,
            X,
            y,
            sample_weight,
            raw=encoder is not None,
            encoder=encoder,
            reset=False,
            numeric=targets.is_numeric,
        )
        X = X if encoder is None else encoder.encode(X)
        encoded = targets.encode(targets.check(y))
        targets.check_scorable(encoded)
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}: {error}") from error
    return Rows(X, encoded, weight)


def given_validation(
    estimator: Any,
    targets: Targets,
    encoder: Encoder | None,
    X_val: Any,
    y_val: Any,
    sample_weight_val: Any,
) -> Rows | None:
    """Check the validation data that came with the call, if any."""
    if X_val is not None:
        if y_val is None:
            raise ValueError("y_val is missing: X_val came without it.")
        data = X_val, y_val, sample_weight_val
        return check_data(estimator, targets, encoder, *data, name=VALIDATION)
    if y_val is not None or sample_weight_val is not None:
        raise ValueError(
            "X_val is missing: y_val or sample_weight_val came without it."
        )
    return None


def kept_encoder(estimator: Any) -> Encoder | None:
    """Return what the earlier fit learnt of the columns; it stays as it is."""
    encoder = estimator._fitted.encoder
    if estimator.standardize != (encoder is not None):
        before = "without" if encoder is None else "with"
        raise ValueError(
            f"standardize={estimator.standardize}: training began {before} it and must "
            "continue so. Set it back, or fit from scratch (warm_start=False)."
        )
    return encoder


def check_images(images: engine.Augmentation | None, X: Any) -> None:
    """Refuse rows that are not the images that an augmentation is for."""
    if images is None:
        return
    if scipy.sparse.issparse(X):
        raise ValueError(
            "augmentation moves the pixels of images and cannot be used with a sparse "
            "X; give a dense one (float32 or uint8), or augmentation=None."
        )
    if images.n_features != X.shape[1]:
        raise ValueError(
            f"augmentation={images!r} is for rows of height * width * channels = "
            f"{images.n_features} features, X has {X.shape[1]}."
        )


def _in_float32(weight: np.ndarray | None) -> np.ndarray | None:
    if weight is None:
        return None
    if weight.max() > np.finfo(np.float32).max:
        raise ValueError(
            "class_weight and sample_weight: too large for float32. Divide all of them "
            "by the same number."
        )
    return weight.astype(np.float32)


def _number_of_rows(rows: Rows) -> int:
    """Count the rows that exist: of weight > 0."""
    n = len(rows.targets)
    if rows.weight is not None:
        n = int(np.count_nonzero(rows.weight > 0))
    if n == 0:
        raise ValueError(
            "sample_weight: no row has a weight above 0. Give some rows one."
        )
    return n


def _existing(rows: Rows, plan: Plan) -> tuple[Rows, np.ndarray]:
    """Return the rows, and the numbers of those that exist: of weight > 0.

    Which inputs are dropped and how images are moved depends on the number of a row:
    there, rows that do not exist must not be counted, and are left out.
    """
    if rows.weight is None:
        return rows, np.arange(len(rows.targets))
    row_ids = np.flatnonzero(rows.weight > 0)
    settings = plan.settings
    counted = settings.input_dropout > 0 or settings.augmentation is not None
    if len(row_ids) == len(rows.targets) or not counted:
        return rows, row_ids
    return subset(rows, row_ids), np.arange(len(row_ids))


def _continued(
    before: Sequence[Progress], plan: Plan, estimator: Any
) -> list[Progress]:
    """Copy what an earlier fit left, with the present settings of the optimiser."""
    if type(before[0].optimizer) is not type(plan.optimizer):
        raise ValueError(
            f"solver={estimator.solver!r}: training began with another solver and "
            "cannot continue with this one. Set it back, or fit from scratch "
            "(warm_start=False)."
        )
    if len(before) != plan.n_networks:
        raise ValueError(
            f"n_networks={plan.n_networks}: training began with {len(before)} and "
            "continues with as many; set n_networks back, or fit from scratch "
            "(warm_start=False)."
        )
    return [_copied(progress, plan) for progress in before]


def _copied(before: Progress, plan: Plan) -> Progress:
    """Copy a progress.

    The network that the last fit handed out is not trained behind its owner's back,
    and arrays from a memory-mapped pickle cannot be written to.
    """
    progress = copy(before)
    progress.history = list(before.history)
    progress.network = before.network.copy()
    progress.optimizer = copy(plan.optimizer)
    progress.optimizer.steps_done = before.optimizer.steps_done
    progress.optimizer.state = [state.copy() for state in before.optimizer.state]
    return progress
