"""Fits on a disk that fails: a program for test_checkpoints_last.py.

    LD_PRELOAD=faults.so python -m helpers.reliability.failing_disk FOLDER STEP

For the n-th call on a file, n = 1, 1 + STEP, ..., and for each way to fail: the error
is clear, the estimator can be used, the checkpoint before loads, and the fit goes on to
the right end. Prints one JSON object.
"""

import errno
import json
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np

from helpers.reliability.checkpoint_cases import (
    HALF,
    X,
    arm,
    estimator,
    faults,
    sha256,
    y,
)

WAYS = {
    "no space": errno.ENOSPC,
    "input/output error": errno.EIO,
    "quota": errno.EDQUOT,
    "read-only": errno.EROFS,
    "short write": HALF,
}


def fit(folder):
    return estimator("best of validation", folder, max_iter=5).fit(X, y)


def failed_and_resumed(folder, n, what, right):
    """What went wrong, if anything; None once there are fewer than n calls."""
    model = estimator("best of validation", folder, max_iter=5)
    arm(folder, n, what)
    try:
        model.fit(X, y)
        told = None
    except OSError as error:
        told = error
    n_calls = faults().faults_calls()
    arm(None, 0, 0)
    if n_calls < n:
        return None
    wrong = []
    if told is None and what != HALF and not model.n_iter_ == 5:
        wrong.append("no error, and no whole fit")
    if told is not None:
        if told.errno != what or "checkpoint" not in str(told):
            wrong.append(f"unclear error: {told!r}")
        if hasattr(model, "network_") and not np.isfinite(model.predict_proba(X)).all():
            wrong.append("the estimator is broken")
        model.set_params(callbacks=[]).fit(X, y)  # as good as new, without checkpoints
    again = fit(folder)
    if sha256(again) != right:
        wrong.append("another end")
    if list(Path(folder).rglob(".*")):
        wrong.append("temporary files are left")
    return wrong


def main(folder, step):
    warnings.simplefilter("ignore")  # a checkpoint that cannot be read is skipped
    right = sha256(fit(None))
    n_faults, wrong = 0, []
    for way, what in WAYS.items():
        n = 1
        while True:
            own = Path(folder, f"{way.replace('/', ' ')} {n}")
            found = failed_and_resumed(str(own), n, what, right)
            shutil.rmtree(own, ignore_errors=True)
            if found is None:
                break
            n_faults += 1
            wrong += [f"{way} at call {n}: {text}" for text in found]
            n += step
    sys.stdout.write(json.dumps({"faults": n_faults, "wrong": wrong}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
