"""What a run on a Dask cluster takes on top of the run itself: milliseconds and bytes.

A scheduler and workers are started on 127.0.0.1, and campaigns of runs that compute
nothing but bring curves of 500 epochs go there, through a proxy that counts bytes. All
that a run takes is then overhead: claim, message, call, answer, store. Beside it, the
same campaign with processes of this machine. Several workers on a few cores say nothing
about speed: they show that the overhead does not grow with them.
"""

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from cofire.lab.experiments import Outcome, Run, Store
from cofire.lab.experiments.results import EPOCH_CURVES
from cofire.lab.experiments.runner import run_all
from cofire.lab.workers import dask_cluster
from cofire.lab.workers.dask_cluster import DaskCluster
from cofire.lab.workers.files import checksum
from harness import machine

RESULTS = Path(__file__).parent.parent / "docs" / "results"
PACKAGES = ("cofire", "numpy", "distributed")
HOST, GOAL = "127.0.0.1", 30.0
N_WORKERS = (1, 2, 4, 8)
FILE_BYTES = 10_000_000


# ---- what workers do -----------------------------------------------------------------


def nothing(run, n_threads):
    """A run that takes no time; its curves are as long as those of the paper's runs."""
    rng = np.random.default_rng(run.seed)
    curves = {name: rng.random(500, np.float32) for name in EPOCH_CURVES}
    curves["inputs"] = rng.integers(0, 9, 500)
    return Outcome(0.5, 0.5, 1, 1000, 0.01, 0.0, curves, notes={"task": "none"})


def all_missing(files):
    """A worker on a machine that has none of the files."""
    return list(files)


# ---- processes, and a proxy that counts ----------------------------------------------


class Cluster:
    """A scheduler and workers in processes of their own."""

    def __init__(self, n_workers):
        self.folder = tempfile.TemporaryDirectory()
        self.port = free_port()
        address = f"tcp://{HOST}:{self.port}"
        local = ["--host", HOST, "--no-dashboard"]
        self.processes = [self._start("scheduler", "--port", str(self.port), *local)]
        for _ in range(n_workers):
            own = ["--nthreads", "1", "--no-nanny", *local]
            own += ["--local-directory", self.folder.name]
            self.processes.append(self._start("worker", address, *own))

    def _start(self, what, *options):
        path = os.pathsep.join([str(Path(__file__).parent), *sys.path[1:]])
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{what}", *options],
            env=os.environ | {"PYTHONPATH": path},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for process in self.processes:
            process.kill()
            process.wait()
        self.folder.cleanup()


class Proxy:
    """Passes everything on to a port of this machine, and counts the bytes."""

    def __init__(self, port):
        self.target, self.port = port, free_port()
        self.address = f"tcp://{HOST}:{self.port}"
        self.sent = self.received = 0
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        asyncio.set_event_loop(self.loop)
        server = asyncio.start_server(self._serve_one, HOST, self.port)
        self.loop.run_until_complete(server)
        self.loop.run_forever()

    async def _serve_one(self, reader, writer):
        while True:
            try:
                there = await asyncio.open_connection(HOST, self.target)
                break
            except OSError:  # the scheduler is still starting
                await asyncio.sleep(0.05)
        await asyncio.gather(
            self._pass(reader, there[1], "sent"),
            self._pass(there[0], writer, "received"),
        )

    async def _pass(self, reader, writer, counter):
        while content := await reader.read(2**16):
            setattr(self, counter, getattr(self, counter) + len(content))
            writer.write(content)
            await writer.drain()
        writer.close()

    def count(self):
        """Return the bytes that were sent and received so far."""
        return np.array([self.sent, self.received])


def free_port():
    with socket.socket() as found:
        found.bind((HOST, 0))
        return found.getsockname()[1]


# ---- measuring -----------------------------------------------------------------------


def campaign(n_runs, seed, **how):
    """Run a fresh store of runs; return seconds per run."""
    runs = [Run("none", "set", 100, 1.0, seed + k) for k in range(n_runs)]
    with tempfile.TemporaryDirectory() as folder:
        with Store(Path(folder) / "runs.sqlite") as store:
            begun = time.perf_counter()
            done = run_all(runs, store, execute=nothing, **how)
            seconds = time.perf_counter() - begun
    assert done.done == n_runs, done
    return seconds / n_runs


def ready(executor, n_workers):
    while executor.n_workers < n_workers:
        executor.wait(0.1)


def on_cluster(n_workers, n_runs, rounds):
    """Return milliseconds and bytes per run, and the bytes that a file takes."""
    with Cluster(n_workers) as cluster:
        proxy = Proxy(cluster.port)
        with DaskCluster(proxy.address) as executor:
            ready(executor, n_workers)
            campaign(2 * n_workers, 0, executor=executor)  # workers import cofire
            before = proxy.count()
            times = [
                campaign(n_runs, 1000 * (k + 1), executor=executor)
                for k in range(rounds)
            ]
            sent, received = (proxy.count() - before) / (n_runs * rounds)
            file = file_bytes(executor, proxy, n_workers)
    return {
        "milliseconds": [1000 * one for one in times],
        "sent": sent,
        "received": received,
        "file_sent": file,
    }


def file_bytes(executor, proxy, n_workers):
    """Return what is sent of a file of FILE_BYTES that no worker has."""
    real = dask_cluster.worker_files.missing
    dask_cluster.worker_files.missing = all_missing
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.csv")
            path.write_bytes(np.random.default_rng(0).bytes(FILE_BYTES))
            before = proxy.count()
            executor.needs({str(path): checksum(path)})
            ready(executor, n_workers)
            return float((proxy.count() - before)[0])
    finally:
        dask_cluster.worker_files.missing = real


def measured(n_runs, rounds):
    found = {}
    for n_workers in N_WORKERS:
        found[str(n_workers)] = on_cluster(n_workers, n_runs, rounds)
        print(line(n_workers, found[str(n_workers)]), flush=True)
    campaign(2, 0, n_cores=1)
    here = [1000 * campaign(n_runs, 0, n_cores=1) for _ in range(rounds)]
    return {"cluster": found, "here": here}


# ---- the page ------------------------------------------------------------------------


def line(n_workers, own):
    times = own["milliseconds"]
    cells = [
        f"{statistics.median(times):.1f}",
        f"{min(times):.1f} to {max(times):.1f}",
        f"{own['sent'] / 1000:.1f}",
        f"{own['received'] / 1000:.1f}",
        f"{own['file_sent'] / FILE_BYTES / n_workers:.3f}",
    ]
    return f"| {n_workers} | {' | '.join(cells)} |"


def page(figures, about):
    one = statistics.median(figures["cluster"]["1"]["milliseconds"])
    here = statistics.median(figures["here"])
    verdict = "met" if one <= GOAL else "not met"
    return "\n".join(
        [
            "# Runs on a cluster: overhead",
            "",
            "<!-- written by benchmarks/bench_cluster.py -->",
            "",
            "Runs that compute nothing and bring curves of 500 epochs, on Dask workers "
            "of this machine (127.0.0.1). Milliseconds: time of a campaign divided by "
            "its runs, with claims and the store; median and range of "
            f"{len(figures['here'])} campaigns. kB: between the command and the "
            "scheduler. File: bytes sent per worker and byte of a file of 10 MB that "
            "workers do not have.",
            "",
            f"Goal: at most {GOAL:.0f} ms per run with one worker: {one:.1f} ms, "
            f"{verdict}. One process of this machine, its start included, without a "
            f"cluster: {here:.1f} ms.",
            "",
            "| workers | ms per run | range | kB sent | kB received | file |",
            "|---:|---:|---:|---:|---:|---:|",
            *(line(int(n), own) for n, own in figures["cluster"].items()),
            "",
            f"{about['processor']}, {about['cores']} cores, {about['system']}, Python "
            f"{about['python']}; {', '.join(about['packages'])}; commit "
            f"{about['commit']}, {about['date']}.",
            "",
        ]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few runs; print only")
    arguments = parser.parse_args()
    how = (20, 1) if arguments.quick else (200, 5)
    print("| workers | ms per run | range | kB sent | kB received | file |")
    figures = measured(*how)
    about = machine(PACKAGES)
    text = page(figures, about)
    print(text)
    if not arguments.quick:
        content = json.dumps(figures | {"machine": about}, indent=1)
        (RESULTS / "cluster.json").write_text(content + "\n")
        (RESULTS / "cluster.md").write_text(text)


if __name__ == "__main__":
    main()
