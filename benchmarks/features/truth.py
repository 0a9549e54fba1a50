"""Count the relevant features that selectors find where the truth is known.

    python benchmarks/features/truth.py --what madelon --out truth.csv

madelon: the top 20 of Madelon's 500 features, 20 of which are relevant. truth: the top
20 of 2,050 made-up features, 15 of which are informative, 2 redundant, and 50 are
correlated with each other but not with the class. chance: all that a selector takes by
itself, on `truth` and on a regression. The same command continues an interrupted run.
"""

import argparse
from functools import partial

import numpy as np
import rankers
from common import ResultFile, limited
from sklearn.datasets import make_classification, make_regression

N = 20
COLUMNS = (
    *("what", "data", "selector", "seed", "status", "selected", "informative"),
    *("redundant", "correlated", "others", "of_informative", "cpu_seconds"),
    *("commit", "date"),
)


def madelon(seed):
    """(X, y, kind of each feature): "i"nformative, "r"edundant, "c"orrelated, "o"."""
    from cofire.data import CATALOG, load

    data = load("madelon")
    kinds = np.full(data.X_train.shape[1], "o")
    kinds[list(CATALOG["madelon"].relevant_features)] = "i"
    return data.X_train.astype(np.float32), data.y_train, kinds


def truth(seed):
    X, y = make_classification(
        800, 2000, n_informative=15, shuffle=False, random_state=seed
    )
    random = np.random.default_rng(seed)
    common = random.standard_normal((len(X), 1))
    traps = 0.8 * common + 0.6 * random.standard_normal((len(X), 50))
    kinds = np.array(["i"] * 15 + ["r"] * 2 + ["o"] * (X.shape[1] - 17) + ["c"] * 50)
    return np.hstack([X, traps]), y, kinds


def regression(seed):
    X, y, weights = make_regression(
        400, 300, n_informative=15, noise=50.0, coef=True, random_state=seed
    )
    return X, y, np.where(weights != 0, "i", "o")


DATA = {
    "madelon": {"madelon": madelon},
    "truth": {"truth": truth},
    "chance": {"truth": truth, "regression": regression},
}


def take_cofire(X, y, seed):
    from cofire.explain import SparseFeatureSelector

    selector = SparseFeatureSelector(random_state=seed, n_jobs=1)
    return selector.fit(X, y).get_support(indices=True)


def take_boruta(X, y, seed):
    numbers = len(np.unique(y)) > 10
    return np.flatnonzero(rankers.fitted_boruta(X, y, seed, numbers=numbers).support_)


TAKERS = {"cofire": take_cofire, "boruta": take_boruta}


def top(rank, X, y, seed):
    return rank(X, y, seed)[:N]


def takers(what):
    """{name: function of (X, y, seed) that returns numbers of features}."""
    if what == "chance":
        return TAKERS
    ranks = {**rankers.RANKERS, "cofire": partial(rankers.cofire, n=N)}
    return {name: partial(top, rank) for name, rank in ranks.items()}


def counts(found, kinds):
    """Numbers of features of each kind among those found."""
    names = {"i": "informative", "r": "redundant", "c": "correlated", "o": "others"}
    row = {name: int((kinds[found] == kind).sum()) for kind, name in names.items()}
    return {**row, "selected": len(found), "of_informative": int((kinds == "i").sum())}


def main(arguments=None):
    about, _, more = __doc__.partition("\n")
    parser = argparse.ArgumentParser(description=about, epilog=more)
    parser.add_argument("--what", required=True, choices=list(DATA))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--selectors", nargs="+", metavar="NAME", help="all")
    parser.add_argument("--cap", type=float, default=900, help="CPU seconds of a fit")
    parser.add_argument("--out", required=True, metavar="FILE.csv")
    args = parser.parse_args(arguments)
    file = ResultFile(args.out, COLUMNS, ("what", "data", "selector", "seed"))
    known = takers(args.what)
    for name, make in DATA[args.what].items():
        for selector in args.selectors or known:
            if selector not in known:
                raise SystemExit(
                    f"--selectors: no {selector} for {args.what}; known: "
                    f"{', '.join(known)}."
                )
            for seed in range(args.seeds):
                row = {"what": args.what, "data": name, "selector": selector}
                row["seed"] = seed
                if row in file:
                    continue
                X, y, kinds = make(seed)
                status, found, seconds = limited(
                    known[selector], X, y, seed, cap=args.cap
                )
                row |= {"status": status, "cpu_seconds": seconds}
                if found is not None:
                    row |= counts(found, kinds)
                file.add(row)
                print(row, flush=True)


if __name__ == "__main__":
    main()
