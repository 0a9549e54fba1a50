r"""The methods beside the paper: test accuracies of some cells of its tables.

    python benchmarks/paper_methods.py --knobs program --profile masked
    python benchmarks/paper_methods.py --knobs last_batch ties --profile masked \\
        --data madelon --hidden 1000 --only ctre_seq ctre_wo_random

are what docs/results/methods.md holds; `--seeds 1` gives a first look.

Each run is one line of docs/results/methods.jsonl: runs that are there are not run
again, so that what was broken off goes on where it stopped. A network is trained as a
profile says; the epoch is chosen by validation accuracy, and its network is tested.
Isolet is looked for in the folder that COFIRE_DATA names.
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import joblib
import numpy as np

from cofire import SparseMLPClassifier, profiles
from cofire.data import paper_parts
from paper_table import write_page

RESULTS = Path(__file__).parent.parent / "docs" / "results"
RUNS = RESULTS / "methods.jsonl"

MASKED = ("set", "rigl", "snip", "ctre_seq", "ctre_sim", "ctre_wo_random")
SPARSE = ("set", "ctre_seq", "ctre_sim", "ctre_wo_random")

# Changes of a profile, to find out what a disagreement with the paper comes from.
KNOBS = {
    "": {},
    # What the authors' program does and the default profile does not: CTRE's update
    # before training, and RigL's gradients from another batch at each update.
    "program": {
        "method_options": {"first_update": "index_order", "batch": "random_batch"}
    },
    "last_batch": {"method_options": {"rows": "last_batch"}},
    "ties": {"method_options": {"ties": "index"}},
    "fresh": {"method_options": {"returning": "fresh"}},
    "new_values": {"method_options": {"new_values": "normal"}},
    "init": {"init": "normal"},
    "shuffle": {"shuffle": True},
    "magnitude": {"method_options": {"drop_rule": "magnitude"}},
}


@dataclass(frozen=True)
class Run:
    """One training, told apart by these."""

    profile: str
    knob: str
    data: str
    hidden: int
    method: str
    seed: int
    epsilon: float = 1


prepared = cache(paper_parts)


def parameters(run):
    """What the estimator is given: the profile with the knob turned."""
    settings = dict(getattr(profiles, run.profile.upper()))
    for name, value in KNOBS[run.knob].items():
        merged = isinstance(value, dict)
        settings[name] = settings[name] | value if merged else value
    return settings


def train(run, max_iter=None):
    """Train once and test once."""
    (X, y), (X_val, y_val), (X_test, y_test) = prepared(run.data)
    settings = parameters(run)
    if max_iter:
        settings["max_iter"] = max_iter
    start = time.perf_counter()
    model = SparseMLPClassifier(
        (run.hidden,) * 3,
        epsilon=run.epsilon,
        method=run.method,
        random_state=run.seed,
        n_jobs=1,
        **settings,
    ).fit(X, y, X_val=X_val, y_val=y_val)
    scores = model.validation_scores_
    thrown = [record["epoch"] for record in model.history_ if record["switched"]]
    return asdict(run) | {
        "accuracy": round(100 * model.score(X_test, y_test), 4),
        "validation": round(100 * model.best_validation_score_, 4),
        "best_epoch": int(np.argmax(scores)) + 1,
        "switched_after": thrown[0] + 1 if thrown else None,
        "epochs": len(scores),
        "seconds": round(time.perf_counter() - start, 1),
    }


def runs_on_record():
    """All runs in the file, by what tells them apart."""
    if not RUNS.exists():
        return {}
    records = [json.loads(line) for line in RUNS.read_text().splitlines()]
    return {Run(**{k: r[k] for k in Run.__annotations__}): r for r in records}


def wanted_runs(seeds, data, knobs):
    """The cells of the issue, cheap ones first, then those that explain them."""
    cells = [("masked", "", d, n, m) for d in data for n in (100, 1000) for m in MASKED]
    cells += [("sparse", "", "madelon", n, m) for n in (100, 1000) for m in SPARSE]
    for knob in knobs:
        for profile, _, d, n, m in list(cells):
            if applies(knob, profile, m) and (profile, knob, d, n, m) not in cells:
                cells.append((profile, knob, d, n, m))
    runs = [Run(*cell, seed) for cell in cells for seed in range(seeds)]
    return sorted(runs, key=lambda run: (run.knob != "", run.hidden, run.data))


def applies(knob, profile, method):
    """Whether a knob changes anything in this method under this profile."""
    probe = Run(profile, knob, "madelon", 100, method, 0)
    default = Run(profile, "", "madelon", 100, method, 0)

    def made(run):
        settings = parameters(run)
        model = SparseMLPClassifier(method=run.method, **settings)
        return model._method(), {k: v for k, v in settings.items() if "method" not in k}

    return made(probe) != made(default)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", nargs="+", default=["madelon", "isolet"])
    parser.add_argument("--knobs", nargs="*", default=[], choices=list(KNOBS)[1:])
    parser.add_argument("--jobs", type=int, default=joblib.cpu_count())
    parser.add_argument("--only", nargs="+", help="methods for the knobs")
    parser.add_argument("--hidden", nargs="+", type=int, help="widths for the knobs")
    parser.add_argument("--profile", help="profile for the knobs")
    parser.add_argument("--report", action="store_true", help="only write the page")
    arguments = parser.parse_args()
    done = runs_on_record()
    if not arguments.report:
        todo = wanted_runs(arguments.seeds, arguments.data, arguments.knobs)
        todo = [run for run in todo if run not in done and _wanted(run, arguments)]
        _run_all(todo, arguments.jobs)
    write_page(RESULTS / "methods.md", list(runs_on_record().values()))


def _wanted(run, arguments):
    if not run.knob:
        return True
    return (
        (not arguments.only or run.method in arguments.only)
        and (not arguments.hidden or run.hidden in arguments.hidden)
        and run.profile == (arguments.profile or run.profile)
    )


def _run_all(todo, jobs):
    RESULTS.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    results = joblib.Parallel(jobs, return_as="generator_unordered")(
        joblib.delayed(train)(run) for run in todo
    )
    for k, record in enumerate(results):
        with RUNS.open("a") as file:
            file.write(json.dumps(record) + "\n")
        passed = time.perf_counter() - start
        rest = passed / (k + 1) * (len(todo) - k - 1)
        print(
            f"{k + 1}/{len(todo)}  {record['profile']:6} {record['knob']:12} "
            f"{record['data']:8}{record['hidden']:5} {record['method']:16}"
            f"{record['accuracy']:6.1f} in {record['seconds']:5.1f} s, "
            f"about {rest / 60:.0f} min to go",
            flush=True,
        )


if __name__ == "__main__":
    main()
