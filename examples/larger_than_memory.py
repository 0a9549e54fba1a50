"""Training on a Parquet file without reading it to memory: Stream, split, predict."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd  # noqa: TID253

from cofire import SparseMLPClassifier
from cofire.data import Stream

rng = np.random.default_rng(0)
table = pd.DataFrame(rng.normal(size=(20_000, 8)), columns=list("abcdefgh"))
table["colour"] = rng.choice(["red", "green", "blue"], len(table))
table["label"] = (table["a"] * table["b"] > 0) ^ (table["colour"] == "red")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "rows.parquet")
    table.to_parquet(path, row_group_size=1_000)

    # Rows are read again and again, and shuffled 4,096 at a time. Without buffer_rows
    # so small a file would be read to memory.
    stream = Stream(path, target="label", memory_budget="200MB", buffer_rows=4096)
    train, test = stream.split(0.2)
    model = SparseMLPClassifier(n_networks=2, max_iter=8, random_state=0).fit(train)

    # Predictions come chunk by chunk.
    labels = np.concatenate([chunk.y for _, chunk in test.chunks()])
    found = np.concatenate(list(model.predict(test)))
    print(f"accuracy {(found == labels).mean():.3f} on {len(labels)} test rows")

    # Chunks of your own: a function that returns an iterator, of which each pass makes
    # a new one.
    def chunks():
        for start in range(0, len(table), 1_000):
            part = table[start : start + 1_000]
            yield part.drop(columns="label"), part["label"]

    model.fit(Stream(chunks, memory_budget="200MB", buffer_rows=4096))
    print(f"loss {model.loss_:.3f}")
