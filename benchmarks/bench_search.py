"""What the search for neurons that fire alike costs, and what it finds.

    python benchmarks/bench_search.py                 all parts (about 15 minutes)
    python benchmarks/bench_search.py price recall    some of them
    python benchmarks/bench_search.py --report        only write the page

Parts: price (beside training, beside NumPy), recall, picture, linear (growth with the
layers), mnist (500 epochs), wide (a million neurons). Results are kept in
docs/results/similarity.json; the page is docs/results/similarity.md. MNIST and Isolet
are looked for in the folder that COFIRE_DATA names.
"""

import argparse
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from cofire import SparseMLPClassifier, engine
from cofire.callbacks import Callback
from cofire.core.machine import available_cores
from cofire.data import paper_parts, paper_split
from cofire.data.catalog import locate
from cofire.search import Deck, Exact, Linear, Screened
from cofire.topology.indices import without
from cofire.topology.select import smallest_magnitude
from search_page import write_page

RESULTS = Path(__file__).parent.parent / "docs" / "results"
N_THREADS = available_cores()
WIDTHS = (1000, 1000, 1000)


# ---- data and networks ---------------------------------------------------------------


def mnist():
    """54,000 rows to train on, 6,000 to validate with, 10,000 to test, all 0 to 1."""
    arrays = np.load(locate("mnist"))
    X = (arrays["X_train"].reshape(60000, -1) / 255).astype(np.float32)
    X_test = (arrays["X_test"].reshape(10000, -1) / 255).astype(np.float32)
    y = arrays["y_train"].astype(np.int64)
    train, held_out = paper_split(60000)
    return (X[train], y[train]), (X[held_out], y[held_out]), (X_test, arrays["y_test"])


def training_rows(name):
    if name == "mnist":
        return mnist()[0]
    return paper_parts(name)[0]


class Snapshots(Callback):
    """Keeps the network of some epochs."""

    def __init__(self, epochs):
        self.epochs, self.networks = epochs, {}

    def on_epoch_end(self, progress, record):
        if record["epoch"] + 1 in self.epochs:
            self.networks[record["epoch"] + 1] = progress.network.copy()


def trained_networks(X, y, epsilon, epochs):
    """Networks of ctre_sim with the estimator's defaults after some epochs."""
    snapshots = Snapshots(epochs)
    SparseMLPClassifier(
        WIDTHS,
        epsilon=epsilon,
        max_iter=max(epochs),
        random_state=0,
        callbacks=[snapshots],
    ).fit(X, y)
    return snapshots.networks


def search_of(network, rows, n_rows, seed=0, epoch=1):
    """The search that a rewiring of this network asks for."""
    rng = np.random.default_rng(seed)
    dropped = []
    for layer in network.layers:
        free = layer.n_in * layer.n_out - layer.nnz
        dropped.append(smallest_magnitude(layer, min(int(0.2 * layer.nnz), free), rng))
    pairs = zip(network.layers, dropped, strict=True)
    return engine.PairSearch(
        network=network,
        rows=rows,
        row_ids=np.arange(n_rows),
        kept=[without(layer.flat_indices, gone) for layer, gone in pairs],
        n_wanted=[len(gone) for gone in dropped],
        seed=seed,
        epoch=epoch,
        n_threads=N_THREADS,
    )


def as_in_a_fit(search):
    """The search with what a fit makes once of its rows; and their rarity."""
    rarity = search.rows.rarity(search.row_ids)
    if Deck.is_worthwhile(search.rows, len(search.row_ids)):
        deck = Deck.of(search.rows, search.row_ids, rarity, None)
        search = replace(search, deck=lambda: deck)
    return search, lambda: rarity


# ---- the plain way, in NumPy ---------------------------------------------------------


def activations(network, X):
    """What each level shows for all rows, as dense arrays."""
    levels = [X]
    for i, layer in enumerate(network.layers):
        z = np.asarray((layer.to_scipy() @ levels[-1].T).T) + layer.bias
        if i + 1 < len(network.layers):
            levels.append(np.maximum(z, 0, out=z))
        else:
            z = np.exp(z - z.max(axis=1, keepdims=True))
            levels.append(z / z.sum(axis=1, keepdims=True))
    return levels


def numpy_search(network, X, search):
    """Full products and argpartition: what the authors' program does."""
    levels = activations(network, X)
    found = []
    for i, (kept, n) in enumerate(zip(search.kept, search.n_wanted, strict=True)):
        a, b = levels[i], levels[i + 1]
        norms = [np.sqrt(np.maximum((x * x).sum(axis=0), 1e-12)) for x in (a, b)]
        cosine = np.abs(b.T @ a) / norms[0] / norms[1][:, None]
        cosine.flat[kept] = -1
        if n:
            found.append(np.argpartition(cosine.ravel(), -n)[-n:])
    return found


class Scores:
    """Exact cosines of single pairs, by all rows, in double precision."""

    def __init__(self, network, X):
        self.levels = activations(network, X)
        self.norms = [
            np.sqrt(np.maximum(np.einsum("ij,ij->j", x, x, dtype=np.float64), 1e-12))
            for x in self.levels
        ]

    def of(self, layer, indices):
        n_in = self.levels[layer].shape[1]
        out = np.empty(len(indices))
        for k in range(0, len(indices), 256):
            o, i = np.divmod(indices[k : k + 256], n_in)
            a, b = self.levels[layer][:, i], self.levels[layer + 1][:, o]
            products = np.einsum("ij,ij->j", a, b, dtype=np.float64)
            scale = self.norms[layer][i] * self.norms[layer + 1][o]
            out[k : k + 256] = np.abs(products) / scale
        return np.floor(out * 65536 + 0.5)

    def recall(self, found, exact):
        """Fraction of the indices found that rank as high as the last of the exact."""
        good = total = 0
        for i, (ours, best) in enumerate(zip(found, exact, strict=True)):
            if len(best):
                # One step of rounding: float and double sums may differ by it.
                good += int((self.of(i, ours) >= self.of(i, best).min() - 1).sum())
                total += len(best)
        return good / total


# ---- parts ---------------------------------------------------------------------------


def price():
    """Rewiring beside training within one fit, and searches beside NumPy's."""
    (X, y), _, _ = mnist()
    result = {}
    for epsilon in (1, 13):
        model = SparseMLPClassifier(
            WIDTHS, epsilon=epsilon, max_iter=16, random_state=0
        ).fit(X, y)
        epochs = model.history_[4:]
        train = [record["train_seconds"] for record in epochs]
        rewire = [record["rewire_seconds"] for record in epochs]
        rows, network = engine.Rows(X), model.network_
        search = search_of(network, rows, len(X))
        dealt, rarity = as_in_a_fit(search)
        factor = model.history_[-1]["candidate_factor"]
        contestants = {
            "numpy": lambda n=network, s=search: numpy_search(n, X, s),
            "exact": lambda s=search: Exact().find(s, None, None),
            "screened": lambda s=dealt, r=rarity, f=factor: Screened().find(s, r, f),
            "linear": lambda s=dealt, r=rarity: Linear().find(s, r, None),
        }
        seconds = {name: [] for name in contestants}
        for _ in range(3):
            for name, call in contestants.items():
                for _ in range(1 if name in ("numpy", "exact") else 3):
                    start = time.perf_counter()
                    call()
                    seconds[name].append(time.perf_counter() - start)
        result[str(epsilon)] = {
            "train": float(np.median(train)),
            "rewire": float(np.median(rewire)),
            "best_train": min(train),
            "best_rewire": min(rewire),
            "ratio": float(np.median(np.array(rewire) / np.array(train))),
            "seconds": {name: min(times) for name, times in seconds.items()},
        }
        print(f"epsilon {epsilon}:", json.dumps(result[str(epsilon)]), flush=True)
    return result


def recall():
    """True recall of screened (and linear) on trained networks."""
    result = {}
    for name, epsilon in [
        ("madelon", 1),
        ("isolet", 1),
        ("mnist", 1),
        ("mnist", 13),
    ]:
        X, y = training_rows(name)
        epochs = (1, 10, 100) if epsilon == 1 else (1, 10)
        rows = engine.Rows(X)
        for epoch, network in trained_networks(X, y, epsilon, epochs).items():
            scores = Scores(network, X)
            exact = Exact().find(search_of(network, rows, len(X)), None, None).indices
            key = f"{name}, epsilon {epsilon}, epoch {epoch}"
            result[key] = {"screened": [], "estimated": [], "linear": []}
            factor = None
            dealt, rarity = as_in_a_fit(search_of(network, rows, len(X)))
            for trial in range(5):
                search = replace(dealt, epoch=trial + 1)
                found = Screened().find(search, rarity, factor)
                factor = found.factor
                wanted = np.array(search.n_wanted)
                result[key]["screened"].append(scores.recall(found.indices, exact))
                result[key]["estimated"].append(
                    float(np.average(found.recall, weights=wanted))
                )
                hashed = Linear().find(search, rarity, None)
                result[key]["linear"].append(scores.recall(hashed.indices, exact))
            means = {k: round(float(np.mean(v)), 4) for k, v in result[key].items()}
            print(key, means, flush=True)
    return result


def picture():
    """Recall against seconds: screened by its setting, and plain samples of rows."""
    (X, y), _, _ = mnist()
    network = trained_networks(X, y, 1, (10,))[10]
    rows, scores = engine.Rows(X), Scores(network, X)
    search = search_of(network, rows, len(X))
    exact = Exact().find(search, None, None).indices
    search, rarity = as_in_a_fit(search)
    points = []

    def measure(kind, setting, find):
        times, recalls = [], []
        for trial in range(5):
            start = time.perf_counter()
            indices = find(trial)
            times.append(time.perf_counter() - start)
            recalls.append(scores.recall(indices, exact))
        points.append([kind, setting, min(times), float(np.mean(recalls))])
        print(points[-1], flush=True)

    for wanted in (0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999):
        measure(
            "screened",
            wanted,
            lambda trial, w=wanted: (
                Screened(w).find(replace(search, epoch=trial + 1), rarity, None).indices
            ),
        )
    for tables in (2, 8, 32):
        measure(
            "linear",
            tables,
            lambda trial, t=tables: (
                Linear(t).find(replace(search, epoch=trial + 1), rarity, None).indices
            ),
        )
    for n in (256, 1024, 4096, 16384, 32768, len(X)):
        measure(
            "a plain sample of rows",
            n,
            lambda trial, n=n: (
                Exact()
                .find(
                    replace(
                        search,
                        row_ids=np.random.default_rng(trial).permutation(len(X))[:n],
                    ),
                    None,
                    None,
                )
                .indices
            ),
        )
    return points


def peak_megabytes():
    """Largest memory of this process so far, without what its parent had."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


LINEAR_PROBE = """
import sys, time, numpy as np
sys.path.insert(0, {here!r})
import bench_search as b
from cofire.topology.create import create_network
from cofire.topology.density import connections_per_layer
n = int(sys.argv[1])
X = np.random.default_rng(0).normal(size=(4096, 1000)).astype(np.float32)
sizes = [1000, n, n, 10]
network = create_network(sizes, connections_per_layer(sizes, 5), activation="relu",
                         init="sparse_aware", output="softmax", seed=0)
rows = b.engine.Rows(X)
times = []
for trial in range(int(sys.argv[2])):
    start = time.perf_counter()
    search = b.search_of(network, rows, len(X), epoch=trial + 1)
    b.Linear().find(search, None, None)
    times.append(time.perf_counter() - start)
print(min(times), b.peak_megabytes(), network.n_connections)
"""


def linear():
    """Seconds and peak memory of one search, drop included, by width."""
    result = {}
    for n, trials in ((10**4, 5), (10**5, 3), (10**6, 1)):
        out = subprocess.run(
            [
                sys.executable,
                "-c",
                LINEAR_PROBE.format(here=str(Path(__file__).parent)),
                str(n),
                str(trials),
            ],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        seconds, megabytes, connections = (float(x) for x in out)
        result[str(n)] = {
            "seconds": seconds,
            "peak_megabytes": megabytes,
            "connections": int(connections),
        }
        print(n, result[str(n)], flush=True)
    return result


def full_mnist():
    """500 epochs of ctre_sim with validation each epoch."""
    (X, y), (X_val, y_val), (X_test, y_test) = mnist()
    start = time.perf_counter()
    model = SparseMLPClassifier(WIDTHS, epsilon=1, max_iter=500, random_state=0)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    seconds = time.perf_counter() - start
    receipt = model.receipt_
    return {
        "seconds": seconds,
        "train": receipt.train_seconds,
        "rewire": receipt.rewire_seconds,
        "evaluate": receipt.evaluate_seconds,
        "test_accuracy": 100 * model.score(X_test, y_test),
    }


WIDE_PROBE = """
import json, sys, numpy as np
sys.path.insert(0, {here!r})
from bench_search import peak_megabytes
from cofire import SparseMLPClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 20_000)).astype(np.float32)
y = (X[:, :10] @ rng.normal(size=(10, 5))).argmax(axis=1)
before = peak_megabytes() / 1024
model = SparseMLPClassifier((333_334,) * 3, epsilon=5, similarity="linear", max_iter=3,
                            init="sparse_aware", random_state=0).fit(X, y)
peak = peak_megabytes() / 1024
last = model.history_[-1]
print(json.dumps(dict(train=last["train_seconds"], rewire=last["rewire_seconds"],
                      peak_gigabytes=peak, before_fit_gigabytes=before,
                      connections=model.n_connections_, alive=last["alive"])))
"""


def wide():
    """20,000 inputs, 333,334 neurons in each of three hidden layers."""
    run = [sys.executable, "-c", WIDE_PROBE.format(here=str(Path(__file__).parent))]
    out = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    print(out, flush=True)
    return json.loads(out)


PARTS = {
    "price": price,
    "recall": recall,
    "picture": picture,
    "linear": linear,
    "mnist": full_mnist,
    "wide": wide,
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--report", action="store_true", help="only write the page")
    arguments = parser.parse_args()
    path = RESULTS / "similarity.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    for name in [] if arguments.report else arguments.parts or list(PARTS):
        print(f"-- {name}", flush=True)
        results[name] = PARTS[name]()
        path.write_text(json.dumps(results, indent=1) + "\n")
    write_page(results, RESULTS)


if __name__ == "__main__":
    main()
