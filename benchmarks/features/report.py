"""Write the report of feature selection: where we lose first, then means and goals.

    python benchmarks/features/report.py docs/results/features

Reads truth.csv and downstream.csv of that folder; writes README.md and accuracy.png.
"""

import io
import sys
from pathlib import Path

import pandas as pd
from common import DONE, read

from cofire.lab.report.look import our_look

OURS, OURS_TOO = "cofire", "cofire_weights"
NAMES = {
    "cofire": "cofire, SparseFeatureSelector",
    "cofire_weights": "cofire, feature_importances_",
    "anova": "ANOVA",
    "mutual_information": "mutual information",
    "random_forest": "random forest",
    "lightgbm": "LightGBM",
    "l1_logistic": "L1 logistic regression",
    "boruta": "Boruta",
    "relieff": "ReliefF",
    "correlation_filter": "correlation filter, no labels",
}
# Of Okabe and Ito (2008) and Tol ("muted"), in the order of NAMES.
COLOURS = (
    *("#6A00A8", "#AA4499", "#0072B2", "#56B4E9", "#009E73", "#E69F00"),
    *("#D55E00", "#882255", "#888888", "#000000"),
)
SEEDS = 10
PUBLISHED = {  # accuracy in per cent with 50 features
    "isolet": {"LassoNet": 89.1, "HSIC-Lasso": 88.8, "PFA": 85.5, "Fisher": 81.8},
    "mnist": {"LassoNet": 89.2, "HSIC-Lasso": 86.9, "PFA": 87.9, "Fisher": 81.8},
}
SOURCE = (
    "Lemhadri, Ruan, Abraham, Tibshirani: LassoNet (JMLR 22, 2021), table 2: 50 "
    "features, extra trees, a held-out part of 7,797 rows of Isolet and of 10,000 of "
    "MNIST. Rows and model are not ours: a look at the size of things, no comparison. "
    "Of QuickSelection, NeuroFS and WAST we found no figures to cite "
    "(`benchmarks/features/README.md`)."
)


def percent(value):
    return "-" if pd.isna(value) else f"{100 * value:.1f}"


def markdown(header, lines):
    """A table; columns after the first are numbers, but text if ":" begins the name."""
    marks = ["---"] + ["---" if h.startswith(":") else "---:" for h in header[1:]]
    rows = [[h.removeprefix(":") for h in header], marks, *lines]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows) + "\n"


def frame(path):
    """Rows as a DataFrame with numbers."""
    rows = pd.DataFrame(read(path))
    words = ["what", "data", "selector", "model", "status", "commit", "date"]
    for name in rows.columns.difference(words):
        rows[name] = pd.to_numeric(rows[name])
    return rows


# --- downstream ----------------------------------------------------------------------


def counted(rows):
    """Rows of the splits that all selectors that finished the data set have."""
    done = rows[rows["status"] == DONE]
    here = done.groupby(["data", "split"])["selector"].transform("nunique")
    return done[here == done.groupby("data")["selector"].transform("nunique")]


def splits_of(rows):
    """How many splits count: "1 split", or "1 to 3 splits"."""
    n = counted(rows).groupby("data")["split"].nunique()
    low, high = n.min(), n.max()
    if low < high:
        return f"{low} to {high} splits"
    return "1 split" if low == 1 else f"{low} splits"


def scores_of(rows):
    """Accuracy per data set (rows), and selector, k and model: means over splits.

    Selectors are compared on the same rows: see `counted`.
    """
    done = counted(rows)
    names = ["selector", "k", "model"]
    return done.pivot_table(index="data", columns=names, values="accuracy")


def means_of(scores):
    """Mean accuracy per data set and selector, over k and models."""
    return scores.T.groupby(level="selector").mean().T


def compare(scores):
    """[(selector, data sets both finished, ours, its mean, its SVM, its kNN)]."""
    means = means_of(scores)
    models = [means_of(scores.xs(m, axis=1, level="model")) for m in ("svm", "knn")]
    lines = []
    for name in means:
        both = means.index[means[[OURS, name]].notna().all(axis=1)]
        found = [part.loc[both, name].mean() for part in (means, *models)]
        lines.append((name, len(both), means.loc[both, OURS].mean(), *found))
    return sorted(lines, key=lambda line: line[3] - line[2], reverse=True)


def lost_part(means):
    lines = []
    rivals = means.drop(columns=[OURS, OURS_TOO], errors="ignore")
    gaps = (rivals.max(axis=1) - means[OURS]).sort_values(ascending=False)
    for data in gaps.index[gaps > 0]:
        best, row = rivals.loc[data].idxmax(), rivals.loc[data]
        line = [data, percent(means.loc[data, OURS]), NAMES[best], percent(row.max())]
        rank = int((row > means.loc[data, OURS]).sum()) + 1
        lines.append([*line, percent(gaps[data]), rank])
    header = ["data set", "cofire", ":best rival", "its accuracy", "behind by", "rank"]
    return (
        "## Data sets where cofire is not first\n\n"
        f"{len(lines)} of {len(means)}; accuracy in per cent, mean over k, SVM and "
        "nearest neighbours; rank among the selector and its rivals.\n\n"
    ) + markdown(header, lines)


def mean_part(scores, rows):
    done = rows[rows["status"] == DONE]
    seconds = done.groupby(["selector", "data"])["cpu_seconds"].mean()
    lines = [
        [NAMES[name], n, *map(percent, (theirs, ours, svm, knn))]
        + [f"{seconds[name].median():.1f}"]
        for name, n, ours, theirs, svm, knn in compare(scores)
    ]
    header = ["selector", "data sets", "accuracy", "cofire on them", "SVM", "kNN"]
    return (
        "## Mean accuracy\n\nOver the data sets that a selector and cofire finished, "
        "and k = 25, 50, 75, 100; seconds: CPU, median over the data sets.\n\n"
        + markdown([*header, "seconds"], lines)
        + "\n![accuracy against k](accuracy.png)\n"
    )


def table_part(scores, rows):
    means = means_of(scores)
    names = [name for name in NAMES if name in means]
    lines = [[d, *(percent(means.loc[d, n]) for n in names)] for d in means.index]
    told = "## All data sets\n\nMean over k and both models; - not finished.\n\n"
    told += markdown(["data set", *(NAMES[name] for name in names)], lines)
    bad = rows[rows["status"] != DONE].itertuples()
    listed = [f"{NAMES[r.selector]} on {r.data} ({r.status})" for r in bad]
    return told + f"\nNot finished: {'; '.join(listed) or 'none'}.\n"


def published_part(scores):
    """Published figures, and ours with as many features."""
    lines, names = [], list(PUBLISHED["mnist"])
    for data in sorted(set(PUBLISHED) & set(scores.index)):
        ours = [percent(scores.loc[data].get((OURS, 50, m))) for m in ("svm", "knn")]
        lines.append([data, *ours, *(PUBLISHED[data][name] for name in names)])
    header = ["data set", "cofire, SVM", "cofire, kNN", *names]
    return f"## Published figures\n\n{SOURCE}\n\n" + markdown(header, lines)


# --- the truth -----------------------------------------------------------------------


def truth_part(rows):
    told = "## Known truth\n\nThe top 20, mean over seeds.\n\n"
    for what, title in (("madelon", "Madelon"), ("truth", "Synthetic truth")):
        lines = []
        mine = rows[(rows["what"] == what) & (rows["status"] == DONE)]
        for name, part in mine.groupby("selector"):
            hits, traps = part["informative"], part["correlated"]
            line = [NAMES[name], len(part), f"{hits.mean():.1f}", int(hits.min())]
            if what == "truth":
                line += [f"{part['redundant'].mean():.1f}", f"{traps.mean():.1f}"]
                line.append(int(traps.max()))
            lines.append([*line, f"{part['cpu_seconds'].mean():.1f}"])
        lines.sort(key=lambda line: -float(line[2]))
        header = ["selector", "seeds", "relevant of 20", "least"]
        if what == "truth":
            header[2:] = ["informative of 15", "least", "redundant of 2"]
            header += ["correlated irrelevant", "most"]
        told += f"### {title}\n\n" + markdown([*header, "CPU seconds"], lines) + "\n"
    return told + chance_part(rows)


def discoveries(part):
    """(False fraction, power), means over the fits, of rows of `chance`."""
    false = (part["correlated"] + part["others"]) / part["selected"].clip(lower=1)
    return false.mean(), (part["informative"] / part["of_informative"]).mean()


def chance_part(rows):
    lines = []
    mine = rows[(rows["what"] == "chance") & (rows["status"] == DONE)]
    for (name, data), part in mine.groupby(["selector", "data"]):
        line = [NAMES[name], data, len(part), f"{part['selected'].mean():.1f}"]
        line += [*map(percent, discoveries(part)), f"{part['cpu_seconds'].mean():.0f}"]
        lines.append(line)
    header = ["selector", ":data", "seeds", "selected", "false, %", "power, %"]
    return (
        "### All that beat chance\n\nAt the defaults; cofire's nominal rate is 10 %. "
        "Redundant features count as relevant; power: found of the informative ones."
        "\n\n" + markdown([*header, "CPU seconds"], lines)
    )


# --- goals ---------------------------------------------------------------------------


def goals(scores, rows):
    """Yield (goal, what was found, whether it is reached: None with too few seeds)."""

    def verdict(values, reached):
        return bool(reached) if len(values) >= SEEDS else None

    ours = rows[(rows["selector"] == OURS) & (rows["status"] == DONE)]
    of = {what: ours[ours["what"] == what] for what in ("madelon", "truth", "chance")}
    rivals = [line for line in compare(scores) if line[0] not in (OURS, OURS_TOO)]
    above = [NAMES[line[0]] for line in rivals if line[3] >= line[2]]
    found = f"above {len(rivals) - len(above)} of {len(rivals)} rivals"
    found += f"; not above {', '.join(above)}" if above else ""
    yield (
        "mean downstream accuracy above every rival",
        found,
        bool(rivals) and not above,
    )
    hits = of["madelon"]["informative"]
    goal = "Madelon: at least 19 of the 20 relevant features in the top 20, every seed"
    found = " ".join(f"{hit:g}" for hit in hits)
    yield goal, found, verdict(hits, hits.min() >= 19)
    hits, traps = of["truth"]["informative"], of["truth"]["correlated"]
    seeds = f"{len(hits)} seeds"
    goal = "synthetic truth: at least 13 informative features in the top 20 on average"
    yield goal, f"{hits.mean():.1f}, {seeds}", verdict(hits, hits.mean() >= 13)
    goal = "synthetic truth: at most 2 correlated irrelevant features in the top 20"
    yield goal, f"at most {traps.max():g}, {seeds}", verdict(hits, traps.max() <= 2)
    for data, part in of["chance"].groupby("data"):
        false = discoveries(part)[0]
        goal = f"false discoveries at a nominal 10 %, {data}: at most 15 %"
        found = f"{percent(false)} %, {len(part)} seeds"
        yield goal, found, verdict(part, false <= 0.15)


def goal_part(scores, rows):
    words = {True: "**reached**", False: "missed", None: "too few seeds"}
    lines = [[*row, words[reached]] for *row, reached in goals(scores, rows)]
    return "## Goals\n\n" + markdown(["goal", ":found", ":"], lines)


# --- the figure ----------------------------------------------------------------------


def apart(values, least, highest):
    """Move ascending positions apart, so that labels do not overlap.

    >>> apart([0.0, 0.1, 5.0], 1.0, 5.0), apart([4.5, 5.0], 1.0, 5.0)
    ([0.0, 1.0, 5.0], [4.0, 5.0])
    """
    places = []
    for value in values:
        places.append(max(value, places[-1] + least) if places else value)
    for i in range(len(places) - 1, -1, -1):
        places[i] = min(places[i], highest)
        highest = places[i] - least
    return places


def figure(scores):
    """Mean accuracy against k, over the data sets that all shown selectors finished."""
    from matplotlib.figure import Figure

    means = means_of(scores)
    shown = [n for n in means if means[n].notna().mean() >= 0.75]
    common = means[shown].dropna().index
    curves = 100 * scores.loc[common].T.groupby(level=["selector", "k"]).mean().T.mean()
    ends = sorted((curves[name].iloc[-1], name) for name in shown)
    low, high = curves[shown].min(), curves[shown].max()
    drawn = Figure(figsize=(7.0, 4.4))
    drawn.set_layout_engine("constrained")
    axis = drawn.subplots()
    places = apart([end for end, _ in ends], (high - low) / 18, high)
    for (end, name), place in zip(ends, places, strict=True):
        colour = COLOURS[list(NAMES).index(name)]
        width, weight = (2.2, "bold") if name == OURS else (1.0, "normal")
        curve = curves[name]
        axis.plot(curve.index, curve, color=colour, lw=width, marker="o", ms=3)
        line = {"arrowstyle": "-", "color": colour, "lw": 0.5, "relpos": (0, 0.5)}
        where = {"xy": (100, end), "xytext": (110, place), "va": "center"}
        axis.annotate(
            NAMES[name], **where, arrowprops=line, color=colour, fontweight=weight
        )
    axis.set(xlabel="features kept", xticks=[25, 50, 75, 100], xlim=(22, 160))
    axis.set(ylabel="accuracy, %")
    axis.grid(False)
    axis.spines["bottom"].set_bounds(22, 100)
    axis.set_title(f"Mean of SVM and nearest neighbours, {len(common)} data sets")
    return drawn


def main(arguments):
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        raise SystemExit(__doc__)
    folder = Path(arguments[0])
    rows, truth = frame(folder / "downstream.csv"), frame(folder / "truth.csv")
    scores = scores_of(rows)
    commits = sorted({*rows["commit"], *truth["commit"]})
    head = (
        "# Feature selection\n\nMade by `benchmarks/features/report.py`; "
        f"`benchmarks/features/README.md` says how it is measured. {len(scores)} data "
        f"sets, {splits_of(rows)} of each that all selectors finished. Sources at "
        f"commit {', '.join(map(str, commits))}.\n"
    )
    parts = [head, lost_part(means_of(scores)), goal_part(scores, truth)]
    parts += [mean_part(scores, rows), truth_part(truth), table_part(scores, rows)]
    parts += [published_part(scores)]
    text = "\n".join(part.rstrip("\n") + "\n" for part in parts)
    (folder / "README.md").write_text(text, encoding="utf-8")
    with our_look():
        content = io.BytesIO()
        drawn = figure(scores)
        drawn.savefig(content, format="png", dpi=150, metadata={"Software": None})
    (folder / "accuracy.png").write_bytes(content.getvalue())
    print(f"wrote {folder / 'README.md'}")


if __name__ == "__main__":
    main(sys.argv[1:])
