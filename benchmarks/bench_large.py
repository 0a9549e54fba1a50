"""What very large networks cost: seconds and memory against the number of neurons.

    python benchmarks/bench_large.py                          all parts (about an hour)
    python benchmarks/bench_large.py growth --sizes 1e4 1e6   some sizes
    python benchmarks/bench_large.py --methods set            some methods
    python benchmarks/bench_large.py --report                 only write the page

Parts: growth (10^4 to 10^7 neurons, ten connections each, 200 sparse rows, rewiring in
every epoch) and published (the shapes for which the authors of SET give their times).
Each run is a process of its own, limited in time (--limit, seconds) and in memory
(--memory, GB); one that passes a limit is recorded as such, and larger ones of its kind
are left out. Results are added to docs/results/large.json; the page is large.md, the
picture large.png. Needs Linux, cofire and matplotlib.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import harness
from large_page import write

RESULTS = Path(__file__).parent.parent / "docs" / "results"
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
METHODS = ("set", "ctre_sim", "cofire")
CONNECTIONS = 10  # per neuron
ROWS, CLASSES, EPOCHS = 200, 10, 4
FILLED = 0.01  # of the values of a row
SET_HIDDEN = (3_000, 30_000, 300_000, 600_000)  # neurons in each of three layers


# ---- one run, in a process of its own ------------------------------------------------


def layers(neurons):
    """Inputs and three hidden layers, equally wide; and the outputs."""
    width = (neurons - CLASSES) // 4
    return [neurons - CLASSES - 3 * width, width, width, width, CLASSES]


def growth_run(method, neurons):
    """What one fit of a network of this size took; the sparse rows are random."""
    sizes = layers(neurons)
    pairs = sum(a + b for a, b in pairwise(sizes))
    return measure(
        sizes,
        sparse_rows(ROWS, sizes[0]),
        method=method,
        similarity="linear",
        epsilon=CONNECTIONS * neurons / pairs,
        batch_size=100,
    )


def published_run(method, hidden):
    """The shape, rows, batches and drop fraction of SET's own program (large_page)."""
    import numpy as np

    sizes = [3312, hidden, hidden, hidden, 5]
    X = np.random.default_rng(0).standard_normal((135, 3312), np.float32)
    return measure(sizes, X, method=method, epsilon=20, batch_size=2, drop_fraction=0.3)


def sparse_rows(n_rows, n_columns):
    """Rows of random numbers, a hundredth of them not zero, as a CSR matrix."""
    import numpy as np
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(0)
    per_row = max(1, int(FILLED * n_columns))
    indices = rng.integers(n_columns, size=(n_rows, per_row), dtype=np.int32)
    values = rng.standard_normal(n_rows * per_row, np.float32)
    starts = np.arange(n_rows + 1) * per_row
    X = csr_matrix((values, indices.ravel(), starts), shape=(n_rows, n_columns))
    X.sum_duplicates()
    return X


def measure(sizes, X, **settings):
    """Fit, and return seconds per epoch, peak memory and connections."""
    import numpy as np

    from cofire import SparseMLPClassifier

    model = SparseMLPClassifier(
        tuple(sizes[1:-1]),
        n_networks=1,
        standardize=False,
        init="sparse_aware",
        learning_rate_init=0.01,
        max_iter=EPOCHS,
        update_interval="epoch",
        drop_schedule="constant",
        input_dropout=0.0,
        random_state=0,
        **settings,
    )
    load, _, _ = os.getloadavg()
    before, start = status("VmRSS") - X_bytes(X), time.process_time()
    model.fit(X, np.arange(X.shape[0]) % sizes[-1])
    core_seconds = time.process_time() - start
    peak = status("VmHWM") - before
    later = [record for record in model.history_ if any(record["replaced"])]
    first = model.history_[0]["connections"]
    return {
        "sizes": sizes,
        "neurons": sum(sizes),
        "connections": sum(first),
        "connections_at_the_end": model.n_connections_,
        "rows": X.shape[0],
        "train_seconds": statistics.median(r["train_seconds"] for r in later),
        "rewire_seconds": statistics.median(r["rewire_seconds"] for r in later),
        "fit_core_seconds": core_seconds,
        "peak_bytes": peak,
        "load_before": load,
        "threads": model.receipt_.threads,
        "groups": groups(settings["batch_size"]),
    }


def groups(batch_size):
    """Groups of rows whose gradients are summed apart, in layers of over 8,192 neurons.

    >>> groups(2), groups(100), groups(1000)
    (1, 4, 8)
    """
    tiles = -(-batch_size // 32)
    return min(tiles + (tiles % 2 if batch_size > 16 else 0), 8)


def X_bytes(X):
    parts = (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (X,)
    return sum(part.nbytes for part in parts)


def status(name):
    """A line of /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    found = next(line for line in lines if line.startswith(name + ":"))
    return int(found.split()[1]) * 1024


RUNS = {"growth": growth_run, "published": published_run}


def one_run(part, method, size, gigabytes):
    import resource

    limit = int(gigabytes * 1e9)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        found = RUNS[part](method, size)
    except MemoryError:
        found = {"failed": f"needs more than {gigabytes:g} GB"}
    print(json.dumps(found))


# ---- all runs ------------------------------------------------------------------------


def in_own_process(part, method, size, arguments):
    """The figures of a run, or why there are none."""
    command = [sys.executable, __file__, "--one", part, method, str(size)]
    try:
        run = subprocess.run(
            [*command, "--memory", str(arguments.memory)],
            capture_output=True,
            text=True,
            timeout=arguments.limit,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"takes more than {arguments.limit:g} s"}
    if run.returncode:
        said = run.stderr.strip().splitlines() or [f"status {run.returncode}"]
        return {"failed": said[-1]}
    return json.loads(run.stdout.splitlines()[-1])


def run_part(part, methods, sizes, arguments, results, keep):
    for method in methods:
        own = results.setdefault(part, {}).setdefault(method, {})
        for size in sizes:
            own[str(size)] = found = in_own_process(part, method, size, arguments)
            print(part, method, f"{size:,}", json.dumps(found), flush=True)
            keep()
            if "failed" in found:
                break


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*RUNS, []], default=[])
    parser.add_argument("--sizes", nargs="+", type=float, default=SIZES)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--limit", type=float, default=1800, metavar="SECONDS")
    parser.add_argument("--memory", type=float, default=23, metavar="GB")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER")
    parser.add_argument("--report", action="store_true", help="only write the page")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        part, method, size = arguments.one
        return one_run(part, method, int(size), arguments.memory)
    path = arguments.results / "large.json"
    results = json.loads(path.read_text()) if path.exists() else {}

    def keep():
        path.write_text(json.dumps(results, indent=1) + "\n")

    if not arguments.report:
        results["machine"] = harness.machine(["numpy", "scipy", "cofire"])
        parts = arguments.parts or list(RUNS)
        if "growth" in parts:
            sizes = [int(n) for n in arguments.sizes]
            run_part("growth", arguments.methods, sizes, arguments, results, keep)
        if "published" in parts:
            run_part("published", ["set"], SET_HIDDEN, arguments, results, keep)
    write(results, arguments.results)


if __name__ == "__main__":
    main()
