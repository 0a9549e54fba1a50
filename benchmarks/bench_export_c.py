"""What exported C takes of a Cortex-M, beside a dense network and emlearn's forest.

    python benchmarks/bench_export_c.py            writes docs/results/export-c.*
    python benchmarks/bench_export_c.py --quick    prints only; digits alone

Bytes are those that predictions add to a program: code, constants and functions of
libraries, linked with -O2 and --gc-sections. Instructions are counted by QEMU, per
prediction, on test rows; that the board predicts what Python does is checked there.

All sizes are chosen on validation rows. The dense network is the smallest with one
hidden layer whose validation accuracy is at least that of our float export, trained by
our own recipe with SGD and with Adam (on digits by scikit-learn too; the best counts),
in plain C: its scaling is part of its first layer too, and its int8 computes as ours
does. The forest is emlearn's inline code for the smallest forest of scikit-learn of
which the same holds, or the best one of the grid if none reaches it; each tree has one
vote, and doubling the features is not counted.

It needs benchmarks/requirements.txt, gcc-arm-none-eabi, libnewlib-arm-none-eabi,
qemu-system-arm, and COFIRE_DATA for MNIST.
"""

import argparse
import json
import sys
import tempfile
import warnings
from copy import copy
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

from cofire import SparseMLPClassifier
from cofire.export import to_c
from cofire.export.c.tables import TABLES, rounded
from cofire.export.reading import plain_model
from cofire.export.simplify import fold_bytes, simplify

sys.path.insert(0, str(Path(__file__).parent / "cortex"))
import cortex_m
import dense

RESULTS = Path(__file__).parent.parent / "docs" / "results"
N_ROWS = 50
DENSE = {"digits": (4, 6, 8, 12, 16, 24, 32), "MNIST": (16, 20, 24, 32, 36, 40, 48, 64)}
TREES, LEAVES = (10, 20, 40, 80), (64, 256, 1024)


@dataclass(frozen=True, eq=False)
class Data:
    """Rows to train on, to choose sizes with, and to test with."""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_val: np.ndarray
    y_val: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


@dataclass(frozen=True)
class Row:
    """What one program takes."""

    data: str
    model: str
    validation: float
    test: float
    n_bytes: int
    instructions: dict[str, float]
    """By core."""


def mnist():
    from cofire.data import load

    raw = load("mnist")
    X, X_val, y, y_val = train_test_split(
        raw.X_train, raw.y_train, test_size=10_000, stratify=raw.y_train, random_state=0
    )
    return Data("MNIST", X, y, X_val, y_val, raw.X_test, raw.y_test)


def digits():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X = X.astype(np.uint8)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    X, X_val, y, y_val = train_test_split(X, y, test_size=0.3, random_state=0)
    return Data("digits", X, y, X_val, y_val, X_test, y_test)


# ---- contestants ---------------------------------------------------------------------


def measured(data, model, program, folder, predict, given=lambda rows: rows):
    """Run a program on all cores; `predict` is what it should say.

    given: what the program is given of rows.
    """
    rows, taken = data.X_test[:N_ROWS], {}
    expected = predict(rows)
    for name, core in cortex_m.CORES.items():
        found = cortex_m.measure(program, given(rows), core, folder)
        wrong = int((np.array(found.labels) != expected).sum())
        if wrong:
            raise RuntimeError(f"{model}: {wrong} of {N_ROWS} labels differ on {name}")
        taken[name] = found
    score = {
        which: float((predict(X) == y).mean())
        for which, X, y in (
            ("validation", data.X_val, data.y_val),
            ("test", data.X_test, data.y_test),
        )
    }
    instructions = {name: found.instructions for name, found in taken.items()}
    row = Row(
        data.name,
        model,
        score["validation"],
        score["test"],
        taken["Cortex-M4F"].n_bytes,
        instructions,
    )
    print(_line(row), flush=True)
    return row


def ours(data, sizes, folder):
    """Export a network of eps 1 with all kinds of tables."""
    model = SparseMLPClassifier(
        sizes, epsilon=1, n_networks=1, random_state=0, n_jobs=1
    )
    model.fit(data.X, data.y)
    for tables in TABLES:
        where = folder / tables
        done = to_c(model, where / "model.c", tables=tables)
        plain = rounded(_small(plain_model(model)), tables)

        def predict(X, plain=plain):
            return plain.evaluate(X.astype(np.float64)).argmax(axis=1)

        program = cortex_m.Program(
            "model.h", done.feature, "model_predict(row)", where, ("model.c",)
        )
        shape, left = ("-".join(map(str, own)) for own in (sizes, done.sizes[0]))
        connections = f"{done.n_connections:,} connections"
        name = f"cofire, eps 1, {shape} (left: {left}, {connections}), {tables}"
        yield measured(data, name, program, where, predict)


def _small(plain):
    return fold_bytes(simplify(plain))


def smallest_dense(data, wanted, folder):
    """Return the smallest dense network that is as accurate on validation rows."""
    tried = []
    for n_hidden in DENSE[data.name]:
        for trainer, layers in dense_networks(data, n_hidden).items():
            found = dense.predict(dense.rounded(layers, "float"), data.X_val)
            score = (found == data.y_val).mean()
            print(f"  dense {n_hidden}, {trainer}: {score:.4f}", flush=True)
            tried.append((score, n_hidden, trainer, layers))
        if max(tried, key=lambda own: own[0])[0] >= wanted:
            break
    _, n_hidden, trainer, layers = max(tried, key=lambda own: own[0])
    for tables in ("float", "int8"):
        where, whole = folder / tables, dense.rounded(layers, tables)
        dense.write(whole, where, tables)
        program = cortex_m.Program(
            "dense.h", "unsigned char", "dense_predict(row)", where, ("dense.c",)
        )
        n = sum(weights.size for weights, _, _ in whole)
        name = f"dense, {n_hidden} ({n:,} connections, {trainer}), {tables}"

        def predict(X, whole=whole):
            return dense.predict(whole, X)

        yield measured(data, name, program, where, predict)


@cache
def dense_networks(data, n_hidden):
    """Train one hidden layer, with our recipe; in scikit-learn too if rows are few."""
    networks = {}
    for solver in ("sgd", "adam"):
        own = SparseMLPClassifier(
            (n_hidden,),
            method="dense",
            solver=solver,
            n_networks=1,
            random_state=0,
            n_jobs=1,
        )
        plain = _small(plain_model(own.fit(data.X, data.y)))
        networks[f"our recipe, {solver}"] = dense.of_plain(plain)
    if len(data.X) < 10_000:
        scaler = StandardScaler().fit(data.X)
        theirs = MLPClassifier((n_hidden,), max_iter=300, random_state=0)
        theirs.fit(scaler.transform(data.X), data.y)
        networks["scikit-learn"] = dense.of_sklearn(theirs, scaler)
    return networks


def smallest_forest(data, wanted, folder):
    """Return emlearn's code for the smallest forest that is as accurate."""
    import emlearn

    best = None
    for n_leaves, n_trees in product(LEAVES, TREES):
        forest = copy(forest_of(data, n_leaves))
        forest.estimators_ = forest.estimators_[:n_trees]
        score = (votes(forest, data.X_val) == data.y_val).mean()
        n_nodes = sum(tree.tree_.node_count for tree in forest.estimators_)
        print(
            f"  forest {n_trees} x {n_leaves}: {score:.4f}, {n_nodes} nodes", flush=True
        )
        key = (score >= wanted, -n_nodes if score >= wanted else score)
        if best is None or key > best[0]:
            best = key, forest, f"{n_trees} trees, {n_nodes:,} nodes"
    _, forest, name = best
    folder.mkdir(parents=True, exist_ok=True)
    code = emlearn.convert(forest, method="inline", dtype="int16_t")
    code.save(file=str(folder / "forest.h"), name="forest", include_proba=False)
    n_features = data.X.shape[1]
    program = cortex_m.Program(
        "forest.h",
        "int16_t",
        f"forest_predict(row, {n_features})",
        folder,
        flags=(f"-I{Path(emlearn.__file__).parent}", "-w"),
    )
    name = f"emlearn's forest, {name}"
    # The code asks whether a feature is less than a threshold, where scikit-learn asks
    # whether it is at most that, and thresholds are rounded. They are whole numbers of
    # doubled features: of these, less 1, the code decides the same.
    yield measured(
        data,
        name,
        program,
        folder,
        lambda X: votes(forest, X),
        lambda X: 2 * X.astype(np.int16) - 1,
    )


@cache
def forest_of(data, n_leaves):
    """Train the most trees; the first of them are a smaller forest."""
    forest = RandomForestClassifier(
        max(TREES), max_leaf_nodes=n_leaves, random_state=0, n_jobs=1
    )
    return forest.fit(2 * data.X.astype(np.int16), data.y)


def votes(forest, X):
    """Return the class that most trees say, as emlearn counts: each tree one vote."""
    X = 2 * X.astype(np.int16)
    each = np.stack([tree.predict(X) for tree in forest.estimators_]).astype(int)
    counts = np.stack([(each == c).sum(axis=0) for c in range(forest.n_classes_)])
    return counts.argmax(axis=0)


# ---- results -------------------------------------------------------------------------


def _line(row):
    counts = "  ".join(f"{name} {n:,.0f}" for name, n in row.instructions.items())
    scores = f"validation {row.validation:.4f}  test {row.test:.4f}"
    return f"{row.data}: {row.model}: {scores}  {row.n_bytes:,} bytes  {counts}"


def page(rows):
    """Return the page of results."""
    doc = __doc__.split("\n\n")
    text = "# Exported C on a Cortex-M\n\n"
    text += "Written by `python benchmarks/bench_export_c.py`.\n\n"
    text += " ".join("\n\n".join(doc[2:]).replace("\n\n", " ").split()) + "\n"
    for name in dict.fromkeys(row.data for row in rows):
        text += f"\n## {name}\n\n"
        text += "| model | accuracy (test) | bytes | instructions, Cortex-M4F | "
        text += "instructions, Cortex-M3 |\n| --- | ---: | ---: | ---: | ---: |\n"
        for row in rows:
            if row.data == name:
                counts = [f"{row.instructions[core]:,.0f}" for core in cortex_m.CORES]
                cells = [row.model, f"{row.test:.4f}", f"{row.n_bytes:,}", *counts]
                text += f"| {' | '.join(cells)} |\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="digits alone; print only")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")  # of scikit-learn, that training may go on
    rows = []
    with tempfile.TemporaryDirectory() as where:
        for data in (digits(),) if quick else (digits(), mnist()):
            folder = Path(where) / data.name
            shapes = (
                [(200, 200)] if data.name == "digits" else [(1000,) * 3, (200, 200)]
            )
            for sizes in shapes:
                inside = folder / str(len(sizes))
                own = list(ours(data, sizes, inside / "ours"))
                wanted = own[0].validation
                rows += own
                rows += smallest_dense(data, wanted, inside / "dense")
                rows += smallest_forest(data, wanted, inside / "forest")
                if not quick:
                    (RESULTS / "export-c.md").write_text(page(rows))
                    plain = json.dumps([asdict(row) for row in rows], indent=1)
                    (RESULTS / "export-c.json").write_text(plain + "\n")


if __name__ == "__main__":
    main()
