"""Peak memory stays under the budget: measured in processes of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc"
)
N_ROWS, N_COLUMNS = 150_000, 60  # 36 MB of float32

# Imports and the first use of everything come before the measurement.
PROGRAM = """
import json, sys
import numpy as np, pandas, pyarrow.parquet
from cofire import SparseMLPClassifier
from cofire.data import Stream

def status(name):
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * int(next(l for l in lines if l.startswith(name)).split()[1])

def fit(stream):
    how = {"n_networks": 2, "max_iter": 1, "early_stopping": True, "n_pieces": 0}
    return SparseMLPClassifier((50,), random_state=0, **how).fit(stream)

path, budget = sys.argv[1:]
X = np.random.default_rng(0).normal(size=(300, 4))
fit(Stream(X, (X[:, 0] > 0).astype(int), buffer_rows=64))
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS")
target = "y" if path.endswith(".parquet") else None
model = fit(Stream(path, target=target, memory_budget=budget))
assert model.history_[0]["rows"] > 100_000
print(json.dumps(status("VmHWM") - before))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_COLUMNS)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] > 0).astype(np.float32)
    np.save(folder / "rows.npy", np.column_stack([X, y]))
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(N_COLUMNS)])
    frame.assign(y=y.astype(int)).to_parquet(
        folder / "rows.parquet", row_group_size=20_000
    )
    return folder


def peak(path, budget):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), budget],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("name", "budget"), [("rows.npy", 48), ("rows.npy", 64), ("rows.parquet", 70)]
)
def test_peak_memory_stays_under_the_budget(files, name, budget):
    assert N_ROWS * N_COLUMNS * 8 > 1e6 * budget  # an ordinary fit needs more
    assert peak(files / name, f"{budget}MB") < 1e6 * budget


def test_a_larger_budget_is_used(files):
    """The measurement sees memory: where all rows fit, it is what they take."""
    assert peak(files / "rows.npy", "600MB") > N_ROWS * N_COLUMNS * 4
