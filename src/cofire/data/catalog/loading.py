"""load: a named data set, downloaded where it is not on this machine yet."""

from cofire.data.catalog.dataset import Dataset
from cofire.data.catalog.fetch import fetch
from cofire.data.catalog.lookup import entry_of, locate
from cofire.data.catalog.reading import read


def load(name: str) -> Dataset:
    """Read a data set of the catalogue, values as its source has them.

    Looked up in the folder that the environment variable COFIRE_DATA names, among the
    copies that come with the package, in the user's cache; else it is downloaded into
    that cache. The checksum is compared. The split is the official one; PCMAC and
    BASEHOCK have none and get the CTRE paper's.

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
