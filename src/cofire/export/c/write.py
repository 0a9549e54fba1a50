"""to_c: write a model as a C file and its header, and say what it costs."""

import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from cofire.errors import unknown_name
from cofire.export.c.encoding import feature_type
from cofire.export.c.header import header
from cofire.export.c.source import Types, source
from cofire.export.c.tables import TABLES, rounded
from cofire.export.c.words import as_name, check_name
from cofire.export.loss import Loss, loss_of
from cofire.export.plain import Numbers, PlainModel
from cofire.export.reading import plain_model, rows_of
from cofire.export.simplify import fold_bytes, simplify
from cofire.persistence.atomic import check_writable, write_atomically

_FEATURES = ("float", "double")
_FAR = 16.0
"""How far, in units of its scale, the mean of a target may be from 0 in float."""


@dataclass(frozen=True)
class CExport:
    """What was written, and what it takes of a machine."""

    source: Path
    header: Path
    tables: str
    feature: str
    """The type of features in C."""
    sizes: tuple[list[int], ...]
    """Of each network: the inputs and neurons that are left in each layer."""
    n_connections: int
    table_bytes: int
    stack_bytes: int
    loss: Loss | None
    """What became of the predictions of X; None without X."""

    def __str__(self) -> str:
        lines = [
            f"{self.source}, {self.header}: {self.n_connections} connections, "
            + ", ".join("-".join(map(str, own)) for own in self.sizes),
            f"tables in {self.tables}: {self.table_bytes:,} bytes of constants",
            f"stack: about {self.stack_bytes:,} bytes per call",
            f"features: {self.feature}",
        ]
        return "\n".join(lines + ([] if self.loss is None else [str(self.loss)]))


def to_c(
    model: Any,
    path: str | PathLike[str],
    *,
    name: str | None = None,
    tables: str = "float",
    features: str | None = None,
    X: Any = None,
    y: Any = None,
) -> CExport:
    """Write a fitted model as one C99 file, `path`, and its header beside it.

    It takes features as they were measured, allocates nothing and needs math.h alone.
    Neurons that change nothing are left out.

    name: how all names in it begin; None: as the file is called, made a name of C.
    tables: weights in "float", "int16" or "int8", with a scale per neuron. features:
    "float" or "double"; None: float, unless rounding features to it could show in the
    probabilities (they are bytes for a model that was trained on bytes). X, y: rows,
    and maybe their targets, on which to measure what is lost; what `predict` takes, or
    for a model that `cofire train` wrote, the columns of such a file.

    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from cofire import SparseMLPClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SparseMLPClassifier((30,), n_networks=1, max_iter=5, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = to_c(model.fit(X, y), f"{folder}/tumour.c", tables="int8", X=X, y=y)
    ...     "int tumour_predict(const" in done.header.read_text()
    True
    >>> done.loss.after > 0.9
    True
    """
    if tables not in TABLES:
        raise unknown_name("tables", tables, TABLES)
    if features is not None and features not in _FEATURES:
        raise unknown_name("features", features, _FEATURES)
    path = Path(path)
    if not re.fullmatch(r"[\w.-]+\.c", path.name, re.ASCII):
        raise ValueError(
            f"path={str(path)!r}: the name of a C file ends in .c, and has letters, "
            "digits, _, . and - only."
        )
    if y is not None and X is None:
        raise ValueError("y is given without X: give the rows that it belongs to.")
    beside = path.with_suffix(".h")
    check_writable(path)
    check_writable(beside)
    whole = plain_model(model)
    small = simplify(whole)
    small = fold_bytes(small) if small.takes_bytes else small
    name = as_name(path.stem) if name is None else check_name(name)
    types = _types(small, path.stem, name, features)
    made = source(small, types, tables)
    lost = None
    if X is not None:
        lost = loss_of(whole, rounded(small, tables), rows_of(model, X), y)
    write_atomically(beside, header(small, types, made).encode("ascii"))
    write_atomically(path, made.text.encode("ascii"))
    return CExport(
        path,
        beside,
        tables,
        types.feature,
        tuple(network.sizes for network in small.networks),
        small.n_connections,
        made.table_bytes,
        made.stack_bytes,
        lost,
    )


def _types(model: PlainModel, stem: str, name: str, features: str | None) -> Types:
    if features is not None and model.takes_bytes:
        raise ValueError(
            f"features={features!r}: the model was trained on bytes, and takes bytes. "
            "Leave it at None, or fit on X.astype('float32')."
        )
    result, target = "float", model.target
    if isinstance(target, Numbers):
        far = np.abs(target.mean) > _FAR * target.scale
        result = "double" if far.any() else "float"
    return Types(stem, name, features or feature_type(model), result)
