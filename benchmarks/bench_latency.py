"""How long `predict` takes for a few rows, beside other libraries.

    python benchmarks/bench_latency.py            writes docs/results/latency.*
    python benchmarks/bench_latency.py --quick    prints only, a few rounds

All models are fitted on the same table (breast cancer, 30 columns of numbers) and
called as a user calls them: `model.predict(X)` with a NumPy array of float64, on one
thread. They take turns in one process, one window each per round. The time of a window
is the median of its calls, each with other rows; the time of a model is the median of
its windows, and a ratio is the median of the ratios within the rounds. A call is so
short that other work on the machine disturbs few of them. It needs
benchmarks/requirements.txt.
"""

import argparse
import json
import os
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from harness import SETTLE_SECONDS, machine

RESULTS = Path(__file__).parent.parent / "docs" / "results"
PACKAGES = ("cofire", "numpy", "scikit-learn", "lightgbm", "onnxruntime")
N_ROWS = (1, 10, 100, 1000)
HIDDEN = (100, 100)
OURS, NATIVE = "cofire, one network", "cofire, one network, the native call alone"
GOALS = {OURS: 60, NATIVE: 10}  # microseconds for one row


# ---- contestants ---------------------------------------------------------------------


def table():
    """The rows and classes that all models are fitted on."""
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer(return_X_y=True)


def ours(**how):
    from cofire import SparseMLPClassifier

    return SparseMLPClassifier(**how, random_state=0).fit(*table())


def native_call():
    """What is left when rows are encoded and networks are wrapped already."""
    from cofire.engine import Rows, _native
    from cofire.engine.networks import native_network

    model = ours(hidden_layer_sizes=HIDDEN, n_networks=1)
    networks = [native_network(model.network_)]
    encode = model._state.encoder.encode

    def prepare(X):
        rows, out = Rows(encode(X)), np.empty((len(X), 2), np.float32)
        arguments = {"networks": networks, "out": out, "n_threads": 1}
        return lambda: _native.predict(rows=rows.native, **arguments)

    return prepare


def scikit_mlp(scaled):
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = table()
    mlp = MLPClassifier(HIDDEN, max_iter=50, random_state=0)
    return make_pipeline(StandardScaler(), mlp).fit(X, y) if scaled else mlp.fit(X, y)


def forest():
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(random_state=0).fit(*table())


def lightgbm():
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=0, n_jobs=1, verbose=-1).fit(*table())


def onnx():
    """A dense network of the same shape, in float32."""
    from onnx import TensorProto, helper, numpy_helper
    from onnxruntime import InferenceSession, SessionOptions

    mlp = scikit_mlp(scaled=False)
    nodes, initializers, last = [], [], "X"
    for i, (weights, bias) in enumerate(zip(mlp.coefs_, mlp.intercepts_, strict=True)):
        for name, array in (("W", weights), ("b", bias)):
            array = array.astype(np.float32)
            initializers.append(numpy_helper.from_array(array, f"{name}{i}"))
        nodes.append(helper.make_node("Gemm", [last, f"W{i}", f"b{i}"], [f"z{i}"]))
        function = "Relu" if i < len(mlp.coefs_) - 1 else "Sigmoid"
        nodes.append(helper.make_node(function, [f"z{i}"], [f"a{i}"]))
        last = f"a{i}"

    def tensor(name, width):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, width])

    graph = helper.make_graph(
        nodes, "mlp", [tensor("X", 30)], [tensor(last, 1)], initializers
    )
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    options = SessionOptions()
    options.intra_op_num_threads = 1
    session = InferenceSession(model.SerializeToString(), options)

    def prepare(X):
        X = X.astype(np.float32)
        return lambda: session.run(None, {"X": X})

    return prepare


def predicting(model):
    return lambda X: lambda: model.predict(X)


# Each gives, for some rows, a call without arguments.
CONTESTANTS = {
    OURS: lambda: predicting(ours(hidden_layer_sizes=HIDDEN, n_networks=1)),
    NATIVE: native_call,
    "cofire, four networks": lambda: predicting(ours(hidden_layer_sizes=HIDDEN)),
    "cofire, the default (four of 200, 200)": lambda: predicting(ours()),
    "ONNX Runtime, dense, rows in float32": onnx,
    "scikit-learn MLPClassifier": lambda: predicting(scikit_mlp(scaled=False)),
    "the same after StandardScaler": lambda: predicting(scikit_mlp(scaled=True)),
    "scikit-learn RandomForestClassifier": lambda: predicting(forest()),
    "LightGBM": lambda: predicting(lightgbm()),
}


# ---- where the microseconds go -------------------------------------------------------


def parts():
    """The steps of `predict` for one row, as calls; the first is all of it."""
    from sklearn.utils.validation import validate_data

    from cofire import engine
    from cofire.engine.networks import native_network
    from cofire.estimators.holdout import outputs_of
    from cofire.estimators.inputs import engine_rows
    from cofire.estimators.raw import _passes

    model = ours(hidden_layer_sizes=HIDDEN, n_networks=1)
    X = table()[0][:1]
    encoder, networks = model._state.encoder, model.networks_
    encoded = encoder.encode(X)
    rows = engine_rows(encoded)
    outputs = outputs_of(networks, rows, 1, "X")
    return {
        "all of it": lambda: model.predict(X),
        "look whether the checks can be left out": lambda: (
            _passes(model, X) and not np.isinf(X).any()
        ),
        "encode: scale, bend, fill in": lambda: encoder.encode(X),
        "wrap the row": lambda: engine_rows(encoded),
        "wrap the network": lambda: native_network(networks[0]),
        "predict, with the network wrapped": lambda: engine.predict(networks, rows),
        "look for outputs that are not finite": lambda: np.isfinite(outputs).all(),
        "find the label": lambda: model._state.targets.predictions(outputs),
        "left out: scikit-learn's checks": lambda: validate_data(
            model, X, reset=False, dtype="numeric", ensure_all_finite="allow-nan"
        ),
    }


# ---- timing --------------------------------------------------------------------------


def calls_of(prepare, n_rows):
    """Calls with different rows, as many as there are rows, at most 500."""
    X, _ = table()
    X = np.concatenate([X] * (1 + n_rows // len(X)))
    n_calls = min(500, len(X) - n_rows + 1)
    return [prepare(X[i : i + n_rows].copy()) for i in range(n_calls)]


def window(calls, seconds):
    """Median microseconds of calls, made in turns for some time."""
    clock, times, i = time.perf_counter, [], 0
    end = clock() + seconds
    for call in calls[: len(calls) // 10 + 1]:
        call()
    while True:
        start = clock()
        calls[i]()
        stop = clock()
        times.append(stop - start)
        i = (i + 1) % len(calls)
        if stop > end and len(times) >= 5:
            return 1e6 * statistics.median(times)


def interleaved(calls, *, rounds, seconds):
    """Microseconds of each window: {key: [...]}."""
    found = {key: [] for key in calls}
    for turn in range(rounds):
        keys = list(calls)
        shift = turn % len(keys)
        for key in keys[shift:] + keys[:shift]:
            found[key].append(window(calls[key], seconds))
            time.sleep(SETTLE_SECONDS)
    return found


def ratio(times, to):
    return statistics.median(a / b for a, b in zip(times, to, strict=True))


def measure(rounds, seconds):
    """{rows: {contestant: {microseconds, ratio}}}, and microseconds of the parts."""
    prepared = {name: make() for name, make in CONTESTANTS.items()}
    threadpool_limits(1)
    tables = {}
    for n_rows in N_ROWS:
        calls = {key: calls_of(make, n_rows) for key, make in prepared.items()}
        found = interleaved(calls, rounds=rounds, seconds=seconds)
        tables[n_rows] = {
            key: {
                "microseconds": statistics.median(times),
                "ratio": ratio(times, found[OURS]),
            }
            for key, times in found.items()
        }
    steps = {name: [call] for name, call in parts().items()}
    found = interleaved(steps, rounds=rounds, seconds=seconds)
    return tables, {name: statistics.median(times) for name, times in found.items()}


# ---- the page ------------------------------------------------------------------------


def shown(number):
    return f"{number:.1f}" if number < 100 else f"{number:,.0f}"


def page(tables, steps, where, settings):
    lines = [
        "# Latency",
        "",
        "<!-- written by benchmarks/bench_latency.py -->",
        "",
        "Microseconds of `predict` for 1, 10, 100 and 1,000 rows of 30 columns, on one "
        f"thread. Networks have the hidden layers {HIDDEN}. Behind the slash: how many "
        "times as long as the first line.",
        "",
        "| model | " + " | ".join(f"{n:,}" for n in N_ROWS) + " |",
        "|---|" + "---:|" * len(N_ROWS),
    ]
    for name in CONTESTANTS:
        cells = [tables[n][name] for n in N_ROWS]
        of = [f"{shown(c['microseconds'])} / {shown(c['ratio'])}" for c in cells]
        lines.append(f"| {name} | " + " | ".join(of) + " |")
    lines += ["", "| goal for one row | measured | met |", "|---|---:|---|"]
    for name, goal in GOALS.items():
        got = tables[1][name]["microseconds"]
        met = "yes" if got <= goal else "no"
        lines.append(f"| {name}: <= {goal} | {shown(got)} | {met} |")
    lines += ["", "## Where they go", "", "One network, one row.", ""]
    lines += ["| step | microseconds |", "|---|---:|"]
    lines += [f"| {name} | {shown(took)} |" for name, took in steps.items()]
    lines += ["", caption(where, settings), ""]
    return "\n".join(lines)


def caption(where, settings):
    return (
        f"{where['processor']}, {where['cores']} cores, {where['system']}, Python "
        f"{where['python']}; {', '.join(where['packages'])}; commit {where['commit']}, "
        f"{where['date']}. All take turns in one process, {settings['rounds']} rounds; "
        f"a window of {settings['seconds']:g} s counts as the median of its calls, a "
        "model as the median of its windows. Load average at the beginning: "
        f"{where['load']:.1f}. But for the one thread, other libraries have their "
        "defaults."
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="print only, few rounds")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # LightGBM's about names of features
    settings = {"rounds": 3 if arguments.quick else arguments.rounds, "seconds": 0.1}
    where = machine(PACKAGES) | {"load": os.getloadavg()[0]}
    tables, steps = measure(**settings)
    text = page(tables, steps, where, settings)
    print(text)
    if not arguments.quick:
        facts = {"machine": where, "settings": settings, "rows": tables, "parts": steps}
        (RESULTS / "latency.md").write_text(text)
        (RESULTS / "latency.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
