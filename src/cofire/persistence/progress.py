"""What training carries from epoch to epoch, as named arrays and plain values."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.core.optimizers import OPTIMIZERS, LayerState, Optimizer
from cofire.persistence.values import (
    Document,
    decode,
    demand,
    encode,
    field_names,
    whole,
)
from cofire.training.progress import Progress
from cofire.training.record import is_record

Tensors = dict[str, np.ndarray]
_ARRAYS = ("indptr", "indices", "weights", "bias")  # of a layer


def describe_trainings(trainings: Sequence[Progress], tensors: Tensors) -> Document:
    """Return all networks of a model as plain values; the arrays go to `tensors`."""
    more = []
    for i, progress in enumerate(trainings[1:]):
        own: Tensors = {}
        more.append(describe_progress(progress, own))
        tensors |= {f"{_more(i)}{name}": array for name, array in own.items()}
    first = describe_progress(trainings[0], tensors)
    return {"progress": first} | ({"more_networks": more} if more else {})


def restore_trainings(plain: Document, tensors: Tensors) -> list[Progress]:
    """Undo `describe_trainings`; what is used is removed from `tensors`."""
    trainings = [restore_progress(plain["progress"], tensors)]
    first = trainings[0].network
    for i, one in enumerate(plain.get("more_networks", [])):
        start = _more(i)
        own = {
            name.removeprefix(start): tensors.pop(name)
            for name in list(tensors)
            if name.startswith(start)
        }
        progress = restore_progress(one, own)
        demand(not own, f"network {i + 2}: unknown tensors")
        for name in ("sizes", "activation", "output"):
            same = getattr(progress.network, name) == getattr(first, name)
            demand(same, f"network {i + 2}: its {name} differ from the first network's")
        trainings.append(progress)
    return trainings


def _more(i: int) -> str:
    return f"more_networks.{i}."


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
        "rate_factor": progress.rate_factor,
    }


def restore_progress(plain: Document, tensors: Tensors) -> Progress:
    """Undo `describe_progress`; what is used is removed from `tensors`.

    Nothing is trusted: shapes, dtypes, CSR invariants and finiteness are checked, and
    whatever is wrong raises a ValueError, TypeError or LookupError.
    """
    network = _take_network("network", plain, tensors)
    best = {
        "none": lambda: None,
        "same": lambda: network,
        "own": lambda: _take_network("best_network", plain, tensors),
    }[plain["best_network"]]()
    history, epoch = decode(plain["history"]), whole(plain["epoch"])
    demand(len(history) == epoch, "history is not one record per epoch")
    demand(all(map(is_record, history)), "history: expected a record per epoch")
    best_score = decode(plain["best_score"])
    demand(
        best_score is None or type(best_score) is float, "best_score is not a number"
    )
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
        rate_factor=_fraction(plain.get("rate_factor", 1.0)),
    )


def _fraction(value: object) -> float:
    demand(type(value) is float and 0 < value <= 1, "rate_factor must lie in (0, 1]")
    return float(value)  # type: ignore[arg-type]


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
        wrong = f"layer {i + 1}: expected {n_out} neurons, got {layer.n_out}"
        demand(layer.n_out == n_out, wrong)
        layers.append(layer)
    network = SparseNetwork(layers, plain["activation"], plain["output"])
    network.check()
    return network


def _take_optimizer(
    plain: Document, network: SparseNetwork, tensors: Tensors
) -> Optimizer:
    known = OPTIMIZERS[plain["optimizer"]]
    settings = decode(plain["settings"])
    settings.pop("decoupled_decay", None)  # in files older than 0.1
    demand(settings.keys() <= field_names(known), "unknown settings of the optimiser")
    demand(
        all(type(value) in (bool, int, float) for value in settings.values()),
        "settings of the optimiser are not numbers",
    )
    optimizer = known(**settings)
    optimizer.steps_done = whole(plain["steps_done"])
    for i, layer in enumerate(network.layers):
        moments = [f"moments.{i}.{m}" for m in range(known.n_moments)]
        weights = [_take_like(layer.weights, f"{m}.weights", tensors) for m in moments]
        bias = [_take_like(layer.bias, f"{m}.bias", tensors) for m in moments]
        for m in known.non_negative_moments:
            negative = (weights[m] < 0).any() or (bias[m] < 0).any()
            demand(not negative, f"moments.{i}.{m} must not be negative")
        optimizer.state.append(LayerState(weights, bias))
    return optimizer


def _take_like(array: np.ndarray, name: str, tensors: Tensors) -> np.ndarray:
    found = tensors.pop(name)
    fits = found.dtype == array.dtype and found.shape == array.shape
    demand(
        fits and bool(np.isfinite(found).all()),
        f"{name}: expected {array.shape} finite values of {array.dtype}",
    )
    return found
