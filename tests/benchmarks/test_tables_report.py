"""benchmarks/tables/report.py: its statistics against slow versions, and a page."""

import importlib
import itertools
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")

FOLDER = Path(__file__).parents[2] / "benchmarks" / "tables"


@pytest.fixture(scope="module")
def tables():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        names = ("summary", "report", "goals", "run")
        yield SimpleNamespace(**{n: importlib.import_module(n) for n in names})


# --- slow versions --------------------------------------------------------------------


def naive_ranks(row):
    """1 + how many are better + half of the others that are equal; failed is worst."""
    row = [-math.inf if math.isnan(x) else x for x in row]
    return [1 + sum(b > a for b in row) + (row.count(a) - 1) / 2 for a in row]


def naive_friedman(scores):
    """The formula of Demšar (2006), for scores without ties."""
    n, k = len(scores), len(scores[0])
    ranks = [naive_ranks(row) for row in scores]
    means = [sum(r[j] for r in ranks) / n for j in range(k)]
    return 12 * n / (k * (k + 1)) * (sum(r * r for r in means) - k * (k + 1) ** 2 / 4)


def naive_holm(p_values):
    """The i-th smallest p times the number of tests not yet done, never falling."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    found = [0.0] * len(p_values)
    for position, i in enumerate(order):
        parts = [(len(order) - q) * p_values[order[q]] for q in range(position + 1)]
        found[i] = min(1.0, max(parts))
    return found


def naive_wilcoxon(differences):
    """Two-sided p by trying all signs; for differences without ties or zeros."""
    order = sorted(abs(d) for d in differences)
    ranks = [order.index(abs(d)) + 1 for d in differences]
    total = sum(ranks)
    positive = sum(r for r, d in zip(ranks, differences, strict=True) if d > 0)
    smaller = min(positive, total - positive)
    signs = itertools.product([0, 1], repeat=len(ranks))
    sums = [sum(r * s for r, s in zip(ranks, each, strict=True)) for each in signs]
    return min(1.0, 2 * sum(s <= smaller for s in sums) / len(sums))


# --- statistics -----------------------------------------------------------------------


@given(
    st.lists(
        st.lists(
            st.sampled_from([0.5, 0.6, 0.7, 0.9, math.nan]), min_size=4, max_size=4
        ),
        min_size=1,
        max_size=5,
    )
)
def test_ranks_equal_the_naive_ones(tables, scores):
    assert tables.summary.ranks(scores).tolist() == [naive_ranks(row) for row in scores]


def test_friedman_equals_the_formula(tables):
    scores = np.random.default_rng(0).random((9, 5))
    frame = pd.DataFrame(scores, columns=list("abcde"))
    found = tables.summary.rank_test(frame)
    assert found.statistic == pytest.approx(naive_friedman(scores.tolist()))
    means = tables.summary.mean_ranks(frame)
    assert list(means.values()) == sorted(means.values())
    expected = np.mean([naive_ranks(row) for row in scores], axis=0)
    assert means == pytest.approx(dict(zip("abcde", expected, strict=True)))


@pytest.mark.parametrize(
    "k, q", [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)]
)  # Demšar (2006), table 5
def test_critical_difference_is_the_published_one(tables, k, q):
    n = 14
    frame = pd.DataFrame(np.random.default_rng(0).random((n, k))).rename(columns=str)
    expected = q * math.sqrt(k * (k + 1) / (6 * n))
    assert tables.summary.rank_test(frame).cd == pytest.approx(expected, abs=1e-3)


def test_comparison_equals_slow_tests(tables):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.random((8, 4)), columns=["cofire", "a", "b", "c"])
    found = tables.summary.compare(frame)
    slow = [naive_wilcoxon(list(frame["cofire"] - frame[m])) for m in "abc"]
    assert [line["p"] for line in found] == pytest.approx(slow)
    assert [line["holm"] for line in found] == pytest.approx(naive_holm(slow))


def test_comparison_counts_wins_and_leaves_out_what_was_not_finished(tables):
    nan = float("nan")
    frame = pd.DataFrame(
        {"cofire": [0.9, 0.8, nan, 0.7, 0.5], "a": [0.8, 0.8005, 0.5, nan, 0.6]}
    )
    (line,) = tables.summary.compare(frame)
    assert (line["wins"], line["ties"], line["losses"]) == (2, 1, 2)
    assert line["n"] == 3 and line["ours"] == pytest.approx((0.9 + 0.8 + 0.5) / 3)


def test_time_ratio_is_a_geometric_mean_over_pairs_on_one_machine(tables):
    def fits(model, seconds, machine="one", status="ok"):
        return [
            {"table": i, "repeat": 0, "fold": 0, "model": model, "status": status}
            | {"cpu_seconds": s, "machine": machine}
            for i, s in enumerate(seconds)
        ]

    rows = pd.DataFrame(
        fits("a", [1.0, 8.0, 5.0])
        + fits("b", [2.0, 1.0])
        + fits("b", [9.0, 9.0, 9.0], machine="another")
        + fits("c", [9.0, 9.0], status="too slow")
    )
    assert tables.summary.time_ratio(rows, "a", "b") == pytest.approx(2.0)
    assert tables.summary.time_ratio(rows, "a", "a") == pytest.approx(1.0)
    assert tables.summary.time_ratio(rows, "a", "c") is None


# --- a page from a made file ----------------------------------------------------------


def made_rows(tables, scores, half="proving"):
    """scores: table -> (task, rows, features, {model: score or a status})."""
    rows = []
    for table, (task, n, features, of) in scores.items():
        for model, score in of.items():
            for fold in range(2):
                ok = not isinstance(score, str)
                row = dict.fromkeys(tables.run.COLUMNS, "")
                row |= {"table": table, "task": task, "half": half, "rows": n}
                row |= {"features": features, "model": model, "repeat": 0}
                row |= {"fold": fold, "status": "ok" if ok else score}
                if ok:
                    row |= {"score": score + 0.01 * fold, "fit_seconds": 1.0}
                    row |= {"cpu_seconds": 3.0 if model == "cofire" else 1.0}
                row |= {"commit": "abc", "cofire": "0.1", "machine": "a machine"}
                rows.append(row)
    return rows


SCORES = {
    "easy": ("classes", 100, 5, {"cofire": 0.95, "lightgbm": 0.9, "logistic": 0.8}),
    "hard": ("classes", 100, 5, {"cofire": 0.6, "lightgbm": 0.7, "logistic": 0.5}),
    "wide": (
        "classes",
        100,
        3000,
        {"cofire": 0.9, "lightgbm": "too slow", "logistic": 0.85},
    ),
    "slope": ("numbers", 100, 5, {"cofire": 0.5, "lightgbm": 0.55, "logistic": -3.0}),
}


def write(tables, path, rows):
    pd.DataFrame(rows, columns=tables.run.COLUMNS).to_csv(path, index=False)
    return str(path)


def test_the_error_of_a_difference_is_over_folds_that_both_finished(tables):
    made = {"a": ("classes", 100, 5, {"cofire": 0.5, "lightgbm": 0.7, "mlp": "slow"})}
    rows = pd.DataFrame(made_rows(tables, made))
    theirs = rows["model"] == "lightgbm"
    rows.loc[theirs & (rows["fold"] == 1), "score"] += 0.1
    only_theirs = rows[theirs].iloc[:1].assign(fold=2)
    rows = pd.concat([rows, only_theirs], ignore_index=True)
    found = tables.summary.error_of_difference(rows, "a", "lightgbm")
    assert found == pytest.approx(0.05)  # differences 0.2 and 0.3
    assert math.isnan(tables.summary.error_of_difference(rows, "a", "mlp"))


def test_a_table_counts_when_all_models_were_tried_on_all_its_folds(tables, tmp_path):
    half = {"a": ("classes", 100, 5, {"cofire": 0.5, "lightgbm": 0.7})}
    half["b"] = half["a"]
    path = write(tables, tmp_path / "rows.csv", made_rows(tables, half))
    rows = tables.summary.read([path])
    assert tables.summary.half_of(rows, "proving").left_out == []
    begun = (rows["table"] == "b") & (rows["model"] == "lightgbm") & (rows["fold"] == 1)
    assert tables.summary.half_of(rows[~begun], "proving").left_out == ["b"]
    never = (rows["table"] == "a") & (rows["model"] == "cofire")
    assert tables.summary.half_of(rows[~never], "proving").left_out == ["a"]


def test_a_report_of_a_made_file(tables, tmp_path):
    rows = made_rows(tables, SCORES)
    rows += made_rows(
        tables, {"easy": ("classes", 100, 5, {"tabpfn": "not available: weights"})}
    )
    path = write(tables, tmp_path / "rows.csv", rows)
    tables.report.main([path, "--to", str(tmp_path / "page")])
    page = (tmp_path / "page" / "README.md").read_text(encoding="utf-8")
    for name in ("ranks.png", "time.png"):
        assert (tmp_path / "page" / name).read_bytes().startswith(b"\x89PNG")

    titles = [line for line in page.splitlines() if line.startswith("## ")]
    assert titles[0] == "## Tables where cofire is not first"
    lost = page.split("## Goals")[0]
    assert "| hard | 100 | 5 | 60.5 | LightGBM | 70.5 | 10.0 | 0.0 | 2 |" in lost
    assert "| slope | 100 | 5 | 0.505 | LightGBM | 0.555 | 0.050 | 0.000 | 2 |" in lost
    assert "| easy |" not in lost and "| wide |" not in lost
    assert lost.index("| hard |") < lost.index("| slope |")
    # ranks of classes: cofire 1, 2, 1; LightGBM 2, 1, 3 (too slow: last)
    assert "| **cofire** | 1.33 | 2.00 | 1.50 | 78.0 |" in page
    assert "| LightGBM | 2.00 | 1.00 | 1.75 | 80.5 |" in page
    assert "2 of 3 with classes" in page
    assert "| LightGBM | wide | too slow |" in page
    assert "| TabPFN | all | not available: weights |" in page
    assert "| 3.0 | **reached** |" in page  # goal 6: three times LightGBM's seconds
    assert "1 of 3 tables | **reached**" in page  # goal 2


def test_the_later_row_of_a_job_counts(tables, tmp_path):
    first = {"easy": ("classes", 100, 5, {"cofire": 0.1, "knn": 0.5})}
    second = {"easy": ("classes", 100, 5, {"cofire": 0.9})}
    a = write(tables, tmp_path / "a.csv", made_rows(tables, first))
    b = write(tables, tmp_path / "b.csv", made_rows(tables, second))
    half = tables.summary.half_of(tables.summary.read([a, b]), "proving")
    assert half.scores.loc["easy"].to_dict() == pytest.approx(
        {"cofire": 0.905, "knn": 0.505}
    )


def test_variants_of_ours_are_not_ranked_and_untried_tables_are_left_out(
    tables, tmp_path
):
    scores = {
        "easy": ("classes", 9, 5, {"cofire": 0.9, "knn": 0.5, "cofire_wide": 0.99}),
        "late": ("classes", 9, 5, {"cofire": 0.9}),
    }
    path = write(tables, tmp_path / "a.csv", made_rows(tables, scores))
    half = tables.summary.half_of(tables.summary.read([path]), "proving")
    assert half.models == ["cofire", "knn"]
    assert half.left_out == ["late"] and list(half.scores.index) == ["easy"]


def test_with_both_halves_the_page_is_about_the_proving_one(tables, tmp_path):
    rows = made_rows(tables, SCORES) + made_rows(tables, SCORES, half="choosing")
    for row in rows[len(rows) // 2 :]:
        row["table"] += "_2"
    path = write(tables, tmp_path / "rows.csv", rows)
    tables.report.main([path, "--to", str(tmp_path)])
    assert "proving half" in (tmp_path / "README.md").read_text(encoding="utf-8")
    other = (tmp_path / "choosing.md").read_text(encoding="utf-8")
    assert "hard_2" in other and "no proof" in other
    assert (tmp_path / "choosing-ranks.png").exists()


def test_a_report_without_ours_is_refused(tables, tmp_path):
    scores = {"easy": ("classes", 9, 5, {"knn": 0.9, "mlp": 0.5})}
    path = write(tables, tmp_path / "rows.csv", made_rows(tables, scores))
    with pytest.raises(SystemExit, match="needs cofire"):
        tables.report.main([path, "--to", str(tmp_path)])


@pytest.mark.parametrize("gap, reached", [(-0.004, True), (-0.006, False)])
def test_goal_of_distortions(tables, tmp_path, gap, reached):
    rows = []
    for change, score in (("plain", 0.9), ("scale", 0.9 + gap), ("outliers", 0.1)):
        of = made_rows(tables, {"easy": ("classes", 9, 5, {"cofire": score})})
        rows += [row | {"change": change} for row in of]
    path = write(tables, tmp_path / "rows.csv", rows)
    found = tables.goals.distorted(tables.summary.read([path]))
    assert found.reached is reached


@pytest.mark.parametrize("ours, reached", [(0.795, True), (0.785, False)])
def test_goal_of_words(tables, tmp_path, ours, reached):
    scores = {
        name: ("classes", 9, 5, {"cofire": ours, "logistic": 0.8})
        for name in ("pcmac", "basehock")
    }
    path = write(tables, tmp_path / "rows.csv", made_rows(tables, scores, "choosing"))
    assert tables.goals.words(tables.summary.read([path])).reached is reached


# --- the figure -----------------------------------------------------------------------


def test_names_of_models_that_lie_close_do_not_overlap(tables):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    names = ("cofire", "extra_trees", "random_forest", "tabm_d", "mlp", "xgboost")
    points = {name: (2 + 0.2 * i, 5 + 0.1 * i) for i, name in enumerate(names)}
    with tables.report.our_look():
        figure = Figure(figsize=(7.0, 4.2), layout="constrained")
        axis = figure.subplots()
        axis.set(xscale="log", xlim=(0.02, 40), ylim=(12, 2))
        tables.report.name_points(axis, points)
        figure.draw_without_rendering()
        # Of the words alone: that of an annotation has its line, too.
        boxes = [Text.get_window_extent(text).extents for text in axis.texts]
    assert len(boxes) == len(names)
    for one, other in itertools.combinations(boxes, 2):
        assert not tables.report.overlap(one, other)
