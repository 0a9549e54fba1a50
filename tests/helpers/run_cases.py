"""Runs, outcomes, and executors that train nothing; workers import them from here."""

import os
import signal
import sys
import threading
import time
import uuid
from pathlib import Path

import numpy as np

from cofire.lab.experiments import Outcome, Run, Store

PATIENCE = 60.0  # seconds until a test that waits for something gives up


def runs(n, data="madelon", **more):
    """Runs that differ in their seed."""
    return [Run(data, "set", 100, 1.0, seed, **more) for seed in range(n)]


def outcome(score=0.5, n_epochs=4, **more):
    """What a run may have brought; the curves are no round numbers."""
    rng = np.random.default_rng(int(1000 * score))
    names = ("loss", "validation_score", "validation_loss", "test_score", "test_loss")
    times = ("train_seconds", "rewire_seconds", "evaluate_seconds", "multiply_adds")
    curves = {n: rng.random(n_epochs).astype(np.float32) for n in (*names, *times)}
    figures = {
        "score": score,
        "validation_score": score / 3,
        "best_epoch": 2,
        "connections": 1102,
        "density": 1102 / 70200,
        "seconds": 0.1 + score,
        "curves": curves | {"inputs": np.arange(500, dtype=np.float32)},
        "receipt": {"connections": 1102},
        "notes": {"sizes": [500, 100, 2], "rows_an_epoch": 1800},
    }
    return Outcome(**figures | more)


def of_seed(run, n_threads=1):
    """An outcome that tells which run it is of."""
    return outcome(run.seed / 100, notes={"seed": run.seed, "threads": n_threads})


# ---- executors -----------------------------------------------------------------------


def counted(run, n_threads):
    """Leave a file for every execution in the folder that `data` names."""
    Path(run.data, f"{run.seed}-{uuid.uuid4().hex}").touch()
    return of_seed(run, n_threads)


def executed(folder):
    """The seeds that were executed, once for each time, in order."""
    return sorted(int(file.name.split("-")[0]) for file in folder.glob("*-*"))


def raising(run, n_threads):
    if run.seed == 1:
        raise RuntimeError("[/b] is no [markup]")
    return of_seed(run)


def leaving(run, n_threads):
    if run.seed == 1:
        sys.exit("enough")
    return of_seed(run)


def dying(run, n_threads):
    """Seed 1 ends its process, seed 3 is ended as the system ends one out of memory."""
    if run.seed == 1:
        os._exit(7)
    if run.seed == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return of_seed(run)


def unsendable(run, n_threads):
    """No process can hand a lock to another."""
    return outcome(notes={"a": threading.Lock()}) if run.seed == 1 else of_seed(run)


def unwritable(run, n_threads):
    """JSON has no NaN."""
    return outcome(notes={"a": np.nan}) if run.seed == 1 else of_seed(run)


def interrupted(run, n_threads):
    """What a terminal does to all processes when Ctrl-C is pressed."""
    os.kill(os.getpid(), signal.SIGINT)
    return of_seed(run)


def held_up(run, n_threads):
    """Seeds above 1 wait for the file `go`."""
    Path(run.data, f"{run.seed}-{uuid.uuid4().hex}").touch()
    if run.seed > 1:
        wait_until((Path(run.data) / "go").exists)
    return of_seed(run)


def in_company(run, n_threads):
    """Count the execution; go on once a worker of a second runner has come."""
    (Path(run.data) / f"runner.{os.getppid()}").touch()
    wait_until(lambda: len(list(Path(run.data).glob("runner.*"))) == 2)
    return counted(run, n_threads)


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.01)


# ---- what other processes do ---------------------------------------------------------


def run_elsewhere(path, folder, n, executor):
    from cofire.lab.experiments.runner import run_all

    with Store(path) as store:
        run_all(runs(n, folder), store, n_cores=2, execute=globals()[executor])


def run_without_psutil(*arguments):
    """As where psutil is not installed, which comes with Dask."""
    sys.modules["psutil"] = None
    run_elsewhere(*arguments)


def claim_elsewhere(path, n):
    """Claim what can be claimed as soon as a line comes in; say which seeds."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    with Store(path) as store:
        claimed = [run.seed for run in runs(n) if store.claim(run)]
    sys.stdout.write(" ".join(map(str, claimed)))


class DeadlyCurves(dict):
    """Whoever writes them down is killed in the middle of it."""

    def items(self):
        yield from list(super().items())[:1]
        os.kill(os.getpid(), signal.SIGKILL)


def finish_and_die(path):
    with Store(path) as store:
        assert store.claim(runs(1)[0])
        store.finish(runs(1)[0], outcome(curves=DeadlyCurves(a=[1.0], b=[2.0])), {})


if __name__ == "__main__":
    action, *arguments = sys.argv[1:]
    globals()[action](*(int(a) if a.isdigit() else a for a in arguments))
