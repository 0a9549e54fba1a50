"""Proofs that the same training gives the same bits on this machine.

Each proof trains the same three small networks in a different way and hashes all their
arrays. `python -m cofire.diagnostics.proofs fork` (or spawn, or here) prints such a
hash.
"""

import hashlib
import multiprocessing
import os
import platform
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cofire import engine
from cofire.data import catalog
from cofire.estimators import SparseMLPClassifier, SparseMLPRegressor
from cofire.profiles import DEFAULTS_0_1
from cofire.saving import load

THREADS = (1, 2, 3, 4, 7, 8, 16)
HASH_SEEDS = (0, 4242)
EPOCHS = 4
PATIENCE = 120.0  # seconds after which a process without output counts as stuck

# What `train_all` gives on x86-64. The order of sums depends on the width of the
# vectors, so each SIMD level has an answer of its own. Compilers and NumPy's own SIMD
# code do not change it (GCC 12 and Clang 14 agree). It is printed by `python -m
# cofire.diagnostics.proofs here`, at the level that COFIRE_SIMD names.
KNOWN = {
    "baseline": "73d1b58b87044d8ee049fa642bf54340150246edd6595d353d05a618aeeafa16",
    "x86_64_v3": "a6e9e586ea6399935cb754483151ca702d0711476763b9a172d6481da03ad395",
    "x86_64_v4": "1c866cc33dc0c12a2e21bcaedfc875f6550582306e5818312b00c28c0e43fc06",
}


@dataclass(frozen=True)
class Proof:
    """A way to train, the hash of the result, and whether it is the right one."""

    way: str
    sha256: str | None
    equal: bool | None
    """None: it could not be tried here; `note` says why."""
    note: str = ""


def prove() -> list[Proof]:
    """Train in every way; the first, with one thread, is the reference."""
    # They run while the others train, which keeps the machine busy.
    processes = list(_start_processes())
    hashes = [(_threads(n), train_all(n)) for n in THREADS]
    hashes.append(("one epoch at a time, saved and loaded half-way", _train_in_parts()))
    right = hashes[0][1]
    proofs = [Proof(way, found, found == right) for way, found in hashes]
    return proofs + [_ask(way, process, right) for way, process in processes]


def known_answer(found: str | None) -> str:
    """Compare with what x86-64 gives: "same", "differs" or "differs from x86-64".

    The last is not an error: another architecture may round differently.
    """
    if found == KNOWN.get(engine.simd_level()):
        return "same"
    at_home = platform.machine().lower() in ("x86_64", "amd64")
    return "differs" if at_home else "differs from x86-64"


# ---- what is trained -----------------------------------------------------------------


def train_all(n_threads: int) -> str:
    """Train the three networks; returns the hash of all of them."""
    X, y = _data()
    return _hash_all([model.fit(X, y) for model in _models(n_threads)])


def fingerprint(model: Any, X: Any) -> str:
    """Hash the topology, weights, biases, moments and predictions of a fitted model."""
    proba = getattr(model, "predict_proba", None)
    arrays = [model.predict(X) if proba is None else proba(X)]
    for layer in model.network_.layers:
        arrays += [layer.indptr, layer.indices, layer.weights, layer.bias]
    for state in model._progress.optimizer.state:
        arrays += [*state.weights, *state.bias]
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _data() -> tuple[np.ndarray, np.ndarray]:
    data = catalog.load("madelon")
    # Raw values are around 480 with a spread of about 30: good enough for a proof.
    return (data.X_train - 480) / 30, data.y_train


def _models(n_threads: int) -> list[Any]:
    """All losses but one, both solvers; growth at random, by gradient and by cosine."""
    # Batches of 500 rows: enough tiles that every thread gets some.
    shared: dict[str, Any] = DEFAULTS_0_1 | {
        "hidden_layer_sizes": (300, 300),
        "batch_size": 500,
        "max_iter": EPOCHS,
        "random_state": 0,
        "n_jobs": n_threads,
    }
    return [
        SparseMLPClassifier(**shared | {"method": "set"}),
        SparseMLPClassifier(**shared | {"solver": "adam", "activation": "tanh"}),
        SparseMLPRegressor(
            **{k: v for k, v in shared.items() if k != "label_smoothing"}
            | {"method": "rigl", "learning_rate_init": 0.001}
        ),
    ]


def _train_in_parts() -> str:
    X, y = _data()
    models = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "half.cofire"
        for model in _models(2):
            for _ in range(EPOCHS // 2):
                model.partial_fit(X, y)
            model.save(path)
            model = load(path)
            for _ in range(EPOCHS - EPOCHS // 2):
                model.partial_fit(X, y)
            models.append(model)
    return _hash_all(models)


def _hash_all(models: list[Any]) -> str:
    X = _data()[0][:300]
    prints = [fingerprint(model, X) for model in models]
    return hashlib.sha256(" ".join(prints).encode()).hexdigest()


# ---- in other processes --------------------------------------------------------------


def _threads(n: int) -> str:
    return f"{n} threads" if n > 1 else "1 thread"


def _start_processes() -> Iterator[tuple[str, "subprocess.Popen[str] | str"]]:
    """Start the processes; yield what each proves, and it or why it did not start."""
    for seed in HASH_SEEDS:
        yield f"PYTHONHASHSEED={seed}", _start("here", PYTHONHASHSEED=str(seed))
    for how in ("fork", "spawn"):
        has = how in multiprocessing.get_all_start_methods()
        yield (
            f"a process by {how}, after training with threads",
            _start(how) if has else "this platform does not have it",
        )


def _start(how: str, **environment: str) -> "subprocess.Popen[str] | str":
    # In a new interpreter, so that the caller's program is neither forked nor rerun.
    where = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    paths = os.pathsep.join(path for path in where if path)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "cofire.diagnostics.proofs", how],
            env=os.environ | {"PYTHONPATH": paths} | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    except OSError as error:
        return str(error)


def _ask(way: str, process: "subprocess.Popen[str] | str", right: str) -> Proof:
    if isinstance(process, str):
        return Proof(way, None, None, process)
    try:
        said, complaint = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return Proof(way, None, False, f"it did not end within {PATIENCE:.0f} s")
    if process.returncode != 0:
        last = complaint.strip().splitlines()[-1:] or ["it gave no reason"]
        return Proof(way, None, False, f"it ended with {process.returncode}: {last[0]}")
    return Proof(way, said.strip(), said.strip() == right)


def _train_in_process(how: str) -> str:
    if how == "here":
        return train_all(2)
    # Threads before the fork: a child that waits for threads it does not have is stuck.
    train_all(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of fork with threads
        with multiprocessing.get_context(how).Pool(1) as pool:
            return pool.apply(train_all, (2,))


if __name__ == "__main__":
    sys.stdout.write(_train_in_process(sys.argv[1]) + "\n")
