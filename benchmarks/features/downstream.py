"""Accuracy of an SVM and of nearest neighbours on the features that selectors choose.

    python benchmarks/features/downstream.py --out downstream.csv

Features are ranked on training rows only. Each row of the file is one data set, split,
selector, number of features and model. The same command continues an interrupted run;
the lightest data sets come first. A ranking that needs more than --cap CPU seconds is
written down as not finished.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import scipy.sparse
from common import DONE, SLOW, ResultFile, limited, read
from rankers import RANKERS
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

TOP = (25, 50, 75, 100)
MOST_ROWS = 5000  # of training, and of testing: a fixed sample of larger data sets
NAMED = ("madelon", "isolet", "pcmac", "basehock", "mnist")
TABLES = (
    *("musk", "khan", "tissue_genes", "hepatic_injury", "mdrr", "fruit_spectra"),
    *("parkinson_speech", "cattle_breeds"),
)
DATA = (*TABLES, "madelon", "pcmac", "basehock", "isolet", "mnist")
MODELS = {"svm": SVC, "knn": KNeighborsClassifier}
COLUMNS = (
    *("data", "rows", "features", "classes", "split", "selector", "k", "model"),
    *("status", "accuracy", "cpu_seconds", "commit", "date"),
)


def data(name, split):
    """(X_train, X_test, y_train, y_test) of one data set, without missing values."""
    if name in NAMED:
        from cofire.data import load

        found = load(name)
        return _sampled(found.X_train, found.X_test, found.y_train, found.y_test)
    sys.path.insert(0, str(Path(__file__).parents[1] / "tables"))
    import catalogue

    X, y = catalogue.load(name)
    X = np.asarray(X, dtype=np.float64)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=split
    )
    medians = np.nan_to_num(np.nanmedian(X_train, axis=0))
    X_train, X_test = (
        np.where(np.isnan(part), medians, part) for part in (X_train, X_test)
    )
    return X_train, X_test, y_train, y_test


def _sampled(X_train, X_test, y_train, y_test):
    random = np.random.default_rng(0)
    parts = []
    for X, y in ((X_train, y_train), (X_test, y_test)):
        rows = np.sort(random.permutation(len(y))[:MOST_ROWS])
        kind = np.float64 if scipy.sparse.issparse(X) else np.float32
        parts.append((X[rows].astype(kind), y[rows]))
    return parts[0][0], parts[1][0], parts[0][1], parts[1][1]


def accuracies(parts, order):
    """{(k, model): accuracy on the test rows with the k best features}."""
    X_train, X_test, y_train, y_test = parts
    scores = {}
    for k in TOP:
        train, test = X_train[:, order[:k]], X_test[:, order[:k]]
        if not scipy.sparse.issparse(train):
            scaler = StandardScaler().fit(train)
            train, test = scaler.transform(train), scaler.transform(test)
        for name, model in MODELS.items():
            scores[k, name] = model().fit(train, y_train).score(test, y_test)
    return scores


def main(arguments=None):
    about, _, more = __doc__.partition("\n")
    parser = argparse.ArgumentParser(description=about, epilog=more)
    add = parser.add_argument
    add("--data", nargs="+", default=DATA, choices=DATA, metavar="NAME")
    add("--selectors", nargs="+", default=RANKERS, choices=RANKERS, metavar="NAME")
    add("--splits", type=int, default=3)
    add("--cap", type=float, default=300, help="CPU seconds of a ranking")
    add("--out", required=True, metavar="FILE.csv")
    args = parser.parse_args(arguments)
    file = ResultFile(args.out, COLUMNS, ("data", "split", "selector"))
    slow = {(r["data"], r["selector"]) for r in read(args.out) if r["status"] == SLOW}
    for split in range(args.splits):
        for name in args.data:
            if split > 0 and name in NAMED:  # they come with test rows
                continue
            parts = None
            for selector in args.selectors:
                row = {"data": name, "split": split, "selector": selector}
                if row in file or (name, selector) in slow:
                    continue
                parts = parts or data(name, split)
                row |= {"rows": parts[0].shape[0], "features": parts[0].shape[1]}
                row["classes"] = len(np.unique(parts[2]))
                status, order, seconds = limited(
                    RANKERS[selector], parts[0], parts[2], split, cap=args.cap
                )
                row |= {"status": status, "cpu_seconds": seconds}
                if status != DONE:
                    slow |= {(name, selector)} if status == SLOW else set()
                    file.add(row)
                else:
                    for (k, model), score in accuracies(parts, order).items():
                        file.add({**row, "k": k, "model": model, "accuracy": score})
                print(name, split, selector, status, f"{seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
