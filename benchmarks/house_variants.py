"""Try a variant of the house method, looking at validation rows only.

    python benchmarks/house_variants.py isolet 1000 1 --seeds 6 sharpness=4

The rows that the paper trains and validates with, standardised, are split anew for
every seed; those it tests with are not touched. COFIRE_DATA says where the data are.
Prints a line, and with --log appends it to a file: docs/results/house-method-log.md.
"""

import argparse
import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import scipy.sparse
from sklearn.model_selection import train_test_split

from cofire import METHODS, SparseMLPClassifier, profiles
from cofire.callbacks import Monitor
from cofire.data import paper_parts

FIRST_SEED = 1000  # the proof has others
HELD_OUT = 0.25
MOST_HELD_OUT = 10_000


def rows(data):
    """All rows but the test's."""
    (X, y), (X_val, y_val), _ = paper_parts(data, scale="standard")
    sparse = scipy.sparse.issparse(X)
    X = (
        scipy.sparse.vstack([X, X_val]).tocsr()
        if sparse
        else np.concatenate([X, X_val])
    )
    return X, np.concatenate([y, y_val])


def validate(data, hidden, epsilon, seed, epochs, settings):
    """Accuracy of the last epochs, of the epoch that two fifths of the rows choose and
    of the last one on the other three fifths, connections."""
    X, y = rows(data)
    held_out = min(int(HELD_OUT * len(y)), MOST_HELD_OUT)
    X, X_val, y, y_val = train_test_split(
        X, y, test_size=held_out, random_state=seed, stratify=y
    )
    X_val, X_other, y_val, y_other = train_test_split(
        X_val, y_val, test_size=0.6, random_state=seed, stratify=y_val
    )
    monitor = Monitor(X_other, y_other)
    how = profiles.HOUSE | {"method": "cofire"} | settings
    own = {field.name for field in fields(METHODS[how["method"]])}
    options = {name: how.pop(name) for name in own & set(how)}
    model = SparseMLPClassifier(
        (hidden,) * 3,
        epsilon=epsilon,
        random_state=FIRST_SEED + seed,
        n_jobs=1,
        method_options=options,
        callbacks=[monitor],
        **how | {"max_iter": epochs},
    ).fit(X, y, X_val=X_val, y_val=y_val)
    choosing = np.array(model.validation_scores_)
    others = np.array(monitor.scores)
    scores = (len(y_val) * choosing + len(y_other) * others) / held_out
    late = scores[-max(1, epochs // 25) :].mean()
    found = late, others[choosing.argmax()], others[-1]
    return *(100 * score for score in found), model.n_connections_


def setting(text):
    """`name=value`, the value as JSON or as it is."""
    name, value = text.split("=", 1)
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("hidden", type=int)
    parser.add_argument("epsilon", type=float)
    parser.add_argument("settings", nargs="*", type=setting, metavar="name=value")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--epochs", type=int, default=500)
    parser.add_argument("--log", type=Path, help="append the line to this file")
    told = parser.parse_args()
    settings = dict(told.settings)
    found = [
        validate(told.data, told.hidden, told.epsilon, seed, told.epochs, settings)
        for seed in range(told.seeds)
    ]
    late, chosen, last, connections = map(np.array, zip(*found, strict=True))
    line = json.dumps(
        {
            "data": told.data,
            "n": told.hidden,
            "eps": told.epsilon,
            "epochs": told.epochs,
            "settings": settings,
            "scores": late.round(2).tolist(),
            "mean": round(float(late.mean()), 2),
            "chosen": round(float(chosen.mean()), 2),
            "last": round(float(last.mean()), 2),
            "connections": int(connections[0]),
        }
    )
    print(line)
    if told.log is not None:
        with told.log.open("a", encoding="utf-8") as log:
            log.write(line + "\n")


if __name__ == "__main__":
    main()
