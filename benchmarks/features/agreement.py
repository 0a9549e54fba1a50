"""Compare importances from the weights with permutation importances on held-out rows.

    python benchmarks/features/agreement.py

Tables of the choosing half (benchmarks/tables). Printed per table: the rank correlation
of both importances over all features, and how many of the top 5 they share; the same
for the impurity importances of a random forest and its own permutation importances.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr
from sklearn.base import is_classifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.inspection import permutation_importance

from cofire import SparseMLPClassifier, SparseMLPRegressor

sys.path.insert(0, str(Path(__file__).parents[1] / "tables"))
from catalogue import TABLES, load
from fold import parts

NAMES = (
    *("wine", "ionosphere", "sonar", "vehicle", "breast_cancer", "image_segments"),
    *("spam", "satellite", "diabetes", "meat_fat", "blood_brain"),
)
TOP = 5


def agreement(model, X, y, seed=0):
    """Rank correlation and shared features of the top of a fitted model."""
    own = model.feature_importances_
    shuffled = permutation_importance(model, X, y, n_repeats=5, random_state=seed)
    other = shuffled.importances_mean
    shared = set(np.argsort(-own)[:TOP]) & set(np.argsort(-other)[:TOP])
    return spearmanr(own, other).statistic, len(shared)


def main():
    print(f"{'table':<16}{'features':>9}   cofire        random forest")
    lines = []
    for name in NAMES:
        X, y = load(name)
        X, y = np.asarray(X, dtype=np.float32), np.asarray(y)
        task = TABLES[name].task
        train, test = parts(y, task, folds=3, repeat=0, fold=0)
        classes = task == "classes"
        models = (
            (SparseMLPClassifier if classes else SparseMLPRegressor)(random_state=0),
            (RandomForestClassifier if classes else RandomForestRegressor)(
                random_state=0
            ),
        )
        assert all(is_classifier(model) == classes for model in models)
        line = [agreement(m.fit(X[train], y[train]), X[test], y[test]) for m in models]
        lines.append(line)
        print(_line(name, X.shape[1], line), flush=True)
    print(_line("mean", 0, np.mean(lines, axis=0)))


def _line(name, n, line):
    cells = [f"{rank:5.2f} {shared:4.1f} of {TOP}" for rank, shared in line]
    return f"{name:<16}{n or '':>9}  " + "   ".join(cells)


if __name__ == "__main__":
    main()
