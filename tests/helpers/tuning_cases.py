"""A small search that tests run here, or in a process that they end.

python -m helpers.tuning_cases FOLDER: prints a line per trial.
"""

import sys

from sklearn.datasets import load_iris

import cofire

X, y = load_iris(return_X_y=True)
FAST = {"max_iter": 4, "n_networks": 2, "n_jobs": 1}


def search(store=None, *, n_trials=6, X=X, y=y, **how):
    """Search with rows of iris."""
    model = cofire.SparseMLPClassifier(**FAST)
    return cofire.tune(model, X, y, n_trials=n_trials, cv=3, store=store, **how)


def untimed(found):
    """Everything that must be the same whenever a search is run again."""
    timed = ("seconds", "microseconds")
    parts = (found.trials_, found.rows_, found.front_)
    rows = [[{k: v for k, v in r.items() if k not in timed} for r in p] for p in parts]
    return rows, found.best_params_, found.best_score_


def say(step):
    """Write which trial is over."""
    sys.stdout.write(f"over {step.number}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    search(sys.argv[1], watch=say)
