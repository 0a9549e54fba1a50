"""Named data sets: where their files are, and how they are read and checked."""

import hashlib
import io
import os
import sys
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from cofire.data.dataset import Dataset, in_order_of_content
from cofire.data.entries import CATALOG, Entry
from cofire.data.files import Arrays, parts_of
from cofire.errors import unknown_name

BUNDLED = Path(__file__).parent / "bundled"


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
        from cofire.data.fetch import fetch

        path = fetch(name)
    return read(name, path)


def read(name: str, path: Path) -> Dataset:
    """Read a data set from this file; a ValueError if it is not what is expected."""
    entry, content = entry_of(name), path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found == entry.sha256:
        return _parsed(name, content)
    try:
        dataset = _parsed(name, content)
        if dataset.digest() == entry.content:
            return dataset
    except (ValueError, LookupError, OSError, EOFError, BadZipFile):
        pass
    raise ValueError(
        f"{path} is not the file that is expected: its sha256 is {found}, not "
        f"{entry.sha256}, and its values are not {name}'s. Remove it, then `cofire "
        f"data fetch {name}` gets another one."
    )


def _parsed(name: str, content: bytes) -> Dataset:
    with np.load(io.BytesIO(content)) as arrays:
        return assembled(name, arrays)


def assembled(name: str, arrays: Arrays) -> Dataset:
    """Make a data set of the arrays that its file holds, unchecked."""
    entry = CATALOG[name]
    X_train, y_train, X_test, y_test = parts_of(arrays)
    if entry.any_order:
        X_train, y_train = in_order_of_content(X_train, y_train)
        X_test, y_test = in_order_of_content(X_test, y_test)
    about = entry.features, entry.source
    return Dataset(name, X_train, y_train, X_test, y_test, *about)


def entry_of(name: str) -> Entry:
    """Return the catalogue's row; a ValueError suggests a name that exists."""
    if name not in CATALOG:
        raise unknown_name("data set", name, CATALOG)
    return CATALOG[name]


def locate(name: str) -> Path:
    """Return a data set's file; a FileNotFoundError says where it was looked for."""
    for folder in folders():
        if (folder / f"{name}.npz").is_file():
            return folder / f"{name}.npz"
    looked = " and ".join(str(folder) for folder in folders())
    raise FileNotFoundError(
        f"{name}.npz was looked for in {looked}. Set the environment variable "
        f"COFIRE_DATA to the folder that has it, or say `cofire data fetch {name}`."
    )


def folders() -> list[Path]:
    """Return the folders in which data sets are looked for, the first one first."""
    given = os.environ.get("COFIRE_DATA")
    return [*([Path(given)] if given else []), BUNDLED, cache_folder()]


def cache_folder() -> Path:
    """Return the folder for downloads: `cofire` in the user's cache."""
    given = os.environ.get("XDG_CACHE_HOME")
    if given:
        return Path(given) / "cofire"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "cofire"
    local = os.environ.get("LOCALAPPDATA")
    if sys.platform == "win32" and local:
        return Path(local) / "cofire" / "Cache"
    return Path.home() / ".cache" / "cofire"
