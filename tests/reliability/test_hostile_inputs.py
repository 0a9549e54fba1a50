"""Hostile inputs: every kind to every method that takes it.

The answer to a hostile form of some values is the answer to their plain form, to the
bit, or an error that names the argument; after an error all is as it was before.
"""

import copy
import re
import threading
import time
import tracemalloc
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import cofire
import input_cases as inputs
import target_cases as targets
from cofire import SparseMLPClassifier, SparseMLPRegressor
from cofire.callbacks import Monitor
from cofire.errors import DivergenceError
from estimator_cases import ESTIMATORS, network_bits, small
from figures import report
from input_cases import WHOLE, N

Y = {SparseMLPClassifier: targets.LABELS, SparseMLPRegressor: targets.NUMBERS}


def new(of, **how):
    return small(of, **{"max_iter": 2, "n_jobs": 1} | how)


@dataclass
class Given:
    """What a method is given: one argument hostile, or all of them plain."""

    of: type
    fitted: Any
    X: Any
    y: Any
    weight: Any = None
    labels: Any = None

    def plain(self):
        """X and y to learn from where the others are for validation."""
        y = Y[self.of] if self.labels is None else self.labels
        return WHOLE[:, : self.fitted.n_features_in_], y


def going_on(given):
    return copy.deepcopy(given.fitted)


def saved(given, model):
    """The same model after a round trip through a file."""
    model.fit(given.X, given.y, given.weight).save("model.cofire")
    return cofire.load("model.cofire")


def monitored(given):
    monitor = Monitor(given.X, given.y, given.weight)
    X, y = given.plain()
    new(given.of, callbacks=[monitor]).fit(X, y)
    return [np.array([monitor.scores, monitor.losses])]


def validated(given):
    X, y = given.plain()
    weight = given.weight
    data = {"X_val": given.X, "y_val": given.y, "sample_weight_val": weight}
    model = new(given.of).fit(X, y, **data)
    losses = [record["validation_loss"] for record in model.history_]
    return [np.array([model.validation_scores_, losses]), *network_bits(model.network_)]


def trained(model):
    return [*network_bits(model.network_), np.array(model.loss_curve_)]


def fit(given, **how):
    return trained(new(given.of, **how).fit(given.X, given.y, given.weight))


def warm(given):
    model = going_on(given).set_params(warm_start=True)
    return trained(model.fit(given.X, given.y, given.weight))


LEARNING = {
    "fit": fit,
    "fit, early stopping": lambda g: fit(
        g, early_stopping=True, validation_fraction=0.3
    ),
    "fit, method set": lambda g: fit(g, method="set"),
    "fit again, warm start": warm,
    "partial_fit": lambda g: trained(new(g.of).partial_fit(g.X, g.y, g.weight)),
    "partial_fit again": lambda g: trained(
        going_on(g).partial_fit(g.X, g.y, g.weight)
    ),
    "save, load": lambda g: trained(saved(g, new(g.of))),
    "fit, X_val": validated,
    "Monitor": monitored,
}
SCORING = {"score": lambda g: [np.array(g.fitted.score(g.X, g.y, g.weight))]}
ASKING = {
    "predict": lambda g: [g.fitted.predict(g.X)],
    "predict_proba": lambda g: [g.fitted.predict_proba(g.X)],
}


def uses_of(argument, of):
    """The methods that take this argument, by name."""
    uses = LEARNING | SCORING
    if argument == "X":
        uses = uses | ASKING
    if of is SparseMLPRegressor:
        uses = {name: use for name, use in uses.items() if name != "predict_proba"}
    return uses


# ---- what came of it -----------------------------------------------------------------


def outcome(use, given):
    """The arrays that came back, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return use(given)
        except (ValueError, TypeError) as error:
            return error


def state(model):
    """All that a model knows, to the bit."""
    learnt = {
        name: copy.deepcopy(value)
        for name, value in vars(model).items()
        if name.endswith("_") and name not in ("network_", "history_", "receipt_")
    }
    return learnt, network_bits(model.network_.copy()), model.predict(WHOLE)


def same_state(one, two):
    return (
        one[0].keys() == two[0].keys()
        and all(np.array_equal(one[0][name], two[0][name]) for name in one[0])
        and all(map(np.array_equal, one[1], two[1]))
        and np.array_equal(one[2], two[2])
    )


def contents(value):
    """What a user would see of an input, as something that can be compared."""
    if sp.issparse(value):
        value = value.tocoo() if value.format not in ("csr", "csc", "bsr") else value
        parts = ("indptr", "indices", "data", "row", "col")
        return [getattr(value, part).tobytes() for part in parts if hasattr(value, part)]
    if isinstance(value, np.ndarray):
        return repr((value.dtype, value.shape, value.strides, value.tolist()))
    if hasattr(value, "to_dict"):
        return repr(value.to_dict("list") if value.ndim == 2 else value.to_dict())
    return repr(value) if isinstance(value, (list, tuple, dict, set)) else None


# An argument by name, or the words that scikit-learn has for it.
NAMED = re.compile(r"\b(X|y|sample_weight|X_val|y_val|classes|y_true)\b")
SKLEARNS = re.compile(
    r"inconsistent numbers of samples|Unknown label type|[Ss]ample weights|"
    r"Classification metrics can't handle|least populated class"
)


def check_named(error, argument):
    message = str(error)
    assert NAMED.search(message) or SKLEARNS.search(message), message
    assert argument != "sample_weight" or re.search("[Ww]eight", message), message


@pytest.fixture(scope="module", params=ESTIMATORS)
def of(request):
    return request.param


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


counted = Counter()


def check_answered(of, kind, argument, given_of):
    """The hostile form does what the plain one does, in every method."""
    hostile = kind.make(kind.plain.copy())
    before = contents(hostile)
    for name, use in uses_of(argument, of).items():
        expected = outcome(use, given_of(kind.plain))
        found = outcome(use, given_of(hostile))
        where = f"{kind.name}, {name}: {found}"
        assert contents(hostile) == before, where
        counted["error" if isinstance(found, Exception) else "answer"] += 1
        if isinstance(expected, Exception):
            # The values themselves are too much: both are told so.
            assert str(found) == str(expected), where
            if not isinstance(found, DivergenceError):
                check_named(found, argument)
            continue
        assert not isinstance(found, Exception), where
        assert all(np.isfinite(part).all() for part in found if part.dtype.kind == "f")
        equal = np.allclose if name == "score" else np.array_equal  # a mean of others
        assert len(found) == len(expected)
        assert all(map(equal, found, expected)), where


def check_refused(of, kind, plain, argument, given_of, but=()):
    """An error with the argument's name in every method, and nothing has changed."""
    fitted = given_of(plain).fitted
    before = state(fitted)
    for name, use in uses_of(argument, of).items():
        if name in but:
            continue
        hostile = kind.make(plain.copy())
        seen = contents(hostile)
        given = given_of(hostile)
        error = outcome(use, given)
        assert isinstance(error, Exception), f"{kind.name}, {name}: was answered"
        assert not isinstance(error, DivergenceError), f"{kind.name}, {name}: {error}"
        check_named(error, argument)
        assert contents(hostile) == seen, f"{kind.name}, {name}: the input was changed"
        assert same_state(state(fitted), before), f"{kind.name}, {name}"
        counted["error"] += 1
    check_unfitted_stays_unfitted(of, given_of(kind.make(plain.copy())))


def check_unfitted_stays_unfitted(of, given):
    model = new(of)
    before = dict(vars(model))
    for method in (model.fit, model.partial_fit):
        error = outcome(lambda g, do=method: do(g.X, g.y, g.weight), given)
        assert isinstance(error, Exception)
        assert vars(model) == before


# ---- X -------------------------------------------------------------------------------

fitted_models: dict[Any, Any] = {}


def fitted_on(of, n_features):
    if (of, n_features) not in fitted_models:
        model = new(of).fit(WHOLE[:, :n_features], Y[of])
        fitted_models[of, n_features] = model
    return fitted_models[of, n_features]


def by_name(kinds):
    return pytest.mark.parametrize("kind", kinds, ids=lambda kind: kind.name)


@by_name(inputs.ANSWERED_X)
def test_X_in_another_form(of, kind):
    n, n_features = kind.plain.shape
    fitted = fitted_on(of, n_features)
    check_answered(of, kind, "X", lambda X: Given(of, fitted, X, Y[of][:n]))


# Rows that are only asked about may be any number of rows.
ANY_NUMBER = [name for name in ASKING]


@by_name(inputs.REFUSED_X)
def test_X_that_is_no_data(of, kind):
    fitted = fitted_on(of, WHOLE.shape[1])
    but = ANY_NUMBER if "too few" in kind.name or "another shape" in kind.name else ()
    check_refused(of, kind, WHOLE, "X", lambda X: Given(of, fitted, X, Y[of]), but)


# ---- y -------------------------------------------------------------------------------

# One class is too little to learn from; as a part of several it is right.
ONE_CLASS = [
    "fit again, warm start",
    "partial_fit again",
    "fit, X_val",
    "Monitor",
    "score",
]
# What scikit-learn's score makes of it is its own affair.
NOT_OURS = ["score"]


@by_name(targets.ANSWERED_LABELS)
def test_labels_in_another_form(kind):
    of = SparseMLPClassifier

    def given(y):
        fitted = new(of).fit(WHOLE, np.ravel(y) if isinstance(y, np.ndarray) else y)
        return Given(of, fitted, WHOLE, y, labels=y)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a column instead of a row of labels
        check_answered(of, kind, "y", given)


@by_name(targets.REFUSED_LABELS)
def test_labels_that_are_none(kind):
    of, fitted = SparseMLPClassifier, fitted_on(SparseMLPClassifier, WHOLE.shape[1])
    but = ONE_CLASS if kind.name == "one class" else NOT_OURS
    plain = targets.LABELS
    check_refused(of, kind, plain, "y", lambda y: Given(of, fitted, WHOLE, y), but)


@by_name(targets.ANSWERED_NUMBERS)
def test_targets_in_another_form(kind):
    of = SparseMLPRegressor

    def given(y):
        fitted = new(of).fit(WHOLE, np.ravel(y) if isinstance(y, np.ndarray) else y)
        return Given(of, fitted, WHOLE, y, labels=y)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_answered(of, kind, "y", given)


@by_name(targets.REFUSED_NUMBERS)
def test_targets_that_are_none(kind):
    of, fitted = SparseMLPRegressor, fitted_on(SparseMLPRegressor, WHOLE.shape[1])
    plain = targets.NUMBERS
    check_refused(of, kind, plain, "y", lambda y: Given(of, fitted, WHOLE, y), NOT_OURS)


# ---- sample_weight -------------------------------------------------------------------


@by_name(targets.ANSWERED_WEIGHTS)
def test_weights_in_another_form(of, kind):
    fitted = fitted_on(of, WHOLE.shape[1])
    check_answered(
        of, kind, "sample_weight", lambda w: Given(of, fitted, WHOLE, Y[of], w)
    )


@by_name(targets.REFUSED_WEIGHTS)
def test_weights_that_are_none(of, kind):
    fitted, plain = fitted_on(of, WHOLE.shape[1]), targets.WEIGHTS
    given = lambda w: Given(of, fitted, WHOLE, Y[of], w)  # noqa: E731
    check_refused(of, kind, plain, "sample_weight", given, NOT_OURS)
