"""Parameters of the estimators: defaults, seeds, and what they may be."""

import ast
import inspect
import re

import numpy as np
import pytest

from cofire import SparseMLPClassifier, SparseMLPRegressor
from cofire.methods.set import SET
from helpers.estimator_cases import (
    ESTIMATORS,
    METHODS_ALONE,
    classes,
    data_for,
    network_bits,
    same,
    same_training,
    small,
)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_every_default_is_in_the_docstring(of):
    entries = re.findall(r"^    (\w+) : .*default=(.+)$", of.__doc__, re.MULTILINE)
    documented = {name: ast.literal_eval(default) for name, default in entries}
    assert documented == of().get_params()


def test_a_regressor_differs_from_a_classifier_as_its_docstring_says():
    ours, theirs = SparseMLPRegressor().get_params(), SparseMLPClassifier().get_params()
    assert theirs.keys() - ours.keys() == {"class_weight", "label_smoothing"}
    different = {name: value for name, value in ours.items() if value != theirs[name]}
    assert different == {"solver": "adam"}
    for value in different.values():
        assert str(value) in SparseMLPRegressor.__doc__


@pytest.mark.parametrize("of", ESTIMATORS)
def test_every_parameter_but_the_first_is_given_by_name(of):
    kinds = [p.kind for p in inspect.signature(of).parameters.values()]
    assert kinds[0] is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert set(kinds[1:]) == {inspect.Parameter.KEYWORD_ONLY}


def test_the_seed_is_drawn_as_scikit_learn_draws():
    X, y = classes()
    seed = np.random.RandomState(5).randint(2**31)
    assert small(random_state=5).fit(X, y).seed_ == seed
    assert small(random_state=np.random.RandomState(5)).fit(X, y).seed_ == seed
    assert len({small(random_state=None).fit(X, y).seed_ for _ in range(3)}) > 1


@pytest.mark.parametrize("method", METHODS_ALONE)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_the_seed_decides_everything(of, method):
    X, y = data_for(of)
    first, second, other = (
        small(of, method=method, random_state=seed).fit(X, y) for seed in (1, 1, 2)
    )
    assert same_training(first, second)
    assert not same(network_bits(first.network_), network_bits(other.network_))


def test_a_method_may_be_an_object_with_settings():
    X, y = classes()
    named, made = (small(method=m).fit(X, y) for m in ("set", SET()))
    kept = small(method=SET(new_values="zero")).fit(X, y)
    assert same_training(named, made)
    assert not same_training(named, kept)


def test_hidden_layer_sizes_may_be_a_number_or_nothing_at_all():
    X, y = classes()
    assert small(hidden_layer_sizes=9).fit(X, y).network_.sizes == [12, 9, 3]
    sizes = np.array([9, 8])
    assert small(hidden_layer_sizes=sizes).fit(X, y).network_.sizes == [12, 9, 8, 3]
    assert small(hidden_layer_sizes=()).fit(X, y).network_.sizes == [12, 3]


def test_a_last_batch_that_is_not_full_can_be_dropped():
    X, y = classes()  # 150 rows: four batches of 32, and 22 more
    how = {"method": "set", "shuffle": False}
    full = small(**how).fit(X[:128], y[:128])
    dropped = small(last_batch="drop", **how).fit(X, y)
    trained = small(last_batch="train", **how).fit(X, y)
    assert same_training(dropped, full)
    assert trained._progress.optimizer.steps_done == 4 * 5
    assert dropped._progress.optimizer.steps_done == 4 * 4
