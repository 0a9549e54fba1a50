"""The page that docs/results/methods.md is: our runs beside the paper's figures."""

from collections import defaultdict

import numpy as np

from cofire.lab.experiments.statistics import agreement
from cofire.lab.paper.published import accuracies

ORDER = ("set", "rigl", "snip", "ctre_seq", "ctre_sim", "ctre_wo_random")
HEAD = (
    "| data | n | method | ours (seeds) | paper (seeds) | difference | Welch p "
    "| agrees | best epoch | seconds a run |"
)
# Per profile: the paper's tables; the first that has a cell counts.
TABLES = {"masked": ["results_main", "ablation_cosine"], "sparse": ["pure_sparse"]}


def paper_cell(profile, *place):
    """Mean, spread and number of seeds that the paper has for a cell."""
    tables = [accuracies(file) for file in TABLES[profile]]
    return next(found[place] for found in tables if place in found)


def table(runs, profile, knob=""):
    """One row a cell, and how many agree."""
    cells = defaultdict(list)
    for run in runs:
        if run["profile"] == profile and run["knob"] == knob:
            key = run["data"], run["hidden"], run["method"], run["epsilon"]
            cells[key].append(run)
    lines, n_agree = [], 0
    order = sorted(cells, key=lambda k: (k[0] != "madelon", k[1], ORDER.index(k[2])))
    for data, hidden, method, epsilon in order:
        found = cells[data, hidden, method, epsilon]
        ours = [run["accuracy"] for run in found]
        mean, std, n = paper_cell(profile, data, method, hidden, epsilon)
        match = agreement(ours, mean, std, n)
        n_agree += match.agrees
        columns = [
            *(data, hidden, f"`{method}`"),
            f"{np.mean(ours):.1f} ± {np.std(ours):.1f} ({len(ours)})",
            f"{mean:.1f} ± {std:.1f} ({n})",
            f"{np.mean(ours) - mean:+.1f}",
            _p_value(match.p),
            "yes" if match.agrees else "**no**",
            f"{np.median([run['best_epoch'] for run in found]):.0f}",
            f"{np.mean([run['seconds'] for run in found]):.1f}",
        ]
        lines.append(f"| {' | '.join(map(str, columns))} |")
    return "\n".join([HEAD, "|---" * HEAD.count(" | ") + "|---|", *lines]), n_agree


def _p_value(p):
    return "-" if p is None else "< 0.0001" if p < 1e-4 else f"{p:.4f}"


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
