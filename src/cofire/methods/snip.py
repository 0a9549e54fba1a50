"""SNIP: choose connections once, by what removing them would do (Lee et al., 2019)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cofire.core.network import SparseNetwork
from cofire.core.random import stream
from cofire.methods.requests import check_choices
from cofire.methods.static import Static
from cofire.topology.select import largest

SCOPES = ("layer", "global")


@dataclass(frozen=True)
class SNIP(Static):
    """Keep the connections of largest |weight * gradient| in the full network.

    Temporarily dense: the full network is created, and its gradients are taken on the
    first batches. Then it is trained as sparse as asked for.

    batches: how many of the first batches the gradients come from.
    scope: rank within each "layer", so that each has as many connections as asked for,
    or over all layers ("global"), of which each keeps at least one.
    """

    title = "SNIP"
    starts_full = True
    batches: int = 1
    scope: str = "layer"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choices(self, scope=SCOPES)
        if self.batches < 1:
            raise ValueError(f"batches must be at least 1, got {self.batches!r}")

    @property
    def first_batches(self) -> int:
        """As many as `batches` says."""
        return self.batches

    def begin(
        self,
        network: SparseNetwork,
        gradients: list[np.ndarray],
        counts: Sequence[int],
        seed: int,
    ) -> list[np.ndarray]:
        """Choose the connections that matter most."""
        saliency = [
            np.abs(layer.weights * gradient)
            for layer, gradient in zip(network.layers, gradients, strict=True)
        ]
        if self.scope == "global":
            counts = _counts_over_all(saliency, sum(counts), stream(seed, "ties"))
        return [
            layer.flat_indices[largest(scores, n, stream(seed, "ties", layer=i))]
            for i, (layer, scores, n) in enumerate(
                zip(network.layers, saliency, counts, strict=True)
            )
        ]


def _counts_over_all(
    saliency: list[np.ndarray], total: int, rng: np.random.Generator
) -> list[int]:
    """How many of the `total` most salient lie in each layer, at least 1."""
    ends = np.cumsum([len(scores) for scores in saliency])
    # The best of each layer is in whatever the others are.
    best = [
        end - len(scores) + int(scores.argmax())
        for end, scores in zip(ends, saliency, strict=True)
    ]
    scores = np.concatenate(saliency)
    scores[best] = np.inf
    chosen = largest(scores, total, rng)
    return np.diff(np.searchsorted(chosen, ends), prepend=0).tolist()
