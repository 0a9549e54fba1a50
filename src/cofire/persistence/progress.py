"""What training carries from epoch to epoch, as named arrays and plain values."""

from dataclasses import fields
from itertools import pairwise
from reprlib import repr as shortened
from typing import Any

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.core.optimizers import SGD, Adam, LayerState, Optimizer
from cofire.persistence.model_file import Document
from cofire.persistence.values import decode, encode
from cofire.training.progress import Progress

OPTIMIZERS: dict[str, type[Optimizer]] = {"sgd": SGD, "adam": Adam}

Tensors = dict[str, np.ndarray]
_NUMBERS = ("loss", "rewire_seconds", "train_seconds", "evaluate_seconds")
_ARRAYS = ("indptr", "indices", "weights", "bias")  # of a layer


def describe_progress(progress: Progress, tensors: Tensors) -> Document:
    """Return all but the arrays as plain values; the arrays go to `tensors`."""
    network, best = progress.network, progress.best_network
    best_kind = "none" if best is None else "same" if best is network else "own"
    _put_network("network", network, tensors)
    if best is not None and best_kind == "own":
        _put_network("best_network", best, tensors)
    for i, state in enumerate(progress.optimizer.state):
        for m in range(progress.optimizer.n_moments):
            tensors[f"moments.{i}.{m}.weights"] = state.weights[m]
            tensors[f"moments.{i}.{m}.bias"] = state.bias[m]
    return {
        "sizes": network.sizes,
        "activation": network.activation,
        "output": network.output,
        "best_network": best_kind,
        "optimizer": progress.optimizer.kind,
        "settings": encode(progress.optimizer.settings(), "optimizer"),
        "steps_done": progress.optimizer.steps_done,
        "seed": progress.seed,
        "epoch": progress.epoch,
        "history": encode(progress.history, "history_"),
        "best_score": encode(progress.best_score, "best_validation_score_"),
        "stalled_epochs": progress.stalled_epochs,
        "longest_stall": progress.longest_stall,
        "first_epoch": progress.first_epoch,
    }


def restore_progress(plain: Document, tensors: Tensors) -> Progress:
    """Undo `describe_progress`; what is used is taken out of `tensors`.

    Nothing is believed: shapes, dtypes, CSR invariants and finiteness are checked, and
    whatever is wrong ends in a ValueError, TypeError or LookupError.
    """
    network = _take_network("network", plain, tensors)
    best = {
        "none": lambda: None,
        "same": lambda: network,
        "own": lambda: _take_network("best_network", plain, tensors),
    }[plain["best_network"]]()
    history, epoch = decode(plain["history"]), whole(plain["epoch"])
    demand(len(history) == epoch, "history is not one record per epoch")
    demand(all(isinstance(r, dict) for r in history), "history is not made of records")
    demand(
        all(type(record[name]) is float for record in history for name in _NUMBERS),
        "loss and seconds of an epoch are no numbers",
    )
    best_score = decode(plain["best_score"])
    demand(best_score is None or type(best_score) is float, "best_score is no number")
    return Progress(
        network,
        _take_optimizer(plain, network, tensors),
        seed=whole(plain["seed"], below=2**31),
        epoch=epoch,
        history=history,
        best_score=best_score,
        best_network=best,
        stalled_epochs=whole(plain["stalled_epochs"]),
        longest_stall=whole(plain["longest_stall"]),
        first_epoch=whole(plain["first_epoch"]),
    )


def _put_network(prefix: str, network: SparseNetwork, tensors: Tensors) -> None:
    for i, layer in enumerate(network.layers):
        for name in _ARRAYS:
            tensors[f"{prefix}.{i}.{name}"] = getattr(layer, name)


def _take_network(prefix: str, plain: Document, tensors: Tensors) -> SparseNetwork:
    sizes = [whole(n) for n in plain["sizes"]]
    layers = []
    for i, (n_in, n_out) in enumerate(pairwise(sizes)):
        arrays = {name: tensors.pop(f"{prefix}.{i}.{name}") for name in _ARRAYS}
        layer = SparseLayer(**arrays, n_in=n_in)
        demand(layer.n_out == n_out, f"layer {i} has not {n_out} neurons")
        layers.append(layer)
    network = SparseNetwork(layers, plain["activation"], plain["output"])
    network.check()
    return network


def _take_optimizer(
    plain: Document, network: SparseNetwork, tensors: Tensors
) -> Optimizer:
    known = OPTIMIZERS[plain["optimizer"]]
    settings = decode(plain["settings"])
    settings.pop("decoupled_decay", None)  # files of earlier versions have it
    demand(settings.keys() <= field_names(known), "unknown settings of the optimiser")
    demand(
        all(type(value) in (bool, int, float) for value in settings.values()),
        "settings of the optimiser are no numbers",
    )
    optimizer = known(**settings)
    optimizer.steps_done = whole(plain["steps_done"])
    for i, layer in enumerate(network.layers):
        moments = [f"moments.{i}.{m}" for m in range(known.n_moments)]
        weights = [_take_like(layer.weights, f"{m}.weights", tensors) for m in moments]
        bias = [_take_like(layer.bias, f"{m}.bias", tensors) for m in moments]
        if known is Adam:  # its second moment is a mean of squares
            negative = (weights[1] < 0).any() or (bias[1] < 0).any()
            demand(not negative, f"moments.{i}.1 is negative")
        optimizer.state.append(LayerState(weights, bias))
    return optimizer


def _take_like(array: np.ndarray, name: str, tensors: Tensors) -> np.ndarray:
    found = tensors.pop(name)
    fits = found.dtype == array.dtype and found.shape == array.shape
    demand(fits and bool(np.isfinite(found).all()), f"{name} is not as it should be")
    return found


def field_names(known: type) -> set[str]:
    """Names that a dataclass takes as arguments."""
    return {field.name for field in fields(known) if field.init}


def whole(value: Any, below: int = 2**63) -> int:
    """Return the value if it is a whole number from 0; a ValueError if not."""
    fits = type(value) is int and 0 <= value < below
    demand(fits, f"{shortened(value)} is no whole number")
    return value


def demand(condition: bool, message: str) -> None:
    """Raise a ValueError with this message unless the condition holds."""
    if not condition:
        raise ValueError(message)
