"""Hostile inputs: every kind to every method that takes it."""

import copy
import threading
import time
import tracemalloc
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp

from cofire import SparseMLPClassifier, SparseMLPRegressor
from helpers.estimator_cases import ESTIMATORS, network_bits
from helpers.reliability import target_cases as targets
from helpers.reliability.figures import report
from helpers.reliability.hostile import (
    SHORT,
    Y,
    cases,
    check,
    fitted_on,
    new,
    same_state,
    state,
    trained,
)
from helpers.reliability.input_cases import WHOLE, N


@pytest.fixture(params=ESTIMATORS)
def of(request):
    return request.param


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("case", list(cases()), ids=str)
def test_hostile_input(case):
    check(case, SHORT)


@pytest.mark.slow
def test_hostile_input_in_every_method():
    counted, wrong, n_kinds = Counter(), [], 0
    for case in cases():
        n_kinds += 1
        try:
            counted += check(case)
        except AssertionError as error:
            wrong.append(f"{case}: {error}")
    report(
        "hostile inputs: kinds x methods, both estimators",
        "the plain form's bits, or an error with the argument's name",
        f"{n_kinds} kinds, {counted.total()} calls: {counted['answers']} answers, "
        f"{counted['errors']} errors, {len(wrong)} wrong",
        met=not wrong,
    )
    assert not wrong, "\n".join(wrong)


# ---- classes of partial_fit ----------------------------------------------------------


@pytest.mark.parametrize("name", targets.ANSWERED_CLASSES)
def test_classes_in_another_form(name):
    of, y = SparseMLPClassifier, Y[SparseMLPClassifier]
    classes = targets.ANSWERED_CLASSES[name]
    expected = trained(new(of).partial_fit(WHOLE, y))
    model = new(of).partial_fit(WHOLE, y, classes=classes)
    assert all(map(np.array_equal, trained(model), expected))
    model.partial_fit(WHOLE, y, classes=classes)


@pytest.mark.parametrize("name", targets.REFUSED_CLASSES)
def test_classes_that_are_none(name):
    of, y = SparseMLPClassifier, Y[SparseMLPClassifier]
    classes = targets.REFUSED_CLASSES[name]
    model = new(of)
    before = dict(vars(model))
    with pytest.raises((ValueError, TypeError), match=r"\bclasses\b"):
        model.partial_fit(WHOLE, y, classes=classes)
    assert vars(model) == before
    fitted = fitted_on(of, WHOLE.shape[1])
    state_before = state(fitted)
    with pytest.raises((ValueError, TypeError), match=r"\bclasses\b"):
        fitted.partial_fit(WHOLE, y, classes=classes)
    assert same_state(state(fitted), state_before)


def test_labels_of_several_columns_stay_0_and_1():
    y = WHOLE[:, :3] > 3
    model = new(SparseMLPClassifier).fit(WHOLE, y.astype(int))
    before = state(model)
    for bad in (WHOLE[:, :3], y + 0.5, np.where(y, np.nan, 0), y.astype(int) - 1):
        with pytest.raises(ValueError, match=r"\by\b"):
            model.partial_fit(WHOLE, bad)
        with pytest.raises(ValueError, match=r"\by\b"):
            new(SparseMLPClassifier).fit(WHOLE, y.astype(int), X_val=WHOLE, y_val=bad)
    assert same_state(state(model), before)
    plain = trained(copy.deepcopy(model).partial_fit(WHOLE, y.astype(int)))
    for form in (sp.csr_array, sp.csc_array, np.asfortranarray, lambda y: y.tolist()):
        found = trained(copy.deepcopy(model).partial_fit(WHOLE, form(y.astype(int))))
        assert all(map(np.array_equal, found, plain))


def test_weights_whose_product_is_too_large():
    model = new(SparseMLPClassifier, class_weight={0: 1e30, 1: 1, 2: 1})
    with pytest.raises(ValueError, match="class_weight and sample_weight"):
        model.fit(WHOLE, targets.LABELS, sample_weight=1e30 * targets.WEIGHTS)
    with pytest.raises(ValueError, match="class_weight"):
        model.set_params(class_weight={0: 1e60}).fit(WHOLE, targets.LABELS)


@pytest.mark.parametrize("unit", [2.0**-700, 2.0**-100, 2.0**100])
def test_the_unit_of_a_target_does_not_matter(unit):
    """A power of 2: nothing is rounded, and the network is the same to the bit."""
    plain = new(SparseMLPRegressor).fit(WHOLE, targets.NUMBERS)
    other = new(SparseMLPRegressor).fit(WHOLE, targets.NUMBERS * unit)
    assert all(map(np.array_equal, trained(plain), trained(other)))
    assert np.array_equal(plain.predict(WHOLE) * unit, other.predict(WHOLE))


# ---- size, and others who write ------------------------------------------------------


def test_a_million_features_stay_sparse(of):
    rng = np.random.default_rng(0)
    n, d, per_row = 300, 10**6, 20
    columns = np.sort(rng.integers(d, size=(n, per_row)), axis=1).ravel()
    X = sp.csr_array(
        (rng.random(n * per_row), columns, np.arange(n + 1) * per_row), shape=(n, d)
    )
    y = np.arange(n) % 3
    model = new(of, hidden_layer_sizes=(20,), epsilon=0.1)
    tracemalloc.start()
    model.fit(X, y)
    model.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.n_features_in_ == d
    assert peak < n * d  # a dense X has 4 bytes for each of these places


def test_more_features_than_can_be_numbered(of):
    for d in (2**31, 2**40):
        X = sp.csr_array(
            (np.ones(N), np.full(N, d - 1), np.arange(N + 1)), shape=(N, d)
        )
        with pytest.raises(ValueError, match=f"X has {d} features"):
            new(of, epsilon=1e-9).fit(X, Y[of])


def test_rows_that_somebody_else_changes(of):
    """Another thread writes nonsense into X: numbers, or an error, but finite ones."""
    X, y = np.tile(WHOLE, (5, 1)), np.tile(Y[of], 5)
    done = threading.Event()

    def scribble():
        rng = np.random.default_rng(0)
        while not done.is_set():
            X[rng.integers(len(X))] = rng.choice([np.nan, np.inf, 1e38, 0, 1])
            time.sleep(0)

    writer = threading.Thread(target=scribble)
    writer.start()
    try:
        for _ in range(5):
            X[:] = np.tile(WHOLE, (5, 1))
            model = new(of, max_iter=5)
            try:
                model.fit(X, y)
            except ValueError:
                continue
            assert all(np.isfinite(part).all() for part in network_bits(model.network_))
    finally:
        done.set()
        writer.join()
