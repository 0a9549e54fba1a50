"""Ways to write a sparse network in ONNX: bytes, memory, latency, exactness.

ONNX Runtime computes random networks of several shapes and densities, in every form of
onnx_forms.py, and whole models as `to_onnx` writes them. Forms take turns in one
process, on one thread. A window counts as the median of its calls; time is the thread's
own (processor time), so that other work on the machine disturbs little. Ratios are
medians of the ratios within the rounds. It needs benchmarks/requirements.txt, and
COFIRE_DATA for MNIST.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime

from harness import machine
from onnx_forms import DENSE, FORMS, GEMM, SCATTER, SPARSE, network

RESULTS = Path(__file__).parent.parent / "docs" / "results"
PACKAGES = ("cofire", "numpy", "onnx", "onnxruntime")
N_ROWS = (1, 10, 100, 1000)


def epsilon(sizes, of):
    """Connections of each layer: of * (n_in + n_out), at most all of them."""
    pairs = zip(sizes[:-1], sizes[1:], strict=True)
    return [min(of * (a + b), a * b) for a, b in pairs]


def share(sizes, density):
    """Connections of each layer, by density."""
    pairs = zip(sizes[:-1], sizes[1:], strict=True)
    return [round(density * a * b) for a, b in pairs]


LARGE, SQUARE, SMALL = (784, 1000, 1000, 1000, 10), (500,) * 4, (30, 200, 200, 2)
NETWORKS = {
    "784-1000-1000-1000-10, epsilon 1": (LARGE, epsilon(LARGE, 1)),
    "500-500-500-500, density 0.2 %": (SQUARE, share(SQUARE, 0.002)),
    "500-500-500-500, density 0.5 %": (SQUARE, share(SQUARE, 0.005)),
    "500-500-500-500, density 1 %": (SQUARE, share(SQUARE, 0.01)),
    "500-500-500-500, density 5 %": (SQUARE, share(SQUARE, 0.05)),
    "500-500-500-500, density 20 %": (SQUARE, share(SQUARE, 0.2)),
    "30-200-200-2, epsilon 3": (SMALL, epsilon(SMALL, 3)),
}


# ---- measuring -----------------------------------------------------------------------


def session(content, n_threads=1):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    providers = ["CPUExecutionProvider"]
    return onnxruntime.InferenceSession(content, options, providers)


def memory_of(content):
    """Megabytes that a fresh process grows by when it loads a file and runs one row."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.onnx"
        path.write_bytes(content)
        command = [sys.executable, __file__, "--memory", str(path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


def print_memory(path):
    import ctypes
    import gc

    def resident():
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

    options = onnxruntime.SessionOptions()  # the library itself is loaded before
    before = resident()
    own = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    given = own.get_inputs()[0]
    own.run(None, {given.name: np.zeros((1, given.shape[1]), np.float32)})
    print(resident() - before)


def window(call, seconds):
    """Median microseconds of processor time of a call."""
    clock, times = time.thread_time, []
    call()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or not times:
        start = clock()
        call()
        times.append(clock() - start)
    return 1e6 * statistics.median(times)


def interleaved(calls, *, rounds, seconds):
    found = {name: [] for name in calls}
    for turn in range(rounds):
        names = list(calls)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            found[name].append(window(calls[name], seconds))
    return found


def latencies(runs, first, how):
    """{name: {rows: (microseconds, ratio)}}; runs: a call per number of rows."""
    found = {name: {} for name in runs}
    for n in N_ROWS:
        times = interleaved({name: run(n) for name, run in runs.items()}, **how)
        for name, own in times.items():
            ratios = [a / b for a, b in zip(own, times[first], strict=True)]
            found[name][n] = statistics.median(own), statistics.median(ratios)
    return found


def exact(net, x):
    """Outputs in float64."""
    for i, layer in enumerate(net.layers):
        x = x @ layer.to_scipy().T.astype(np.float64) + layer.bias
        x = np.maximum(x, 0) if i < len(net.layers) - 1 else x
    return x


def of_network(sizes, counts, how):
    net = network(sizes, counts)
    contents = {n: Form().proto(net).SerializeToString() for n, Form in FORMS.items()}
    sessions = {name: session(content) for name, content in contents.items()}
    x = np.random.default_rng(1).normal(size=(max(N_ROWS), sizes[0])).astype("f4")
    expected = exact(net, x)
    runs = {
        name: lambda n, own=own: lambda: own.run(None, {"x": x[:n]})
        for name, own in sessions.items()
    }
    times = latencies(runs, GEMM, how)
    return {
        name: {
            "bytes": len(contents[name]),
            "memory": memory_of(contents[name]) if sizes == LARGE else None,
            "times": times[name],
            "error": float(
                np.abs(own.run(None, {"x": x})[0] - expected).max()
                / np.abs(expected).max()
            ),
        }
        for name, own in sessions.items()
    }


def lost_sums(n_runs=400):
    """How often ScatterND is wrong on four threads, and by how much."""
    sizes = 784, 2000, 2000, 10
    net = network(sizes, (40_000, 40_000, 2000))
    x = np.random.default_rng(1).normal(size=(64, 784)).astype("f4")
    expected = exact(net, x)
    found = {}
    for name in (SCATTER, SPARSE, DENSE):
        own = session(FORMS[name]().proto(net).SerializeToString(), n_threads=4)
        errors = [
            np.abs(own.run(None, {"x": x})[0] - expected).max() for _ in range(n_runs)
        ]
        errors = np.array(errors) / np.abs(expected).max()
        found[name] = int((errors > 1e-5).sum()), n_runs, float(errors.max())
    return found


# ---- whole models --------------------------------------------------------------------


def models():
    from sklearn.datasets import load_breast_cancer, load_digits

    from cofire import SparseMLPClassifier
    from cofire.data import load

    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer, the default", SparseMLPClassifier(random_state=0).fit(X, y), X
    X, y = load_digits(return_X_y=True)
    yield "digits, the default", SparseMLPClassifier(random_state=0).fit(X, y), X
    data = load("mnist")
    model = SparseMLPClassifier((1000,) * 3, epsilon=1, n_networks=1, random_state=0)
    model.fit(data.X_train, data.y_train)
    yield "MNIST (bytes), one network 1000-1000-1000, epsilon 1", model, data.X_test


def of_model(model, X, how):
    from cofire.export import to_onnx

    X = np.concatenate([X] * (1 + max(N_ROWS) // len(X)))
    exports = {
        form: to_onnx(model, layers=form, X=X[:500])
        for form in ("auto", "sparse", "dense")
    }
    runs = {"predict_proba of cofire": lambda n: lambda: model.predict_proba(X[:n])}
    for form, own in exports.items():
        run = session(own.proto.SerializeToString())
        runs[form] = lambda n, run=run: lambda: run.run(None, {"X": X[:n]})
    times = latencies(runs, "predict_proba of cofire", how)
    return {
        name: {
            "times": own,
            "bytes": exports[name].n_bytes if name in exports else None,
            "layers": (exports[name].n_dense, exports[name].n_sparse)
            if name in exports
            else None,
            "error": exports[name].loss.difference if name in exports else None,
        }
        for name, own in times.items()
    }


# ---- the page ------------------------------------------------------------------------


def shown(number):
    return f"{number:.1f}" if number < 100 else f"{number:,.0f}"


def row(name, facts, cells):
    times = [f"{shown(a)} / {b:.2f}" for a, b in facts["times"].values()]
    return f"| {name} | " + " | ".join([*cells, *times]) + " |"


def page(networks, lost, whole, where, settings):
    heads = " | ".join(f"{n:,} row" + "s" * (n > 1) for n in N_ROWS)
    lines = [
        "# A sparse network in ONNX",
        "",
        "<!-- written by benchmarks/bench_export_onnx.py -->",
        "",
        "Microseconds of ONNX Runtime on one thread; behind the slash, how many times "
        "as long as Gemm with the matrix in the file. MB: by how much a process grows "
        "when it loads the file. Error: the largest difference to float64, as a "
        "fraction of the largest output.",
    ]
    for name, forms in networks.items():
        lines += ["", f"## {name}", "", f"| form | kB | MB | error | {heads} |"]
        lines.append("|---|" + "---:|" * (3 + len(N_ROWS)))
        for form, facts in forms.items():
            cells = [
                shown(facts["bytes"] / 1e3),
                "" if facts["memory"] is None else shown(facts["memory"]),
                f"{facts['error']:.0e}",
            ]
            lines.append(row(form, facts, cells))
    lines += [
        "",
        "## Several threads",
        "",
        "The same rows again and again, on four threads: how often an output was wrong "
        "by more than 1e-5 of the largest, and the largest error.",
        "",
        "| form | wrong | error |",
        "|---|---:|---:|",
    ]
    for form, (n_wrong, n_runs, error) in lost.items():
        lines.append(f"| {form} | {n_wrong} of {n_runs} | {error:.0e} |")
    lines += [
        "",
        "## Whole models",
        "",
        "From raw rows to classes and probabilities; behind the slash, how "
        "many times as long as `predict_proba` of cofire itself. Layers: dense "
        "products, and those written connection by connection. Difference: the largest "
        "of probabilities, on 500 rows.",
    ]
    for name, forms in whole.items():
        lines += [
            "",
            f"### {name}",
            "",
            f"| `layers=` | kB | layers | difference | {heads} |",
        ]
        lines.append("|---|" + "---:|" * (3 + len(N_ROWS)))
        for form, facts in forms.items():
            cells = ["-"] * 3
            if facts["bytes"]:
                dense, sparse = facts["layers"]
                cells = [
                    shown(facts["bytes"] / 1e3),
                    f"{dense} + {sparse}",
                    f"{facts['error']:.0e}",
                ]
            lines.append(row(form, facts, cells))
    lines += [
        "",
        f"{where['processor']}, {where['cores']} cores, {where['system']}, Python "
        f"{where['python']}; {', '.join(where['packages'])}; commit {where['commit']}, "
        f"{where['date']}. Forms take turns in one process, {settings['rounds']} "
        f"rounds; a window of {settings['seconds']:g} s counts as the median of its "
        "calls, in processor time of the thread.",
        "",
    ]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="print only, few rounds")
    parser.add_argument("--memory", help="print what loading a file takes, no more")
    arguments = parser.parse_args()
    if arguments.memory:
        return print_memory(arguments.memory)
    settings = {"rounds": 2 if arguments.quick else 5, "seconds": 0.03}
    where = machine(PACKAGES)
    networks = {n: of_network(*own, settings) for n, own in NETWORKS.items()}
    whole = {name: of_model(model, X, settings) for name, model, X in models()}
    lost = lost_sums()
    text = page(networks, lost, whole, where, settings)
    print(text)
    if not arguments.quick:
        facts = {"machine": where, "settings": settings, "networks": networks}
        facts |= {"several_threads": lost, "models": whole}
        (RESULTS / "export-onnx.md").write_text(text)
        (RESULTS / "export-onnx.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
