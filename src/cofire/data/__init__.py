"""Where samples come from: named data sets, and how they are prepared."""

from cofire.data.catalog import CATALOG, Dataset, load
from cofire.data.prepare import paper_split, standardised

__all__ = ["CATALOG", "Dataset", "load", "paper_split", "standardised"]
