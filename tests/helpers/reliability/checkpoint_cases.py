"""Fits to be cut off, what they must end with, and a library that makes calls fail."""

import ctypes
import hashlib
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from cofire import SparseMLPRegressor
from cofire.callbacks import Checkpoint, Monitor, RewiringStudy
from helpers.estimator_cases import earlier
from helpers.needs import needs_tool

FAULTS = Path(__file__).parents[2] / "native" / "faults.c"
HALF, KILL, HALF_AND_KILL = -1, -2, -3

rng = np.random.default_rng(0)
X = rng.standard_normal((400, 30)).astype(np.float32)
y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)

_SHARED = {"hidden_layer_sizes": (60, 50), "epsilon": 2, "random_state": 1}
FITS = {
    "ctre_sim": lambda **p: earlier(method="ctre_sim", **p),
    "ctre_seq": lambda **p: earlier(
        method="ctre_seq", method_options={"patience": 3}, **p
    ),
    "best of validation": lambda **p: earlier(
        method="rigl", early_stopping=True, n_iter_no_change=1000, **p
    ),
    "adam": lambda **p: earlier(
        SparseMLPRegressor, method="set", solver="adam", learning_rate="adaptive", **p
    ),
    "snip": lambda **p: earlier(method="snip", n_jobs=2, **p),
    "knobs": lambda **p: earlier(
        method="set",
        label_smoothing=0.1,
        input_dropout=0.2,
        drop_schedule="cosine",
        **p,
    ),
}


def estimator(name, folder=None, *, max_iter=12, every=1):
    """One of the fits, with callbacks that remember something."""
    callbacks = [Monitor(X[:50], y[:50]), RewiringStudy()]
    if folder is not None:
        callbacks.append(Checkpoint(folder, every=every))
    return FITS[name](**_SHARED, max_iter=max_iter, callbacks=callbacks)


def sha256(model):
    """Of everything that training carries, but the seconds it took."""
    progress = model._progress
    digest = hashlib.sha256()
    for network in filter(None, (progress.network, progress.best_network)):
        for layer in network.layers:
            for array in (layer.indptr, layer.indices, layer.weights, layer.bias):
                digest.update(array.tobytes())
    for state in progress.optimizer.state:
        for array in (*state.weights, *state.bias):
            digest.update(array.tobytes())
    history = [
        sorted((k, v) for k, v in record.items() if not k.endswith("seconds"))
        for record in progress.history
    ]
    monitor = model.callbacks[0]
    told = (history, progress.best_score, progress.optimizer.steps_done)
    digest.update(repr((told, monitor.scores, monitor.losses)).encode())
    return digest.hexdigest()


def built_faults(folder):
    """The path of tests/native/faults.c as a library; skips where it cannot be had."""
    if not Path("/proc/self/fd").exists():
        pytest.skip("needs Linux")
    compiler = needs_tool(os.environ.get("CC", "cc"), "apt-get install gcc")
    library = Path(folder, "faults.so")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", FAULTS, "-o", library, "-ldl"], check=True
    )
    return library


def faults():
    """The library that this process was started with."""
    library = ctypes.CDLL(os.environ["LD_PRELOAD"])
    library.faults_calls.restype = ctypes.c_long
    return library


def arm(folder, n, what):
    """Let the n-th call on a file below the folder fail; None: no call."""
    below = b"" if folder is None else os.fsencode(folder)
    faults().faults_arm(below, ctypes.c_long(n), what)
