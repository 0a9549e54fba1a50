"""The default recipe: what is chosen for parameters that are None, and what is not."""

from dataclasses import fields

import numpy as np
import pytest

import cofire
from cofire import SparseMLPClassifier, SparseMLPRegressor
from cofire.estimators.plan import check_parameters, make_plan
from cofire.estimators.recipe import Recipe, choose, choose_epsilon
from helpers.estimator_cases import ESTIMATORS, classes, data_for, same_training

CHOSEN = {field.name for field in fields(Recipe)} - {"steps_per_epoch"}


def recipe(of, n_rows, partial=False, **how):
    numeric = of is SparseMLPRegressor
    n_pieces = how.get("n_pieces", 0)  # that the encoder found
    return choose(
        of(**how), n_rows, n_pieces=n_pieces, numeric=numeric, partial=partial
    )


def plan(of, n_rows, partial=False, **how):
    model = of(**how)
    return make_plan(
        model,
        check_parameters(model),
        n_rows,
        numeric=of is SparseMLPRegressor,
        partial=partial,
    )


def test_wide_tables_of_few_rows_have_a_smaller_epsilon():
    rng = np.random.default_rng(0)
    for of in ESTIMATORS:
        for n_inputs, epsilon in ((5000, 3.0), (6000, 2.5), (20_000, 1.0)):
            model = of((5,), method="static", max_iter=1, n_networks=1)
            model.fit(rng.random((8, n_inputs)), np.arange(8) % 2)
            assert model.chosen_parameters_["epsilon"] == epsilon
            assert model.network_.layers[0].nnz == int(epsilon * (n_inputs + 5))


def test_many_rows_need_connections_however_wide_they_are():
    assert choose_epsilon(8000, 50_000) == choose_epsilon(8000, 10) == 10


# ---- by the number of rows -----------------------------------------------------------


@pytest.mark.parametrize(
    ("n_rows", "n_epochs", "per_epoch", "epsilon", "alpha"),
    [
        (1, 20, 100, 3.0, 0.01),
        (64, 20, 100, 3.0, 0.01),
        (1000, 20, 100, 3.0, 0.005),
        (8000, 20, 100, 10.0, 0.000625),  # 15 passes would be 1875 steps
        (20_000, 47, 100, 25.0, 0.00025),  # 4695 steps are 15 passes
        (100_000, 50, 469, 25.0, 0.0002),  # 23,445 steps
        (1_000_000, 50, 4688, 25.0, 0.0002),
    ],
)
def test_known_answers(n_rows, n_epochs, per_epoch, epsilon, alpha):
    for of in ESTIMATORS:
        found = recipe(of, n_rows)
        numeric = of is SparseMLPRegressor
        assert found == Recipe(
            epsilon=epsilon,
            update_interval=per_epoch,
            drop_schedule="cosine",
            learning_rate="cosine",
            learning_rate_init=0.003 if numeric else 0.15,
            batch_size=64,
            alpha=pytest.approx(alpha) if numeric else 0.0005,
            input_dropout=0.05 if numeric else 0.1,
            max_iter=n_epochs,
            n_iter_no_change=10,
            n_pieces=0,
            steps_per_epoch=per_epoch,
        )


@pytest.mark.parametrize("of", ESTIMATORS)
def test_more_rows_get_more_steps_and_connections_and_a_smaller_penalty(of):
    found = [recipe(of, n) for n in np.unique(np.geomspace(1, 10**8, 200).astype(int))]
    for one, more in zip(found[:-1], found[1:], strict=True):
        assert one.epsilon <= more.epsilon
        assert one.alpha >= more.alpha
        assert one.steps_per_epoch <= more.steps_per_epoch
        steps = [r.steps_per_epoch * r.max_iter for r in (one, more)]
        # An epoch more or less is rounding.
        assert steps[0] <= steps[1] + more.steps_per_epoch


@pytest.mark.parametrize("batch_size", [None, 1, 100, 10**6])
@pytest.mark.parametrize("n_rows", [1, 5, 63, 64, 65, 8533, 8534, 10**6])
def test_every_fit_has_2000_steps_and_15_passes(n_rows, batch_size):
    found = recipe(SparseMLPClassifier, n_rows, batch_size=batch_size)
    steps = found.steps_per_epoch * found.max_iter
    size = min(found.batch_size, n_rows)
    assert steps >= 2000 and steps * size >= 15 * n_rows
    fewer = steps - found.steps_per_epoch
    assert fewer < 2000 or fewer < 15 * -(-n_rows // size)  # and hardly more
    assert 20 <= found.max_iter <= 50
    assert found.steps_per_epoch >= 100


def test_rows_of_weight_zero_are_not_counted():
    X, y = classes(n=8000)
    weight = np.arange(8000) % 2
    how = {"hidden_layer_sizes": (400,), "n_networks": 1, "max_iter": 1}
    model = SparseMLPClassifier(random_state=0, **how)
    assert model.fit(X, y).chosen_parameters_["epsilon"] == 10.0
    model.fit(X, y, sample_weight=weight)
    assert model.chosen_parameters_["epsilon"] == 5.0


# ---- what a user gives ---------------------------------------------------------------

GIVEN = {
    "epsilon": 1.25,
    "update_interval": 7,
    "drop_schedule": "constant",
    "learning_rate": {3: 0.5},
    "learning_rate_init": 0.0625,
    "batch_size": 10,
    "alpha": 0.0,
    "input_dropout": 0.0,
    "max_iter": 12,
    "n_iter_no_change": 3,
    "n_pieces": 5,
}


def test_all_that_may_be_none_is_in_the_tests():
    assert GIVEN.keys() == CHOSEN
    for of in ESTIMATORS:
        none = {name for name, value in of().get_params().items() if value is None}
        others = {"density", "method_options", "augmentation", "class_weight"}
        others |= {"random_state", "n_jobs", "checkpoint"}
        assert none - others == CHOSEN


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_what_is_given_wins(of, name, partial):
    found = recipe(of, 500, partial, **{name: GIVEN[name]})
    assert getattr(found, name) == GIVEN[name]
    usual = recipe(of, 500, partial)
    follow = {"learning_rate": {"learning_rate_init"}, "batch_size": set()}
    follow |= {"max_iter": {"n_iter_no_change", "update_interval", "steps_per_epoch"}}
    for field in fields(Recipe):
        if field.name != name and field.name not in follow.get(name, ()):
            assert getattr(found, field.name) == getattr(usual, field.name)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_nothing_is_chosen_where_all_is_given(of):
    assert recipe(of, 500, **GIVEN).chosen == recipe(of, 10**6, **GIVEN).chosen == GIVEN


@pytest.mark.parametrize("solver", ["sgd", "adam"])
def test_a_constant_rate_is_a_third(solver):
    usual = {"sgd": 0.15, "adam": 0.003}[solver]
    for schedule, expected in [
        ("constant", usual / 3),
        ("cosine", usual),
        ("adaptive", usual),
        ({5: 0.1}, usual),
        (None, usual),
    ]:
        found = recipe(SparseMLPClassifier, 99, solver=solver, learning_rate=schedule)
        assert found.learning_rate_init == expected


# ---- epochs --------------------------------------------------------------------------


@pytest.mark.parametrize("of", ESTIMATORS)
def test_without_max_iter_a_fit_has_its_steps(of):
    X, y = data_for(of)
    model = of((5,), n_networks=1, random_state=0).fit(X, y)
    assert model._progress.optimizer.steps_done == 2000
    assert model.n_iter_ == len(model.history_) == 20
    rewired = [any(record["replaced"]) for record in model.history_]
    assert not rewired[0] and not any(rewired[15:])  # update_stop is 0.75
    assert any(rewired[1:15])
    rates = [record["learning_rate"] for record in model.history_]
    initial = model.chosen_parameters_["learning_rate_init"]
    expected = initial * (1 + np.cos(np.pi * np.arange(20) / 20)) / 2
    assert rates == pytest.approx(expected)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_max_iter_means_passes(of):
    X, y = data_for(of)  # 150 rows: three steps of 64 or fewer
    model = of((5,), n_networks=1, max_iter=7, random_state=0).fit(X, y)
    assert model._progress.optimizer.steps_done == 7 * 3
    assert model.n_iter_ == 7
    found = recipe(of, 150, max_iter=7)
    assert found.steps_per_epoch is None and found.n_iter_no_change == 40


@pytest.mark.parametrize(
    ("n_rows", "interval"), [(150, 100), (19_200, 100), (64_000, 334)]
)
def test_passes_have_three_updates_at_most(n_rows, interval):
    for partial in (False, True):
        found = recipe(SparseMLPClassifier, n_rows, partial, max_iter=7)
        assert found.update_interval == interval
        settings = plan(SparseMLPClassifier, n_rows, partial, max_iter=7).settings
        assert settings.update_interval == interval
        assert settings.steps_per_epoch is None


def test_updates_per_epoch_are_not_cut():
    def settings(**how):
        return plan(SparseMLPClassifier, 500, **how).settings

    assert settings().update_interval is None  # as many steps as an epoch has
    assert settings(update_interval=100).update_interval is None
    assert settings(update_interval=99).update_interval == 99
    assert settings(update_interval="epoch").update_interval is None
    assert settings(update_interval="epoch", max_iter=3).update_interval is None
    assert settings(max_iter=3).update_interval == 100


@pytest.mark.parametrize(("max_iter", "patience"), [(None, 10), (300, 40)])
def test_early_stopping_waits_for_epochs_of_the_recipe(max_iter, patience):
    found = plan(SparseMLPClassifier, 500, max_iter=max_iter, early_stopping=True)
    assert found.patience == patience
    given = plan(SparseMLPClassifier, 500, max_iter=max_iter, n_iter_no_change=6)
    assert given.patience == 6


# ---- partial_fit ---------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [1, 150, 10**6])
@pytest.mark.parametrize("of", ESTIMATORS)
def test_partial_fit_does_not_know_how_long_it_will_be(of, n_rows):
    found = recipe(of, n_rows, partial=True)
    assert found.learning_rate == found.drop_schedule == "constant"
    usual = 0.003 if of is SparseMLPRegressor else 0.15
    assert found.learning_rate_init == usual / 3
    assert found.alpha == 0.0005
    assert found.steps_per_epoch is None
    assert plan(of, n_rows, partial=True).settings.update_stop == 1.0
    assert plan(of, n_rows, partial=True, max_iter=9).settings.update_stop == 0.75


@pytest.mark.parametrize(
    "how",
    [
        {"learning_rate": "constant", "update_stop": 1.0},
        {"learning_rate": "constant"},
        {"learning_rate": "cosine"},
    ],
    ids=str,
)
@pytest.mark.parametrize("n", [40, 150])
@pytest.mark.parametrize("of", ESTIMATORS)
def test_k_calls_are_a_fit_of_k_epochs_if_the_schedules_are_given(of, n, how):
    X, y = data_for(of, n=n)
    how = {"max_iter": 5, "drop_schedule": "constant", "alpha": 1e-4} | how
    how |= {"hidden_layer_sizes": (9,), "n_networks": 2, "update_interval": 2}
    step = of(random_state=0, **how)
    for _ in range(5):
        step.partial_fit(X, y)
    whole = of(random_state=0, **how).fit(X, y)
    assert same_training(step, whole)
    assert any(sum(record["replaced"]) for record in whole.history_)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_k_calls_need_no_max_iter_if_nothing_falls(of):
    X, y = data_for(of)
    constant = {"learning_rate": "constant", "drop_schedule": "constant"}
    how = {"hidden_layer_sizes": (9,), "update_interval": 4, "alpha": 1e-4} | constant
    step = of(random_state=0, **how)
    for _ in range(6):
        step.partial_fit(X, y)
    whole = of(random_state=0, max_iter=6, update_stop=1.0, **how).fit(X, y)
    assert same_training(step, whole)
    assert sum(whole.history_[-1]["replaced"]) > 0


def test_partial_fit_trains_at_a_constant_rate_and_keeps_rewiring():
    X, y = classes(n=700)
    model = SparseMLPClassifier((9,), n_networks=1, update_interval=5, random_state=0)
    for _ in range(30):
        model.partial_fit(X, y)
    assert {record["learning_rate"] for record in model.history_} == {0.15 / 3}
    assert all(sum(record["replaced"]) for record in model.history_[1:])


# ---- what a model says ---------------------------------------------------------------


def test_a_model_says_what_was_chosen_and_a_file_keeps_it(tmp_path):
    X, y = classes()
    model = SparseMLPClassifier((5,), n_networks=1, max_iter=2, learning_rate={1: 0.5})
    model.fit(X, y)
    chosen = model.chosen_parameters_
    given = {"max_iter": 2, "learning_rate": {1: 0.5}, "n_pieces": 4}
    assert chosen == recipe(SparseMLPClassifier, 150, **given).chosen
    assert chosen.keys() == CHOSEN and None not in chosen.values()
    model.save(tmp_path / "model")
    assert cofire.load(tmp_path / "model").chosen_parameters_ == chosen
    chosen.clear()
    assert model.chosen_parameters_.keys() == CHOSEN  # a copy was given
    assert model.epsilon is None and model.max_iter == 2  # parameters stay
