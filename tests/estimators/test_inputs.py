"""How X may come, and that a large one is not copied."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from cofire import SparseMLPClassifier
from helpers.estimator_cases import (
    ESTIMATORS,
    METHODS_ALONE,
    classes,
    data_for,
    same,
    same_training,
    small,
)

# ---- how X may come ------------------------------------------------------------------


def sparse_classes():
    X, y = classes(n=75, n_features=20)
    X[np.abs(X) < 1.2] = 0
    return scipy.sparse.csr_array(X), y


FORMS = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_every_sparse_form_gives_the_bits_of_csr(of, form, kind):
    X, y = sparse_classes()
    other = getattr(scipy.sparse, f"{form}_{kind}")(X)
    model = small(of).fit(X, y)
    assert same_training(small(of).fit(other, y), model)
    assert np.array_equal(model.predict(other), model.predict(X))
    if kind == "array":
        X_val = {"X_val": other, "y_val": y, "sample_weight_val": None}
        scores = small(of).fit(X, y, **X_val).validation_scores_
        assert scores == small(of).fit(X, y, X_val=X, y_val=y).validation_scores_


def wide_indices(X):
    X = X.copy()
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def unsorted(X):
    order = np.concatenate(
        [np.arange(a, b)[::-1] for a, b in zip(X.indptr, X.indptr[1:], strict=False)]
    )
    back = scipy.sparse.csr_array(
        (X.data[order], X.indices[order], X.indptr), shape=X.shape
    )
    assert not back.has_sorted_indices
    return back


def with_duplicates(X):
    twice = scipy.sparse.csr_array(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
    )
    assert twice.nnz == 2 * X.nnz and not twice.has_canonical_format
    return twice


def with_stored_zeros(X):
    X = X.copy()
    X.data[::3] = 0
    return X


@pytest.mark.parametrize("form", [wide_indices, unsorted, with_duplicates])
@pytest.mark.parametrize("of", ESTIMATORS)
def test_csr_that_is_not_canonical_gives_the_same_bits_and_stays_as_it_is(of, form):
    X, y = sparse_classes()
    other = form(X)
    before = [a.copy() for a in (other.data, other.indices, other.indptr)]
    model = small(of).fit(X, y)
    assert same_training(small(of).fit(other, y), model)
    assert np.array_equal(model.predict(other), model.predict(X))
    assert same([other.data, other.indices, other.indptr], before)


def test_stored_zeros_are_zeros():
    X, y = sparse_classes()
    stored = with_stored_zeros(X)
    fewer = stored.copy()
    fewer.eliminate_zeros()
    assert fewer.nnz < stored.nnz
    assert same_training(small().fit(stored, y), small().fit(fewer, y))


@pytest.mark.parametrize("method", METHODS_ALONE)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_sparse_and_dense_agree(of, method):
    X, y = sparse_classes()
    model = small(of, method=method).fit(X, y)
    dense = small(of, method=method).fit(X.toarray(), y)
    assert same(
        [layer.indices for layer in model.network_.layers],
        [layer.indices for layer in dense.network_.layers],
    )
    np.testing.assert_allclose(model.loss_curve_, dense.loss_curve_, rtol=1e-4)
    for a, b in zip(model.coefs_, dense.coefs_, strict=True):
        np.testing.assert_allclose(a.data, b.data, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_type_of_X_does_not_matter_where_its_values_do_not_change(dtype, order):
    _, y = classes()
    X = np.random.default_rng(0).integers(0, 4, size=(len(y), 12))
    model = small().fit(X.astype(np.float32), y)
    other = X.astype(dtype, order=order)
    assert same_training(small().fit(other, y), model)
    assert np.array_equal(model.predict_proba(other), model.predict_proba(X))
    strided = np.repeat(other, 2, axis=1)[:, ::2]
    assert same_training(small().fit(strided, y), model)


def test_yes_and_no_are_one_and_zero():
    _, y = classes()
    X = np.random.default_rng(0).random((len(y), 12)) > 0.5
    assert same_training(small().fit(X, y), small().fit(X.astype(np.float32), y))


def test_bytes_are_validated_held_out_and_predicted_as_bytes():
    _, y = classes()
    X = np.random.default_rng(0).integers(0, 256, size=(len(y), 12), dtype=np.uint8)
    how = {"early_stopping": True, "learning_rate_init": 1e-4}
    bytes_, floats = (small(**how).fit(a, y) for a in (X, X.astype(np.float32)))
    assert bytes_.validation_scores_ == floats.validation_scores_
    assert same_training(bytes_, floats)


def test_lists_are_data_too():
    X, y = classes()
    assert same_training(small().fit(X.tolist(), y.tolist()), small().fit(X, y))


def test_frames_have_names():
    X, y = classes()
    frame = pd.DataFrame(X, columns=[f"gene {i}" for i in range(12)])
    model = small().fit(frame, y)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert same_training(model, small().fit(X, y))
    assert np.array_equal(model.predict(frame), small().fit(X, y).predict(X))
    swapped = frame[frame.columns[::-1]]
    message = "The feature names should match those that were passed during fit"
    with pytest.raises(ValueError, match=message):
        model.predict(swapped)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(swapped, y)
    with pytest.raises(ValueError, match="X_val.*" + message):
        small().fit(frame, y, X_val=swapped, y_val=y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(X)
    # A fit without names forgets those of the fit before.
    assert not hasattr(model.fit(X, y), "feature_names_in_")


@pytest.mark.parametrize("of", ESTIMATORS)
def test_neither_X_nor_y_nor_weights_are_changed(of):
    X, y = data_for(of)
    weight = np.linspace(0, 1, len(y))
    originals = [X.copy(), y.copy(), weight.copy()]
    for array in (X, y, weight):
        array.flags.writeable = False
    model = small(of, early_stopping=True).fit(X, y, sample_weight=weight)
    model.predict(X)
    assert same([X, y, weight], originals)


# ---- no copy of a large X ------------------------------------------------------------


def large(kind):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=20_000)
    if kind == "csr":
        X = scipy.sparse.random_array(
            (20_000, 500), density=0.2, format="csr", dtype=np.float32, rng=rng
        )
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        X.sum_duplicates()
        return X, y, X.data.nbytes + X.indices.nbytes
    X = rng.integers(0, 255, size=(20_000, 500), dtype=np.uint8)
    X = X.astype(kind, copy=False)
    return X, y, X.nbytes


def peak_of(call):
    """The most that Python and NumPy had allocated during a call, in bytes."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["uint8", "float32", "csr"])
def test_a_large_X_is_not_copied(kind):
    X, y, size = large(kind)
    assert size > 9e6
    model = SparseMLPClassifier(
        (20,),
        epsilon=2,
        max_iter=2,
        learning_rate_init=1e-4,
        random_state=0,
        standardize=False,
    )
    rest = 30 * len(y)  # targets, the order of the rows, what is predicted
    assert peak_of(lambda: model.fit(X, y)) < 0.1 * size + rest
    assert peak_of(lambda: model.predict(X)) < 0.1 * size + rest
    assert peak_of(lambda: model.partial_fit(X, y)) < 0.1 * size + rest
    # The tenth that a network holds out is copied, and nothing else.
    for n_networks in (1, 4):
        model.set_params(early_stopping=True, n_networks=n_networks)
        copies = 0.1 * n_networks * size
        assert peak_of(lambda: model.fit(X, y)) < copies + 0.15 * size + 3 * rest
        assert model.n_iter_ == 2


def test_the_yardstick_sees_a_copy():
    X, y, size = large("float32")
    model = SparseMLPClassifier(
        (20,), epsilon=2, max_iter=1, learning_rate_init=1e-4, standardize=False
    )
    assert peak_of(lambda: model.fit(np.asfortranarray(X), y)) > 0.9 * size
