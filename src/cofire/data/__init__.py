"""Where samples come from: named data sets, and how they are prepared."""

from cofire.data.catalog import CATALOG, Dataset, load
from cofire.data.prepare import (
    min_max_scaled,
    paper_data,
    paper_parts,
    paper_split,
    standardised,
)

__all__ = [
    "CATALOG",
    "Dataset",
    "load",
    "min_max_scaled",
    "paper_data",
    "paper_parts",
    "paper_split",
    "standardised",
]
