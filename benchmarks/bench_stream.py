"""Training on a file larger than memory, beside the same rows from memory.

    python benchmarks/bench_stream.py --folder /mnt/disk    writes docs/results/stream.*
    python benchmarks/bench_stream.py --quick               prints only, a small file

A file of random numbers with a target that can be learnt is made in the folder (and
kept there, for the next time). The same default networks are then trained for a few
passes: over a `cofire.data.Stream` of the whole file under a budget, and over as many
of its rows as `--slice` gigabytes hold, read to memory before. Each fit has a process
of its own; they take turns. Rows per second are those of training: rows that a network
takes, for each network, after the first pass or the preparation, which is shown too.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from cofire.core.machine import parse_bytes
from harness import machine

RESULTS = Path(__file__).parent.parent / "docs" / "results"
PACKAGES = ("cofire", "numpy", "pyarrow", "pandas")
GOAL = 0.8  # of the rows per second from memory
KINDS = ("npy", "parquet")
ROWS_AT_ONCE = 50_000  # that are made, and of a row group


# ---- the file ------------------------------------------------------------------------


def chunks(n_rows, n_columns, seed=0):
    """Rows of float32 and classes, some at a time."""
    for number, start in enumerate(range(0, n_rows, ROWS_AT_ONCE)):
        rng = np.random.default_rng([seed, number])
        n = min(ROWS_AT_ONCE, n_rows - start)
        X = rng.standard_normal((n, n_columns), dtype=np.float32)
        y = X[:, 0] * X[:, 1] + X[:, 2] > 0
        yield X, (y ^ (rng.random(n) < 0.05)).astype(np.float32)


def make_file(path, n_rows, n_columns):
    """Write the rows to an NPY or Parquet file, unless it is there."""
    if path.exists():
        return
    unfinished = path.with_name(path.name + ".part")
    if path.suffix == ".npy":
        shape = n_rows, n_columns + 1
        array = np.lib.format.open_memmap(unfinished, "w+", np.float32, shape)
        at = 0
        for X, y in chunks(n_rows, n_columns):
            array[at : at + len(X), :-1], array[at : at + len(X), -1] = X, y
            at += len(X)
        array.flush()
        del array
    else:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        names = [*(f"x{i}" for i in range(n_columns)), "y"]
        schema = pa.schema([(name, pa.float32()) for name in names])
        with ParquetWriter(unfinished, schema, use_dictionary=False) as writer:
            for X, y in chunks(n_rows, n_columns):
                columns = [*X.T, y]
                writer.write_table(pa.table([pa.array(c) for c in columns], schema))
    unfinished.rename(path)


# ---- one fit, in a process of its own ------------------------------------------------


def status(name):
    with open("/proc/self/status") as file:
        return 1024 * int(next(li for li in file if li.startswith(name)).split()[1])


def rows_in_memory(path, n_rows, n_columns):
    X, y = zip(*chunks(n_rows, n_columns), strict=True)
    return np.concatenate(X), np.concatenate(y)


def one_fit(task):
    """Train as the task says; seconds, rows and peak memory."""
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    from cofire import SparseMLPClassifier
    from cofire.data import Stream

    class Timed(SparseMLPClassifier):
        def _fit(self, *arguments, **how):
            self.began = time.perf_counter()
            return super()._fit(*arguments, **how)

    how = {"max_iter": task["passes"], "epsilon": 25, "update_interval": 2000}
    how |= {"n_pieces": 0, "random_state": 0, "n_networks": task["networks"]}
    small = np.random.default_rng(0).normal(size=(300, 4))
    labels = (small[:, 0] > 0).astype(int)
    Timed(**how | {"max_iter": 1}).fit(Stream(small, labels, buffer_rows=64))
    path, n_columns = Path(task["path"]), task["columns"]
    before = status("VmRSS")
    if task["memory"] is None:
        data = rows_in_memory(path, task["rows"], n_columns)
    else:
        target = "y" if path.suffix == ".parquet" else None
        data = (Stream(path, target=target, memory_budget=task["memory"]),)
    Path("/proc/self/clear_refs").write_text("5")
    start = time.perf_counter()
    model = Timed(**how).fit(*data)
    end = time.perf_counter()
    n_rows = sum(r["rows"] for history in model.histories_ for r in history)
    return {
        "rows": n_rows,
        "seconds": end - start,
        "training_seconds": end - model.began,
        "peak": status("VmHWM") - before,
        "loss": model.loss_,
    }


def in_a_process(task):
    words = [sys.executable, __file__, "--task", json.dumps(task)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


# ---- the page ------------------------------------------------------------------------


def measure(arguments, folder):
    """The fits of all sources, in turns."""
    row_bytes = 4 * (arguments.columns + 1)
    n_rows = int(arguments.gigabytes * 1e9 / row_bytes)
    task = {"columns": arguments.columns, "passes": arguments.passes}
    task |= {"networks": arguments.networks}
    of_slice = min(n_rows, int(arguments.slice * 1e9 / row_bytes))
    tasks = {"memory": task | {"path": "", "rows": of_slice, "memory": None}}
    for kind in arguments.kinds:
        path = folder / f"rows-{n_rows}x{arguments.columns}.{kind}"
        make_file(path, n_rows, arguments.columns)
        tasks[kind] = task | {"path": str(path), "memory": arguments.memory}
    found = {name: [] for name in tasks}
    for _ in range(arguments.rounds):
        for name, own in tasks.items():
            found[name].append(in_a_process(own))
    return n_rows, of_slice, found


def figures_of(fits):
    rates = [fit["rows"] / fit["training_seconds"] for fit in fits]
    return {
        "rows_per_second": statistics.median(rates),
        "first_seconds": statistics.median(
            fit["seconds"] - fit["training_seconds"] for fit in fits
        ),
        "seconds": statistics.median(fit["seconds"] for fit in fits),
        "peak_bytes": max(fit["peak"] for fit in fits),
        "loss": fits[0]["loss"],
    }


def ratio(fits, others):
    """The median of the ratios within the rounds."""
    pairs = zip(fits, others, strict=True)
    return statistics.median(
        (a["rows"] / a["training_seconds"]) / (b["rows"] / b["training_seconds"])
        for a, b in pairs
    )


def page(facts):
    setting, machine_ = facts["settings"], facts["machine"]
    gigabytes = setting["rows"] * 4 * (setting["columns"] + 1) / 1e9
    lines = [
        "# Data larger than memory",
        "",
        "<!-- written by benchmarks/bench_stream.py -->",
        "",
        f"{setting['rows']:,} rows of {setting['columns']} numbers (float32) and a "
        f"class, {gigabytes:.3g} GB, {setting['passes']} passes, "
        f"{setting['networks']} networks; memory_budget={setting['memory']}. From "
        f"memory: the first {setting['slice_rows']:,} rows, the same settings.",
        "",
        "| rows from | rows per s | of memory | first pass, s | all, s | peak, MB |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, own in facts["fits"].items():
        lines.append(
            f"| {name} | {own['rows_per_second']:,.0f} | {own['ratio']:.2f} | "
            f"{own['first_seconds']:.1f} | {own['seconds']:.1f} | "
            f"{own['peak_bytes'] / 1e6:,.0f} |"
        )
    budget = parse_bytes(setting["memory"], "--memory")
    lines += ["", "| goal | measured | met |", "|---|---:|---|"]
    for name, own in facts["fits"].items():
        if name == "memory":
            continue
        speed = "yes" if own["ratio"] >= GOAL else "no"
        lines.append(f"| {name}: >= {GOAL} of memory | {own['ratio']:.2f} | {speed} |")
        held = "yes" if own["peak_bytes"] < budget else "no"
        peak = f"{own['peak_bytes'] / 1e6:,.0f} MB"
        lines.append(f"| {name}: peak under {setting['memory']} | {peak} | {held} |")
    lines += [
        "",
        f"{machine_['processor']}, {machine_['cores']} cores, {machine_['system']}, "
        f"Python {machine_['python']}; {', '.join(machine_['packages'])}; commit "
        f"{machine_['commit']}, {machine_['date']}. {setting['rounds']} rounds in "
        "turns, each fit in its own process; a row counts once for each network. Peak "
        "memory is that above the imports; of the fit from memory, with its rows. Load "
        f"average at the beginning: {machine_['load']:.1f}.",
        "",
    ]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, help="where the files are made")
    parser.add_argument("--gigabytes", type=float, default=10.0)
    parser.add_argument("--slice", type=float, default=2.0, help="GB in memory")
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--networks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--quick", action="store_true", help="print only, small")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.task:
        print(json.dumps(one_fit(json.loads(arguments.task))))
        return
    if arguments.quick:
        arguments.gigabytes, arguments.slice = 0.08, 0.04
        arguments.memory, arguments.rounds = "90MB", 1
    where = machine(PACKAGES) | {"load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        n_rows, of_slice, found = measure(arguments, folder)
    fits = {
        name: figures_of(own) | {"ratio": ratio(own, found["memory"])}
        for name, own in found.items()
    }
    names = ("memory", "columns", "passes", "networks", "rounds")
    settings = {name: getattr(arguments, name) for name in names}
    settings |= {"rows": n_rows, "slice_rows": of_slice}
    facts = {"machine": where, "settings": settings, "fits": fits}
    text = page(facts)
    print(text)
    if not arguments.quick:
        (RESULTS / "stream.md").write_text(text)
        (RESULTS / "stream.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
