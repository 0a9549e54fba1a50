"""What tuning brings on test rows, and how small models get within a point.

    python benchmarks/bench_tune.py            writes docs/results/tune.*
    python benchmarks/bench_tune.py --quick    prints only: few trials, one table

Each table is split into rows to search with and test rows, which only the last models
see. Trials are kept in a run store (--store), from which the same command continues.
Madelon comes from the folder that COFIRE_DATA names, with the paper's test rows.
"""

import argparse
import json
from pathlib import Path
from statistics import fmean

import numpy as np
from sklearn import datasets
from sklearn.metrics import check_scoring
from sklearn.model_selection import train_test_split

import cofire
from cofire.data.preprocessing.paper import paper_rows
from cofire.lab.experiments import Store
from cofire.tuning.folds import fit_seeds, repeated_folds
from cofire.tuning.front import front_of, rows_of
from cofire.tuning.records import trial_of
from cofire.tuning.trial import run_trial
from harness import machine

RESULTS = Path(__file__).parent.parent / "docs" / "results"
PACKAGES = ("cofire", "numpy", "scikit-learn", "optuna")
CHOSEN = ("default", "best", "smallest")
# Tables, and their random splits into search and test rows. Splits 0 and 1 of the
# first three were looked at while the rules of the choice were made: they are not used.
TABLES = {
    "breast_cancer": (2, 3),
    "wine": (2, 3),
    "diabetes": (2, 3),
    "digits": (0,),
    "madelon": (0,),
}
N_FITS = 3  # with other seeds, whose test scores are averaged


def parts(name, split):
    """(X, X_test, y, y_test): a quarter of the rows for the test."""
    if name == "madelon":
        rows = paper_rows(name)
        return rows.X_train, rows.X_test, rows.y_train, rows.y_test
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    classes = None if name == "diabetes" else y
    return train_test_split(X, y, test_size=0.25, random_state=split, stratify=classes)


def measure(name, split, n_trials, store):
    """Search, then test the default, the best and the smallest."""
    X, X_test, y, y_test = parts(name, split)
    regresses = name == "diabetes"
    kind = cofire.SparseMLPRegressor if regresses else cofire.SparseMLPClassifier
    found = cofire.tune(
        kind(n_jobs=1),
        X,
        y,
        n_trials=n_trials,
        random_state=split,
        refit=False,
        store=store,
        name=f"{name} {split}",
        watch=lambda step: print(
            f"  {step.number} repeat {step.repeat}: {step.trial.seconds:.1f} s",
            flush=True,
        ),
    )
    rows = {}
    stopped = [one["params"] for one in found.trials_ if one["state"] == "stopped"]
    for chosen in CHOSEN:
        row = getattr(found, f"{chosen}_")
        tests = [
            found.estimator(row).set_params(random_state=seed).fit(X, y)
            for seed in range(N_FITS)
        ]
        score = fmean(float(model.score(X_test, y_test)) for model in tests)
        rows[chosen] = row | {"test_score": score}
    return {
        "table": name,
        "split": split,
        "rows": [len(y), len(y_test)],
        "score": found.score_name,
        "stopped": len(stopped),
        "stopped_of_the_front": wrongly_stopped(
            kind(n_jobs=1), X, y, split, stopped, store, f"{name} {split}"
        ),
        "trials": len(found.trials_),
        "found": rows,
        "front": found.front_,
    }


def wrongly_stopped(estimator, X, y, seed, stopped, store, name):
    """Run stopped trials to their end: how many would have been on the front?

    That is the front of the first look, which every trial has had.
    """
    folds = repeated_folds(estimator, X, y, None, seed)[0]
    seeds = fit_seeds(seed, 0, len(folds))
    scorer = check_scoring(estimator)
    with Store(Path(store, "runs.sqlite")) as opened:
        looked = opened.results(data=name, profile="tune", split=0)
    ended = [trial_of(one) for one in looked if not one.notes["stopped"]]
    ended += [run_trial(estimator, s, X, y, folds, seeds, scorer) for s in stopped]
    front = front_of(rows_of({(i, 0): trial for i, trial in enumerate(ended)}))
    first = len(ended) - len(stopped)
    return len({row["trial"] for row in front if row["trial"] >= first})


def kept(names):
    """What the last run measured on other tables."""
    path = RESULTS / "tune.json"
    found = json.loads(path.read_text()) if names else {"results": []}
    return [
        {"commit": found["machine"]["commit"], **one}
        for one in found["results"]
        if one["table"] in names
    ]


def mean(own, chosen, key):
    return fmean(one["found"][chosen][key] for one in own)


def page(results, where):
    """The tables as Markdown."""
    lines = [
        "# Tuning",
        "",
        "<!-- written by benchmarks/bench_tune.py -->",
        "",
        f"`cofire.tune` with {results[0]['trials']} trials beside the default, means "
        "over random splits. Test: accuracy in % (diabetes: R²) on rows that the "
        f"search has not seen, mean of {N_FITS} fits; validated: the mean of folds by "
        "which the search chose. Smallest: the fewest connections surely within a "
        "point of the best (0.01 of R²).",
        "",
        "| table | rows, test rows | splits | | test | validated | connections | bytes "
        "| µs per row |",
        "|---|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    for name in dict.fromkeys(one["table"] for one in results):
        own = [one for one in results if one["table"] == name]
        unit, digits = (1, 3) if own[0]["score"] == "R²" else (100, 1)
        about = [name, "{}, {}".format(*own[0]["rows"]), str(len(own))]
        for chosen in CHOSEN:
            test, valid = (
                f"{unit * mean(own, chosen, key):.{digits}f}"
                for key in ("test_score", "score")
            )
            sizes = [
                f"{mean(own, chosen, key):,.0f}"
                for key in ("connections", "bytes", "microseconds")
            ]
            cells = [*about, chosen, test, valid, *sizes]
            lines.append(f"| {' | '.join(cells)} |")
            about = ["", "", ""]
    lines += ["", summary(results), "", caption(results, where), ""]
    return "\n".join(lines)


def summary(results):
    """What it brought, in a sentence."""
    classes = [one for one in results if one["score"] == "accuracy"]
    gains = {
        chosen: [
            100 * (one["found"][chosen]["test_score"] - _default(one)["test_score"])
            for one in classes
        ]
        for chosen in CHOSEN
    }
    times = [
        _default(one)["connections"] / one["found"]["smallest"]["connections"]
        for one in results
    ]
    return (
        f"On the {len(classes)} splits of tables with classes the best is "
        f"{fmean(gains['best']):+.2f} points above the default on test rows, the "
        f"smallest {fmean(gains['smallest']):+.2f}. The default has "
        f"{float(np.exp(np.mean(np.log(times)))):.0f} times as many connections as the "
        f"smallest (geometric mean of {len(results)} splits, from {min(times):.0f} to "
        f"{max(times):.0f})."
    )


def _default(one):
    return one["found"]["default"]


def commits(results):
    """Which tables were measured with which commit."""
    found = {}
    for one in results:
        found.setdefault(one["commit"], {})[one["table"]] = None
    if len(found) == 1:
        return f"commit {next(iter(found))}"
    return "; ".join(f"commit {name} ({', '.join(own)})" for name, own in found.items())


def caption(results, where):
    stopped = sum(one["stopped"] for one in results)
    trials = sum(one["trials"] for one in results)
    wrong = sum(one["stopped_of_the_front"] for one in results)
    return (
        f"{where['processor']}, {where['cores']} cores, one thread per fit, "
        f"{where['system']}, Python {where['python']}; {', '.join(where['packages'])}; "
        f"{commits(results)}, {where['date']}. {stopped} of {trials} trials were "
        f"stopped by their curves; run to their end, {wrong} of them would have been "
        "on the front of the first look. µs: predict of one row, as a user calls it, "
        "the lower median of two repeats, while other programs ran too."
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="print only")
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument(
        "--tables",
        nargs="*",
        choices=TABLES,
        default=list(TABLES),
        help="measure these only, or none; others stay as they are in tune.json",
    )
    parser.add_argument("--store", type=Path, default=Path("cofire-results"))
    arguments = parser.parse_args()
    wanted = ["wine"] if arguments.quick else arguments.tables
    n_trials = 5 if arguments.quick else arguments.trials
    results, where = [], machine(PACKAGES)
    for name in wanted:
        for split in TABLES[name][: 1 if arguments.quick else None]:
            print(name, split, flush=True)
            found = measure(name, split, n_trials, arguments.store)
            results.append({"commit": where["commit"], **found})
    if not arguments.quick:
        results += kept(set(TABLES) - set(wanted))
        results.sort(key=lambda one: list(TABLES).index(one["table"]))
    text = page(results, where)
    print(text)
    if not arguments.quick:
        facts = {"machine": where, "results": results}
        (RESULTS / "tune.md").write_text(text)
        (RESULTS / "tune.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
