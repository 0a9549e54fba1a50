"""Where samples come from: named data sets, users' files, and their preprocessing."""

from cofire.data.catalog import CATALOG, Dataset, load
from cofire.data.catalog.fetch import fetch
from cofire.data.catalog.splits import paper_split
from cofire.data.preprocessing.paper import (
    min_max_scaled,
    paper_data,
    paper_parts,
    standardised,
)
from cofire.data.preprocessing.preprocess import Preprocessing
from cofire.data.stream import Chunk, Stream
from cofire.data.tables import Reading, Table, read_table

__all__ = [
    "CATALOG",
    "Chunk",
    "Dataset",
    "Preprocessing",
    "Reading",
    "Stream",
    "Table",
    "fetch",
    "load",
    "min_max_scaled",
    "paper_data",
    "paper_parts",
    "paper_split",
    "read_table",
    "standardised",
]
