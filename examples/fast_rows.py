"""Rows one at a time, as a service answers: how long each takes, and what helps."""

from statistics import median
from time import perf_counter

import numpy as np
from sklearn.datasets import load_breast_cancer

from cofire import SparseMLPClassifier

data = load_breast_cancer(as_frame=True)
names, X, y = data.data.columns, data.data.to_numpy(), data.target
model = SparseMLPClassifier((100, 100), random_state=0).fit(X, y)
single = SparseMLPClassifier((100, 100), n_networks=1, random_state=0).fit(X, y)
named = SparseMLPClassifier((100, 100), random_state=0).fit(data.data, y)


def microseconds(predict, inputs):
    """Median time of a call."""
    times = []
    for rows in [*inputs[:20], *inputs]:  # the first calls fill caches
        start = perf_counter()
        predict(rows)
        times.append(perf_counter() - start)
    return 1e6 * median(times[20:])


rows = [X[i : i + 1] for i in range(200)]  # views of shape (1, 30)
print("one row, microseconds:")
print(f"  one network    {microseconds(single.predict, rows):8.0f}")
print(f"  four networks  {microseconds(model.predict, rows):8.0f}")

# A DataFrame is understood as well, but pandas and its checks take their time.
frames = [data.data.iloc[i : i + 1] for i in range(200)]
print(f"  as a DataFrame {microseconds(named.predict, frames):8.0f}")

# Rows that came together are faster together, and have the same bits.
print(f"one of 100 rows  {microseconds(model.predict, [X[:100]] * 50) / 100:8.1f}")
alone = np.concatenate([model.predict_proba(row) for row in rows])
print("the same bits:", np.array_equal(alone, model.predict_proba(X[:200])))
