"""doctor(): what is installed, and proofs that training is deterministic here."""

import platform
import sys
import time
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import cofire
from cofire import engine
from cofire.core.machine import available_cores
from cofire.data import catalog
from cofire.diagnostics import proofs
from cofire.energy import counters

REQUIRED = ("numpy", "scipy", "scikit-learn", "rich", "typer")
OPTIONAL = ("matplotlib", "pandas", "pyarrow", "pillow", "scikit-posthocs")


def doctor() -> dict[str, Any]:
    """Check this installation; `deterministic` says whether it passed.

    Three small networks are trained with 1, 2, 3, 4, 7, 8 and 16 threads, saved and
    loaded half-way, and in other processes (PYTHONHASHSEED, fork, spawn). Each time all
    their arrays are hashed: equal hashes mean equal bits. `known_answer` compares them
    with those of every other x86-64 machine. Takes about ten seconds.

    >>> found = cofire.doctor()
    >>> found["deterministic"]
    True
    """
    start = time.perf_counter()
    found = proofs.prove()
    return {
        "cofire": cofire.__version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "byte_order": sys.byteorder,
        "required": {name: _version(name) for name in REQUIRED},
        "optional": {name: _version(name) for name in OPTIONAL},
        "simd_level": engine.simd_level(),
        "cores": available_cores(),
        "energy": counters.in_words(),
        "data": {name: _where(name) for name in catalog.CATALOG},
        "proofs": [asdict(proof) for proof in found],
        "deterministic": all(proof.equal is not False for proof in found),
        "known_answer": proofs.known_answer(found[0].sha256),
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
