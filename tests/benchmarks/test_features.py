"""benchmarks/features: rankings against slow versions, caps, files, the page."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

pd = pytest.importorskip("pandas")

FOLDER = Path(__file__).parents[2] / "benchmarks" / "features"
NAMES = ("common", "rankers", "truth", "downstream", "report")


@pytest.fixture(scope="module")
def features():
    """The modules; other benchmarks have modules of the same names."""
    others = {name: sys.modules.pop(name, None) for name in NAMES}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield SimpleNamespace(**{n: importlib.import_module(n) for n in NAMES})
    for name, other in others.items():
        sys.modules.pop(name, None)
        if other is not None:
            sys.modules[name] = other


@pytest.fixture(scope="module")
def rows():
    """Feature 3 tells the class, the others nothing."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(120, 6)), np.arange(120) % 2
    X[:, 3] += 4 * y
    return X, y


# --- rankings -------------------------------------------------------------------------


# Those of lightgbm, Boruta and skrebate need packages that only the benchmark has.
@pytest.mark.parametrize(
    "name",
    ["cofire", "cofire_weights", "anova", "mutual_information", "random_forest"]
    + ["l1_logistic"],
)
@pytest.mark.filterwarnings("ignore")  # of other packages
def test_a_feature_that_tells_the_class_is_ranked_first(features, rows, name):
    X, y = rows
    order = features.rankers.RANKERS[name](X, y, 0)
    assert order[0] == 3
    assert sorted(order) == list(range(6))


def naive_f(X, y):
    """Variance between the classes through that within, for each feature."""
    scores = []
    for values in X.T:
        groups = [values[y == c] for c in np.unique(y)]
        between = sum(len(g) * (g.mean() - values.mean()) ** 2 for g in groups)
        within = sum(((g - g.mean()) ** 2).sum() for g in groups)
        scores.append(between / within)
    return scores


def naive_correlation(X):
    n = X.shape[1]
    of = [
        [abs(np.corrcoef(X[:, i], X[:, j])[0, 1]) for j in range(n)] for i in range(n)
    ]
    return [np.mean([of[i][j] for j in range(n) if j != i]) for i in range(n)]


def test_filters_rank_as_slow_versions_do(features):
    random = np.random.default_rng(1)
    X = random.normal(size=(50, 8)) @ random.normal(size=(8, 8))
    y = random.integers(3, size=50)
    for given in (X, np.round(X) + 9):
        expected = np.argsort(naive_f(given, y))[::-1]
        np.testing.assert_array_equal(features.rankers.anova(given, y, 0), expected)
        expected = np.argsort(naive_correlation(given))[::-1]
        for form in (given, scipy.sparse.csr_array(given)):
            found = features.rankers.correlation_filter(form, None, 0)
            np.testing.assert_array_equal(found, expected)


def test_l1_breaks_ties_of_features_it_leaves_out_by_anova(features, rows):
    X, y = rows
    X = np.column_stack([X, np.random.default_rng(2).normal(size=(120, 30))])
    X[:, 20] = y + 0.001 * X[:, 20]  # alone it is enough
    order = features.rankers.l1_logistic(X, y, 0)
    assert order[0] == 20
    f = naive_f(X, y)
    rest = [i for i in order[-5:]]
    assert rest == sorted(rest, key=lambda i: -f[i])


# --- the truth ------------------------------------------------------------------------


def test_the_truth_has_traps_that_correlate_with_each_other_only(features):
    X, y, kinds = features.truth.truth(3)
    assert X.shape == (800, 2050)
    assert [int((kinds == kind).sum()) for kind in "irco"] == [15, 2, 50, 1983]
    traps = np.corrcoef(X[:, kinds == "c"].T)
    assert abs(traps[~np.eye(50, dtype=bool)].mean() - 0.64) < 0.05
    with_class = np.corrcoef(X[:, kinds == "c"].T, y)[-1, :-1]
    assert abs(with_class).max() < 0.2
    # Redundant features are sums of the informative ones.
    inside = X[:, kinds == "i"]
    fitted = inside @ np.linalg.lstsq(inside, X[:, kinds == "r"], rcond=None)[0]
    np.testing.assert_allclose(fitted, X[:, kinds == "r"], atol=1e-8)


def test_hits_are_counted_by_kind(features):
    kinds = np.array(list("iirooccc"))
    found = features.truth.counts(np.array([0, 2, 4, 5, 6]), kinds)
    assert found == {
        **{"informative": 1, "redundant": 1, "correlated": 2, "others": 1},
        **{"selected": 5, "of_informative": 2},
    }


# --- files and caps -------------------------------------------------------------------


def spin():
    while True:
        pass


def test_work_has_a_cap_and_says_how_it_ended(features):
    limited = features.common.limited
    status, result, seconds = limited(sum, [1, 2], cap=60)
    assert (status, result) == ("done", 3) and seconds >= 0
    status, result, _ = limited(int, "x", cap=60)
    assert status.startswith("failed: ValueError: invalid literal") and result is None
    assert limited(spin, cap=1) == ("not finished", None, 1.0)


def test_a_run_continues_and_lists_what_is_not_finished(
    features, rows, tmp_path, monkeypatch, capsys
):
    X, y = rows
    calls = []

    def limited(function, X, y, seed, cap):
        calls.append((function, seed))
        if function == "slow":
            return "not finished", None, cap
        return "done", np.array([3, 0, 1, 2, 4, 5]), 0.5

    module = features.downstream
    monkeypatch.setattr(module, "limited", limited)
    monkeypatch.setattr(module, "RANKERS", {"cofire": "good", "boruta": "slow"})
    monkeypatch.setattr(module, "data", lambda name, split: (X, X, y, y))
    out = tmp_path / "rows.csv"
    names = ["--selectors", "cofire", "boruta", "--out", str(out)]
    module.main(["--data", "musk", "--splits", "1", *names])
    assert calls == [("good", 0), ("slow", 0)]
    module.main(["--data", "musk", "madelon", "--splits", "2", *names])
    # Madelon has one split; what was too slow is not tried on another.
    assert calls[2:] == [("good", 0), ("slow", 0), ("good", 1)]
    found = pd.read_csv(out)
    assert (found["status"] == "done").sum() == 3 * 4 * 2
    assert found.query("status == 'done'")["accuracy"].min() > 0.9
    with open(out, "a") as file:
        file.write("khan,1,2")  # an interrupt cut a line short
    assert len(features.common.read(out)) == len(found)


# --- the page -------------------------------------------------------------------------


def made_rows(accuracy, seeds=10, madelon=19, false=1):
    """Rows of both files; accuracy: {(data, selector): value}."""
    end = {"status": "done", "cpu_seconds": 1.0, "commit": "abc", "date": "2026-01-01"}
    down = [
        {"data": data, "split": 0, "selector": s, "k": k, "model": m, "accuracy": a}
        | end
        for (data, s), a in accuracy.items()
        for k in (25, 50, 75, 100)
        for m in ("svm", "knn")
    ]
    counts = {"selected": 20, "redundant": 1, "correlated": 0, "of_informative": 15}
    truth = [
        {"what": what, "data": data, "selector": "cofire", "seed": seed, **counts}
        | {"informative": hits, "others": others}
        | end
        for what, data, hits, others in (
            *(("madelon", "madelon", madelon, 1), ("truth", "truth", 14, 5)),
            ("chance", "truth", 12, false),
        )
        for seed in range(seeds)
    ]
    return down, truth


def page(features, tmp_path, down, truth):
    pd.DataFrame(down).to_csv(tmp_path / "downstream.csv", index=False)
    pd.DataFrame(truth).to_csv(tmp_path / "truth.csv", index=False)
    features.report.main([str(tmp_path)])
    return (tmp_path / "README.md").read_text()


GOOD = {
    **{("khan", "cofire"): 0.9, ("musk", "cofire"): 0.8},
    **{("khan", "anova"): 0.7, ("musk", "anova"): 0.85},
}


def test_the_page_says_first_where_we_lose_and_which_goals_are_reached(
    features, tmp_path, capsys
):
    pytest.importorskip("matplotlib")
    text = page(features, tmp_path, *made_rows(GOOD))
    assert "| musk | 80.0 | ANOVA | 85.0 | 5.0 | 2 |" in text
    assert text.index("not first") < text.index("## Goals") < text.index("## Mean")
    assert "| ANOVA | 2 | 77.5 | 85.0 | 77.5 | 77.5 |" in text
    assert text.count("**reached**") == 5 and "missed |" not in text
    assert (tmp_path / "accuracy.png").stat().st_size > 1000


def test_published_figures_stand_beside_ours(features):
    down, _ = made_rows({("mnist", "cofire"): 0.9, ("khan", "cofire"): 0.5})
    text = features.report.published_part(features.report.scores_of(pd.DataFrame(down)))
    assert "| mnist | 90.0 | 90.0 | 89.2 | 86.9 | 87.9 | 81.8 |" in text
    assert "isolet |" not in text and "khan" not in text


@pytest.mark.parametrize(
    ("change", "missed"),
    [
        ({"seeds": 9}, 4),
        ({"madelon": 18}, 1),
        ({"false": 4}, 1),  # 4 of 20 selected
        ({"accuracy": {**GOOD, ("musk", "anova"): 1.0}}, 1),  # 0.85 on average: equal
    ],
)
def test_a_goal_can_be_missed(features, change, missed):
    down, truth = made_rows(**{"accuracy": GOOD, **change})
    scores = features.report.scores_of(pd.DataFrame(down))
    found = list(features.report.goals(scores, pd.DataFrame(truth)))
    assert sum(not reached for *_, reached in found) == missed


def test_selectors_are_compared_on_the_same_rows(features):
    down, _ = made_rows({("khan", "cofire"): 0.5, ("khan", "anova"): 0.6})
    second, _ = made_rows({("khan", "cofire"): 0.9})  # a rival has not done it yet
    down += [{**row, "split": 1} for row in second]
    lone, _ = made_rows({("musk", "cofire"): 1.0})
    slow = {**lone[0], "selector": "anova", "status": "not finished", "accuracy": None}
    rows = pd.DataFrame([*down, *lone, slow])
    scores = features.report.scores_of(rows)
    assert features.report.splits_of(rows) == "1 split"  # the second does not count
    more = [{**row, "split": 1} for row in lone]
    more = pd.DataFrame([*down, *lone, *more])
    assert features.report.splits_of(more) == "1 to 2 splits"
    found = {line[0]: line[1:4] for line in features.report.compare(scores)}
    assert found["anova"] == pytest.approx((1, 0.5, 0.6))
    assert found["cofire"] == pytest.approx((2, 0.75, 0.75))
