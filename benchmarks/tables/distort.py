"""Run our default on distorted tables of the choosing half: does it still work?

    python benchmarks/tables/distort.py --out distort.csv

Each change is made to every column of numbers, before the rows are split:

    scale     times 10^u, u uniform between -6 and 6, another u for each column
    offset    plus 10^8. In float64 the column keeps about 8 digits after that; float32
              has steps of 8 there, so a model that converts first has lost the column
    tails     sign(z) |z|^3 of z = (x - mean) / spread: heavy tails, the same order
    outliers  one cell in 1,000 becomes 10^6 spreads from the mean. This loses
              information: its accuracy is shown, not judged

Cells of sparse tables that are 0 stay 0: there only "scale" and "tails" (without the
mean) change something, and "outliers" hits stored cells. Passed: mean accuracy within
0.5 points of the plain tables (R² within 0.005) and no failure. Can be interrupted and
continued, as run.py can.
"""

import argparse
import importlib
import sys
from pathlib import Path

import numpy as np
import run
from fold import Job
from goals import NOT_JUDGED
from summary import OURS, read

KEY = ["table", "repeat", "fold"]
TOLERANCE = 0.005


def plain(X, rng):
    return X


def scale(X, rng):
    factors = 10.0 ** rng.uniform(-6, 6, X.shape[1])
    return by_column(X, lambda column, i: column * factors[i])


def offset(X, rng):
    if is_sparse(X):
        return X
    return by_column(X, lambda column, i: column + 1e8)


def tails(X, rng):
    return by_column(X, lambda column, i: cubed(column, centred=not is_sparse(X)))


def outliers(X, rng):
    def change(column, i):
        mean, spread = np.nanmean(column), np.nanstd(column)
        hit = (rng.random(len(column)) < 1e-3) & ~np.isnan(column)
        sign = rng.choice([-1.0, 1.0], len(column))
        return np.where(hit, mean + sign * 1e6 * spread, column)

    return by_column(X, change)


def cubed(column, *, centred):
    spread = np.nanstd(column)
    if not spread > 0:
        return column
    z = (column - np.nanmean(column) if centred else column) / spread
    return np.sign(z) * np.abs(z) ** 3


def is_sparse(X):
    return not hasattr(X, "columns") and not isinstance(X, np.ndarray)


def by_column(X, change):
    """Change columns of numbers, as float64; of sparse X the stored cells."""
    if is_sparse(X):
        X = X.astype(np.float64).tocsc()
        for i in range(X.shape[1]):
            cells = slice(X.indptr[i], X.indptr[i + 1])
            if cells.stop > cells.start:
                X.data[cells] = change(X.data[cells], i)
        return X.tocsr()
    if isinstance(X, np.ndarray):
        columns = X.astype(np.float64)
        for i in range(X.shape[1]):
            columns[:, i] = change(columns[:, i], i)
        return columns
    changed = {
        name: change(X[name].to_numpy(np.float64), i)
        for i, name in enumerate(X.columns)
        if X[name].dtype != "category" and not X[name].isna().all()
    }
    return X.assign(**changed)


DISTORTIONS = {
    "plain": plain,
    "scale": scale,
    "offset": offset,
    "tails": tails,
    "outliers": outliers,
}


def verdict(rows, task):
    """Return lines about one task, and whether all judged changes passed.

    Means are over the fits that succeeded with and without the change.
    """
    name = "accuracy" if task == "classes" else "R²"
    rows = rows[rows["task"] == task]
    base = rows.loc[rows["change"] == "plain", [*KEY, "score"]].dropna()
    lines, passed = [], True
    for change in DISTORTIONS:
        mine = rows[rows["change"] == change]
        if change == "plain" or not len(mine):
            continue
        pairs = mine.merge(base, on=KEY, suffixes=("", "_plain")).dropna(
            subset=["score"]
        )
        gap = (pairs["score"] - pairs["score_plain"]).mean()
        failed = int((mine["status"] != "ok").sum())
        good = abs(gap) <= TOLERANCE and not failed
        word = "passed" if good else "NOT passed"
        if change in NOT_JUDGED:
            word = "not judged"
        else:
            passed = passed and good
        lines.append(
            f"{change:9s} {name} {pairs['score'].mean():.4f}, plain "
            f"{pairs['score_plain'].mean():.4f}, {gap:+.4f}, {failed} failures in "
            f"{len(mine)} fits: {word}"
        )
    return lines, passed


def main(arguments=None):
    about, _, more = __doc__.partition("\n")
    parser = argparse.ArgumentParser(
        description=about,
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--out", required=True, type=Path, metavar="FILE.csv")
    add("--tables", nargs="+", metavar="NAME", help="all of the choosing half")
    add("--changes", nargs="+", default=list(DISTORTIONS), choices=list(DISTORTIONS))
    add("--folds", type=int, default=5)
    add("--first", type=int, default=1, help="folds of each table that are run")
    add("--jobs", type=int, default=1)
    add("--cap", type=float, default=300.0, help="as in run.py")
    add("--memory", type=float, default=8.0)
    add("--catalogue", default="catalogue")
    args = parser.parse_args(arguments)
    tables = importlib.import_module(args.catalogue).TABLES
    names = run.chosen_tables(tables, "choosing", args.tables)
    jobs = [
        Job(table, OURS, 0, i, args.folds, change=change, catalogue=args.catalogue)
        for table in names
        for i in range(args.first)
        for change in dict.fromkeys(["plain", *args.changes])
    ]
    if not run.run_into_file(jobs, tables, args.out, args):
        return 130
    rows = read([args.out])
    rows = rows[rows["table"].isin(names)]
    fine = True
    for task in ("classes", "numbers"):
        lines, passed = verdict(rows, task)
        fine = fine and passed
        print("\n".join(lines))
    print("passed" if fine else "NOT passed")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
