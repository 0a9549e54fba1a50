"""load: read a named data set, and download it first if necessary."""

from cofire.data.catalog.dataset import Dataset
from cofire.data.catalog.fetch import fetch
from cofire.data.catalog.lookup import entry_of, locate
from cofire.data.catalog.reading import read


def load(name: str) -> Dataset:
    """Read a data set of the catalogue, with the values of its source.

    Its file is searched for in the folder that the environment variable COFIRE_DATA
    names, among the copies that come with the package and in the user's cache;
    otherwise it is downloaded into that cache. Its checksum must be the catalogue's.
    The split is the official one; PCMAC and BASEHOCK have none and get the CTRE
    paper's.

    >>> madelon = load("madelon")
    >>> madelon.X_train.shape, madelon.X_test.shape
    ((2000, 500), (600, 500))
    """
    entry_of(name)
    try:
        path = locate(name)
    except FileNotFoundError:
        path = fetch(name)
    return read(name, path)
