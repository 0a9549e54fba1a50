"""MAT files of MATLAB, up to version 7."""

from pathlib import Path

from cofire.data.tables.arrays import from_arrays
from cofire.data.tables.table import Reading, Table


def read_mat(path: Path, reading: Reading) -> Table:
    """Read the arrays of a MAT file."""
    from scipy.io.matlab import loadmat, matfile_version

    if matfile_version(path)[0] == 2:  # HDF5, which SciPy does not read
        raise ValueError(
            f"{path}: MAT files of version 7.3 cannot be read. In MATLAB, "
            "save(..., '-v7') writes one that can."
        )
    found = loadmat(path)
    arrays = {key: v for key, v in found.items() if not key.startswith("__")}
    return from_arrays(path, arrays, reading)
