"""How hostile inputs are tried: the methods that take them, and what must come of it.

The answer to a hostile form of some values is the answer to their plain form, to the
bit, or an error that names the argument; after an error all is as it was before.
"""

import copy
import re
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

import cofire
from cofire import SparseMLPClassifier, SparseMLPRegressor
from cofire.callbacks import Monitor
from cofire.errors import DivergenceError
from helpers.estimator_cases import ESTIMATORS, network_bits, small
from helpers.reliability import input_cases as inputs
from helpers.reliability import target_cases as targets
from helpers.reliability.input_cases import WHOLE

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
    "partial_fit again": lambda g: trained(going_on(g).partial_fit(g.X, g.y, g.weight)),
    "save, load": lambda g: trained(saved(g, new(g.of))),
    "fit, X_val": validated,
    "Monitor": monitored,
}
SCORING = {"score": lambda g: [np.array(g.fitted.score(g.X, g.y, g.weight))]}
ASKING = {
    "predict": lambda g: [g.fitted.predict(g.X)],
    "predict_proba": lambda g: [g.fitted.predict_proba(g.X)],
}


# Enough for `make test`: of each sort of method one.
SHORT = ("fit", "partial_fit again", "predict", "fit, X_val")


def uses_of(case, only=None):
    """The methods that take what is hostile in a case, by name."""
    uses = LEARNING | SCORING | (ASKING if case.argument == "X" else {})
    left_out = set(case.but)
    if case.of is SparseMLPRegressor:
        left_out.add("predict_proba")
    names = [name for name in only or uses if name in uses and name not in left_out]
    return {name: uses[name] for name in names}


# ---- what came of it -----------------------------------------------------------------


def outcome(use, given):
    """The arrays that came back, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return use(given)
        except (ValueError, TypeError) as error:
            return error


# Objects, and records with seconds in them.
NOT_COMPARED = ("network_", "networks_", "history_", "histories_", "receipt_")
NOT_COMPARED += ("coefs_", "intercepts_")


def state(model):
    """All that a model knows, to the bit."""
    learnt = {
        name: copy.deepcopy(getattr(model, name))
        for name in dir(model)
        if name.endswith("_") and name[0] != "_" and name not in NOT_COMPARED
        if hasattr(model, name)
    }
    bits = [array for n in model.networks_ for array in network_bits(n.copy())]
    return learnt, bits, model.predict(WHOLE)


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
        return [
            getattr(value, part).tobytes() for part in parts if hasattr(value, part)
        ]
    if isinstance(value, np.ndarray):
        return repr((value.dtype, value.shape, value.strides, value.tolist()))
    if hasattr(value, "to_dict"):
        return repr((list(value.axes), value.to_numpy().tolist()))
    return repr(value) if isinstance(value, (list, tuple, dict, set)) else None


# An argument by name, or the words that scikit-learn has for it.
NAMED = re.compile(
    r"\b(X|y|sample_weight|X_val|y_val|classes|y_true|validation_fraction)\b"
)
SKLEARNS = re.compile(
    r"inconsistent numbers of samples|Unknown label type|[Ss]ample weights|"
    r"Classification metrics can't handle|least populated class"
)


def check_named(error, argument):
    message = str(error)
    assert NAMED.search(message) or SKLEARNS.search(message), message
    assert argument != "sample_weight" or re.search("[Ww]eight", message), message


@dataclass(frozen=True)
class Case:
    """A kind of input for one argument of one estimator, and `but` where it is fine."""

    of: type
    argument: str
    kind: inputs.Kind
    plain: np.ndarray
    answered: bool
    but: tuple = ()

    def __str__(self):
        return f"{self.of.__name__[9:]}, {self.argument}: {self.kind.name}"

    def given(self, value):
        """What the methods get where the argument has this value."""
        if self.argument == "X":
            n, n_features = self.plain.shape
            return Given(self.of, fitted_on(self.of, n_features), value, Y[self.of][:n])
        fitted = fitted_on(self.of, WHOLE.shape[1])
        if self.argument == "sample_weight":
            return Given(self.of, fitted, WHOLE, Y[self.of], value)
        if self.answered:  # a model that knows these labels, or this scale
            flat = np.ravel(value) if isinstance(value, np.ndarray) else value
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a column instead of a row of labels
                fitted = new(self.of).fit(WHOLE, flat)
            return Given(self.of, fitted, WHOLE, value, labels=value)
        return Given(self.of, fitted, WHOLE, value)


fitted_models: dict[Any, Any] = {}


def fitted_on(of, n_features):
    if (of, n_features) not in fitted_models:
        model = new(of).fit(WHOLE[:, :n_features], Y[of])
        fitted_models[of, n_features] = model
    return fitted_models[of, n_features]


def check(case, only=None):
    """Count what every method made of a case: answers and errors, all of them right."""
    return (check_answered if case.answered else check_refused)(case, only)


def check_answered(case, only):
    """The hostile form does what the plain one does, in every method."""
    hostile = case.kind.make(case.plain.copy())
    before, counted = contents(hostile), Counter()
    for name, use in uses_of(case, only).items():
        expected = outcome(use, case.given(case.plain))
        found = outcome(use, case.given(hostile))
        where = f"{case}, {name}: {found}"
        assert contents(hostile) == before, where
        if isinstance(expected, Exception):
            # The values themselves are too much: both are told so.
            assert str(found) == str(expected), where
            if not isinstance(found, DivergenceError):
                check_named(found, case.argument)
            counted["errors"] += 1
            continue
        assert not isinstance(found, Exception), where
        counted["answers"] += 1
        if name == "score":  # scikit-learn's: a mean, in the precision that y has
            assert np.allclose(found, expected, equal_nan=True), where
            continue
        floats = [part for part in found if part.dtype.kind == "f"]
        assert all(np.isfinite(part).all() for part in floats), where
        assert len(found) == len(expected)
        assert all(map(np.array_equal, found, expected)), where
    return counted


def check_refused(case, only):
    """An error with the argument's name in every method, and nothing has changed."""
    fitted, counted = case.given(case.plain).fitted, Counter()
    before = state(fitted)
    for name, use in uses_of(case, only).items():
        hostile = case.kind.make(case.plain.copy())
        seen = contents(hostile)
        error = outcome(use, case.given(hostile))
        where = f"{case}, {name}: {error}"
        assert isinstance(error, Exception), where
        assert not isinstance(error, DivergenceError), where
        check_named(error, case.argument)
        assert contents(hostile) == seen, where
        counted["errors"] += 1
    assert same_state(state(fitted), before), case
    model = new(case.of)
    unfitted = dict(vars(model))
    for method in (model.fit, model.partial_fit):
        given = case.given(case.kind.make(case.plain.copy()))
        error = outcome(lambda g, do=method: do(g.X, g.y, g.weight), given)
        assert isinstance(error, Exception) and vars(model) == unfitted, case
    return counted


def cases():
    """All of them."""
    # What is only asked about may be any number of rows.
    any_number = tuple(ASKING)
    # One class is too little to learn from; as a part of several it is right.
    going_on = "fit again, warm start", "partial_fit again"
    one_class = (*going_on, "fit, X_val", "Monitor", "score")
    # scikit-learn's score looks at y and the weights; what it takes is its affair.
    score = ("score",)
    for of in ESTIMATORS:
        for kind in inputs.ANSWERED_X:
            yield Case(of, "X", kind, kind.plain, True)
        for kind in inputs.REFUSED_X:
            other_rows = "too few" in kind.name or "another shape" in kind.name
            but = any_number if other_rows else ()
            yield Case(of, "X", kind, WHOLE, False, but)
        for kind in targets.ANSWERED_Y[of]:
            yield Case(of, "y", kind, kind.plain, True)
        for kind in targets.REFUSED_Y[of]:
            but = one_class if kind.name == "one class" else score
            yield Case(of, "y", kind, Y[of], False, but)
        for kind in targets.ANSWERED_WEIGHTS:
            but = score if kind.name == "a number" else ()
            yield Case(of, "sample_weight", kind, kind.plain, True, but)
        for kind in targets.REFUSED_WEIGHTS:
            yield Case(of, "sample_weight", kind, targets.WEIGHTS, False, score)
