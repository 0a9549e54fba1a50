"""doctor(): what is installed here, and a proof that training is deterministic here."""

import hashlib
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

import cofire
from cofire import engine
from cofire.data import catalog
from cofire.estimators import SparseMLPClassifier
from cofire.network import SparseNetwork

REQUIRED = ("numpy", "scipy", "scikit-learn", "rich", "safetensors", "typer")
OPTIONAL = ("matplotlib", "plotly", "pandas", "pyarrow", "pillow", "scikit-posthocs")
THREADS = (1, 2, 3)


def doctor() -> dict[str, Any]:
    """Look this installation over; `deterministic` says whether it passed.

    A small network is trained with 1, 2 and 3 threads and the weights of each are
    hashed: equal hashes mean equal bits.

    >>> cofire.doctor()["deterministic"]
    True
    """
    start = time.perf_counter()
    proof = {
        method: {str(n): _fingerprint(_trained(method, n)) for n in THREADS}
        for method in ("set", "ctre_sim")
    }
    return {
        "cofire": cofire.__version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "byte_order": sys.byteorder,
        "required": {name: _version(name) for name in REQUIRED},
        "optional": {name: _version(name) for name in OPTIONAL},
        "simd_level": engine.simd_level(),
        "cores": engine.available_cores(),
        "data": {name: _where(name) for name in catalog.CATALOG},
        "weights_sha256": proof,
        "deterministic": all(len(set(found.values())) == 1 for found in proof.values()),
        "seconds": time.perf_counter() - start,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _where(name: str) -> str | None:
    try:
        return str(catalog.locate(name))
    except FileNotFoundError:
        return None


def _trained(method: str, n_threads: int) -> SparseNetwork:
    data = catalog.load("madelon")
    # Raw values are around 480 with a spread of about 30: good enough for a proof.
    X = (data.X_train - 480) / 30
    # Batches of 500 rows: enough tiles that every thread has a share.
    model = SparseMLPClassifier(
        (300, 300),
        method=method,
        batch_size=500,
        max_iter=10,
        random_state=0,
        n_jobs=n_threads,
    )
    return model.fit(X, data.y_train).network_


def _fingerprint(network: SparseNetwork) -> str:
    digest = hashlib.sha256()
    for layer in network.layers:
        for array in (layer.indptr, layer.indices, layer.weights, layer.bias):
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
