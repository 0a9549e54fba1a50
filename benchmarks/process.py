"""What a fresh process costs: its peak memory, its imports, its command line."""

import subprocess
import sys
import time
from pathlib import Path

FIT = """
import numpy as np
from cofire import SparseMLPClassifier
rng = np.random.default_rng(0)
X = rng.standard_normal(({rows}, 784), dtype=np.float32)
y = rng.integers(0, 10, len(X))

def status(name):
    for line in open("/proc/self/status"):
        if line.startswith(name):
            return int(line.split()[1]) * 1024

before = status("VmRSS")
SparseMLPClassifier(
    hidden_layer_sizes=(1000,) * 3, epsilon=1, method={method!r}, max_iter=2,
    n_jobs=2, batch_size=128,
).fit(X, y)
print(status("VmHWM") - before)
"""

IMPORT = """
import sklearn
from time import perf_counter
start = perf_counter()
{statement}
print(perf_counter() - start)
"""


def peak_megabytes(method, rows=54_000):
    """Memory that a fit needs at its peak, above the data and the imports (Linux)."""
    return float(run_python(FIT.format(method=method, rows=rows))) / 1e6


def import_seconds(statement, repeats=7):
    """Best time of an import statement in a process that has imported sklearn."""
    program = IMPORT.format(statement=statement)
    return min(float(run_python(program)) for _ in range(repeats))


def help_seconds(repeats=7):
    """Best time from starting `cofire --help` to its end."""
    command = Path(sys.executable).with_name("cofire")
    return min(wall_seconds([command, "--help"]) for _ in range(repeats))


def wall_seconds(command):
    start = time.perf_counter()
    output_of(command)
    return time.perf_counter() - start


def run_python(program):
    return output_of([sys.executable, "-c", program])


def output_of(command):
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode:
        raise Failed(answer.stderr.strip().splitlines()[-1])
    return answer.stdout


class Failed(RuntimeError):
    """A fresh process ended with an error: its last line."""
