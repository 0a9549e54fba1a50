"""The files of the original sites, converted to the arrays of our own files.

One function per format. It takes the files in the order of the catalogue's `urls`.
"""

import gzip
import tarfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cofire.data.catalog.files import packed_sheets

Arrays = dict[str, np.ndarray]
_PARTS = ("X_train", "y_train", "X_test", "y_test")


def from_text(files: Sequence[Path]) -> Arrays:
    """Madelon: numbers in lines; labels -1 and 1."""
    X_train, y_train, X_test, y_test = (
        np.loadtxt(file, dtype=np.int64) for file in files
    )
    values = (X_train.astype(np.uint16), y_train > 0, X_test.astype(np.uint16))
    return _named(*values, y_test > 0)


def from_idx(files: Sequence[Path]) -> Arrays:
    """MNIST and Fashion-MNIST: a big-endian header, then bytes."""
    return _named(*(_idx(gzip.decompress(file.read_bytes())) for file in files))


def _idx(content: bytes) -> np.ndarray:
    n_dimensions = content[3]
    header = 4 + 4 * n_dimensions
    shape = np.frombuffer(content[4:header], ">u4").astype(int)
    values = np.frombuffer(content, np.uint8, offset=header)
    return values.reshape(shape[0], -1) if n_dimensions > 1 else values


def from_letters(files: Sequence[Path]) -> Arrays:
    """Isolet: five parts, four decimals, labels from 1."""
    parts = [_mat(file) for file in files]
    X = [np.rint(np.asarray(X) * 10000).astype(np.int16) for X, _ in parts]
    y = [labels - 1 for _, labels in parts]
    arrays = _named(np.concatenate(X[:4]), np.concatenate(y[:4]), X[4], y[4])
    return arrays | {"scale": np.array(0.0001)}


def from_counts(files: Sequence[Path]) -> Arrays:
    """PCMAC and BASEHOCK: a table of counts, mostly 0; labels from 1."""
    import scipy.sparse

    X, y = _mat(files[0])
    X = scipy.sparse.csr_array(X)
    X.sort_indices()
    X.eliminate_zeros()
    return {
        "data": X.data.astype(np.uint8),
        "indices": X.indices.astype(np.uint16),
        "indptr": X.indptr.astype(np.int32),
        "shape": np.array(X.shape, np.int64),
        "y": (y - y.min()).astype(np.uint8),
    }


def _mat(file: Path) -> tuple[np.ndarray, np.ndarray]:
    from scipy.io import loadmat

    found = {key.lower(): value for key, value in loadmat(file).items()}
    X, y = (found["fea"], found["gnd"]) if "fea" in found else (found["x"], found["y"])
    return X, y.ravel().astype(np.int64)


def from_cifar10(files: Sequence[Path]) -> Arrays:
    """CIFAR-10: five batches to train on, one to test with."""
    batches = [f"data_batch_{i}.bin" for i in range(1, 6)]
    return _pictures(files[0], batches, "test_batch.bin", "batches.meta.txt")


def from_cifar100(files: Sequence[Path]) -> Arrays:
    """CIFAR-100, with its 100 fine classes."""
    return _pictures(files[0], ["train.bin"], "test.bin", "fine_label_names.txt")


def _pictures(archive: Path, train: list[str], test: str, names: str) -> Arrays:
    """Rows of label bytes, of which the last is used, then red, green, blue planes."""
    with tarfile.open(archive) as tar:
        members = {Path(m.name).name: m for m in tar.getmembers() if m.isfile()}

        def content(name: str) -> bytes:
            file = tar.extractfile(members[name])
            assert file is not None  # it is a plain file
            return file.read()

        parts = [b"".join(content(name) for name in train), content(test)]
        class_names = content(names).decode("ascii").split()
    n_label_bytes = 2 if len(class_names) > 10 else 1
    rows = [
        np.frombuffer(part, np.uint8).reshape(-1, n_label_bytes + 3072)
        for part in parts
    ]
    planes = np.concatenate([part[:, n_label_bytes:] for part in rows])
    pixels = planes.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1).reshape(-1, 3072)
    y_train, y_test = (part[:, n_label_bytes - 1].copy() for part in rows)
    return packed_sheets(pixels) | {
        "y_train": y_train,
        "y_test": y_test,
        "class_names": np.array(class_names),
    }


def _named(*parts: np.ndarray) -> Arrays:
    arrays = dict(zip(_PARTS, parts, strict=True))
    return arrays | {k: arrays[k].astype(np.uint8) for k in ("y_train", "y_test")}
