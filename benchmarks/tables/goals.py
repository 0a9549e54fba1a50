"""The goals of PLAN.md, and whether the results reach them."""

from dataclasses import dataclass

from summary import OURS, behind, compare, mean_ranks, time_ratio

LEVEL = 0.05
NOT_JUDGED = ("outliers",)  # a distortion that loses information
FOR_NUMBERS = (
    *("logistic", "random_forest", "extra_trees", "lightgbm", "lightgbm_tuned"),
    *("xgboost", "catboost", "hist_gradient_boosting"),
)


@dataclass(frozen=True)
class Verdict:
    """reached: None if the results do not say."""

    goal: str
    found: str
    reached: bool | None


def verdicts(half, rows):
    """Judge every goal. half: of goals 1 to 6; rows: all rows, also distorted ones."""
    return [
        first_rank(half),
        few_behind(half),
        numbers(half),
        group_mean(
            "4. More than 2,000 features: mean accuracy at or above logistic "
            "regression and forest",
            half,
            half.tables("classes", features=2000),
            ("logistic", "random_forest"),
        ),
        group_mean(
            "5. More than 10,000 rows: mean accuracy at or above LightGBM",
            half,
            half.tables("classes", rows=10_000),
            ("lightgbm",),
        ),
        seconds(half),
        words(rows),
        distorted(rows),
    ]


def first_rank(half):
    goal = (
        "1. Classes: the first mean rank; significantly ahead of LightGBM and RealMLP"
    )
    scores = half.scores.loc[half.tables("classes")]
    if not len(scores):
        return Verdict(goal, "no tables", None)
    places = mean_ranks(scores)
    found = [f"place {list(places).index(OURS) + 1} of {len(places)}"]
    first = next(iter(places)) == OURS
    for line in compare(scores):
        if line["model"] not in ("lightgbm", "realmlp_td"):
            continue
        ahead = line["ours"] > line["theirs"] and line["holm"] is not None
        significant = ahead and line["holm"] < LEVEL
        first = first and bool(significant)
        p = "-" if line["holm"] is None else f"{line['holm']:.3f}"
        side = "ahead of" if ahead else "not ahead of"
        found.append(f"{side} {line['model']}, p {p}")
    missing = {"lightgbm", "realmlp_td"} - set(scores.columns)
    if missing:
        found.append(f"not run: {', '.join(sorted(missing))}")
        return Verdict(goal, "; ".join(found), None if first else False)
    return Verdict(goal, "; ".join(found), first)


def few_behind(half):
    goal = (
        "2. At most 2 tables more than 3 points of accuracy below the best other model"
    )
    classes = half.tables("classes")
    if not classes:
        return Verdict(goal, "no tables", None)
    far = [
        line["table"]
        for line in behind(half)
        if line["table"] in classes and line["gap"] > 0.03
    ]
    return Verdict(goal, f"{len(far)} of {len(classes)} tables", len(far) <= 2)


def numbers(half):
    goal = "3. Numbers: mean R² at or above the best of ridge, forest and boosting"
    return group_mean(goal, half, half.tables("numbers"), FOR_NUMBERS)


def group_mean(goal, half, tables, rivals):
    """Each rival's mean against ours on the tables that both finished."""
    scores = half.scores.loc[tables]
    known = [name for name in rivals if name in scores.columns]
    lines = [line for line in compare(scores) if line["model"] in known and line["n"]]
    if not lines:
        return Verdict(goal, "no tables", None)
    hardest = min(lines, key=lambda line: line["ours"] - line["theirs"])
    failed = int(scores[OURS].isna().sum())
    found = (
        f"{hardest['ours']:.4f}, {hardest['model']} {hardest['theirs']:.4f}, "
        f"{hardest['n']} of {len(tables)} tables"
    )
    if failed:
        found += f"; unfinished on {failed}"
    return Verdict(goal, found, not failed and hardest["ours"] >= hardest["theirs"])


def seconds(half):
    goal = (
        "6. Seconds of a fit divided by LightGBM's: geometric mean at most 5, "
        "with the first rank at most 10"
    )
    if "lightgbm" not in half.models:
        return Verdict(goal, "LightGBM was not run", None)
    ratio = time_ratio(half.rows, OURS, "lightgbm")
    if ratio is None:
        return Verdict(goal, "no tables", None)
    places = mean_ranks(half.scores.loc[half.tables("classes")])
    first = bool(places) and next(iter(places)) == OURS
    return Verdict(goal, f"{ratio:.1f}", ratio <= (10 if first else 5))


def words(rows):
    goal = "7. PCMAC and BASEHOCK: within 1 point of logistic regression"
    of_words = rows[rows["table"].isin(["pcmac", "basehock"]) & (rows["change"] == "")]
    found, reached = [], True
    for table, mine in of_words.groupby("table"):
        means = mine.groupby("model")["score"].mean()
        if OURS in means and "logistic" in means:
            gap = 100 * (means[OURS] - means["logistic"])
            found.append(f"{table} {gap:+.1f} points")
            reached = reached and bool(gap >= -1)
    if len(found) < 2:
        return Verdict(goal, "; ".join([*found, "not all run"]), None)
    return Verdict(goal, "; ".join(found), reached)


def distorted(rows):
    """Goal 8, from the rows of distort.py."""
    goal = "8. Distorted columns: mean accuracy within 0.5 points of plain, no failure"
    mine = rows[(rows["model"] == OURS) & (rows["task"] == "classes")]
    judged = mine[~mine["change"].isin(["", "plain", *NOT_JUDGED])]
    if not len(judged):
        return Verdict(goal, "not run", None)
    key = ["table", "repeat", "fold"]
    plain = mine.loc[mine["change"] == "plain", [*key, "score"]]
    pairs = judged.merge(plain, on=key, suffixes=("", "_plain"))
    gains = 100 * (pairs["score"] - pairs["score_plain"])
    gains = gains.groupby(pairs["change"]).mean()
    failures = int((judged["status"] != "ok").sum())
    text = ", ".join(f"{name} {points:+.2f}" for name, points in gains.items())
    reached = bool(len(gains)) and bool((gains.abs() <= 0.5).all()) and not failures
    return Verdict(goal, f"{text}; {failures} failures", reached)
