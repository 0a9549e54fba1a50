"""Few rows skip the checks of scikit-learn: nobody may be able to tell."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from sklearn.utils.validation import validate_data

from cofire import SparseMLPClassifier, SparseMLPRegressor
from cofire.core.machine import n_threads
from cofire.estimators import inputs, raw
from helpers.estimator_cases import classes, numbers, small

X, LABELS = classes()
_, NUMBERS = numbers()
GAPS = X.copy()
GAPS[::7, 2] = np.nan
TEXT = pd.DataFrame(X).rename(columns=str).assign(word=np.array(["a", "b"])[LABELS % 2])
FITTED = {
    "scaled": lambda: small(standardize=True).fit(X, LABELS),
    "as it is": lambda: small(standardize=False).fit(X, LABELS),
    "several networks": lambda: small(standardize=True, n_networks=3).fit(X, LABELS),
    "numbers": lambda: small(SparseMLPRegressor, standardize=True).fit(X, NUMBERS),
    "gaps": lambda: small(standardize=True).fit(GAPS, LABELS),
    "float64": lambda: small(standardize=True).fit(X.astype(np.float64), LABELS),
    "constant": lambda: small(standardize=True).fit(X * (np.arange(12) > 0), LABELS),
    "bytes": lambda: small(standardize=True).fit((40 * X).astype(np.uint8), LABELS),
    "sparse": lambda: small(standardize=True).fit(scipy.sparse.csr_array(X), LABELS),
    "names": lambda: small(standardize=True).fit(
        pd.DataFrame(X).rename(columns=str), LABELS
    ),
    "categories": lambda: small(standardize=True).fit(TEXT, LABELS),
    "categories without names": lambda: small(standardize=True).fit(
        pd.DataFrame(X.round()).astype({3: "category"}), LABELS
    ),
    "one class each": lambda: small(standardize=False).fit(
        X, np.eye(3, dtype=int)[LABELS]
    ),
}


@cache
def fitted(kind):
    return FITTED[kind]()


def put(value, dtype=np.float64):
    rows = X[:3].astype(dtype)
    rows[1, 2] = value
    return rows


def frozen(array):
    array.flags.writeable = False
    return array


class Derived(np.ndarray):
    pass


ROWS = {
    "float32": X[:3],
    "float64": X[:3].astype(np.float64),
    "one row": X[:1].astype(np.float64),
    "100 rows": X[:100],
    "Fortran order": np.asfortranarray(X[:3]),
    "every other row": X[:9:2],
    "reversed columns": X[:3, ::-1],
    "read-only": frozen(X[:3].copy()),
    "outliers": put(1e30),
    "huge": put(-1.7e308),
    "too large for float32": put(1e39),
    "NaN": put(np.nan),
    "NaN in float32": put(np.nan, np.float32),
    "infinity": put(np.inf),
    "minus infinity in float32": put(-np.inf, np.float32),
    "subnormal": put(5e-324),
    "float16": X[:3].astype(np.float16),
    "longdouble": X[:3].astype(np.longdouble),
    "complex": X[:3].astype(complex),
    "int64": X[:3].astype(np.int64),
    "uint8": np.abs(X[:3]).astype(np.uint8),
    "bool": X[:3] > 0,
    "other byte order": X[:3].astype(">f8"),
    "objects": X[:3].astype(object),
    "text": X[:3].astype(str),
    "list": X[:3].tolist(),
    "frame": pd.DataFrame(X[:3]).rename(columns=str),
    "frame with words": TEXT[:3],
    "csr": scipy.sparse.csr_array(X[:3]),
    "masked": np.ma.masked_array(X[:3], np.zeros((3, 12), bool)),
    "hidden values": np.ma.masked_array(X[:3], np.eye(3, 12) > 0),
    "matrix": X[:3].view(np.matrix),
    "derived": X[:3].view(Derived),
    "one dimension": X[0],
    "three dimensions": X[:3, :, None],
    "no rows": X[:0],
    "no columns": X[:3, :0],
    "a column less": X[:3, 1:],
    "a column more": np.c_[X[:3], X[:3, 0]],
    "None": None,
    "number": 3.0,
    "dates": np.zeros((3, 12), "datetime64[s]"),
}


def outcome(model, method, rows):
    """All that a user can see of a call: the result, or the error; the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = getattr(model, method)(rows)
            seen = result.dtype, result.shape, result.tobytes()
        except Exception as error:
            seen = type(error), str(error)
    return seen, [(one.category, str(one.message)) for one in caught]


@pytest.mark.parametrize("kind", FITTED)
def test_results_errors_and_warnings_are_those_of_the_full_checks(kind, monkeypatch):
    model = fitted(kind)
    for method in ("predict", "predict_proba", "predict_log_proba"):
        if not hasattr(model, method):
            continue
        for name, rows in ROWS.items():
            seen = outcome(model, method, rows)
            with monkeypatch.context() as patch:
                patch.setattr(raw, "_passes", lambda *_: False)
                assert seen == outcome(model, method, rows), (method, name)


def test_settings_of_scikit_learn_count_as_before(monkeypatch):
    """It may be told not to look for values that are not finite."""
    model = fitted("scaled")
    with sklearn.config_context(assume_finite=True):
        seen = [outcome(model, "predict_proba", rows) for rows in ROWS.values()]
        monkeypatch.setattr(raw, "_passes", lambda *_: False)
        full = [outcome(model, "predict_proba", rows) for rows in ROWS.values()]
    assert seen == full


@pytest.mark.parametrize("kind", ["scaled", "as it is", "gaps", "bytes", "sparse"])
def test_plain_rows_do_skip_the_checks(kind, monkeypatch):
    model = fitted(kind)

    def called(*arguments, **how):
        raise AssertionError("checked")

    for module in (raw, inputs):
        assert module.validate_data is validate_data
        monkeypatch.setattr(module, "validate_data", called)
    model.predict(X[:1])
    if model.standardize:
        model.predict(X[:1].astype(np.float64))
    for rows in (X[0], X[:1, 1:], X[:1].tolist(), put(np.inf, np.float32)):
        with pytest.raises(AssertionError, match="checked"):
            model.predict(rows)


@pytest.mark.parametrize("kind", ["scaled", "as it is", "several networks", "numbers"])
def test_one_row_alone_has_the_bits_it_has_among_many(kind):
    model = fitted(kind)
    many = np.repeat(X, 20, axis=0)  # so many that the networks are planned
    together = model._predict_outputs(many)[::20]
    alone = np.concatenate([model._predict_outputs(row[None]) for row in X])
    assert alone.tobytes() == together.tobytes()


def test_a_network_that_was_changed_in_place_predicts_as_changed():
    model = small(standardize=True).fit(X, LABELS)
    before = model.predict_proba(X[:1])
    for layer in model.network_.layers:
        layer.weights[:] *= -1
    after = model.predict_proba(X[:1])
    assert not np.array_equal(before, after)
    assert np.array_equal(
        after, model.predict_proba(np.repeat(X[:1], 2000, axis=0))[:1]
    )


def test_rows_that_no_thread_shares_still_refuse_no_threads_at_all():
    with pytest.raises(ValueError, match="n_jobs == 0"):
        n_threads(0, n_tasks=1)
    model = SparseMLPClassifier((5,), n_jobs=1, max_iter=1).fit(X, LABELS)
    with pytest.raises(ValueError, match="n_jobs == 0"):
        model.set_params(n_jobs=0).predict(X[:1])
