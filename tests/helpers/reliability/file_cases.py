"""Model files in parts: taken apart, put together, and judged.

A damage that breaks a checksum proves little about the checks behind it. So the parts
of a file (`Parts`) can be changed and packed again (`pack`), checksums and offsets
repaired: the loader has to find the fault itself. The damages are in file_damages.py.
"""

import hashlib
import json
import math
import struct
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from cofire import Augmentation, SparseMLPRegressor
from cofire.errors import ModelFormatError
from cofire.saving import load, save
from helpers.estimator_cases import earlier

REFUSED = "refused"  # in any case
SAME = "refused or the same"  # the damage may have changed nothing
SOUND = "refused or sound"  # a right file of another model, if it is one
LOADED = "loaded"  # a right file of another model

DTYPES = {"I64": "<i8", "I32": "<i4", "F32": "<f4", "F64": "<f8"}
CODES = {np.dtype(dtype): code for code, dtype in DTYPES.items()}


@dataclass
class Parts:
    """What a model file holds: its description, and its arrays by name."""

    document: dict
    tensors: dict[str, np.ndarray]

    def copy(self) -> "Parts":
        return Parts(
            json.loads(json.dumps(self.document)),
            {name: array.copy() for name, array in self.tensors.items()},
        )


PROBE = np.linspace(-2, 2, 24, dtype=np.float32).reshape(4, 6)
TEXTS = ["the cat", "a dog and a cat", "dögs", ""]


@dataclass
class Good:
    """A file that loads, in one piece and in parts; and rows that it predicts."""

    content: bytes
    parts: Parts
    probe: Any = None

    @property
    def header_end(self) -> int:
        return 8 + int.from_bytes(self.content[:8], "little")

    @property
    def text(self) -> str:
        """The description as it stands in the file."""
        header = json.loads(self.content[8 : self.header_end])
        return header["__metadata__"]["cofire"]


# ---- taking files apart, putting them together --------------------------------------


def canonical(value) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sha256(content) -> str:
    return hashlib.sha256(content).hexdigest()


def unpack(content: bytes) -> Parts:
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    document = json.loads(header.pop("__metadata__")["cofire"])
    tensors = {}
    for name, entry in header.items():
        start, stop = (end + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(content[start:stop], DTYPES[entry["dtype"]])
    return Parts(document, tensors)


def entries(tensors: dict[str, np.ndarray]) -> dict[str, dict]:
    """The header's list of tensors, one after the other."""
    listed, end = {}, 0
    for name, array in tensors.items():
        start, end = end, end + array.nbytes
        listed[name] = {
            "dtype": CODES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
    return listed


def described(parts: Parts) -> str:
    """The description with its checksums repaired."""
    document = {k: v for k, v in parts.document.items() if k != "sha256"}
    if isinstance(document.get("tensors"), dict):
        document["tensors"] = {
            name: sha256(np.ascontiguousarray(array))
            for name, array in parts.tensors.items()
        }
    document["sha256"] = sha256(canonical(document).encode())
    return canonical(document)


def assemble(header: dict | bytes, data: bytes = b"") -> bytes:
    """A safetensors file of this header, whatever it says."""
    if not isinstance(header, bytes):
        header = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(header)) + header + data


def with_text(text: str, parts: Parts) -> bytes:
    header = {"__metadata__": {"cofire": text}} | entries(parts.tensors)
    return assemble(header, b"".join(a.tobytes() for a in parts.tensors.values()))


def pack(parts: Parts) -> bytes:
    return with_text(described(parts), parts)


# ---- good files ---------------------------------------------------------------------


def _models() -> Iterator:
    """Models and pipelines, with rows that they predict."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6)).astype(np.float32)
    number = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    words = np.array(["ant", "bee", "cätchy"])[number]
    small = {"hidden_layer_sizes": (7, 5), "epsilon": 1.5, "random_state": 0}
    small |= {"max_iter": 2, "batch_size": 16}
    yield earlier(method="set", **small).fit(X, words), PROBE
    model = earlier(
        **small | {"solver": "adam", "max_iter": 3, "restore_best": False},
        class_weight={0: 1.0, 1: 2.5, 2: 1.0},
    ).fit(X, number, X_val=X[::2], y_val=number[::2])
    yield model, PROBE
    model = earlier(
        SparseMLPRegressor,
        **small | {"solver": "adam", "learning_rate": {1: 0.5}},
        augmentation=Augmentation(2, 3, shift=0.4),
    ).fit(X, X[:, :2])
    yield model, PROBE
    columns = np.stack([number > 0, X[:, 2] > 0], axis=1).astype(int)
    yield earlier(method="static", **small).fit(X, columns), PROBE
    model = earlier(method="set", **small)
    yield make_pipeline(*_steps(), model).fit(X.round(), number), PROBE.round()
    yield make_pipeline(TfidfVectorizer(), model).fit(10 * TEXTS, number), TEXTS


def _steps() -> list[Any]:
    """Steps with every kind of part: arrays of one and two axes, labels, choices."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    rare = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=9)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    table = ColumnTransformer(
        [
            ("numbers", numbers, [0, 1]),
            ("rare", rare, [2]),
            ("codes", codes, slice(3, 4)),
            ("as it is", "passthrough", [4]),
        ],
        remainder=StandardScaler(),
    )
    both = FeatureUnion([("pca", PCA(2)), ("best", SelectKBest(k=3))])
    return [table, both, PolynomialFeatures(2)]


def good_files(folder: Path) -> list[Good]:
    """A few small models of different kinds, then pipelines."""
    files = []
    for model, probe in _models():
        save(model, folder / "good", preprocessing={"columns": ["a", "b"]})
        content = (folder / "good").read_bytes()
        files.append(Good(content, unpack(content), probe))
    return files


# ---- judging them -------------------------------------------------------------------


def is_sound(parts: Parts) -> bool:
    """A slow second opinion on the arrays: CSR by neuron, all numbers finite."""
    sizes = parts.document["progress"]["sizes"]
    tensors = parts.tensors
    for prefix in ("network", "best_network"):
        if f"{prefix}.0.indptr" not in tensors:
            continue
        for i, n_in in enumerate(sizes[:-1]):
            names = ("indptr", "indices", "weights", "bias")
            layer = [tensors[f"{prefix}.{i}.{name}"].tolist() for name in names]
            if not _is_sound_layer(*layer, n_in, sizes[i + 1]):
                return False
    is_adam = parts.document["progress"]["optimizer"] == "adam"
    for name, array in tensors.items():
        if name.startswith("moments."):
            values = array.tolist()
            if not all(map(math.isfinite, values)):
                return False
            if is_adam and name.split(".")[2] == "1" and min(values, default=0) < 0:
                return False
    return True


def _is_sound_layer(indptr, indices, weights, bias, n_in, n_out) -> bool:
    if len(indptr) != n_out + 1 or len(bias) != n_out or len(weights) != len(indices):
        return False
    if indptr[0] != 0 or indptr[-1] != len(indices):
        return False
    for start, stop in zip(indptr, indptr[1:], strict=False):
        if not 0 <= start <= stop <= len(indices):
            return False
        row = indices[start:stop]
        if row != sorted(set(row)) or not all(0 <= i < n_in for i in row):
            return False
    return all(map(math.isfinite, [*weights, *bias]))


def verdict(path: Path, expected: str, good: Good) -> str:
    """Load the file at path; say how it was refused, or "" where it may be loaded.

    An AssertionError where it should not have been; all else is the loader's own fault.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of another scikit-learn, it may say
            model = load(path)
    except ModelFormatError as error:
        assert expected != LOADED, f"refused: {error}"
        return str(error).removeprefix(f"{path}: ") or "refused"
    assert expected != REFUSED, "loaded"
    content = path.read_bytes()
    if expected == SAME:
        parts = unpack(content)
        assert described(parts) == described(good.parts), "loaded as another model"
        return ""
    assert is_sound(unpack(content)), "loaded with broken arrays"
    assert predicts(model, good.probe), "does not predict"
    return ""


def predicts(model: Any, rows: Any) -> bool:
    """Whether a model predicts; a pipeline may refuse rows instead, with an error.

    A file may say that other words are known, or other numbers of columns.
    """
    if not isinstance(model, Pipeline):
        model.n_jobs = 1
        outputs = model._predict_outputs(rows)
        return outputs.shape == (len(rows), model.network_.sizes[-1])
    model[-1].n_jobs = 1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.predict(rows).shape == (len(rows),)
    except ValueError:
        return True
