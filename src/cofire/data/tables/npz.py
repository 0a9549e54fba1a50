"""NPZ files of NumPy."""

import zipfile
from pathlib import Path

import numpy as np

from cofire.data.tables.arrays import from_arrays
from cofire.data.tables.table import Reading, Table


def read_npz(path: Path, reading: Reading) -> Table:
    """Read the arrays of an NPZ file, without pickles."""
    # Otherwise NumPy takes it for a pickle, and advises to trust it.
    if not zipfile.is_zipfile(path):
        raise ValueError(
            f"{path} is not a complete .npz file: copy it again, or save it again with "
            "np.savez."
        )
    with np.load(path) as arrays:
        return from_arrays(path, arrays, reading)
