"""Write the report of runs: where we lose first, then ranks, tests, goals and times.

    python benchmarks/tables/report.py proving.csv choosing.csv --to docs/results/tables

Writes README.md, ranks.png (critical-difference diagram of the tables with classes)
and time.png. With rows of both halves, README.md is about the proving half, and the
files of the other half begin with "choosing". Rows of distort.py decide goal 8.
"""

import argparse
import io
import math
import sys
import tomllib
from pathlib import Path

import pandas as pd
from goals import verdicts
from summary import (
    OURS,
    behind,
    compare,
    geometric_mean,
    half_of,
    mean_ranks,
    rank_test,
    read,
    time_ratio,
)

from cofire.lab.report.look import our_look
from cofire.lab.report.rank_diagram import critical_difference

REASONS = Path(__file__).parent / "reasons.toml"
NAMES = {
    "logistic": "logistic / ridge",
    "rbf_svm": "RBF-SVM",
    "knn": "kNN",
    "random_forest": "random forest",
    "extra_trees": "ExtraTrees",
    "lightgbm": "LightGBM",
    "lightgbm_tuned": "LightGBM, tuned",
    "xgboost": "XGBoost",
    "catboost": "CatBoost",
    "hist_gradient_boosting": "HistGradientBoosting",
    "mlp": "MLP",
    "realmlp_td": "RealMLP-TD",
    "tabm_d": "TabM-D",
    "tabpfn": "TabPFN",
}
GROUPS = (
    ("more than 2,000 features", {"task": "classes", "features": 2000}),
    ("more than 10,000 rows", {"task": "classes", "rows": 10_000}),
    ("numbers (R²)", {"task": "numbers"}),
)
WORDS = ("pcmac", "basehock")


def shown(model):
    return NAMES.get(model, model)


def percent(value):
    return "-" if value is None or pd.isna(value) else f"{100 * value:.1f}"


def number(value, digits=2):
    return "-" if value is None or pd.isna(value) else f"{value:.{digits}f}"


def p_value(p):
    if p is None or pd.isna(p):
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def markdown(header, lines):
    """A table; columns after the first are numbers, but text if ":" begins the name."""
    marks = ["---"] + ["---" if h.startswith(":") else "---:" for h in header[1:]]
    rows = [[h.removeprefix(":") for h in header], marks, *lines]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows) + "\n"


# --- the parts of the page -----------------------------------------------------------


def lost_part(half, reasons):
    lines = []
    for line in behind(half):
        name = line["table"]
        classes = half.facts("task")[name] == "classes"
        show = percent if classes else (lambda value: number(value, 3))
        failed = math.isinf(line["gap"])
        lines.append(
            [
                name,
                half.facts("rows")[name],
                half.facts("features")[name],
                show(line["ours"]),
                shown(line["best"]),
                show(line["theirs"]),
                "not finished" if failed else show(line["gap"]),
                "-" if math.isnan(line["error"]) else show(line["error"]),
                f"{line['rank']:g}",
                reasons.get(name, ""),
            ]
        )
    header = ["table", "rows", "features", OURS, ":best other", "its score"]
    header += ["behind by", "±", f"rank of {OURS}", ":why"]
    told = f"## Tables where {OURS} is not first\n\n"
    total = len(half.scores)
    told += (
        f"{len(lines)} of {total} tables; accuracy in per cent, or R². ±: the standard "
        "error of the difference over the folds that both finished. The other is the "
        "best of many by the same folds: a gap of one such error says little.\n\n"
    )
    return told + (markdown(header, lines) if lines else "")


def failure_part(half):
    bad = half.cells[~half.cells["finished"] & half.cells["model"].isin(half.models)]
    told = (
        "## Not finished\n\nA model ranks last on a table that it did not finish.\n\n"
    )
    lines = [
        [shown(line.model), line.table, line.status.replace("|", "/")]
        for line in bad.sort_values(["model", "table"]).itertuples()
    ]
    for model, status in half.absent.items():
        lines.append([shown(model), "all", status.replace("|", "/")])
    return told + (markdown(["model", ":table", ":why"], lines) if lines else "None.\n")


def goal_part(half, rows):
    words = {True: "**reached**", False: "missed", None: "not known"}
    lines = [[v.goal, v.found, words[v.reached]] for v in verdicts(half, rows)]
    note = (
        ""
        if half.name == "proving"
        else "These are tables on which settings were chosen: no proof.\n\n"
    )
    return "## Goals\n\n" + note + markdown(["goal", ":found", ":"], lines)


def rank_part(half, picture):
    of = {t: half.scores.loc[half.tables(t)] for t in ("classes", "numbers")}
    every = mean_ranks(half.scores)
    by_task = {task: mean_ranks(scores) for task, scores in of.items()}
    done = {task: scores.dropna() for task, scores in of.items()}
    seconds = half.table_of("cpu_seconds")
    finished = done["classes"].index
    more = {name: half.table_of(name).loc[finished] for name in ("auc", "log_loss")}
    first = "classes" if by_task["classes"] else "numbers"
    lines = []
    for model in by_task[first]:
        lines.append(
            [
                f"**{model}**" if model == OURS else shown(model),
                number(by_task["classes"].get(model)),
                number(by_task["numbers"].get(model)),
                number(every.get(model)),
                percent(done["classes"][model].mean()),
                number(more["auc"][model].mean(), 4),
                number(more["log_loss"][model].mean(), 3),
                number(done["numbers"][model].clip(lower=0).mean(), 3),
                number(geometric_mean(seconds[model]), 3),
                number(
                    time_ratio(half.rows, model, "lightgbm")
                    if "lightgbm" in seconds
                    else None,
                    2,
                ),
            ]
        )
    header = ["model", "rank, classes", "rank, numbers", "rank, all", "accuracy"]
    header += ["AUC", "log-loss", "R²", "seconds per fit", "/ LightGBM"]
    told = "## Mean ranks\n\n" + markdown(header, lines)
    n = {task: f"{len(done[task])} of {len(of[task])}" for task in of}
    told += (
        "\nAccuracy (per cent), AUC, log-loss and R² (below 0 counted as 0): means "
        f"over the tables that all models finished, {n['classes']} with classes and "
        f"{n['numbers']} with numbers. Seconds: "
        "of one processor, with one thread, geometric mean over the tables that a "
        "model finished; / LightGBM: over fits of both on the same kind of machine.\n"
    )
    for task, scores in of.items():
        test = rank_test(scores)
        if test.p is not None:
            told += (
                f"\n{task.capitalize()}: Friedman's test of {scores.shape[1]} models "
                f"on {test.n_tables} tables: chi² {test.statistic:.1f}, "
                f"p {p_value(test.p)}; critical difference {test.cd:.2f} "
                "(Nemenyi, 0.05).\n"
            )
    return told + f"\n![mean ranks]({picture}ranks.png)\n"


def comparison_part(half):
    told = (
        f"## {OURS} against each model\n\n"
        "Means over the tables that both finished (their number n). A tie: less than "
        "0.1 points apart; an unfinished table is lost. p: Wilcoxon's signed-rank test "
        "over the n tables, then with Holm's correction.\n\n"
    )
    header = ["model", "n", OURS, "the model", "wins", "ties", "losses", "p", "Holm"]
    for task, show in (("classes", percent), ("numbers", lambda v: number(v, 3))):
        scores = half.scores.loc[half.tables(task)]
        if not len(scores):
            continue
        lines = [
            [shown(c["model"]), c["n"], show(c["ours"]), show(c["theirs"]), c["wins"]]
            + [c["ties"], c["losses"], p_value(c["p"]), p_value(c["holm"])]
            for c in compare(scores)
        ]
        told += f"### {task.capitalize()}\n\n" + markdown(header, lines) + "\n"
    return told


def group_part(half):
    told = "## Groups of tables\n\n"
    groups = [(name, half.tables(**how)) for name, how in GROUPS]
    words = [t for t in WORDS if t in half.scores.index]
    groups.append(("PCMAC and BASEHOCK", words))
    for name, tables in groups:
        if not tables:
            continue
        show = (lambda v: number(v, 3)) if "R²" in name else percent
        lines = [
            [shown(c["model"]), c["n"], show(c["ours"]), show(c["theirs"])]
            for c in compare(half.scores.loc[tables])
        ]
        told += f"### {name[0].upper() + name[1:]}: {len(tables)} tables\n\n"
        told += markdown(["model", "n", OURS, "the model"], lines) + "\n"
    return told


def table_part(half):
    told = "## All scores\n\nBest in bold; - not finished.\n\n"
    for task, show in (("classes", percent), ("numbers", lambda v: number(v, 3))):
        scores = half.scores.loc[half.tables(task)]
        if not len(scores):
            continue
        lines = []
        for table, row in scores.iterrows():
            best = row.max()
            marked = [
                f"**{show(v)}**" if pd.notna(v) and v == best else show(v) for v in row
            ]
            size = [half.facts("rows")[table], half.facts("features")[table]]
            lines.append([table, *size, *marked])
        header = ["table", "rows", "features", *(shown(m) for m in scores.columns)]
        told += markdown(header, lines) + "\n"
    return told


def head(half, rows):
    mine = rows[(rows["half"] == half.name) & (rows["change"] == "")]
    ours = mine[mine["model"] == OURS]
    commits = ", ".join(dict.fromkeys(ours["commit"].astype(str)))
    version = ", ".join(dict.fromkeys(ours["cofire"].astype(str)))
    folds = mine.groupby(["table", "model"]).size()
    told = (
        f"# Tables, {half.name} half\n\n"
        f"{len(half.scores)} tables, {len(half.models)} models, {folds.min()} to "
        f"{folds.max()} fits of each model on each table; one thread per fit. cofire "
        f"{version}, commit {commits}. "
        f"{'; '.join(dict.fromkeys(mine['machine'].astype(str)))}. Tables, tests and "
        "goals: `benchmarks/tables/PLAN.md`. Made by `benchmarks/tables/report.py`.\n"
    )
    if half.left_out:
        told += (
            f"\nLeft out, since not every model was tried on all their folds: "
            f"{len(half.left_out)} tables ({', '.join(half.left_out)}).\n"
        )
    return told


# --- the figures ---------------------------------------------------------------------


def ranks_figure(scores):
    means = {shown(name): rank for name, rank in mean_ranks(scores).items()}
    title = f"Mean ranks on {len(scores)} tables (1 is best)"
    return critical_difference(means, rank_test(scores).cd, title=title)


def time_figure(half):
    """Mean rank over all tables against the geometric mean of a fit's CPU seconds."""
    from matplotlib.figure import Figure

    places, seconds = mean_ranks(half.scores), half.table_of("cpu_seconds")
    points = {m: (geometric_mean(seconds[m]), rank) for m, rank in places.items()}
    with our_look():
        figure = Figure(figsize=(7.0, 4.2))
        figure.set_layout_engine("constrained")
        axis = figure.subplots()
        axis.set(
            xscale="log", xlabel="CPU seconds per fit (geometric mean, one thread)"
        )
        axis.set(ylabel="mean rank (1 is best)")
        axis.invert_yaxis()
        axis.margins(x=0.22, y=0.08)
        for model, (x, y) in points.items():
            ours = model == OURS
            colour = "#6A00A8" if ours else "#555555"
            axis.plot([x], [y], "*" if ours else "o", color=colour, ms=9 if ours else 4)
        name_points(axis, points)
        return figure


def name_points(axis, points):
    """Write the names beside the points: where they would overlap, a line leads there.

    Each name takes the first free place at the right, at the left, then further above
    and below; the best models choose first.
    """
    figure = axis.figure
    figure.draw_without_rendering()
    transform, to_points = axis.transData, 72 / figure.dpi
    at = {m: transform.transform(xy) * to_points for m, xy in points.items()}
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in at.values()]
    high, wide = 10, 5.3  # of a line, and of a letter
    for model, (x, y) in sorted(at.items(), key=lambda item: -item[1][1]):
        ours, length = model == OURS, wide * len(shown(model))
        places = [(side, up) for up in (0, 1, -1, 2, -2, 3, -3) for side in (1, -1)]
        for side, up in places:
            start = x + 7 * side + (6 * side if up else 0)
            low, end = y + 9 * up - high / 2, start + side * length
            box = (min(start, end), low, max(start, end), low + high)
            if not any(overlap(box, other) for other in taken):
                break
        taken.append(box)
        axis.annotate(
            shown(model),
            points[model],
            xytext=(start - x, 9 * up),
            textcoords="offset points",
            ha="left" if side > 0 else "right",
            va="center",
            color="#6A00A8" if ours else "#555555",
            fontweight="bold" if ours else "normal",
            arrowprops={"arrowstyle": "-", "lw": 0.5, "color": "#999999"}
            if up
            else None,
        )


def overlap(one, other):
    """Say whether boxes (left, bottom, right, top) overlap.

    >>> overlap((0, 0, 2, 2), (1, 1, 3, 3)), overlap((0, 0, 1, 1), (1, 0, 2, 1))
    (True, False)
    """
    return (
        one[0] < other[2]
        and other[0] < one[2]
        and one[1] < other[3]
        and other[1] < one[3]
    )


def save(figure, path):
    content = io.BytesIO()
    with our_look():
        figure.savefig(content, format="png", dpi=150, metadata={"Software": None})
    path.write_bytes(content.getvalue())


# --- the command ---------------------------------------------------------------------


def write_half(half, rows, folder, page, picture, reasons):
    """Write one page and its two figures; picture: how their names begin."""
    parts = [
        head(half, rows),
        lost_part(half, reasons),
        goal_part(half, rows),
        rank_part(half, picture),
        f"## Rank and time\n\n![mean rank against time]({picture}time.png)\n",
        comparison_part(half),
        group_part(half),
        failure_part(half),
        table_part(half),
    ]
    ranked = half.scores.loc[half.tables("classes") or half.tables("numbers")]
    save(ranks_figure(ranked), folder / f"{picture}ranks.png")
    save(time_figure(half), folder / f"{picture}time.png")
    text = "\n".join(part.rstrip("\n") + "\n" for part in parts)
    (folder / page).write_text(text, encoding="utf-8")


def main(arguments=None):
    about, _, more = __doc__.partition("\n")
    parser = argparse.ArgumentParser(
        description=about,
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.csv")
    parser.add_argument("--to", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--models", nargs="+", help="only these (default: all)")
    args = parser.parse_args(arguments)
    rows = read(args.files)
    if args.models:
        rows = rows[rows["model"].isin(args.models)]
    plain = rows[rows["change"] == ""]
    halves = [name for name in ("proving", "choosing") if (plain["half"] == name).any()]
    args.to.mkdir(parents=True, exist_ok=True)
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    for i, name in enumerate(halves):
        half = half_of(rows, name)
        if OURS not in half.models or len(half.models) < 2 or not len(half.scores):
            raise SystemExit(
                f"{name} half: a report needs {OURS} and another model that finished, "
                f"and a table that all were tried on. Models that finished a table: "
                f"{', '.join(half.models) or 'none'}."
            )
        page, picture = ("README.md", "") if i == 0 else (f"{name}.md", f"{name}-")
        write_half(half, rows, args.to, page, picture, reasons)
        print(f"wrote {args.to / page}")
    if not halves:
        raise SystemExit("the files hold no rows of plain tables")
    return 0


if __name__ == "__main__":
    sys.exit(main())
