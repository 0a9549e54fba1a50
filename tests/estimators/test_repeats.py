"""Few rows: whether they are repeated or weighted, and their order, have no effect."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from cofire import SparseMLPClassifier, SparseMLPRegressor, engine
from cofire.estimators.inputs import Rows
from cofire.estimators.repeats import merge
from helpers.engine_cases import examples
from helpers.estimator_cases import (
    ESTIMATORS,
    classes,
    data_for,
    labels_of_columns,
    same_training,
)

# ---- merge ---------------------------------------------------------------------------


@st.composite
def tables(draw):
    """Rows of whole numbers, many of them equal, their targets and weights."""
    n = draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    X = rng.integers(0, 3, size=(n, 3)).astype(np.float32)
    y = rng.integers(0, 2, size=n)
    weight = rng.integers(0, 3, size=n).astype(np.float32)
    if weight.sum() == 0 or draw(st.booleans()):
        weight = None
    return X, y, weight


def naive_groups(X, y, weight):
    """The weight of each row and target that there is."""
    total = {}
    for i in range(len(y)):
        w = 1.0 if weight is None else float(weight[i])
        key = (*X[i].tolist(), int(y[i]))
        total[key] = total.get(key, 0.0) + w
    return {key: w for key, w in total.items() if w > 0}


@examples(80)
@given(table=tables(), seed=st.integers(0, 99))
def test_equal_rows_become_one_with_their_weight(table, seed):
    X, y, weight = table
    expected = naive_groups(X, y, weight)
    found = merge(Rows(X, y, weight))
    if sum(expected.values()) > 64:
        assert found is None
        return
    keys = [(*X[i].tolist(), int(y[i])) for i in found.row_ids]
    weights = np.ones(len(keys)) if found.weight is None else found.weight
    assert dict(zip(keys, weights.tolist(), strict=True)) == expected
    assert len(keys) == len(expected)
    assert found.n_rows == sum(expected.values())
    # In any order of the rows, the same rows come in the same order.
    mixed = np.random.default_rng(seed).permutation(len(y))
    other = merge(Rows(X[mixed], y[mixed], None if weight is None else weight[mixed]))
    there = [(*X[mixed][i].tolist(), int(y[mixed][i])) for i in other.row_ids]
    assert there == keys


def unsorted(X):
    sparse = scipy.sparse.csr_array(X)
    for a, b in zip(sparse.indptr[:-1], sparse.indptr[1:], strict=True):
        sparse.indices[a:b] = sparse.indices[a:b][::-1]
        sparse.data[a:b] = sparse.data[a:b][::-1]
    sparse.has_sorted_indices = False
    return sparse


def with_stored_zeros(X):
    n, width = X.shape
    indices = np.tile(np.arange(width, dtype=np.int32), n)
    parts = (X.ravel(), indices, np.arange(0, n * width + 1, width, dtype=np.int32))
    return scipy.sparse.csr_array(parts, shape=X.shape)


@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        lambda X: X.astype(np.float64),
        lambda X: X.astype(np.uint8),
        lambda X: np.where(X == 0, -0.0, X),
        scipy.sparse.csr_array,
        unsorted,
        with_stored_zeros,
    ],
    ids=["Fortran", "float64", "bytes", "-0.0", "CSR", "unsorted", "stored zeros"],
)
def test_the_form_of_the_rows_has_no_effect(form):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(30, 4)).astype(np.float32)
    y = rng.integers(0, 2, size=30)
    plain, other = merge(Rows(X, y, None)), merge(Rows(form(X), y, None))
    assert np.array_equal(plain.row_ids, other.row_ids)
    assert np.array_equal(plain.weight, other.weight)


def test_rows_of_a_frame_are_compared_by_their_values():
    frame = pd.DataFrame({"colour": ["red", "blue", "red"], "n": [1.0, None, 1.0]})
    found = merge(Rows(frame, np.array([0, 1, 0]), None))
    assert sorted(found.row_ids) == [0, 1]
    assert sorted(found.weight) == [1, 2]


def test_numbers_are_compared_before_they_are_rounded():
    X, y = np.ones((3, 2), np.float32), np.array([1.0, 1.0 + 1e-12, 1.0])
    rows = Rows(X, y.astype(np.float32).reshape(-1, 1), None)
    assert len(merge(rows).row_ids) == 1
    assert len(merge(rows, y).row_ids) == 2


@pytest.mark.parametrize(
    ("n", "weight", "batch_size", "merged"),
    [
        (64, None, None, True),
        (65, None, None, False),
        (64, 1.0, None, True),
        (64, 1.01, None, False),  # more than a step takes
        (16, 4.0, None, True),
        (10**6, None, None, False),
        (20, None, 20, True),
        (20, None, 19, False),
        (65, None, 1000, False),
        (20, 0.01, None, True),
    ],
)
def test_only_what_a_step_takes_at_once_is_merged(n, weight, batch_size, merged):
    X = np.zeros((n, 1), np.float32)
    weights = None if weight is None else np.full(n, weight, np.float32)
    found = merge(Rows(X, np.zeros(n, np.int32), weights), batch_size=batch_size)
    assert (found is not None) == merged
    if merged:
        assert found.row_ids.tolist() == [0]


def test_rows_of_weight_zero_do_not_count():
    X = np.arange(100, dtype=np.float32).reshape(-1, 1)
    weight = np.zeros(100)
    weight[90:] = 0.5
    found = merge(Rows(X, np.zeros(100), weight))
    assert sorted(found.row_ids) == list(range(90, 100))
    assert found.weight.tolist() == [0.5] * 10
    assert found.n_rows == 10  # not fewer than there are
    assert merge(Rows(X, np.zeros(100), 0 * weight)) is None


# ---- in a fit ------------------------------------------------------------------------


def model(of, **how):
    """The default recipe, with dropout and a gate, but few steps."""
    how = {"hidden_layer_sizes": (20,), "n_networks": 2, "random_state": 0} | how
    return of(**{"max_iter": 30, "update_interval": 5} | how)


def few(of, kind="plain", n=15):
    X, y = data_for(of, n=n)
    if kind == "words":
        y = np.array(["a", "b", "c"])[y]
    if kind == "labels":
        y = labels_of_columns(X)
    if kind == "columns":
        X, y = data_for(of, n=n, n_outputs=2)
    count = np.random.default_rng(1).integers(0, 5, size=n)
    count[:3] = 1  # one of each class, at least
    return X, y, count


KINDS = [
    (SparseMLPClassifier, "plain"),
    (SparseMLPClassifier, "words"),
    (SparseMLPClassifier, "labels"),
    (SparseMLPRegressor, "plain"),
    (SparseMLPRegressor, "columns"),
]


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize(("of", "kind"), KINDS)
def test_repeated_rows_are_weighted_rows(of, kind, standardize, form):
    X, y, count = few(of, kind)
    assert count.sum() > len(y)
    mixed = np.random.default_rng(2).permutation(len(y))
    how = {"standardize": standardize}
    repeated = model(of, **how).fit(
        form(np.repeat(X, count, 0)), np.repeat(y, count, 0)
    )
    weighted = model(of, **how)
    weighted.fit(form(X[mixed]), y[mixed], sample_weight=count[mixed])
    assert same_training(repeated, weighted)
    assert repeated.chosen_parameters_ == weighted.chosen_parameters_
    if of is SparseMLPRegressor:
        assert np.array_equal(repeated.target_mean_, weighted.target_mean_)
        assert np.array_equal(repeated.target_scale_, weighted.target_scale_)
    assert np.array_equal(repeated.predict(X), weighted.predict(X))
    other = model(of, **how).fit(form(X), y)
    assert not same_training(repeated, other)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_the_plain_recipe_repeats_too(of):
    """In steps, not in passes: what a user gets who sets nothing."""
    X, y, count = few(of)
    how = {"hidden_layer_sizes": (10,), "n_networks": 1, "random_state": 0}
    repeated = of(**how).fit(np.repeat(X, count, 0), np.repeat(y, count, 0))
    weighted = of(**how).fit(X, y, sample_weight=count)
    assert same_training(repeated, weighted)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_partial_fits_repeat_too(of):
    X, y, count = few(of)
    extra = {"classes": [0, 1, 2]} if of is SparseMLPClassifier else {}
    repeated, weighted = model(of), model(of)
    for _ in range(6):
        repeated.partial_fit(np.repeat(X, count, 0), np.repeat(y, count, 0), **extra)
        weighted.partial_fit(X, y, count, **extra)
    assert same_training(repeated, weighted)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_weights_of_one_are_no_weights(of):
    X, y, _ = few(of)
    ones = model(of).fit(X, y, sample_weight=np.ones(len(y)))
    assert same_training(ones, model(of).fit(X, y))


@pytest.mark.parametrize("of", ESTIMATORS)
def test_the_order_of_few_rows_has_no_effect(of):
    X, y, _ = few(of, n=60)
    mixed = np.random.default_rng(0).permutation(60)
    assert same_training(model(of).fit(X, y), model(of).fit(X[mixed], y[mixed]))


def test_batches_smaller_than_that_take_the_rows_as_they_come():
    X, y, _ = few(SparseMLPClassifier, n=60)
    how = {"batch_size": 20, "shuffle": False}
    one = model(SparseMLPClassifier, **how).fit(X, y)
    other = model(SparseMLPClassifier, **how).fit(X[::-1], y[::-1])
    assert not same_training(one, other)


def test_rows_to_hold_out_are_not_merged():
    X = np.repeat(np.eye(4, dtype=np.float32), 10, axis=0)
    y = np.repeat([0, 1, 0, 1], 10)
    stopping = model(SparseMLPClassifier, early_stopping=True, validation_fraction=0.2)
    assert stopping.fit(X, y).score(X, y) == 1.0
    with_val = model(SparseMLPClassifier, early_stopping=True)
    with_val.fit(X, y, X_val=X, y_val=y)
    assert with_val.score(X, y) == 1.0


# ---- the gate ------------------------------------------------------------------------


def gates(monkeypatch, X, y, weight=None, **how):
    """The gates of a fit's first search, and the number of rows that it looks at."""
    searches = []
    search = engine.PairSearch

    def spy(**given):
        searches.append(search(**given))
        return searches[-1]

    monkeypatch.setattr(engine, "PairSearch", spy)
    model(SparseMLPClassifier, n_networks=1, **how).fit(X, y, sample_weight=weight)
    monkeypatch.undo()
    return searches[0].gate[0], len(searches[0].row_ids)


def test_merged_rows_count_for_the_gate_as_often_as_they_come(monkeypatch):
    X, y = classes(n=16)
    single, n_rows = gates(monkeypatch, X, y)
    assert n_rows == 16
    four, n_rows = gates(monkeypatch, np.tile(X, (4, 1)), np.tile(y, 4))
    assert n_rows == 16
    # The engine divides by the root of 16, and there were 64.
    assert four == pytest.approx(single / 2)
    assert gates(monkeypatch, X, y, np.full(16, 4.0)) == (four, 16)
    # Small weights do not make fewer rows of them.
    assert gates(monkeypatch, X, y, np.full(16, 0.25)) == (single, 16)


def test_the_gate_of_many_rows_does_not_depend_on_weights(monkeypatch):
    X, y = classes(n=150)
    plain = gates(monkeypatch, X, y)
    assert gates(monkeypatch, X, y, np.full(150, 3.0)) == plain
