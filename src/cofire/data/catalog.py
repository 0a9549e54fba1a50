"""Named data sets: file, checksum, source, licence; one row each."""

import hashlib
import io
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cofire.errors import unknown_name

BUNDLED = Path(__file__).parent / "bundled"


@dataclass(frozen=True)
class Entry:
    """What is known of a data set before it is read."""

    title: str
    sha256: str
    features: str
    source: str
    licence: str


CATALOG = {
    "madelon": Entry(
        title="Madelon: artificial, two classes, 20 useful features among 500",
        sha256="71e59ca4353110189e51df3c6ca8ba821aeb977181f8c452bc783ea0730c7784",
        features="500 whole numbers in 0..999; 5 informative, 15 linear combinations "
        "of these, 480 probes that say nothing",
        source="NIPS 2003 feature selection challenge (Guyon et al.), from UCI; the "
        "600 official validation rows are the test set",
        licence="UCI states CC BY 4.0 for its data sets; the copied repository none",
    ),
    "isolet": Entry(
        title="Isolet: spoken letters, 26 classes",
        sha256="948bc4b9790fed2fa82876a23c694a3af80987c90a77e09e287badd49baebc78",
        features="617 numbers in -1..1 with four decimals: spectral and contour "
        "features of a spoken letter",
        source="UCI ISOLET (Cole and Fanty), the official parts isolet1-4 and isolet5",
        licence="UCI states CC BY 4.0 for its data sets",
    ),
}


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples and labels: X (n_samples, n_features) float32, y (n_samples) from 0."""

    name: str
    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    features: str
    source: str


def load(name: str) -> Dataset:
    """Read a data set of the catalogue, values as its source has them.

    Looked up in the folder that the environment variable COFIRE_DATA names, then among
    the copies that come with the package; the checksum is compared.

    >>> madelon = load("madelon")
    >>> madelon.X_train.shape, madelon.X_test.shape
    ((2000, 500), (600, 500))
    """
    if name not in CATALOG:
        raise unknown_name("data set", name, CATALOG)
    entry = CATALOG[name]
    with np.load(io.BytesIO(_checked(locate(name), entry.sha256))) as arrays:
        # Some hold whole numbers to be multiplied with a number.
        scale = arrays["scale"] if "scale" in arrays else 1
        return Dataset(
            name,
            (arrays["X_train"] * scale).astype(np.float32),
            arrays["y_train"].astype(np.int64),
            (arrays["X_test"] * scale).astype(np.float32),
            arrays["y_test"].astype(np.int64),
            entry.features,
            entry.source,
        )


def locate(name: str) -> Path:
    """Return a data set's file; a FileNotFoundError says where it was looked for."""
    folders = [BUNDLED]
    if os.environ.get("COFIRE_DATA"):
        folders.insert(0, Path(os.environ["COFIRE_DATA"]))
    for folder in folders:
        if (folder / f"{name}.npz").is_file():
            return folder / f"{name}.npz"
    looked = " and ".join(str(folder) for folder in folders)
    raise FileNotFoundError(
        f"{name}.npz was looked for in {looked}. Set the environment variable "
        "COFIRE_DATA to the folder that has it."
    )


def _checked(path: Path, sha256: str) -> bytes:
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ValueError(
            f"{path} is not the file that is expected: its sha256 is {found}, not "
            f"{sha256}."
        )
    return content
