"""Dates as features and ids beside predictions, in Python and on the command line."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd  # noqa: TID253

from cofire import SparseMLPClassifier

rng = np.random.default_rng(0)
day = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 900, 400), "D")
table = pd.DataFrame({"customer": [f"c{i:03d}" for i in range(400)], "day": day})
table["spent"] = rng.lognormal(3, 1, 400).round(2)
table["season"] = np.where(day.month.isin([4, 5, 6, 7, 8, 9]), "summer", "winter")

# Python: a column of dates is a feature like any other.
X, y = table[["day", "spent"]], table["season"]
model = SparseMLPClassifier(n_networks=1, random_state=0).fit(X[:300], y[:300])
print(model.input_names_)
print(f"accuracy {model.score(X[300:], y[300:]):.2f}")

# The command line: the customer is no feature, but stands beside each prediction.
with tempfile.TemporaryDirectory() as folder:
    table[:300].to_csv(Path(folder, "visits.csv"), index=False)
    table[300:].drop(columns="season").to_csv(Path(folder, "new.csv"), index=False)
    run = [sys.executable, "-c", "from cofire.cli import main; main()"]
    train = ["train", "visits.csv", "--id", "customer", "--networks", "1"]
    for words in (train, ["predict", "visits.cofire", "new.csv", "--proba"]):
        done = subprocess.run(
            run + words, cwd=folder, check=True, capture_output=True, text=True
        )
        print("\n".join(done.stdout.splitlines()[:6]))
