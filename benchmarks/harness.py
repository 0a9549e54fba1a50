"""Interleaved timing: workers take turns, and windows beside a slow probe do not count.

A probe is a fixed single-threaded product, run on each core before and after every
window. A machine that is shared or throttled shows itself there: a window whose probes
took more than 1.15 times the best one of the whole run is rejected and timed again.
"""

import contextlib
import dataclasses
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from importlib import metadata
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

HERE = Path(__file__).parent
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
SLOW = 1.15
SETTLE_SECONDS = 0.15  # idle BLAS and OpenMP threads spin a while after their work
SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
LONGEST_WAIT = 10  # seconds that one window waits for a quiet machine


class Probe:
    """The fixed piece of work, on each of two cores at the same time.

    `patience`: seconds that the whole run may lose to waiting and to rejected windows.
    """

    def __init__(self, patience):
        self.patience = patience
        rng = np.random.default_rng(0)
        self.matrices = rng.standard_normal((2, 384, 384), dtype=np.float32)
        cores = sorted(cores_allowed())[:2]
        self.pools = [
            ThreadPoolExecutor(1, initializer=pin, initargs=(c,)) for c in cores
        ]
        self.best = float("inf")
        for _ in range(50):
            self.seconds()

    @property
    def limit(self):
        """Slower than this, the machine is not ours."""
        return SLOW * self.best

    def wait(self):
        """Probe until the machine is quiet or patience ends; return the last probe."""
        start = time.monotonic()
        longest = min(LONGEST_WAIT, self.patience)
        while (seconds := self.seconds()) > self.limit:
            if time.monotonic() - start >= longest:
                break
            time.sleep(0.05)
        self.patience -= time.monotonic() - start
        return seconds

    def seconds(self):
        """What the slower core took; remembers the best ever seen.

        The best is taken of processor time, which leaves out what other processes took:
        so it is known even on a machine that is busy from beginning to end.
        """
        with threadpool_limits(1, "blas"):
            asked = [pool.submit(self.work) for pool in self.pools]
            walls, processor = zip(*(answer.result() for answer in asked), strict=True)
        self.best = min(self.best, max(processor))
        return max(walls)

    def work(self):
        a, b = self.matrices
        start, processor_start = time.perf_counter(), time.thread_time()
        for _ in range(10):
            a @ b
        return time.perf_counter() - start, time.thread_time() - processor_start


def cores_allowed():
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return range(os.cpu_count())


def pin(core):
    """Keep the calling thread on one core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


class Worker:
    """A contestant that waits in its own process; `disturbed`: beside a busy core."""

    def __init__(self, contestant, task, window_seconds, disturbed=False):
        self.disturbed = disturbed
        threads = dict.fromkeys(THREAD_SETTINGS, str(task.threads))
        self.process = subprocess.Popen(
            [sys.executable, HERE / "worker.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | threads,
        )
        self.ask(
            contestant=contestant,
            task=dataclasses.asdict(task),
            window_seconds=window_seconds,
        )

    def ask(self, **request):
        with contextlib.suppress(BrokenPipeError):  # it failed: said just below
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise WorkerFailed(f"the worker ended with status {self.process.wait()}")
        return json.loads(answer)

    def window(self):
        with busy_core() if self.disturbed else contextlib.nullcontext():
            return self.ask()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class WorkerFailed(RuntimeError):
    """A contestant could not be prepared or timed; its own message is on stderr."""


@contextlib.contextmanager
def busy_core():
    """Another process that computes without pause, as long as the block runs."""
    spinner = subprocess.Popen([sys.executable, "-c", SPIN])
    time.sleep(0.1)
    try:
        yield
    finally:
        spinner.send_signal(signal.SIGKILL)
        spinner.wait()


@dataclasses.dataclass
class Timing:
    """All windows of one contestant: rows, seconds an epoch, the probe beside it."""

    disturbed: bool
    windows: list = dataclasses.field(default_factory=list)

    def kept(self, limit):
        return [window for window in self.windows if window["probe"] <= limit]

    def seconds(self, limit):
        """The best window; beside a busy core the median, where luck is the noise.

        Without one quiet window it is only an upper bound: `kept` is empty then.
        """
        seconds = [window["seconds"] for window in self.kept(limit) or self.windows]
        return statistics.median(seconds) if self.disturbed else min(seconds)


def interleave(contestants, probe, *, rounds, window_seconds, say):
    """Time {key: (contestant, task, disturbed)} in turns; return {key: Timing}.

    Contestants that cannot start are left out, and said.
    """
    workers, timings = {}, {}
    try:
        for key, (contestant, task, disturbed) in contestants.items():
            try:
                workers[key] = Worker(contestant, task, window_seconds, disturbed)
                timings[key] = Timing(disturbed)
            except WorkerFailed as error:
                say(f"{key}: left out, {error}")
        for turn in range(rounds):
            keys = list(workers)
            shift = turn % len(keys) if keys else 0
            for key in keys[shift:] + keys[:shift]:
                timings[key].windows += quiet_window(workers[key], probe)
            say(f"round {turn + 1} of {rounds}")
    finally:
        for worker in workers.values():
            worker.close()
    return timings


def quiet_window(worker, probe):
    """Windows up to the first that both probes accept, or until patience ends."""
    windows = []
    while True:
        before, start = probe.wait(), time.monotonic()
        window = worker.window()
        time.sleep(SETTLE_SECONDS)
        windows.append(window | {"probe": max(before, probe.seconds())})
        if windows[-1]["probe"] <= probe.limit or probe.patience <= 0:
            return windows
        probe.patience -= time.monotonic() - start


def machine(packages):
    """What a table's caption must say: processor, versions, commit, date."""
    versions = []
    for package in packages:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions.append(f"{package} {metadata.version(package)}")
    return {
        "processor": processor(),
        "cores": len(cores_allowed()),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": versions,
        "commit": commit(),
        "date": date.today().isoformat(),
    }


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    facts = {name.strip(): value.strip() for name, value in facts.items()}
    flags = facts.get("flags", "").split()
    simd = next((f for f in ("avx512f", "avx2", "avx") if f in flags), "no AVX")
    return f"{facts.get('model name', 'unknown processor')} ({simd})"


def commit():
    """The short commit, with "+" when the work tree differs from it."""

    def git(*arguments):
        asked = ["git", "-C", HERE, *arguments]
        return subprocess.run(asked, capture_output=True, text=True).stdout.strip()

    changed = git("status", "--porcelain", "--", "..", ":!../docs/results")
    return (git("rev-parse", "--short", "HEAD") or "none") + ("+" if changed else "")
