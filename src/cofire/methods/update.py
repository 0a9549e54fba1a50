"""update_topology(): drop, search, grow and rewire all layers, by any method.

It takes arrays and a function that searches, and returns arrays: nothing here knows
how a network is trained, so that other frameworks can use the same methods.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.methods.contract import Grown, Method, TrainingPoint, UpdateContext
from cofire.methods.requests import Search
from cofire.search import Found
from cofire.topology.indices import without
from cofire.topology.rewire import rewire

Find = Callable[[Search, list[np.ndarray], list[int]], Found]
"""(request, per layer the kept connections, and how many to find) -> Found."""


@dataclass(frozen=True, eq=False)
class TopologyUpdate:
    """The layers after an update, and how they came about, layer by layer.

    origins[l][k] says which old connection the new connection k of layer l was, -1 if
    none: by it, everything that belongs to connections follows.
    """

    layers: list[SparseLayer]
    origins: list[np.ndarray]
    dropped: list[np.ndarray]
    grown: list[np.ndarray]
    n_random: list[int]
    found: Found | None
    """What the search found, before the method chose; None without a search."""


def update_topology(
    layers: Sequence[SparseLayer],
    method: Method,
    point: TrainingPoint,
    *,
    seed: int,
    drop_fraction: float,
    find: Find,
) -> TopologyUpdate:
    """Let a method update all layers; the layers given stay as they are.

    The search ranks by the network before the drop, for all layers at once. The number
    of connections stays the same, unless the method shrinks layers.
    """
    contexts = [
        UpdateContext(
            **asdict(point), seed=seed, layer_index=i, drop_fraction=drop_fraction
        )
        for i in range(len(layers))
    ]
    dropped = [
        method.drop(layer, _n_to_drop(layer, drop_fraction), context)
        for layer, context in zip(layers, contexts, strict=True)
    ]
    budgets = _budgets(method, layers, dropped, point)
    request, found = method.search(point), None
    if request is not None:
        kept = [
            without(a.flat_indices, b) for a, b in zip(layers, dropped, strict=True)
        ]
        found = find(request, kept, budgets)
    rewired, grown = [], []
    for i, (layer, context) in enumerate(zip(layers, contexts, strict=True)):
        if found is not None:
            context = replace(context, candidates=found.indices[i])
        growth = method.grow(layer, dropped[i], budgets[i], context)
        _check_growth(growth, budgets[i], method)
        new = method.new_weights(layer, len(growth.indices), context.rng("new_values"))
        rewired.append(
            rewire(layer, dropped[i], growth.indices, new, returning=method.returning)
        )
        grown.append(growth)
    return TopologyUpdate(
        layers=[layer for layer, _ in rewired],
        origins=[origin for _, origin in rewired],
        dropped=dropped,
        grown=[growth.indices for growth in grown],
        n_random=[growth.n_random for growth in grown],
        found=found,
    )


def _n_to_drop(layer: SparseLayer, fraction: float) -> int:
    """A fraction of the connections, but no more than there are free indices."""
    free = layer.n_in * layer.n_out - layer.nnz
    return min(int(fraction * layer.nnz), free)


def _budgets(
    method: Method,
    layers: Sequence[SparseLayer],
    dropped: list[np.ndarray],
    point: TrainingPoint,
) -> list[int]:
    """How many connections each layer may grow, checked."""
    n_dropped = [len(indices) for indices in dropped]
    budgets = [int(n) for n in method.budgets(layers, n_dropped, point)]
    name, total = type(method).__name__, sum(n_dropped)
    if len(budgets) != len(layers) or min(budgets) < 0 or sum(budgets) > total:
        raise ValueError(
            f"{name}.budgets must return one number >= 0 per layer, {len(layers)} with "
            f"a sum of at most {total}, as many as were dropped; got {budgets}"
        )
    for i, (layer, n) in enumerate(zip(layers, budgets, strict=True)):
        free = layer.n_in * layer.n_out - layer.nnz + n_dropped[i]
        if n > free:
            raise ValueError(
                f"{name}.budgets gives {n} connections to layer {i + 1}, which has "
                f"{free} free indices"
            )
    return budgets


def _check_growth(growth: Grown, n: int, method: Method) -> None:
    """Refuse what a method must not return; `rewire` checks the indices themselves."""
    name = type(method).__name__
    if not isinstance(growth, Grown):
        raise TypeError(f"{name}.grow must return a Grown, got {type(growth).__name__}")
    indices = np.asarray(growth.indices)
    right = len(indices) <= n if method.shrinks else len(indices) == n
    if indices.dtype.kind not in "iu" or not right:
        raise ValueError(
            f"{name}.grow must return {'at most ' if method.shrinks else ''}{n} whole "
            f"numbers, as many indices as the layer may grow, got {len(indices)} of "
            f"{indices.dtype}"
        )
    if not 0 <= growth.n_random <= len(indices):
        raise ValueError(
            f"{name}.grow: n_random must lie in [0, {len(indices)}], "
            f"got {growth.n_random}"
        )
