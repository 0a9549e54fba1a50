"""Is one build of cofire slower than another? Both run the same fits, in turn.

    python benchmarks/before_after.py OLD_PYTHON NEW_PYTHON [--rounds 9]

OLD_PYTHON and NEW_PYTHON are interpreters of two environments with cofire installed.
Each round runs every task once in each, in fresh processes of one thread. Printed is
the ratio of the best times, new / old, beside the noise: how far the best times of the
odd and of the even rounds are apart, for the old build. Times are processor seconds,
which other programs on the machine disturb least.
"""

import argparse
import json
import subprocess
import sys
from statistics import median

WORKER = """
import json, sys, time, warnings
import numpy as np
from sklearn.datasets import make_classification
from cofire import SparseMLPClassifier
warnings.simplefilter("ignore")
wide = make_classification(2000, 784, n_informative=60, n_classes=5, random_state=0)
small = make_classification(300, 20, n_informative=6, random_state=0)
def fitted(data, **settings):
    X, y = data[0].astype(np.float32), data[1]
    model = SparseMLPClassifier(random_state=0, n_jobs=1, **settings)
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start, model
common = dict(hidden_layer_sizes=(1000, 1000, 1000), epsilon=5, max_iter=3)
seconds = {}
for method in ("static", "set", "ctre_sim", "cofire"):
    seconds["fit, " + method], model = fitted(wide, method=method, **common)
start = time.process_time()
for _ in range(10):
    model.predict(wide[0].astype(np.float32))
seconds["predict"] = time.process_time() - start
many = dict(hidden_layer_sizes=(50, 50), epsilon=3, max_iter=100)
seconds["300 rows, 100 epochs"], _ = fitted(small, method="ctre_sim", **many)
seconds["300 rows, 1 epoch"] = min(
    fitted(small, method="ctre_sim", **(many | {"max_iter": 1}))[0] for _ in range(20)
)
print(json.dumps(seconds))
"""


def measure(python: str) -> dict[str, float]:
    """Run all tasks once with this interpreter."""
    done = subprocess.run(
        [python, "-c", WORKER], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def main() -> None:
    """Measure in turn and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    old, new = [], []
    for number in range(arguments.rounds):
        old.append(measure(arguments.old))
        new.append(measure(arguments.new))
        print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
    print("| task | old s | new s | new / old (best) | (median) | noise |")
    print("|---|---|---|---|---|---|")
    for task in old[0]:
        before, after = [r[task] for r in old], [r[task] for r in new]
        noise = min(before[::2]) / min(before[1::2])
        print(
            f"| {task} | {min(before):.4f} | {min(after):.4f} "
            f"| {min(after) / min(before):.3f} | {median(after) / median(before):.3f} "
            f"| {max(noise, 1 / noise):.3f} |"
        )


if __name__ == "__main__":
    main()
