"""Cooling: grow at random at first, then more and more where neurons fire alike."""

from dataclasses import dataclass

import numpy as np

from cofire.methods import Grown, Method, Similar
from cofire.topology.select import random_absent


@dataclass(frozen=True)
class Cooling(Method):
    """Random growth explores while training is young; later, similarity decides.

    half_life: after this many epochs half of the new connections are random, after
    twice as many a quarter.
    """

    half_life: float = 20.0

    def __post_init__(self):
        super().__post_init__()
        if not self.half_life > 0:
            raise ValueError(f"half_life must be above 0, got {self.half_life!r}")

    def search(self, point):
        """Look for the pairs of neurons that fire most alike, on one batch."""
        return Similar("cosine", rows="random_batch")

    def grow(self, layer, dropped, n, context):
        """Choose n connections: fewer and fewer at random."""
        n_random = round(n * 0.5 ** (context.epoch / self.half_life))
        rng = context.rng("grow")
        alike = np.sort(rng.choice(context.candidates, n - n_random, replace=False))
        others = random_absent(layer, n_random, rng, also=dropped, exclude=alike)
        return Grown(np.sort(np.concatenate([alike, others])), n_random)
