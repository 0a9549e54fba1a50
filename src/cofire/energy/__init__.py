"""Joules: measured by the processor's counters, or estimated and labelled so.

>>> from cofire import energy
>>> with energy.measure() as spent:
...     _ = sum(range(1_000_000))
>>> spent.energy.source in ("rapl", "estimate")
True
"""

from cofire.energy.dense import DenseNetwork, smallest_dense
from cofire.energy.joules import Energy
from cofire.energy.meter import Meter, measure
from cofire.energy.predictions import of_predictions

__all__ = [
    "DenseNetwork",
    "Energy",
    "Meter",
    "measure",
    "of_predictions",
    "smallest_dense",
]
