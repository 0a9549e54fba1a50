"""Dask clusters of real processes, on the loopback interface only.

python -m helpers.clusters PARENT MODULE OPTION ...: runs a module of distributed.cli
until the parent is gone.
"""

import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from cofire.lab.experiments import Run
from helpers import processes

HOST = "127.0.0.1"
PATIENCE = 120.0  # seconds until something that must happen is given up


class Cluster:
    """A scheduler and its workers; all of them are killed at the end."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.port = free_port()
        self.address = f"tcp://{HOST}:{self.port}"
        self.scheduler, self.workers = None, {}
        self._logs = []

    def start(self, *names):
        """Start the scheduler, and workers of these names."""
        options = ["--host", HOST, "--port", str(self.port), "--no-dashboard"]
        options += ["--dashboard-address", f"{HOST}:0"]
        self.scheduler = self._run("scheduler", "dask_scheduler", options)
        for name in names:
            self.add(name)
        return self

    def add(self, name, *, nanny=False, **environment):
        """Start a worker; it waits for the scheduler if that is not there yet."""
        options = [self.address, "--name", name, "--nthreads", "1", "--host", HOST]
        options += ["--no-dashboard", "--local-directory", str(self.folder)]
        options += [] if nanny else ["--no-nanny"]
        self.workers[name] = self._run(name, "dask_worker", options, environment)
        return self.workers[name]

    def _run(self, name, module, options, environment=()):
        self.folder.mkdir(parents=True, exist_ok=True)
        log = (self.folder / f"{name}.log").open("a")
        self._logs.append(log)
        return subprocess.Popen(
            processes.program("clusters", os.getpid(), module, *options),
            env=processes.environment(
                COFIRE_TEST_FOLDER=str(self.folder),
                DASK_TEMPORARY_DIRECTORY=str(self.folder),
                **dict(environment),
            ),
            stdout=log,
            stderr=log,
            start_new_session=True,  # a nanny's worker ends with it
        )

    def kill_scheduler(self):
        end(self.scheduler)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for process in (*self.workers.values(), self.scheduler):
            end(process)
        for log in self._logs:
            log.close()


def end(process):
    """Kill a process and those that it has started, even if they are stopped."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def free_port():
    with socket.socket() as found:
        found.bind((HOST, 0))
        return found.getsockname()[1]


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.02)


# ---- runs, and what came of them -----------------------------------------------------


def real_runs(n):
    """Short trainings that differ in their seed."""
    about = {"data": "madelon", "method": "set", "hidden": 8, "epsilon": 1, "epochs": 2}
    return [Run.of(**about, seed=seed) for seed in range(n)]


def bits(store):
    """All that was found, by run; without times, which are never the same."""
    found = {}
    for result in store.results():
        kept = {n: c for n, c in result.curves.items() if "seconds" not in n}
        curves = {name: curve.tobytes() for name, curve in kept.items()}
        notes = json.dumps(result.notes, sort_keys=True)
        about = result.score, result.validation_score, result.best_epoch
        found[result.run] = (*about, result.connections, notes, curves)
    assert len(found) == len(store.results())
    return found


# ---- what workers execute ------------------------------------------------------------


def folder():
    """Return the folder that workers and tests share."""
    return Path(os.environ["COFIRE_TEST_FOLDER"])


def on_cue(run, n_threads):
    """Note that the run begins, and by whom; train when the file go-SEED is there."""
    from cofire.lab.experiments.execute import execute

    mark(folder(), f"begun-{run.seed}", {"pid": os.getpid(), "threads": n_threads})
    wait_until((folder() / f"go-{run.seed}").exists)
    return execute(run, n_threads)


def mark(folder, name, what):
    """Write a file that is there as a whole, or not at all."""
    path = folder / f"{name}-{time.time_ns()}.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(what))
    partial.rename(path)


def begun(folder, seed):
    """Return the processes that have begun a run, in their order."""
    return [
        json.loads(path.read_text())["pid"]
        for path in sorted(folder.glob(f"begun-{seed}-*.json"))
    ]


def deadly(run, n_threads):
    """Seed 1 ends its worker."""
    from helpers.run_cases import of_seed

    mark(folder(), f"begun-{run.seed}", {"pid": os.getpid()})
    if run.seed == 1:
        os._exit(7)
    return of_seed(run, n_threads)


def no_files_here(files):
    """A worker on a machine that has none of the files."""
    from cofire.lab.workers import files as worker_files

    return [
        path for path, digest in files.items() if digest not in worker_files._COPIES
    ]


def counted_receive(path, digest, content):
    """Receive a file, and count that."""
    from cofire.lab.workers import dask_cluster

    mark(folder(), f"received-{digest[:8]}", {"pid": os.getpid(), "n": len(content)})
    dask_cluster._receive(path, digest, content)


def threads_of_a_fit(_=None):
    """Return how many threads a fit without `n_jobs` takes on a machine of 4 cores."""
    from sklearn.datasets import load_iris

    from cofire import SparseMLPClassifier
    from cofire.core import machine

    X, y = load_iris(return_X_y=True)
    real, machine.available_cores = machine.available_cores, lambda: 4
    try:
        model = SparseMLPClassifier(max_iter=2, n_networks=1).fit(X, y)
    finally:
        machine.available_cores = real
    return model.receipt_.threads


# ---- a process of a cluster ----------------------------------------------------------


def end_with(parent):
    """End this process and its children when the tests were killed."""

    def watch():
        while os.getppid() == parent:
            time.sleep(1.0)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    end_with(int(sys.argv[1]))
    module = f"distributed.cli.{sys.argv[2]}"
    sys.argv = [module, *sys.argv[3:]]
    runpy.run_module(module, run_name="__main__")
