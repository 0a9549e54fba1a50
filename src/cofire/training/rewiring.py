"""rewire_network(): a method's update, in training. begin(): the first topology."""

import math
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
from cofire.training.steps import Stretch


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
        for i, indices in enumerate(self.dropped):
            record["dropped"][i] += len(indices)
        for i, indices in enumerate(self.grown):
            n, n_before = len(indices), record["replaced"][i]
            n_random = record["random_share"][i] * n_before + self.n_random[i]
            record["replaced"][i] = n_before + n
            record["random_share"][i] = n_random / (n_before + n) if n_random else 0.0
        if self.found is not None:
            record["recall"] = self.found.recall
            record["candidate_factor"] = self.found.factor
            before = record["search_multiply_adds"] or 0
            record["search_multiply_adds"] = before + self.found.multiply_adds


def begin(
    progress: Progress, data: TrainingData, settings: Settings, counts: Sequence[int]
) -> None:
    """Let a method that starts full choose `counts[l]` connections of each layer l."""
    method, network = settings.method, progress.network
    steps = data.steps(settings, progress.seed)
    size = steps.batch_size
    gradients = engine.gradients(
        network,
        data.rows,
        data.targets,
        order=steps.pass_order(0)[: method.first_batches * size],
        batch_size=size,
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
    progress: Progress,
    data: TrainingData,
    settings: Settings,
    stretch: Stretch,
) -> Rewiring:
    """Let the method update the topology; the optimiser's state follows."""
    network = progress.network
    update = update_topology(
        network.layers,
        settings.method,
        progress.point(settings, stretch),
        seed=progress.seed,
        drop_fraction=drop_fraction(
            settings.drop_schedule,
            settings.drop_fraction,
            stretch.epoch - progress.first_epoch + stretch.progress,
            settings.max_epochs * settings.update_stop,
        ),
        find=_Finding(progress, data, settings, stretch).find,
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


@dataclass(frozen=True, eq=False)
class _Finding:
    """What the searches of one update look at."""

    progress: Progress
    data: TrainingData
    settings: Settings
    stretch: Stretch

    @property
    def update(self) -> int:
        assert self.stretch.update is not None  # otherwise nothing is searched
        return self.stretch.update

    def find(
        self, request: Search, kept: list[np.ndarray], n_wanted: list[int]
    ) -> Found:
        """Find the pairs that a method asks for."""
        progress, data, settings = self.progress, self.data, self.settings
        row_ids = self._rows(request.rows)
        all_rows = row_ids is data.row_ids
        pairs = engine.PairSearch(
            network=progress.network,
            rows=data.rows,
            row_ids=row_ids,
            kept=kept,
            n_wanted=n_wanted,
            seed=progress.seed,
            epoch=self.update,
            score=request.score,
            ties=request.ties,
            gate=_gates(request.false_alarms, progress.network.layers, kept, data),
            sharpness=request.sharpness,
            targets=data.targets if request.uses_targets else None,
            sample_weight=data.sample_weight,
            n_threads=settings.n_threads,
            deck=(lambda: data.deck) if all_rows and _has_deck(data) else None,
        )
        # Gradients are those of one batch: nothing is to be saved there.
        similarity = Exact() if request.uses_targets else settings.similarity
        rarity = (lambda: data.rarity) if all_rows else None
        history = progress.history
        factor = history[-1].get("candidate_factor") if history else None
        return similarity.find(pairs, rarity, factor)

    def _rows(self, which: str | float) -> np.ndarray:
        """Return the rows that a search looks at: see `Search`."""
        row_ids, step = self.data.row_ids, self.stretch.begin
        steps = self.data.steps(self.settings, self.progress.seed)
        if which == "all":
            return row_ids
        if which == "next_batch":
            return steps.batch(step)
        if which == "last_batch":
            return steps.batch(step - 1)
        n, size = len(row_ids), steps.batch_size
        if isinstance(which, int):
            size = min(which, n)
        elif which != "random_batch":
            size = max(1, int(n * float(which)))
        rng = stream(self.progress.seed, "rows", epoch=self.update)
        return rng.choice(row_ids, size, replace=False)


def _has_deck(data: TrainingData) -> bool:
    return Deck.is_worthwhile(data.rows, len(data.row_ids))


def chance_gate(false_alarms: float, n_pairs: int) -> float:
    """How many standard errors chance exceeds in `false_alarms` of so many pairs.

    >>> round(chance_gate(3, 1000 * 1000), 1), round(chance_gate(3, 100 * 100), 1)
    (4.7, 3.6)
    """
    return -NormalDist().inv_cdf(min(false_alarms / n_pairs, 1.0) / 2)


def _gates(
    false_alarms: float | None,
    layers: list[SparseLayer],
    kept: list[np.ndarray],
    data: TrainingData,
) -> list[float | None]:
    """Per layer the standard errors that a correlation must exceed (`Correlated`).

    The engine's are those of as many rows as there are; merged rows stand for more.
    """
    n = len(data.row_ids)
    error = 1.0 if data.n_counted is None else math.sqrt(n / data.n_counted)

    def gate(layer: SparseLayer, n_kept: int) -> float | None:
        if false_alarms is None or 2 * n_kept < layer.n_out:
            return None
        return chance_gate(false_alarms, layer.n_in * layer.n_out) * error

    gates = [gate(a, len(b)) for a, b in zip(layers, kept, strict=True)]
    return [*gates[:-1], None]
