"""Vary one parameter of our estimators on the choosing half.

    python benchmarks/tables/curve.py --vary n_networks 1 2 4 8 --out networks.csv

Values are read as Python (1, 0.5, None, (100, 100)), else as words. Prints the means of
accuracy (R² for numbers), log-loss and seconds per value, over the fits that succeeded
with every value, and draws them: FILE.png beside FILE.csv. Can be interrupted and
continued, as run.py can.
"""

import argparse
import ast
import importlib
import sys
from pathlib import Path

import run
from fold import Job
from report import save
from summary import OURS, read

from cofire.lab.report.look import our_look


def parsed(text):
    """Read a value of a parameter.

    >>> parsed("4"), parsed("(50, 50)"), parsed("adam")
    (4, (50, 50), 'adam')
    """
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def check_parameter(name):
    """Refuse a parameter that our estimators do not have."""
    from cofire import SparseMLPClassifier, SparseMLPRegressor, __version__

    for estimator in (SparseMLPClassifier(), SparseMLPRegressor()):
        known = sorted(estimator.get_params())
        if name not in known:
            kind = type(estimator).__name__
            raise run.unknown(
                f"parameter of {kind} (cofire {__version__})", name, known
            )


def means(rows, changes):
    """One line per value and task; only fits that succeeded with every value."""
    key = ["table", "repeat", "fold"]
    ok = rows[rows["status"] == "ok"]
    complete = ok.groupby(key)["change"].nunique() == len(changes)
    kept = ok.set_index(key).loc[complete[complete].index]
    columns = ["score", "auc", "log_loss", "rmse", "cpu_seconds", "predict_seconds"]
    found = kept.groupby(["task", "change"])[columns].mean()
    return found.join(kept.groupby(["task", "change"]).size().rename("fits"))


def line_of(task, change, row):
    second = (
        f"accuracy {row['score']:.4f}  AUC {row['auc']:.4f}  "
        f"log-loss {row['log_loss']:.4f}"
        if task == "classes"
        else f"R² {row['score']:.4f}"
    )
    return (
        f"{change:24s} {second}  seconds {row['cpu_seconds']:.3g}  fits {row['fits']:g}"
    )


def figure_of(found, name, changes):
    from matplotlib.figure import Figure

    tasks = list(dict.fromkeys(found.index.get_level_values("task")))
    with our_look():
        figure = Figure(figsize=(7.5, 2.6))
        figure.set_layout_engine("constrained")
        axes = figure.subplots(1, 3)
        for axis, column, title in zip(
            axes,
            ("score", "log_loss", "cpu_seconds"),
            ("accuracy, or R²", "log-loss", "CPU seconds per fit"),
            strict=True,
        ):
            for task, colour in zip(tasks, ("#6A00A8", "#D55E00"), strict=False):
                values = [found[column].get((task, c)) for c in changes]
                axis.plot(range(len(changes)), values, "o-", color=colour, label=task)
            shown = [change.partition("=")[2] for change in changes]
            axis.set_xticks(range(len(changes)), shown)
            axis.set(title=title, xlabel=name)
        axes[0].legend()
        return figure


def main(arguments=None):
    about, _, more = __doc__.partition("\n")
    parser = argparse.ArgumentParser(
        description=about,
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--vary", nargs="+", required=True, metavar=("NAME", "VALUE"))
    add("--with", dest="fixed", nargs="+", default=[], metavar="NAME=VALUE")
    add("--out", required=True, type=Path, metavar="FILE.csv")
    add("--tables", nargs="+", metavar="NAME", help="all of the choosing half")
    add("--folds", type=int, default=5)
    add("--first", type=int, default=1, help="folds of each table that are run")
    add("--jobs", type=int, default=1)
    add("--cap", type=float, default=300.0)
    add("--memory", type=float, default=8.0)
    add("--catalogue", default="catalogue")
    args = parser.parse_args(arguments)
    name, *values = args.vary
    if not values:
        raise SystemExit("--vary: give the name of a parameter, then its values.")
    fixed = {}
    for text in args.fixed:
        other, _, value = text.partition("=")
        fixed[other] = parsed(value)
    for parameter in (name, *fixed):
        check_parameter(parameter)
    tables = importlib.import_module(args.catalogue).TABLES
    names = run.chosen_tables(tables, "choosing", args.tables)
    settings = {
        ", ".join([f"{name}={value}", *args.fixed]): fixed | {name: parsed(value)}
        for value in values
    }
    jobs = [
        Job(
            *(table, OURS, 0, i, args.folds),
            settings=how,
            label=change,
            catalogue=args.catalogue,
        )
        for table in names
        for i in range(args.first)
        for change, how in settings.items()
    ]
    if not run.run_into_file(jobs, tables, args.out, args):
        return 130
    rows = read([args.out])
    asked = rows["change"].isin(settings) & rows["table"].isin(names)
    found = means(rows[asked], settings)
    failed = rows[asked & (rows["status"] != "ok")]
    for task in ("classes", "numbers"):
        for change in settings:
            if (task, change) in found.index:
                print(line_of(task, change, found.loc[(task, change)]))
    if len(found):
        save(figure_of(found, name, list(settings)), args.out.with_suffix(".png"))
    for row in failed.itertuples():
        print(f"{row.table} {row.change}: {row.status}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
