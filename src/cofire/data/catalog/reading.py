"""The file of a named data set as a Dataset, compared with the catalogue."""

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
