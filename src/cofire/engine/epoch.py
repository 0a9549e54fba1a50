"""One epoch of training, gradients, and prediction: one native call each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import cofire.engine._native as _native
from cofire.core.network import SparseNetwork
from cofire.core.optimizers import SGD, Optimizer
from cofire.engine.augmentation import Augmentation
from cofire.engine.networks import native_network
from cofire.engine.rows import Rows
from cofire.errors import DivergenceError


@dataclass(frozen=True)
class EpochStats:
    """The mean loss over the batches of an epoch, and how many neurons fired."""

    loss: float
    n_steps: int
    fired: list[int]
    """Per hidden layer: those that fired for some row and have a path to an output."""


def train_epoch(
    network: SparseNetwork,
    optimizer: Optimizer,
    rows: Rows,
    targets: np.ndarray,
    *,
    order: np.ndarray,
    batch_size: int,
    sample_weight: np.ndarray | None = None,
    drop_last: bool = False,
    augmentation: Augmentation | None = None,
    label_smoothing: float = 0.0,
    input_dropout: float = 0.0,
    seed: int = 0,
    epoch: int = 0,
    pass_offset: int = 0,
    pass_size: int | None = None,
    row_numbers: np.ndarray | None = None,
    n_threads: int = 1,
) -> EpochStats:
    """Train the network in place on the rows in `order`, batch after batch.

    `order` may walk through the rows several times: a pass has `pass_size` rows (by
    default all of `order`), and `order` begins in the pass with the number `epoch`,
    `pass_offset` rows after its beginning. Each pass has random numbers of its own,
    those of its number. With `row_numbers` (int64, one per row of `rows`) a row has the
    random numbers of its number instead of its place: rows that are a part of many have
    the numbers that they have among the many. `targets` are int32 class numbers
    (n_rows,) for a softmax output, else float32 (n_rows, n_out). With `augmentation`
    the rows, floats or bytes, are changed by random numbers of (`seed`, pass, row);
    bytes are moved, then scaled by the feature they were moved to. Then each value is
    set to 0 with the probability `input_dropout`, by random numbers of (`seed`, pass,
    row) and of (`seed`, `epoch`, feature), and the others are multiplied by
    1 / (1 - `input_dropout`). `label_smoothing` is the fraction of a class number that
    all classes get evenly; a sigmoid's target is moved by this fraction towards 1/2.
    The same bits come out for any `n_threads`. If the loss, a weight, or an output of
    the trained network for one of the rows is not finite, this raises
    `DivergenceError` and leaves network and optimiser as they were before the call.
    """
    native_optimizer = _native.Optimizer(
        kind=optimizer.kind,
        settings=optimizer.settings(),
        steps_done=optimizer.steps_done,
    )
    try:
        result = _native.train_epoch(
            network=native_network(network, optimizer.state),
            optimizer=native_optimizer,
            samples=_native.Samples(
                rows=rows.native,
                targets=targets,
                sample_weight=sample_weight,
                largest_input=rows.largest,
                label_smoothing=label_smoothing,
            ),
            batches=_native.Batches(
                order=order,
                batch_size=batch_size,
                drop_last=drop_last,
                augmentation=_native_augmentation(augmentation),
                input_dropout=input_dropout,
                seed=seed,
                epoch=epoch,
                pass_offset=pass_offset,
                pass_size=max(len(order), 1) if pass_size is None else pass_size,
                row_numbers=row_numbers,
            ),
            n_threads=n_threads,
        )
    finally:  # after an interrupt too, the steps taken count
        optimizer.steps_done = native_optimizer.steps_done
    if result.diverged_layer >= 0:
        raise DivergenceError(layer=result.diverged_layer)
    return EpochStats(result.loss, result.n_steps, result.fired)


def predict(
    network: SparseNetwork | Sequence[SparseNetwork], rows: Rows, *, n_threads: int = 1
) -> np.ndarray:
    """Outputs for all rows: (n_rows, n_out) float32, probabilities for a classifier.

    Of several networks it is the mean of their outputs. `parallel_tasks` says how many
    threads have something to do.
    """
    networks = [network] if isinstance(network, SparseNetwork) else network
    out = np.empty((len(rows), networks[0].layers[-1].n_out), np.float32)
    _native.predict(
        networks=[native_network(one) for one in networks],
        rows=rows.native,
        out=out,
        n_threads=n_threads,
    )
    return out


def parallel_tasks(rows: Rows) -> int:
    """Number of parts that `predict` gives to threads."""
    return -(-len(rows) // _native.ROWS_PER_TASK)


def gradients(
    network: SparseNetwork,
    rows: Rows,
    targets: np.ndarray,
    *,
    order: np.ndarray,
    batch_size: int,
    alpha: float = 0.0,
    sample_weight: np.ndarray | None = None,
    n_threads: int = 1,
) -> list[np.ndarray]:
    """Gradient of each existing connection's weight, summed over the batches.

    One float32 array per layer, aligned with its connections; the loss includes the L2
    term of `alpha`. The network stays as it is.
    """
    # With momentum 1 the velocity is the sum of the gradients; the steps have size 0.
    sums = SGD(learning_rate=0.0, alpha=alpha, momentum=1.0, nesterov=False)
    sums.start(network)
    train_epoch(
        network.copy(),
        sums,
        rows,
        targets,
        order=order,
        batch_size=batch_size,
        sample_weight=sample_weight,
        n_threads=n_threads,
    )
    return [state.weights[0] for state in sums.state]


def _native_augmentation(augmentation: Augmentation | None) -> Any:
    if augmentation is None:
        return None
    max_down, max_right = augmentation.pixels
    return _native.Augmentation(
        height=int(augmentation.height),
        width=int(augmentation.width),
        channels=int(augmentation.channels),
        max_down=max_down,
        max_right=max_right,
        flip=bool(augmentation.flip),
    )
