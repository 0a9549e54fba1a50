"""Training that goes on and on keeps no memory, no open file and no thread."""

import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from helpers import processes
from helpers.reliability import figures

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="read from /proc"
)

MODELS = (
    {"method": "set"},
    {"method": "rigl", "solver": "adam"},
    {"method": "ctre_sim", "similarity": "screened"},
    {"method": "ctre_sim", "similarity": "linear"},
    {"method": "ctre_seq", "similarity": "exact"},
    {"method": "ctre_sim_hebb", "activation": "tanh"},
)

BATCH = 24  # of two tiles, so that two threads have work

# ---- in a process of its own ---------------------------------------------------------


def left_over():
    """Resident bytes, open files and threads of this process."""
    gc.collect()
    resident = int(Path("/proc/self/statm").read_text().split()[1])
    n_bytes = resident * os.sysconf("SC_PAGE_SIZE")
    return n_bytes, len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))


def train_one(how, X, y, path):
    """Fit, go on, predict, save, load, go on; the number of epochs that took."""
    import cofire
    from helpers.estimator_cases import earlier

    n = len(y) // 8
    shared = {"hidden_layer_sizes": (40, 40), "batch_size": BATCH, "max_iter": 6}
    model = earlier(**shared, n_jobs=2, random_state=0, **how)
    model.fit(X, y, X_val=X[:n], y_val=y[:n])
    if how["method"] != "ctre_seq":  # which needs validation
        model.partial_fit(X, y)
        model.save(path)
        model = cofire.load(path).partial_fit(X, y)
    model.predict_proba(X)
    assert model.score(X, y) > 0
    return model.n_iter_


def soak(n_batches, n_rows):
    """Print as JSON the batches trained, and what was left over after each round."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 30)).astype(np.float32)
    y = rng.integers(0, 3, size=n_rows)
    done, rounds = 0, []
    with tempfile.TemporaryDirectory() as folder:
        while done < n_batches:
            for how in MODELS:
                n_epochs = train_one(how, X, y, Path(folder) / "model")
                done += n_epochs * (n_rows // BATCH)
            rounds.append(left_over())
    sys.stdout.write(json.dumps([done, rounds]))


# ---- and its parent ------------------------------------------------------------------


def grown(n_batches, n_rows):
    """Batches trained, and how memory, files and threads grew after a warm-up."""
    done = subprocess.run(
        [sys.executable, __file__, str(n_batches), str(n_rows)],
        env=processes.environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    n_done, rounds = json.loads(done.stdout)
    after = rounds[len(rounds) // 5 :]  # the first fifth is the warm-up
    part = max(len(after) // 5, 1)
    resident = [r[0] for r in after]
    early, late = map(statistics.median, (resident[:part], resident[-part:]))
    files, threads = (after[-1][i] - after[0][i] for i in (1, 2))
    return n_done, late / early - 1, files, threads


def test_a_short_soak_leaves_nothing_behind():
    _, memory, files, threads = grown(3_000, n_rows=480)
    assert (files, threads) == (0, 0)
    assert memory < 0.05  # a few rounds have not seen everything yet


@pytest.mark.slow
def test_a_long_soak_leaves_nothing_behind():
    n_done, memory, files, threads = grown(200_000, n_rows=4800)
    met = memory < 0.01 and (files, threads) == (0, 0)
    figures.report(
        "soak",
        "200,000 batches with rewiring, saving and loading: resident memory grows by "
        "less than 1 %, no open file and no thread is left",
        f"{n_done:,} batches: memory {memory:+.2%}, files {files:+}, threads "
        f"{threads:+}",
        met=met,
    )
    assert met


if __name__ == "__main__":
    soak(*map(int, sys.argv[1:]))
