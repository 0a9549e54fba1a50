"""The page that docs/results/methods.md is: our runs beside the paper's figures."""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.stats import ttest_ind_from_stats

PAPER = Path(__file__).parent / "paper"
NAMES = {
    "set": "SET",
    "rigl": "RigL",
    "snip": "SNIP",
    "ctre_seq": "CTRE_seq",
    "ctre_sim": "CTRE_sim",
    "ctre_wo_random": "CTRE_w/oRandom",
}
HEAD = (
    "| data | n | method | ours (seeds) | paper (seeds) | difference | Welch p "
    "| agrees | best epoch | seconds a run |"
)
# Per profile: file and number of seeds; the first that has a cell counts.
TABLES = {
    "masked": [("results_main.csv", 15), ("ablation_cosine.csv", 3)],
    "sparse": [("pure_sparse.csv", 3)],
}


def paper_cell(profile, data, hidden, method, epsilon):
    """Mean, spread and number of seeds that the paper has for a cell."""
    for file, seeds in TABLES[profile]:
        for row in csv.DictReader((PAPER / file).open()):
            key = row["dataset"].lower(), row["method"], row["hidden"], row["epsilon"]
            if key == (data, NAMES[method], str(hidden), f"{epsilon:g}"):
                return float(row["mean"]), float(row["std"]), seeds
    raise LookupError(f"the paper has no {profile} {data} {hidden} {method}")


def compare(ours, paper):
    """Whether a cell agrees, and Welch's p for equal means (None: no spread at all)."""
    mean, std, n = paper
    our_mean, our_std = np.mean(ours), np.std(ours)
    limit = 2 * np.hypot(std, our_std) + 0.5
    p = None
    if len(ours) > 1 and (std > 0 or our_std > 0):
        # The paper's spread is taken for the population's, as ours is.
        p = ttest_ind_from_stats(
            *(our_mean, np.std(ours, ddof=1), len(ours)),
            *(mean, std * np.sqrt(n / (n - 1)), n),
            equal_var=False,
        ).pvalue
    return abs(our_mean - mean) <= limit, p


def table(runs, profile, knob=""):
    """One row a cell, and how many agree."""
    cells = defaultdict(list)
    for run in runs:
        if run["profile"] == profile and run["knob"] == knob:
            key = run["data"], run["hidden"], run["method"], run["epsilon"]
            cells[key].append(run)
    lines, n_agree = [], 0
    order = sorted(
        cells, key=lambda k: (k[0] != "madelon", k[1], list(NAMES).index(k[2]))
    )
    for data, hidden, method, epsilon in order:
        found = cells[data, hidden, method, epsilon]
        ours = [run["accuracy"] for run in found]
        mean, std, n = paper_cell(profile, data, hidden, method, epsilon)
        agrees, p = compare(ours, (mean, std, n))
        n_agree += agrees
        columns = [
            *(data, hidden, f"`{method}`"),
            f"{np.mean(ours):.1f} ± {np.std(ours):.1f} ({len(ours)})",
            f"{mean:.1f} ± {std:.1f} ({n})",
            f"{np.mean(ours) - mean:+.1f}",
            "-" if p is None else "< 0.0001" if p < 1e-4 else f"{p:.4f}",
            "yes" if agrees else "**no**",
            f"{np.median([run['best_epoch'] for run in found]):.0f}",
            f"{np.mean([run['seconds'] for run in found]):.1f}",
        ]
        lines.append(f"| {' | '.join(map(str, columns))} |")
    return "\n".join([HEAD, "|---" * HEAD.count(" | ") + "|---|", *lines]), n_agree


def write_page(path, runs):
    """Write the tables; the words that explain them stand in docs/reproduction.md."""
    parts = [
        "# The methods beside the paper",
        "<!-- written by benchmarks/paper_methods.py out of methods.jsonl -->",
        "Test accuracy in per cent at the epoch with the best validation accuracy, "
        "mean ± population standard deviation over seeds; three hidden layers of n "
        "neurons, epsilon 1, 500 epochs. A cell agrees if the means differ by at most "
        "2 sqrt(sd_paper² + sd_ours²) + 0.5. What follows from it: "
        "[docs/reproduction.md](../reproduction.md).",
    ]
    for profile, title in [
        ("masked", "Profile M (`profiles.MASKED`), beside tables 2 and 4"),
        ("sparse", "Profile S (`profiles.SPARSE`), beside table 8"),
    ]:
        own = [run for run in runs if run["profile"] == profile]
        for knob in sorted({run["knob"] for run in own}):
            text, n_agree = table(own, profile, knob)
            n = text.count("\n") - 1
            heading = f"### With `{knob}`" if knob else f"## {title}"
            parts += [heading, f"{n_agree} of {n} cells agree.", text]
    path.write_text("\n\n".join(parts) + "\n")
