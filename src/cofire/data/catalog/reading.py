"""Read the file of a named data set and compare it with the catalogue."""

import hashlib
import io
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from cofire.data.catalog.dataset import Dataset, in_order_of_content
from cofire.data.catalog.entries import CATALOG
from cofire.data.catalog.files import Arrays, parts_of
from cofire.data.catalog.lookup import entry_of


def read(name: str, path: Path) -> Dataset:
    """Read a data set from this file; a ValueError if it holds other values."""
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
        f"{path} is not the expected file: its sha256 is {found}, not {entry.sha256}, "
        f"and its values are not those of {name}. Remove it, then download it again: "
        f"`cofire.data.fetch({name!r})`."
    )


def _parsed(name: str, content: bytes) -> Dataset:
    with np.load(io.BytesIO(content)) as arrays:
        return assembled(name, arrays)


def assembled(name: str, arrays: Arrays) -> Dataset:
    """Make a data set from the arrays of its file, without checking them."""
    entry = CATALOG[name]
    X_train, y_train, X_test, y_test = parts_of(arrays)
    if entry.any_order:
        X_train, y_train = in_order_of_content(X_train, y_train)
        X_test, y_test = in_order_of_content(X_test, y_test)
    about = entry.features, entry.source
    return Dataset(name, X_train, y_train, X_test, y_test, *about)
