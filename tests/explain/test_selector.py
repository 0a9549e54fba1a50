"""SparseFeatureSelector: known truth, shadows, every kind of X, scikit-learn."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import make_regression
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from cofire import SparseFeatureSelector, SparseMLPClassifier, SparseMLPRegressor
from cofire.explain import elimination, selector
from cofire.explain.columns import Columns

SMALL = SparseMLPClassifier((20,), max_iter=10, n_networks=1)
QUICK = SparseMLPClassifier((60,), max_iter=25, n_networks=1)


def together(seed, n_rows=400, n_noise=200):
    """Features 0 and 1 matter alone, 2 and 3 only together; the others are noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 4 + n_noise))
    y = (X[:, 0] + X[:, 1] + 2 * X[:, 2] * X[:, 3] > 0) * 1
    return X, y


def test_finds_features_that_matter_only_together():
    X, y = together(0, n_noise=160)
    found = SparseFeatureSelector(QUICK, n_features_to_select=4, random_state=0)
    found.fit(X, y)
    assert found.get_support(indices=True).tolist() == [0, 1, 2, 3]
    assert sorted(found.ranking_[:4]) == [1, 2, 3, 4]
    assert (found.stability_[:4] > 0.7).all()
    assert found.importances_.sum() == pytest.approx(1)
    assert {0, 1} <= set(np.argsort(-found.importances_)[:4])


def test_all_that_beat_chance(monkeypatch):
    monkeypatch.setattr(selector, "SHADOWS", 150)
    random = np.random.default_rng(1)
    X = random.normal(size=(400, 50))
    y = (X[:, :5].sum(axis=1) + 0.3 * random.normal(size=400) > 0) * 1
    found = SparseFeatureSelector(QUICK, random_state=0).fit(X, y)
    assert set(range(5)) <= set(found.get_support(indices=True).tolist())
    assert found.n_features_ <= 7
    assert found.estimated_false_discoveries_ <= 0.1


def test_noise_alone_is_not_selected(monkeypatch):
    monkeypatch.setattr(selector, "SHADOWS", 150)
    random = np.random.default_rng(2)
    X, y = random.normal(size=(200, 50)), random.integers(0, 2, 200)
    with pytest.warns(UserWarning, match="no feature was selected: none beats chance"):
        found = SparseFeatureSelector(QUICK, random_state=0).fit(X, y)
    assert found.n_features_ == 0


def test_threshold_and_numbers():
    X, y = make_regression(300, 12, n_informative=3, shuffle=False, random_state=0)
    found = SparseFeatureSelector(threshold=0.1, random_state=0).fit(X, y)
    assert set(found.get_support(indices=True)) <= {0, 1, 2}
    assert sorted(found.ranking_[:3]) == [1, 2, 3]
    np.testing.assert_array_equal(found.support_, found.importances_ >= 0.1)


def test_a_frame_with_categories_gaps_and_names():
    random = np.random.default_rng(3)
    n = 300
    X = pd.DataFrame(
        {f"noise {i}": random.normal(size=n) for i in range(6)}
        | {"colour": random.choice(["red", "green", "blue"], n)}
    )
    X["size"] = random.normal(size=n)
    X.loc[::9, "size"] = np.nan
    y = np.where((X["colour"] == "red") ^ (X["size"] > 0), "yes", "no")
    found = SparseFeatureSelector(QUICK, n_features_to_select=2, random_state=0)
    found.set_output(transform="pandas").fit(X, y)
    assert found.get_feature_names_out().tolist() == ["colour", "size"]
    assert found.transform(X).columns.tolist() == ["colour", "size"]


def test_sparse_rows_stay_sparse():
    random = np.random.default_rng(4)
    X = scipy.sparse.random_array((300, 80), density=0.2, rng=random, format="csr")
    y = (X[:, [7]].toarray().ravel() > 0) * 1
    found = SparseFeatureSelector(SMALL, n_features_to_select=1, random_state=0)
    found.fit(X, y)
    assert found.get_support(indices=True).tolist() == [7]
    assert scipy.sparse.issparse(found.transform(X))


def test_same_seed_same_result_for_any_number_of_threads():
    X, y = together(5, 120, 30)
    one, two = (
        SparseFeatureSelector(SMALL, n_features_to_select=4, n_jobs=n, random_state=3)
        for n in (1, 2)
    )
    one.fit(X, y), two.fit(X, y)
    np.testing.assert_array_equal(one.ranking_, two.ranking_)
    np.testing.assert_array_equal(one.importances_, two.importances_)
    assert SMALL.n_jobs is None  # the user's estimator is left as it was


def test_many_rows_are_sampled(monkeypatch):
    monkeypatch.setattr(selector, "MOST_ROWS", 90)
    seen = []

    class Watched(elimination.Elimination):
        def rank(self, n_last):
            seen.append(len(self.y))
            return super().rank(n_last)

    monkeypatch.setattr(selector, "Elimination", Watched)
    X, y = together(6, 300, 6)
    SparseFeatureSelector(SMALL, n_features_to_select=2, random_state=0).fit(X, y)
    assert seen == [90]


def test_works_in_a_pipeline():
    X, y = together(7, 200, 20)
    pipeline = make_pipeline(
        SparseFeatureSelector(SMALL, n_features_to_select=3, random_state=0),
        SparseMLPClassifier((20,), epsilon=1, max_iter=5, random_state=0),
    )
    assert pipeline.fit(X, y).predict(X).shape == (200,)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_features_to_select": 9}, "n_features_to_select=9.*X has 6.*smaller"),
        ({"n_features_to_select": 2, "threshold": 0.1}, "both given.*one of them"),
        ({"false_discoveries": 0}, "false_discoveries"),
        ({"estimator": RandomForestClassifier()}, "estimator.*RandomForestClassifier"),
    ],
)
def test_bad_settings_are_named(settings, words):
    X, y = together(8, 40, 2)
    with pytest.raises((ValueError, TypeError), match=f"(?s){words}"):
        SparseFeatureSelector(**settings).fit(X, y)


def test_y_must_suit_the_estimator():
    X, y = together(0, n_rows=40, n_noise=2)
    with pytest.raises(ValueError, match="give a SparseMLPRegressor"):
        SparseFeatureSelector(SMALL).fit(X, X[:, 0])
    numbers = SparseMLPRegressor((20,), max_iter=10)
    with pytest.raises(ValueError, match="y holds words.*give a SparseMLPClassifier"):
        SparseFeatureSelector(numbers).fit(X, np.where(y, "yes", "no"))


def test_constant_columns_do_not_beat_chance():
    X, y = together(0, n_rows=200, n_noise=4)
    X[:, 4:] = 3.0
    found = SparseFeatureSelector(QUICK, random_state=0).fit(X, y)
    selected = set(found.get_support(indices=True).tolist())
    assert {0, 1} <= selected <= {0, 1, 2, 3}
    with pytest.warns(UserWarning, match="no feature was selected"):
        found = SparseFeatureSelector(SMALL).fit(np.ones((40, 3)), y[:40])
    assert found.n_features_ == 0


def test_too_few_to_be_told_from_chance_are_named(monkeypatch):
    monkeypatch.setattr(selector, "SHADOWS", 1)
    X, y = together(0, n_noise=20)
    found = SparseFeatureSelector(QUICK, random_state=0)
    with pytest.warns(UserWarning, match="fewer than 10 do.*n_features_to_select"):
        found.fit(X, y)
    assert found.n_features_ == 0
    found.set_params(false_discoveries=0.25).fit(X, y)
    assert set(range(4)) <= set(found.get_support(indices=True).tolist())


def test_a_pipeline_that_loses_its_frame_is_told_how_to_keep_it():
    X = pd.DataFrame({"a": np.arange(40.0), "b": ["x", "y"] * 20})
    y = np.arange(40) % 2
    select = SparseFeatureSelector(SMALL, n_features_to_select=2, random_state=0)
    with pytest.raises(ValueError, match="set_output"):
        make_pipeline(select, clone(SMALL)).fit(X, y)
    select.set_output(transform="pandas")
    assert make_pipeline(select, clone(SMALL)).fit(X, y).score(X, y) > 0.9


def test_verbose_tells_each_round(capsys):
    X, y = together(9, 60, 4)
    found = SparseFeatureSelector(SMALL, n_features_to_select=2, verbose=True)
    found.fit(X, y)
    assert "8 columns, 6 stay" in capsys.readouterr().out


# ---- shadows -------------------------------------------------------------------------


def test_shadows_are_permuted_as_a_whole():
    X = np.arange(12.0).reshape(4, 3)
    columns = Columns(X, (np.array([2, 0, 3, 1]),))
    taken = columns.take(np.array([0, 2, 4, 5]))
    np.testing.assert_array_equal(taken[:, :2], X[:, [0, 2]])
    np.testing.assert_array_equal(taken[:, 2:], X[[2, 0, 3, 1]][:, [1, 2]])
    assert columns.is_shadow(np.array([2, 3])).tolist() == [False, True]
    frame = Columns(pd.DataFrame(X, columns=list("abc")), columns.orders)
    np.testing.assert_array_equal(frame.take(np.array([0, 2, 4, 5])), taken)
    sparse = Columns(scipy.sparse.csr_array(X), columns.orders)
    np.testing.assert_array_equal(sparse.take(np.array([0, 2, 4, 5])).toarray(), taken)


@pytest.mark.parametrize("seed", range(20))
def test_the_longest_list_within_the_rate_is_taken(seed):
    random = np.random.default_rng(seed)
    shadow = random.random(60) < np.linspace(0, 1, 60)
    n_shadows, rate = int(random.integers(1, 5)), 0.2
    best = 0, 0.0
    for end in range(1, 61):
        real = int((~shadow[:end]).sum())
        estimate = (1 + shadow[:end].sum()) / n_shadows / max(real, 1)
        if real and estimate <= rate:
            best = real, float(estimate)
    assert selector._beat_chance(shadow, n_shadows, rate) == pytest.approx(best)


@parametrize_with_checks(
    [SparseFeatureSelector(clone(SMALL), n_features_to_select=1, n_folds=2)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
