"""The files of named data sets: what the arrays in an .npz mean, and how to write one.

There are three forms, all without pickle:

- `X_train`, `y_train`, `X_test`, `y_test`, and optionally `scale`, a factor of X;
- images as lossless WebP sheets of 500, 32 pixels wide: `webp` (the sheets one after
  the other), `offsets`, `y_train`, `y_test`;
- word counts in CSR form, `data`, `indices`, `indptr`, `shape`, and `y`: no split.
"""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from cofire.data.catalog.splits import paper_split
from cofire.persistence.atomic import replacing

Arrays = Mapping[str, np.ndarray]
Parts = tuple[Any, np.ndarray, Any, np.ndarray]
"""X_train, y_train, X_test, y_test."""

SHEET = 500
"""Images in a WebP file."""


def parts_of(arrays: Arrays) -> Parts:
    """Return samples and labels to train on and to test with from a file's arrays.

    Bytes stay bytes and sparse rows stay sparse. A file without a split gets the CTRE
    paper's, 80 and 20 per cent.
    """
    if "indptr" in arrays:
        return _split_counts(arrays)
    if "webp" in arrays:
        X = _unpacked_sheets(arrays["webp"], arrays["offsets"])
        X_train, X_test = np.split(X, [len(arrays["y_train"])])
    else:
        # Some hold whole numbers and a factor.
        scale = arrays["scale"] if "scale" in arrays else None
        X_train, X_test = (_values(arrays[k], scale) for k in ("X_train", "X_test"))
    y_train, y_test = (arrays[k].astype(np.int64) for k in ("y_train", "y_test"))
    return X_train, y_train, X_test, y_test


def _values(X: np.ndarray, scale: np.ndarray | None) -> np.ndarray:
    if X.dtype == np.uint8 and scale is None:
        return X
    return (X if scale is None else X * scale).astype(np.float32)


def _split_counts(arrays: Arrays) -> Parts:
    columns = arrays["indices"].astype(np.int32)
    values = (arrays["data"], columns, arrays["indptr"])
    X = scipy.sparse.csr_array(values, shape=tuple(arrays["shape"].tolist()))
    y = arrays["y"].astype(np.int64)
    train, test = paper_split(len(y), fraction=0.2)
    return X[train], y[train], X[test], y[test]


def _unpacked_sheets(webp: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return images as rows, pixel after pixel, each pixel red, green, blue."""
    from PIL import Image

    sheets = [
        np.asarray(Image.open(io.BytesIO(webp[start:end].tobytes())))
        for start, end in zip(offsets[:-1], offsets[1:], strict=True)
    ]
    return np.concatenate(sheets).reshape(-1, 32 * 32 * 3)


def packed_sheets(X: np.ndarray) -> dict[str, np.ndarray]:
    """Turn rows of 32 x 32 x 3 bytes into the arrays `webp` and `offsets`."""
    from PIL import Image

    sheets = []
    for start in range(0, len(X), SHEET):
        file = io.BytesIO()
        sheet = Image.fromarray(X[start : start + SHEET].reshape(-1, 32, 3))
        # The lowest effort gives files a few per cent larger, many times faster.
        sheet.save(file, "WEBP", lossless=True, quality=0, method=0)
        sheets.append(file.getvalue())
    return {
        "webp": np.frombuffer(b"".join(sheets), np.uint8),
        "offsets": np.cumsum([0, *map(len, sheets)], dtype=np.int64),
    }


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write the arrays as an .npz file; the path never holds an incomplete one."""
    with (
        replacing(path) as whole,
        zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
