"""Does a faster search cost accuracy? screened and linear beside exact, seed by seed.

    python benchmarks/similarity_accuracy.py              30 seeds
    python benchmarks/similarity_accuracy.py --seeds 2    a first look

ctre_sim with the estimator's defaults, three hidden layers of 1000 neurons, epsilon 1;
the epoch is chosen by validation accuracy. Runs are kept in
docs/results/similarity_accuracy.jsonl and not run again.
"""

import argparse
import json
import time
from functools import cache
from pathlib import Path

import joblib
import numpy as np
from scipy import stats

from cofire import SparseMLPClassifier
from cofire.data import paper_parts

RUNS = Path(__file__).parent.parent / "docs" / "results" / "similarity_accuracy.jsonl"
MODES = ("exact", "screened", "linear")
ALLOWED = {"madelon": -1.0, "isolet": -0.5}


prepared = cache(paper_parts)


def run(data, mode, seed):
    """Train once and test once."""
    (X, y), (X_val, y_val), test = prepared(data)
    start = time.perf_counter()
    model = SparseMLPClassifier(
        (1000, 1000, 1000), epsilon=1, similarity=mode, random_state=seed, n_jobs=1
    ).fit(X, y, X_val=X_val, y_val=y_val)
    return {
        "data": data,
        "mode": mode,
        "seed": seed,
        "accuracy": round(100 * model.score(*test), 4),
        "seconds": round(time.perf_counter() - start, 1),
    }


def runs_on_record():
    """All runs in the file, by what tells them apart."""
    if not RUNS.exists():
        return {}
    records = [json.loads(line) for line in RUNS.read_text().splitlines()]
    return {(r["data"], r["mode"], r["seed"]): r for r in records}


def table():
    """Mean differences to exact with their 95 % intervals."""
    records = runs_on_record()
    head = (
        "| data | mode | seeds | accuracy | difference to exact, 95 % interval "
        "| lower end allowed | met | seconds a run |"
    )
    lines = [head, "|---" * 8 + "|"]
    for data in dict.fromkeys(key[0] for key in records):
        for mode in MODES:
            seeds = sorted(s for d, m, s in records if (d, m) == (data, mode))
            ours = [records[data, mode, s] for s in seeds]
            score = np.array([r["accuracy"] for r in ours])
            row = [data, mode, len(seeds), f"{score.mean():.2f} ± {score.std():.2f}"]
            paired = [s for s in seeds if (data, "exact", s) in records]
            if mode == "exact" or len(paired) < 2:
                row += ["", "", ""]
            else:
                d = np.array(
                    [
                        records[data, mode, s]["accuracy"]
                        - records[data, "exact", s]["accuracy"]
                        for s in paired
                    ]
                )
                low, high = stats.t.interval(
                    0.95, len(d) - 1, loc=d.mean(), scale=stats.sem(d)
                )
                row += [
                    f"{d.mean():+.2f} ({low:+.2f} to {high:+.2f})",
                    ALLOWED[data],
                    "yes" if low > ALLOWED[data] else "no",
                ]
            row.append(f"{np.mean([r['seconds'] for r in ours]):.1f}")
            lines.append("| " + " | ".join(map(str, row)) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--data", nargs="+", default=list(ALLOWED))
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=MODES)
    parser.add_argument("--jobs", type=int, default=joblib.cpu_count())
    arguments = parser.parse_args()
    done = runs_on_record()
    todo = [
        (data, mode, seed)
        for data in arguments.data
        for seed in range(arguments.seeds)
        for mode in arguments.modes
        if (data, mode, seed) not in done
    ]
    start = time.perf_counter()
    results = joblib.Parallel(arguments.jobs, return_as="generator_unordered")(
        joblib.delayed(run)(*one) for one in todo
    )
    for k, record in enumerate(results):
        with RUNS.open("a") as file:
            file.write(json.dumps(record) + "\n")
        rest = (time.perf_counter() - start) / (k + 1) * (len(todo) - k - 1)
        print(f"{k + 1}/{len(todo)} {record}, {rest / 60:.0f} min to go", flush=True)
    print(table())


if __name__ == "__main__":
    main()
