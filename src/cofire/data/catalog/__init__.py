"""Named data sets: what is known of them, where their files are, how to get them."""

from cofire.data.catalog.dataset import Dataset
from cofire.data.catalog.entries import CATALOG, Entry
from cofire.data.catalog.loading import load
from cofire.data.catalog.lookup import cache_folder, entry_of, folders, locate

__all__ = [
    "CATALOG",
    "Dataset",
    "Entry",
    "cache_folder",
    "entry_of",
    "folders",
    "load",
    "locate",
]
