"""Files of named arrays: what NPZ and MAT files share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from cofire.data.tables.labels import labels
from cofire.data.tables.table import Reading, Table


def from_arrays(path: Path, arrays: Mapping[str, Any], reading: Reading) -> Table:
    """Take samples and target by their keys, which may differ in case."""
    samples = reading.samples or "X"
    X = _pick(path, arrays, samples, "samples")
    X = X if scipy.sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2 or (X.dtype.kind not in "iufb"):
        raise ValueError(
            f"{path}: {samples} must be an array of numbers with 2 dimensions (rows, "
            f"features), got {X.dtype} with {X.ndim}. Name another one with "
            "`samples='NAME'`."
        )
    X = scipy.sparse.csr_array(X) if scipy.sparse.issparse(X) else X
    if not reading.labelled:
        return Table(X, None, reading.target, samples=reading.samples)
    name = reading.target or "y"
    y = np.asarray(_pick(path, arrays, name, "target")).squeeze()
    if y.ndim != 1 or len(y) != X.shape[0]:
        raise ValueError(
            f"{path}: {name} must hold one label for each of the {X.shape[0]} rows of "
            f"{samples}, got shape {y.shape}. Name another one with `target='NAME'`."
        )
    return Table(X, labels(y, name), name, samples=reading.samples)


def _pick(path: Path, arrays: Mapping[str, Any], name: str, argument: str) -> Any:
    for key in arrays:
        if key.lower() == name.lower():
            return _unpickled(path, arrays, key)
    raise ValueError(
        f"{path} has no array {name!r}; it has {', '.join(arrays)}. Name the right one "
        f"with `{argument}='NAME'`."
    )


def _unpickled(path: Path, arrays: Mapping[str, Any], key: str) -> Any:
    try:
        return arrays[key]
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise ValueError(
            f"{path}: the array {key!r} holds Python objects. They are not read, "
            "because that could run code. Save numbers, or text with "
            f"np.savez(..., {key}={key}.astype(str))."
        ) from error
