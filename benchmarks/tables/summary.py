"""What the rows of run.py say: means per table, ranks, comparisons with each model.

A model has finished a table if all its fits there are ok. One that has not ranks last
there. Means of several models are over tables that all of them finished.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from cofire.lab.experiments.statistics import (
    friedman,
    holm,
    nemenyi_critical_difference,
    signed_rank,
)

OURS = "cofire"
SHORTEST = 1e-4  # seconds: no time is shorter
TIE = 0.001  # scores less than this apart are a tie: 0.1 points of accuracy
MEANS = ["score", "auc", "log_loss", "rmse", "fit_seconds", "predict_seconds"]
MEANS += ["cpu_seconds", "model_bytes", "peak_bytes"]
TEXT = ["table", "model", "change", "status", "cofire", "commit", "machine"]
JOB = ["table", "model", "repeat", "fold", "change"]


def read(paths):
    """Return the rows of files as one frame; of rows of one job the last counts."""
    text = dict.fromkeys(TEXT, str)
    how = {"keep_default_na": False, "na_values": [""], "dtype": text}
    frames = [pd.read_csv(path, **how) for path in paths]
    rows = pd.concat(frames, ignore_index=True)
    rows = rows[rows["machine"].notna()]  # else an interrupt cut the line short
    rows["change"] = rows["change"].fillna("")
    return rows.drop_duplicates(JOB, keep="last").reset_index(drop=True)


def cells(rows):
    """One line per (table, model): means over its fits, whether all of them are ok."""
    groups = rows.groupby(["table", "model"], sort=False)
    found = groups[MEANS].mean()
    first = groups[["task", "half", "rows", "features"]].first()
    ok = rows["status"] == "ok"
    found["finished"] = ok.groupby([rows["table"], rows["model"]]).all()
    found["fits"] = groups.size()
    found["status"] = groups["status"].agg(_worst)
    found.loc[~found["finished"], MEANS] = np.nan
    return first.join(found).reset_index()


def _worst(status):
    bad = [words for words in status if words != "ok"]
    return bad[0] if bad else "ok"


@dataclass(frozen=True)
class Half:
    """The results of one half: cells, the models that are ranked, all scores."""

    name: str
    cells: pd.DataFrame
    models: list[str]
    absent: dict[str, str]  # models that finished no table, and why
    left_out: list[str]  # tables that not every model has tried, on all folds
    rows: pd.DataFrame  # one line per fit

    @property
    def scores(self):
        """Accuracy or R²: one line per ranked table, one column per model."""
        return self.table_of("score")

    def table_of(self, column):
        wide = self.cells.pivot(index="table", columns="model", values=column)
        order = [name for name in self.order if name not in self.left_out]
        return wide.loc[order, self.models]

    @property
    def order(self):
        return list(dict.fromkeys(self.cells["table"]))

    def facts(self, column):
        """One value per table: task, rows, features."""
        return self.cells.groupby("table", sort=False)[column].first()

    def tables(self, task=None, *, features=0, rows=0):
        """Ranked tables of a task with more than so many features and rows."""
        return [
            name
            for name in self.scores.index
            if (task is None or self.facts("task")[name] == task)
            and self.facts("features")[name] > features
            and self.facts("rows")[name] > rows
        ]


def half_of(rows, name):
    """Collect the results of one half. Variants (cofire_...) are not ranked."""
    rows = rows[(rows["half"] == name) & (rows["change"] == "")]
    found = cells(rows)
    found = found.sort_values(["task", "rows", "table"], kind="stable")
    absent, models = {}, []
    for model in dict.fromkeys(rows["model"]):
        mine = found[found["model"] == model]
        if not mine["finished"].any():
            absent[model] = mine["status"].iloc[0]
        elif not model.startswith(f"{OURS}_"):
            models.append(model)
    models.sort(key=lambda model: model != OURS)
    folds = rows[rows["model"].isin(models)].groupby(["table", "model"])["fold"]
    folds = folds.nunique().unstack(fill_value=0)
    whole = folds.eq(folds.max(axis=1), axis=0).all(axis=1)
    left_out = [t for t in dict.fromkeys(found["table"]) if not whole.get(t, False)]
    return Half(name, found, models, absent, left_out, rows)


def ranks(scores):
    """Rank the models of each table: 1 is best, equal scores share their mean rank.

    scores: a frame, or rows of numbers; NaN (not finished) ranks last.

    >>> ranks([[0.9, 0.8, float("nan")], [0.7, 0.7, 0.9]]).tolist()
    [[1.0, 2.0, 3.0], [2.5, 2.5, 1.0]]
    """
    values = np.round(np.asarray(scores, dtype=float), 6)
    return rankdata(np.where(np.isnan(values), np.inf, -values), axis=1)


def mean_ranks(scores):
    """Return name -> mean rank, the best first."""
    if not len(scores):
        return {}
    means = dict(zip(scores.columns, ranks(scores).mean(axis=0).tolist(), strict=True))
    return dict(sorted(means.items(), key=lambda pair: pair[1]))


@dataclass(frozen=True)
class RankTest:
    """Friedman's test of all models, and Nemenyi's critical difference."""

    n_tables: int
    statistic: float | None
    p: float | None
    cd: float | None


def rank_test(scores):
    n, k = scores.shape
    if n == 0 or k < 2:
        return RankTest(n, None, None, None)
    found = friedman(-ranks(scores))
    return RankTest(n, found.statistic, found.p, nemenyi_critical_difference(k, n))


def compare(scores):
    """Compare us with each other model: one line per model.

    n: tables that both finished; ours, theirs: mean scores there; wins, ties, losses
    over all tables, where an unfinished one is lost; p of Wilcoxon's test, and after
    Holm's correction. R² below 0 counts as 0 in means and in the test: it is no use.
    """
    lines = []
    for model in [name for name in scores.columns if name != OURS]:
        ours, theirs = scores[OURS].clip(lower=0), scores[model].clip(lower=0)
        both = ours.notna() & theirs.notna()
        gap = (scores[OURS] - scores[model])[both]
        wins = int((gap > TIE).sum()) + int((ours.notna() & theirs.isna()).sum())
        losses = int((gap < -TIE).sum()) + int((ours.isna() & theirs.notna()).sum())
        test = signed_rank(ours[both], theirs[both]) if both.any() else None
        lines.append(
            {
                "model": model,
                "n": int(both.sum()),
                "ours": ours[both].mean(),
                "theirs": theirs[both].mean(),
                "wins": wins,
                "ties": len(scores) - wins - losses,
                "losses": losses,
                "p": None if test is None else test.p,
            }
        )
    for line, p in zip(lines, holm([line["p"] for line in lines]), strict=True):
        line["holm"] = p
    return lines


def time_ratio(rows, model, other):
    """Geometric mean over tables of one model's seconds divided by another's.

    rows: one line per fit. Only the same fold on the same kind of machine counts.
    """
    same = ["table", "repeat", "fold", "machine"]
    ok = rows[rows["status"] == "ok"]
    sides = [
        ok.loc[ok["model"] == name, [*same, "cpu_seconds"]] for name in (model, other)
    ]
    pairs = sides[0].merge(sides[1], on=same, suffixes=("", "_other"))
    means = pairs.groupby("table")[["cpu_seconds", "cpu_seconds_other"]].mean()
    means = means.clip(lower=SHORTEST)
    return geometric_mean(means["cpu_seconds"] / means["cpu_seconds_other"])


def geometric_mean(values):
    values = values.dropna()
    return float(np.exp(np.log(values).mean())) if len(values) else None


def behind(half):
    """Tables where we are not first, the largest gap first: one line per table."""
    lines, scores = [], half.scores
    places = ranks(scores)[:, scores.columns.get_loc(OURS)]
    for (table, row), place in zip(scores.iterrows(), places, strict=True):
        others = row.drop(OURS).dropna()
        if others.empty:
            continue
        best = others.idxmax()
        gap = others[best] - row[OURS] if pd.notna(row[OURS]) else np.inf
        if gap > 0:
            line = {"table": table, "ours": row[OURS], "best": best, "gap": gap}
            line["error"] = error_of_difference(half.rows, table, best)
            lines.append(line | {"theirs": others[best], "rank": place})
    return sorted(lines, key=lambda line: -line["gap"])


def error_of_difference(rows, table, model):
    """Standard error of (model - ours) over the folds that both finished, or NaN."""
    fits = rows[(rows["table"] == table) & (rows["status"] == "ok")]
    wide = fits.pivot(index=["repeat", "fold"], columns="model", values="score")
    if not {OURS, model} <= set(wide.columns):
        return np.nan
    return (wide[model] - wide[OURS]).sem()
