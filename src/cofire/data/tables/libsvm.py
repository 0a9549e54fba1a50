"""Files in the format of libsvm: sparse rows, each behind its label."""

from pathlib import Path

import numpy as np
import scipy.sparse

from cofire.data.tables.labels import labels
from cofire.data.tables.table import Reading, Table


def read_libsvm(path: Path, reading: Reading) -> Table:
    """Read sparse rows; features count from 0 if feature 0 occurs, else from 1."""
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(str(path), zero_based=True, dtype=np.float64)
    except (ValueError, IndexError) as error:
        raise ValueError(
            f"{path} is not in the format of libsvm: {error}. Expected lines such as "
            "1 3:0.5 7:2, a label and numbered features."
        ) from error
    X, first = scipy.sparse.csr_array(X), reading.first_index
    uses_0 = bool((X.indices == 0).any())
    if first is None:
        first = 0 if uses_0 else 1
    elif first == 1 and uses_0:
        raise ValueError(
            f"{path} has a feature 0; the features of the model start at 1: number "
            "them as in the file that it was trained on."
        )
    y = labels(y, "label") if reading.labelled else None
    return Table(X[:, first:], y, None, first)
