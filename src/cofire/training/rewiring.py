"""rewire_network(): drop, search, grow, rewire, follow. begin(): the first topology."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import NormalDist

import numpy as np

from cofire import engine
from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.core.random import stream
from cofire.methods import Grown, Search, UpdateContext
from cofire.search import Deck, Exact, Found
from cofire.topology.indices import without
from cofire.topology.rewire import rewire
from cofire.training.progress import Progress, Record, Settings, TrainingData
from cofire.training.schedules import drop_fraction


@dataclass(frozen=True, eq=False)
class Rewiring:
    """What one rewiring did, layer by layer; `before` and `after` share the biases."""

    before: SparseNetwork
    after: SparseNetwork
    dropped: list[np.ndarray]
    grown: list[np.ndarray]
    n_random: list[int]
    found: Found | None
    """What the search found, before the method had its say; None without a search."""
    random_phase: bool | None
    data: TrainingData

    def record(self) -> Record:
        """What `history_` tells of it."""
        return {
            "replaced": [len(places) for places in self.grown],
            "random_share": [
                r / len(places) if len(places) else 0.0
                for r, places in zip(self.n_random, self.grown, strict=True)
            ],
            "random_phase": self.random_phase,
            "recall": None if self.found is None else self.found.recall,
            "candidate_factor": None if self.found is None else self.found.factor,
            "search_multiply_adds": (
                None if self.found is None else self.found.multiply_adds
            ),
        }


def no_rewiring(progress: Progress, settings: Settings) -> Record:
    """What `history_` tells of an epoch before which nothing changed."""
    n_layers = len(progress.network.layers)
    return {
        "replaced": [0] * n_layers,
        "random_share": [0.0] * n_layers,
        "random_phase": settings.method.random_phase(progress.moment(settings)),
        "recall": None,
        "candidate_factor": None,
        "search_multiply_adds": None,
    }


def begin(
    progress: Progress, data: TrainingData, settings: Settings, counts: Sequence[int]
) -> None:
    """Let a method that starts full choose `counts[l]` connections of each layer l."""
    method, network = settings.method, progress.network
    if not method.starts_full:
        return
    gradients = engine.gradients(
        network,
        data.rows,
        data.targets,
        order=data.order(settings, progress.seed, 0)[
            : method.first_batches * settings.batch_size
        ],
        batch_size=settings.batch_size,
        alpha=settings.alpha,
        sample_weight=data.sample_weight,
        n_threads=settings.n_threads,
    )
    chosen = method.begin(network, gradients, counts, progress.seed)
    for i, (layer, places) in enumerate(zip(network.layers, chosen, strict=True)):
        nothing = np.empty(0, np.int64)
        gone = without(layer.keys, places)
        network.layers[i], _ = rewire(layer, gone, nothing, np.empty(0))
    progress.optimizer.start(network)


def rewire_network(
    progress: Progress, data: TrainingData, settings: Settings
) -> Rewiring:
    """Drop, search, grow and rewire every layer.

    The scores are those of the network before the drop, found for all layers in one
    search. Each layer keeps its number of connections, unless the method shrinks it.
    """
    network, method = progress.network, settings.method
    layers, moment = network.layers, progress.moment(settings)
    fraction = drop_fraction(
        settings.drop_schedule,
        settings.drop_fraction,
        progress.epoch - progress.first_epoch,
        settings.max_epochs,
    )
    contexts = [
        UpdateContext(
            **asdict(moment),
            seed=progress.seed,
            layer_index=i,
            drop_fraction=fraction,
        )
        for i in range(len(layers))
    ]
    dropped = [
        method.drop(layer, _n_replaced(layer, fraction), context)
        for layer, context in zip(layers, contexts, strict=True)
    ]
    search, found = method.search(moment), None
    if search is not None:
        found = _find(search, progress, data, settings, dropped)
        contexts = [
            replace(context, candidates=places)
            for context, places in zip(contexts, found.places, strict=True)
        ]
    rewired, grown = [], []
    for layer, gone, context in zip(layers, dropped, contexts, strict=True):
        growth = _checked(method.grow(layer, gone, len(gone), context), gone, settings)
        n_new = len(growth.places)
        new = method.new_weights(layer, n_new, context.rng("new_values"))
        rewired.append(
            rewire(layer, gone, growth.places, new, returning=method.returning)
        )
        grown.append(growth)
    before = SparseNetwork(list(layers), network.activation, network.output)
    after = [layer for layer, _ in rewired]
    moments = progress.optimizer.followed([origin for _, origin in rewired])
    # At last and together, so that an error or an interrupt above changes nothing: they
    # come between statements, not within one that calls nothing of ours.
    layers[:], progress.optimizer.state = after, moments
    return Rewiring(
        before=before,
        after=network,
        dropped=dropped,
        grown=[growth.places for growth in grown],
        n_random=[growth.n_random for growth in grown],
        found=found,
        random_phase=method.random_phase(moment),
        data=data,
    )


def _checked(growth: Grown, dropped: np.ndarray, settings: Settings) -> Grown:
    """Refuse what a method must not return; `rewire` looks at the places themselves."""
    name, n = type(settings.method).__name__, len(dropped)
    if not isinstance(growth, Grown):
        raise TypeError(f"{name}.grow must return a Grown, got {type(growth).__name__}")
    places = np.asarray(growth.places)
    shrinks = settings.method.shrinks
    right = len(places) <= n if shrinks else len(places) == n
    if places.dtype.kind not in "iu" or not right:
        raise ValueError(
            f"{name}.grow must return {'at most ' if shrinks else ''}{n} whole "
            f"numbers, as many places as were dropped, got {len(places)} of "
            f"{places.dtype}"
        )
    if not 0 <= growth.n_random <= len(places):
        raise ValueError(
            f"{name}.grow: n_random must lie in [0, {len(places)}], "
            f"got {growth.n_random}"
        )
    return growth


def _n_replaced(layer: SparseLayer, drop_fraction: float) -> int:
    """A share of the connections, but no more than there are free places to go to."""
    free = layer.n_in * layer.n_out - layer.nnz
    return min(int(drop_fraction * layer.nnz), free)


def _find(
    search: Search,
    progress: Progress,
    data: TrainingData,
    settings: Settings,
    dropped: list[np.ndarray],
) -> Found:
    layers = progress.network.layers
    row_ids = _rows(search.rows, progress, data, settings)
    all_rows = row_ids is data.row_ids
    pairs = engine.PairSearch(
        network=progress.network,
        rows=data.rows,
        row_ids=row_ids,
        kept=[without(a.keys, b) for a, b in zip(layers, dropped, strict=True)],
        n_wanted=[len(gone) for gone in dropped],
        seed=progress.seed,
        epoch=progress.epoch,
        score=search.score,
        ties=search.ties,
        gate=_gates(search.false_alarms, layers, dropped),
        sharpness=search.sharpness,
        targets=data.targets if search.score == "gradient" else None,
        sample_weight=data.sample_weight,
        n_threads=settings.n_threads,
        deck=(lambda: data.deck) if all_rows and _has_deck(data) else None,
    )
    # Gradients are those of one batch: nothing is to be saved there.
    similarity = Exact() if search.score == "gradient" else settings.similarity
    factor = progress.history[-1].get("candidate_factor") if progress.history else None
    return similarity.find(pairs, (lambda: data.rarity) if all_rows else None, factor)


def _has_deck(data: TrainingData) -> bool:
    return Deck.is_worthwhile(data.rows, len(data.row_ids))


def _gates(
    false_alarms: float | None, layers: list[SparseLayer], dropped: list[np.ndarray]
) -> list[float | None]:
    """Per layer the standard errors that a correlation must exceed: see `Search`."""

    def gate(layer: SparseLayer, n_dropped: int) -> float | None:
        if false_alarms is None or 2 * (layer.nnz - n_dropped) < layer.n_out:
            return None
        share = min(false_alarms / (layer.n_in * layer.n_out), 1.0)
        return -NormalDist().inv_cdf(share / 2)

    gates = [gate(a, len(b)) for a, b in zip(layers, dropped, strict=True)]
    return [*gates[:-1], None]


def _rows(
    which: str | float, progress: Progress, data: TrainingData, settings: Settings
) -> np.ndarray:
    """The rows that a search looks at: see `Search`."""
    epoch, n = progress.epoch, len(data.row_ids)
    size = min(settings.batch_size, n)
    if which == "all":
        return data.row_ids
    if which == "next_batch":
        return data.order(settings, progress.seed, epoch)[:size]
    if which == "last_batch":
        order = data.order(settings, progress.seed, epoch - 1)
        start = ((n if settings.drop_last else n + size - 1) // size - 1) * size
        return order[start : start + size]
    rng = stream(progress.seed, "rows", epoch=epoch)
    if isinstance(which, int):
        size = min(which, n)
    elif which != "random_batch":
        size = max(1, int(n * float(which)))
    return rng.choice(data.row_ids, size, replace=False)
