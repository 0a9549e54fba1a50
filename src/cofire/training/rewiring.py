"""rewire_network(): a method's update, in training. begin(): the first topology."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from cofire import engine
from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.core.random import stream
from cofire.methods import Search
from cofire.methods.update import update_topology
from cofire.search import Deck, Exact, Found
from cofire.topology.indices import without
from cofire.topology.rewire import rewire
from cofire.training.progress import Progress, TrainingData
from cofire.training.record import EpochRecord
from cofire.training.schedules import drop_fraction
from cofire.training.settings import Settings


@dataclass(frozen=True, eq=False)
class Rewiring:
    """What one rewiring did, layer by layer; `before` and `after` share the biases."""

    before: SparseNetwork
    after: SparseNetwork
    dropped: list[np.ndarray]
    grown: list[np.ndarray]
    n_random: list[int]
    found: Found | None
    """What the search found, before the method chose; None without a search."""
    data: TrainingData

    def note(self, record: EpochRecord) -> None:
        """Write into the epoch's record what was done."""
        record["replaced"] = [len(indices) for indices in self.grown]
        record["random_share"] = [
            n / len(indices) if len(indices) else 0.0
            for n, indices in zip(self.n_random, self.grown, strict=True)
        ]
        if self.found is not None:
            record["recall"] = self.found.recall
            record["candidate_factor"] = self.found.factor
            record["search_multiply_adds"] = self.found.multiply_adds


def begin(
    progress: Progress, data: TrainingData, settings: Settings, counts: Sequence[int]
) -> None:
    """Let a method that starts full choose `counts[l]` connections of each layer l."""
    method, network = settings.method, progress.network
    order = data.order(settings, progress.seed, 0)
    gradients = engine.gradients(
        network,
        data.rows,
        data.targets,
        order=order[: method.first_batches * settings.batch_size],
        batch_size=settings.batch_size,
        alpha=progress.optimizer.alpha,
        sample_weight=data.sample_weight,
        n_threads=settings.n_threads,
    )
    chosen = method.begin(network, gradients, counts, progress.seed)
    for i, (layer, indices) in enumerate(zip(network.layers, chosen, strict=True)):
        nothing = np.empty(0, np.int64)
        dropped = without(layer.flat_indices, indices)
        network.layers[i], _ = rewire(layer, dropped, nothing, np.empty(0))
    progress.optimizer.start(network)


def rewire_network(
    progress: Progress, data: TrainingData, settings: Settings
) -> Rewiring:
    """Let the method update the topology; the optimiser's state follows."""
    network = progress.network
    update = update_topology(
        network.layers,
        settings.method,
        progress.point(settings, progress.epoch),
        seed=progress.seed,
        drop_fraction=drop_fraction(
            settings.drop_schedule,
            settings.drop_fraction,
            progress.epoch - progress.first_epoch,
            settings.max_epochs,
        ),
        find=lambda request, kept, n_wanted: _find(
            request, kept, n_wanted, progress, data, settings
        ),
    )
    before = SparseNetwork(list(network.layers), network.activation, network.output)
    state = progress.optimizer.followed(update.origins)
    # Last and in one statement, so that an error or an interrupt above changes nothing:
    # an interrupt comes between statements, not within one that calls nothing of ours.
    network.layers[:], progress.optimizer.state = update.layers, state
    return Rewiring(
        before=before,
        after=network,
        dropped=update.dropped,
        grown=update.grown,
        n_random=update.n_random,
        found=update.found,
        data=data,
    )


def _find(
    request: Search,
    kept: list[np.ndarray],
    n_wanted: list[int],
    progress: Progress,
    data: TrainingData,
    settings: Settings,
) -> Found:
    row_ids = _rows(request.rows, progress, data, settings)
    all_rows = row_ids is data.row_ids
    pairs = engine.PairSearch(
        network=progress.network,
        rows=data.rows,
        row_ids=row_ids,
        kept=kept,
        n_wanted=n_wanted,
        seed=progress.seed,
        epoch=progress.epoch,
        score=request.score,
        ties=request.ties,
        gate=_gates(request.false_alarms, progress.network.layers, kept),
        sharpness=request.sharpness,
        targets=data.targets if request.uses_targets else None,
        sample_weight=data.sample_weight,
        n_threads=settings.n_threads,
        deck=(lambda: data.deck) if all_rows and _has_deck(data) else None,
    )
    # Gradients are those of one batch: nothing is to be saved there.
    similarity = Exact() if request.uses_targets else settings.similarity
    factor = progress.history[-1].get("candidate_factor") if progress.history else None
    return similarity.find(pairs, (lambda: data.rarity) if all_rows else None, factor)


def _has_deck(data: TrainingData) -> bool:
    return Deck.is_worthwhile(data.rows, len(data.row_ids))


def _gates(
    false_alarms: float | None, layers: list[SparseLayer], kept: list[np.ndarray]
) -> list[float | None]:
    """Per layer the standard errors that a correlation must exceed (`Correlated`)."""

    def gate(layer: SparseLayer, n_kept: int) -> float | None:
        if false_alarms is None or 2 * n_kept < layer.n_out:
            return None
        fraction = min(false_alarms / (layer.n_in * layer.n_out), 1.0)
        return -NormalDist().inv_cdf(fraction / 2)

    gates = [gate(a, len(b)) for a, b in zip(layers, kept, strict=True)]
    return [*gates[:-1], None]


def _rows(
    which: str | float, progress: Progress, data: TrainingData, settings: Settings
) -> np.ndarray:
    """Return the rows that a search looks at: see `Search`."""
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
