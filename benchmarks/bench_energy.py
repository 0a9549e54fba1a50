"""What training and prediction cost in energy, beside dense networks.

    python benchmarks/bench_energy.py            writes docs/results/energy.*
    python benchmarks/bench_energy.py --quick    prints only: small tables, 1 seed

It can be interrupted: seeds that docs/results/energy.json has are not repeated. Remove
that file to begin again.

Everything runs on one thread. On each table, cofire's default and one sparser network
are trained, then dense networks: of the shape of one network of the default, on the
same inputs, with as many rows and the same batches (scikit-learn, and torch where it is
installed); and the narrowest that reaches the default's accuracy on validation rows.
Joules are measured where counters can be read, else core-seconds times an assumption,
and the page says which. Core-seconds suffer little from other work on the machine.
"""

import argparse
import json
import os
import statistics
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from cofire import SparseMLPClassifier, data, energy
from energy_page import (
    DEFAULT,
    SAME_ACCURACY,
    SCIKIT_TWIN,
    SPARSER,
    TORCH_TWIN,
    page,
)
from harness import machine

RESULTS = Path(__file__).parent.parent / "docs" / "results"
PACKAGES = ("cofire", "numpy", "scikit-learn", "torch")
MNIST_ROWS = 6_000


# ---- tables --------------------------------------------------------------------------


def breast_cancer(seed):
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=seed)
    return X, y, X_test, y_test


def of_paper(name, n_rows=None):
    def load(seed):
        found = data.load(name)
        rows = np.random.default_rng(seed).permutation(len(found.y_train))[:n_rows]
        X, X_test = (X.astype(np.float32) for X in (found.X_train, found.X_test))
        return X[rows], found.y_train[rows], X_test, found.y_test

    return load


# Each with settings of the search for a dense network of the same accuracy.
TABLES = {
    "breast cancer": (breast_cancer, {}),
    "Madelon": (of_paper("madelon"), {}),
    f"MNIST, {MNIST_ROWS:,} rows": (
        of_paper("mnist", MNIST_ROWS),
        {"widths": (16, 32, 64, 128, 256, 512)},
    ),
}
QUICK = ("breast cancer", "Madelon")


# ---- dense networks of the default's shape -------------------------------------------


class Encoded:
    """Predicts rows that are encoded already: the encoding costs a twin nothing."""

    def __init__(self, predict, encode):
        self.predict, self.encode = predict, encode

    def score(self, X, y):
        return float(np.mean(self.predict(self.encode(X)) == y))


def schedule(model, n_rows):
    """Epochs and batch size with which a dense network sees as many rows."""
    per_network = model.receipt_.rows / len(model.networks_)
    batch = min(model.chosen_parameters_["batch_size"], n_rows)
    return max(1, round(per_network / n_rows)), batch


def scikit_twin(model, X, y, seed):
    from sklearn.neural_network import MLPClassifier

    epochs, batch = schedule(model, len(X))
    twin = MLPClassifier(
        model.hidden_layer_sizes,
        batch_size=batch,
        max_iter=epochs,
        n_iter_no_change=epochs + 1,
        random_state=seed,
    )
    encode = model._state.encoder.encode
    inputs = np.ascontiguousarray(encode(X), np.float32)
    with energy.measure() as spent:
        twin.fit(inputs, y)
    return Encoded(twin.predict, encode), spent.energy


def torch_twin(model, X, y, seed):
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    epochs, batch = schedule(model, len(X))
    encode, layers = model._state.encoder.encode, []
    sizes = [*model.network_.sizes[:-1], len(model.classes_)]
    for n_in, n_out in zip(sizes[:-1], sizes[1:], strict=True):
        layers += [torch.nn.Linear(n_in, n_out), torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers[:-1])
    optimizer = torch.optim.Adam(net.parameters())
    inputs = torch.from_numpy(np.ascontiguousarray(encode(X), np.float32))
    labels = torch.from_numpy(np.searchsorted(model.classes_, y))
    with energy.measure() as spent:
        for _ in range(epochs):
            for rows in torch.randperm(len(labels)).split(batch):
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(
                    net(inputs[rows]), labels[rows]
                )
                loss.backward()
                optimizer.step()

    def predict(rows):
        with torch.no_grad():
            outputs = net(torch.from_numpy(np.ascontiguousarray(rows, np.float32)))
        return model.classes_[outputs.argmax(1).numpy()]

    return Encoded(predict, encode), spent.energy


def twins():
    found = {SCIKIT_TWIN: scikit_twin}
    return found | ({TORCH_TWIN: torch_twin} if find_spec("torch") else {})


# ---- one table -----------------------------------------------------------------------


def figures(model, training, X_test, y_test, *, connections, n_bytes):
    """What a model took and takes; `model` predicts, and scores raw rows."""
    encode = getattr(model, "encode", lambda X: X)
    rows = encode(X_test[np.resize(np.arange(len(X_test)), 1000)])
    alone = energy.of_predictions(model, rows, batch_size=1)
    together = energy.of_predictions(model, rows)
    return {
        "accuracy": float(model.score(X_test, y_test)),
        "connections": connections,
        "bytes": n_bytes,
        "training": training.to_dict(),
        "alone": alone.to_dict(),
        "together": together.to_dict(),
    }


def one_seed(load, search, seed):
    """{model: figures}; the receipt's estimates for the twin are under "receipt"."""
    X, y, X_test, y_test = load(seed)
    X, X_val, y, y_val = train_test_split(
        X, y, test_size=0.2, random_state=seed, stratify=y
    )
    tests, found = (X_test, y_test), {}
    how = {"random_state": seed, "n_jobs": 1}
    ours = {DEFAULT: {}, SPARSER: {"epsilon": 1, "n_networks": 1}}
    models = {}
    for name, settings in ours.items():
        models[name] = model = SparseMLPClassifier(**settings, **how).fit(X, y)
        paid = model.receipt_
        size = {"connections": paid.connections, "n_bytes": paid.bytes}
        found[name] = figures(model, paid.energy, *tests, **size)
    default = models[DEFAULT]
    paid, n = default.receipt_, len(default.networks_)
    shape = {
        "connections": paid.dense_connections // n,
        "n_bytes": paid.dense_bytes // n,
    }
    for name, train in twins().items():
        twin, training = train(default, X, y, seed)
        found[name] = figures(twin, training, *tests, **shape)
    rows = X, y, X_val, y_val
    dense = energy.smallest_dense(default, *rows, random_state=seed, **search)
    found[SAME_ACCURACY] = None
    if dense is not None:
        size = {"connections": dense.connections, "n_bytes": 4 * dense.connections}
        found[SAME_ACCURACY] = figures(dense.model, dense.training, *tests, **size)
        found[SAME_ACCURACY] |= {"sizes": dense.sizes, "search": dense.search.to_dict()}
    found["receipt"] = {
        "training": paid.dense_energy.times(1 / n).to_dict(),
        "together": paid.dense_prediction_energy.times(1 / n).to_dict(),
        "ours": paid.prediction_energy.to_dict(),
    }
    return found


# ---- rates ---------------------------------------------------------------------------


def rates():
    """Multiply-adds per core-second of dense products, and of our predictions."""
    from cofire.engine import Rows, predict

    rng, found = np.random.default_rng(0), {}
    for batch in (1, 128, 1000):
        rows = rng.standard_normal((batch, 1000), dtype=np.float32)
        weights = rng.standard_normal((1000, 1000), dtype=np.float32)
        product = rate(lambda a=rows, b=weights: a @ b, batch * 1_000_000)
        found[f"NumPy (BLAS), {batch:,} x 1,000 x 1,000, float32"] = product
    X = rng.standard_normal((1000, 784), dtype=np.float32)
    y = rng.integers(0, 10, 1000)
    for epsilon in (1, 5, 13):
        how = {"n_networks": 1, "max_iter": 1, "n_pieces": 0, "method": "set"}
        model = SparseMLPClassifier(
            (1000, 1000), epsilon=epsilon, random_state=0, **how
        )
        networks, rows = model.fit(X, y).networks_, Rows(X)
        name = f"cofire, 784-1000-1000-10, epsilon {epsilon}, 1,000 rows"
        n = 1000 * model.n_connections_
        found[name] = rate(lambda a=networks, b=rows: predict(a, b, n_threads=1), n)
    return found


def rate(call, multiply_adds):
    call()
    windows = []
    for _ in range(5):
        n, start = 0, time.process_time()
        while (spent := time.process_time() - start) < 0.2:
            call()
            n += 1
        windows.append(n * multiply_adds / spent)
    return statistics.median(windows)


# ---- all of it -----------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="print only")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # networks that have not converged
    stored, facts = RESULTS / "energy.json", {"tables": {}}
    if stored.exists() and not arguments.quick:
        facts = json.loads(stored.read_text())
    facts["machine"] = machine(PACKAGES) | {"load": os.getloadavg()[0]}
    with threadpool_limits(1):
        facts.setdefault("rates", rates())
        for name, (load, search) in TABLES.items():
            if arguments.quick and name not in QUICK:
                continue
            runs = facts["tables"].setdefault(name, [])
            for seed in range(len(runs), 1 if arguments.quick else arguments.seeds):
                runs.append(one_seed(load, search, seed))
                if not arguments.quick:
                    stored.write_text(json.dumps(facts, indent=1) + "\n")
    print(page(facts))
    if not arguments.quick:
        (RESULTS / "energy.md").write_text(page(facts))


if __name__ == "__main__":
    main()
