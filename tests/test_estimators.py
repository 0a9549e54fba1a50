import copy
import inspect
import pickle
import tracemalloc
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from cofire import METHODS, SparseMLPClassifier, SparseMLPRegressor
from cofire.methods.set import SET
from estimator_cases import (
    ESTIMATORS,
    METHODS_ALONE,
    Snapshots,
    classes,
    data_for,
    moments,
    network_bits,
    numbers,
    same,
    same_training,
    small,
)


def labels_of_columns(X):
    """Three yes-or-no questions about X."""
    return (X[:, :3] > 0).astype(int)


# ---- parameters ----------------------------------------------------------------------


@pytest.mark.parametrize("of", ESTIMATORS)
def test_the_defaults_that_were_promised(of):
    assert of().get_params() == {
        "hidden_layer_sizes": (1000, 1000, 1000),
        "activation": "relu",
        "method": "ctre_sim",
        "method_options": None,
        "epsilon": 5.0,
        "density": None,
        "init": "normal",
        "drop_fraction": 0.2,
        "drop_schedule": "constant",
        "solver": "sgd" if of is SparseMLPClassifier else "adam",
        "alpha": 1e-4,
        "batch_size": 100,
        "last_batch": "train",
        "learning_rate": "constant",
        "learning_rate_init": 0.01 if of is SparseMLPClassifier else 0.001,
        "momentum": 0.9,
        "nesterovs_momentum": True,
        "beta_1": 0.9,
        "beta_2": 0.999,
        "adam_epsilon": 1e-8,
        "max_iter": 200,
        "shuffle": True,
        "early_stopping": False,
        "validation_fraction": 0.1,
        "n_iter_no_change": 40,
        "restore_best": True,
        **(
            {"class_weight": None, "label_smoothing": 0.0}
            if of is SparseMLPClassifier
            else {}
        ),
        "warm_start": False,
        "random_state": None,
        "n_jobs": None,
        "similarity": "screened",
        "augmentation": None,
        "input_dropout": 0.0,
        "checkpoint": None,
        "callbacks": (),
        "verbose": 0,
    }


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


# ---- what a fit leaves behind --------------------------------------------------------


@pytest.mark.parametrize("method", METHODS_ALONE)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_attributes_after_a_fit(of, method):
    X, y = data_for(of)
    model = small(of, method=method).fit(X, y)
    n_out = 3 if of is SparseMLPClassifier else 1
    assert model.n_features_in_ == 12
    assert not hasattr(model, "feature_names_in_")
    assert model.n_iter_ == len(model.history_) == len(model.loss_curve_) == 4
    assert model.loss_ == model.loss_curve_[-1] == model.history_[-1]["loss"]
    assert model.validation_scores_ is None
    assert model.best_validation_score_ is None
    assert model.network_.sizes == [12, 10, 8, n_out]
    shapes = [(12, 10), (10, 8), (8, n_out)]
    assert [w.shape for w in model.coefs_] == shapes
    assert [b.shape for b in model.intercepts_] == [(10,), (8,), (n_out,)]
    assert sum(w.nnz for w in model.coefs_) == model.n_connections_
    places = sum(a * b for a, b in shapes)
    assert model.density_ == model.n_connections_ / places
    if method == "dense":
        assert model.density_ == 1
    else:  # 1.5 * (n_in + n_out), at most full
        budget = [33, 27, {3: 16, 1: 8}[n_out]]
        counts = [w.nnz for w in model.coefs_]
        if METHODS[method].shrinks:
            assert all(n <= most for n, most in zip(counts, budget, strict=True))
            assert counts[-1] == budget[-1]
        else:
            assert counts == budget


def test_a_density_is_met_to_one_connection():
    X, y = classes()
    model = small(density=0.3, epsilon=100).fit(X, y)
    assert model.n_connections_ == round(0.3 * (12 * 10 + 10 * 8 + 8 * 3))


@pytest.mark.parametrize("of", ESTIMATORS)
def test_history_keys(of):
    X, y = data_for(of)
    model = small(of).fit(X, y, X_val=X, y_val=y)
    for epoch, record in enumerate(model.history_):
        assert record["epoch"] == epoch
        assert record["validation_score"] == model.validation_scores_[epoch]
        assert record["validation_loss"] > 0
        assert record["stalled_epochs"] >= 0
        assert record["train_seconds"] > 0
        assert record["rewire_seconds"] >= 0
        assert record["evaluate_seconds"] > 0
        assert len(record["alive"]) == 2
    for record in model.history_[1:]:
        assert record["replaced"] == [
            min(int(0.2 * w.nnz), np.prod(w.shape) - w.nnz) for w in model.coefs_
        ]
        assert all(0 <= share <= 1 for share in record["random_share"])


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "tanh", "identity"])
@pytest.mark.parametrize("target", ["classes", "labels", "numbers"])
def test_coefs_and_intercepts_are_the_whole_model(target, activation):
    X, y = classes()
    if target == "labels":
        y = labels_of_columns(X)
    of = SparseMLPRegressor if target == "numbers" else SparseMLPClassifier
    model = small(of, activation=activation).fit(X, y)
    values = X.astype(np.float64)
    for i, (w, b) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
        values = values @ w.toarray().astype(np.float64) + b
        if i < 2:
            values = {
                "relu": lambda a: np.maximum(a, 0),
                "leaky_relu": lambda a: np.where(a > 0, a, 0.01 * a),
                "tanh": np.tanh,
                "identity": lambda a: a,
            }[activation](values)
    if target == "classes":
        expected = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
        got = model.predict_proba(X)
    elif target == "labels":
        expected, got = 1 / (1 + np.exp(-values)), model.predict_proba(X)
    else:
        expected = values[:, 0] * model.target_scale_ + model.target_mean_
        got = model.predict(X)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_nothing_is_predicted_before_a_fit(of):
    X, _ = data_for(of)
    with pytest.raises(NotFittedError):
        small(of).predict(X)


# ---- targets -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1]),
        np.array([False, True]),
        np.array([-1.0, 1.0]),
        np.array([5, -7, 100]),
        np.array(["no", "yes, please", "maybe"]),
        np.array(["no", "yes", "maybe"], dtype=object),
        np.array([2, 1, 0], dtype=np.uint8),
    ],
    ids=lambda labels: f"{labels.dtype}-{len(labels)}",
)
def test_labels_come_back_as_they_were(labels):
    X, y = classes(n_classes=len(labels))
    model = small(max_iter=60).fit(X, labels[y])
    assert model.classes_.dtype == labels.dtype
    assert model.classes_.tolist() == sorted(labels.tolist())
    predicted = model.predict(X)
    assert predicted.dtype == labels.dtype
    assert model.score(X, labels[y]) == np.mean(predicted == labels[y]) > 0.8
    # The columns of the probabilities are the classes in their order.
    likely = model.predict_proba(X)
    assert likely.shape == (150, len(labels))
    np.testing.assert_allclose(likely.sum(axis=1), 1, rtol=1e-6)
    assert (model.classes_[likely.argmax(axis=1)] == predicted).all()


@pytest.mark.parametrize("kind", [list, pd.Series, pd.Categorical])
def test_labels_may_come_in_any_container(kind):
    X, y = classes()
    words = np.array(["a", "b", "c"])[y]
    model = small().fit(X, kind(words))
    assert same_training(model, small().fit(X, words))
    assert set(model.predict(X)) <= {"a", "b", "c"}


def test_binary_targets_have_two_outputs():
    X, y = classes(n_classes=2)
    assert small().fit(X, y).network_.sizes[-1] == 2


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, pd.DataFrame])
def test_multi_label(form):
    X, _ = classes(n=400)
    y = labels_of_columns(X)
    model = small(max_iter=150, epsilon=3).fit(X, form(y))
    assert model.network_.output == "sigmoid"
    assert model.classes_.tolist() == [0, 1, 2]
    likely, predicted = model.predict_proba(X), model.predict(X)
    assert likely.shape == predicted.shape == (400, 3)
    assert np.array_equal(predicted, likely > 0.5)
    assert np.mean(predicted == y) > 0.8
    assert model.score(X, y) == accuracy_score(y, predicted)
    # Each label stands for itself: the rows do not sum to 1.
    assert np.abs(likely.sum(axis=1) - 1).max() > 0.1


def test_multi_label_with_validation_scores_whole_rows():
    X, _ = classes()
    y = labels_of_columns(X)
    model = small(restore_best=False).fit(X, y, X_val=X, y_val=y)
    assert model.validation_scores_[-1] == pytest.approx(model.score(X, y))
    stopped = small(early_stopping=True).fit(X, y)
    assert len(stopped.validation_scores_) == stopped.n_iter_


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_regression(n_outputs):
    X, y = numbers(n=400, n_outputs=n_outputs)
    model = small(SparseMLPRegressor, max_iter=120, epsilon=3).fit(X, y)
    assert model.predict(X).shape == y.shape
    assert model.predict(X).dtype == np.float64
    assert model.score(X, y) > 0.7


def test_a_column_of_numbers_is_predicted_like_a_row_of_them():
    X, y = numbers()
    with pytest.warns(sklearn.exceptions.DataConversionWarning):
        column = small(SparseMLPRegressor).fit(X, y[:, None])
    assert np.array_equal(
        column.predict(X), small(SparseMLPRegressor).fit(X, y).predict(X)
    )


def test_the_unit_of_the_target_does_not_matter():
    X, y = numbers()
    plain = small(SparseMLPRegressor).fit(X, y)
    scaled = small(SparseMLPRegressor).fit(X, 1024 * y)  # a power of two: no rounding
    assert same_training(plain, scaled)
    np.testing.assert_allclose(scaled.predict(X), 1024 * plain.predict(X), rtol=1e-12)
    far = small(SparseMLPRegressor).fit(X, y + 1e6)
    np.testing.assert_allclose(far.predict(X) - 1e6, plain.predict(X), atol=1e-3)


def test_a_constant_target_is_learnt_as_it_is():
    X, _ = numbers()
    model = small(SparseMLPRegressor, max_iter=100).fit(X, np.full(len(X), 3.0))
    assert model.target_scale_ == 1
    np.testing.assert_allclose(model.predict(X), 3, atol=0.1)


def test_whole_numbers_are_numbers_to_a_regressor():
    X, y = classes()
    model = small(SparseMLPRegressor).fit(X, y)
    assert same_training(model, small(SparseMLPRegressor).fit(X, y.astype(float)))


# ---- weights -------------------------------------------------------------------------


def test_class_weights_are_sample_weights():
    X, y = classes()
    by_class = {0: 0.5, 1: 1.0, 2: 4.0}
    weight = np.array([by_class[label] for label in y])
    by_sample = small().fit(X, y, sample_weight=weight)
    assert same_training(small(class_weight=by_class).fit(X, y), by_sample)
    assert not same_training(small().fit(X, y), by_sample)


def test_balanced_means_inverse_to_the_frequency():
    X, y = classes()
    y = np.where(np.arange(len(y)) % 3 > 0, 0, y)
    weight = (len(y) / (3 * np.bincount(y)))[y]
    assert len(set(weight)) > 1
    balanced = small(class_weight="balanced").fit(X, y)
    assert same_training(balanced, small().fit(X, y, sample_weight=weight))


def test_class_weights_multiply_sample_weights():
    X, y = classes()
    weight = 2.0 ** np.random.default_rng(0).integers(-2, 3, size=len(y))
    both = small(class_weight={0: 2.0, 1: 1.0, 2: 0.5}).fit(X, y, sample_weight=weight)
    product = weight * np.array([2.0, 1.0, 0.5])[y]
    assert same_training(both, small().fit(X, y, sample_weight=product))


def test_class_weights_of_strings_and_of_labels():
    X, y = classes()
    words = np.array(["a", "b", "c"])[y]
    named = small(class_weight={"a": 1, "b": 2, "c": 3}).fit(X, words)
    assert same_training(named, small(class_weight={0: 1, 1: 2, 2: 3}).fit(X, y))
    labels = labels_of_columns(X)
    per_label = [{0: 1, 1: 2}, {0: 1, 1: 1}, {0: 3, 1: 1}]
    weight = np.where(labels[:, 0], 2, 1) * np.where(labels[:, 2], 1, 3)
    assert same_training(
        small(class_weight=per_label).fit(X, labels),
        small().fit(X, labels, sample_weight=weight),
    )


@pytest.mark.parametrize("method", METHODS_ALONE)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_a_row_of_weight_zero_does_not_exist(of, method):
    X, y = data_for(of)
    weight = np.ones(len(y))
    weight[::4] = 0
    there = weight > 0
    wild = X.copy()
    wild[~there] = 1e3
    how = {"method": method, "shuffle": False}
    weighted = small(of, **how).fit(wild, y, sample_weight=weight)
    fewer = small(of, **how).fit(X[there], y[there], sample_weight=weight[there])
    assert same_training(weighted, fewer)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_rows_of_weight_zero_are_not_held_out(of):
    X, y = data_for(of)
    weight = np.zeros(len(y))
    weight[:20] = 1
    model = small(of, early_stopping=True, validation_fraction=0.5)
    model.fit(X, y, sample_weight=weight)
    assert len(model._progress.history) == len(model.validation_scores_) > 0
    fewer = small(of, early_stopping=True, validation_fraction=0.5)
    fewer.fit(X[:20], y[:20], sample_weight=weight[:20])
    assert model.validation_scores_ == pytest.approx(fewer.validation_scores_)


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
        (20,), epsilon=2, max_iter=2, learning_rate_init=1e-4, random_state=0
    )
    rest = 30 * len(y)  # targets, the order of the rows, what is predicted
    assert peak_of(lambda: model.fit(X, y)) < 0.1 * size + rest
    assert peak_of(lambda: model.predict(X)) < 0.1 * size + rest
    assert peak_of(lambda: model.partial_fit(X, y)) < 0.1 * size + rest
    # The held-out tenth is copied, and nothing else.
    model.set_params(early_stopping=True)
    assert peak_of(lambda: model.fit(X, y)) < 0.25 * size + 3 * rest
    assert model.n_iter_ == 2


def test_the_yardstick_sees_a_copy():
    X, y, size = large("float32")
    model = SparseMLPClassifier((20,), epsilon=2, max_iter=1, learning_rate_init=1e-4)
    assert peak_of(lambda: model.fit(np.asfortranarray(X), y)) > 0.9 * size


# ---- validation data -----------------------------------------------------------------


@pytest.mark.parametrize("of", ESTIMATORS)
def test_validation_data_only_watch(of):
    X, y = data_for(of)
    X_val, y_val = data_for(of, seed=1)
    model = small(of, restore_best=False).fit(X, y, X_val=X_val, y_val=y_val)
    assert same_training(model, small(of).fit(X, y))
    assert model.n_iter_ == len(model.validation_scores_) == 4
    assert model.validation_scores_[-1] == pytest.approx(model.score(X_val, y_val))
    assert model.best_validation_score_ == max(model.validation_scores_)


def test_validation_rows_have_weights():
    X, y = classes()
    weight = np.random.default_rng(0).integers(0, 9, size=len(y)).astype(float)
    model = small(restore_best=False)
    model.fit(X, y, X_val=X, y_val=y, sample_weight_val=weight)
    expected = accuracy_score(y, model.predict(X), sample_weight=weight)
    assert model.validation_scores_[-1] == pytest.approx(expected)
    assert model.validation_scores_[-1] != model.score(X, y)
    assert same_training(model, small().fit(X, y))


@pytest.mark.parametrize("method", METHODS_ALONE)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_the_best_epoch_comes_back_with_its_topology(of, method):
    X, y = data_for(of)
    X_val, y_val = data_for(of, seed=0, n=30)
    snapshots = Snapshots()
    model = small(
        of, method=method, max_iter=25, learning_rate_init=0.2, callbacks=[snapshots]
    )
    model.fit(X, -y if of is SparseMLPRegressor else y, X_val=X_val, y_val=y_val)
    best = int(np.argmax(model.validation_scores_))
    assert best < 24, "the best epoch is the last: nothing is tested"
    assert model.best_validation_score_ == model.validation_scores_[best]
    assert same(network_bits(model.network_), network_bits(snapshots.networks[best]))
    assert not same(network_bits(model.network_), network_bits(snapshots.networks[-1]))
    assert model.n_iter_ == 25
    # Out of the best epoch's score comes the model that has it.
    assert model.score(X_val, y_val) == pytest.approx(
        model.best_validation_score_, rel=1e-4, abs=1e-5
    )
    # Training goes on from the network that was restored, and from rest.
    assert not any(bits.any() for bits in moments(model))
    model.partial_fit(X, y)
    model.network_.check()


def test_ties_keep_the_earlier_epoch():
    X, y = classes()
    snapshots = Snapshots()
    model = small(max_iter=30, callbacks=[snapshots])
    model.fit(X, y, X_val=X[:4], y_val=y[:4])  # four rows: few different scores
    scores = model.validation_scores_
    ties = [epoch for epoch, score in enumerate(scores) if score == max(scores)]
    assert len(ties) > 1, "no tie: nothing is tested"
    assert same(network_bits(model.network_), network_bits(snapshots.networks[ties[0]]))


@pytest.mark.parametrize("restore_best", [True, False])
@pytest.mark.parametrize("of", ESTIMATORS)
def test_early_stopping_waits_n_iter_no_change_epochs_after_the_best(of, restore_best):
    X, y = data_for(of)
    snapshots = Snapshots()
    model = small(
        of,
        max_iter=200,
        early_stopping=True,
        n_iter_no_change=6,
        restore_best=restore_best,
        learning_rate_init=0.1,
        callbacks=[snapshots],
    ).fit(X, y)
    best = int(np.argmax(model.validation_scores_))
    assert model.n_iter_ == best + 1 + 6 < 200
    assert [r["stalled_epochs"] for r in model.history_][-7:] == list(range(7))
    expected = snapshots.networks[best if restore_best else -1]
    assert same(network_bits(model.network_), network_bits(expected))


def test_n_iter_no_change_acts_only_with_early_stopping():
    X, y = classes()
    model = small(max_iter=30, n_iter_no_change=1).fit(X, y, X_val=X[:4], y_val=y[:4])
    assert model.n_iter_ == 30
    assert max(r["stalled_epochs"] for r in model.history_) > 1


def test_held_out_rows_are_a_stratified_share_that_training_never_sees():
    X, y = classes()
    model = small(early_stopping=True, validation_fraction=0.2, restore_best=False)
    model.fit(X, y)
    kept, held_out = train_test_split(
        np.arange(150), test_size=0.2, random_state=model.seed_, stratify=y
    )
    assert model.validation_scores_[-1] == pytest.approx(
        model.score(X[held_out], y[held_out])
    )
    wild = X.copy()
    wild[held_out] = 1e3
    blind = small(early_stopping=True, validation_fraction=0.2, restore_best=False)
    assert same(network_bits(blind.fit(wild, y).network_), network_bits(model.network_))
    wild[kept[:10]] = 1e3
    assert not same(
        network_bits(blind.fit(wild, y).network_), network_bits(model.network_)
    )


def test_held_out_rows_keep_their_weights():
    X, y = classes()
    weight = np.random.default_rng(0).uniform(0.1, 5, size=len(y))
    model = small(early_stopping=True, validation_fraction=0.2, restore_best=False)
    model.fit(X, y, sample_weight=weight)
    _, held_out = train_test_split(
        np.arange(150), test_size=0.2, random_state=model.seed_, stratify=y
    )
    assert model.validation_scores_[-1] == pytest.approx(
        model.score(X[held_out], y[held_out], sample_weight=weight[held_out])
    )
    assert model.validation_scores_[-1] != model.score(X[held_out], y[held_out])


@pytest.mark.parametrize("of", ESTIMATORS)
def test_nothing_is_held_out_where_validation_data_are_given(of):
    X, y = data_for(of)
    model = small(of, early_stopping=True, restore_best=False)
    model.fit(X, y, X_val=X, y_val=y)
    assert same_training(model, small(of).fit(X, y))


# ---- one epoch after the other -------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"solver": "adam"},
        {"nesterovs_momentum": False},
        {"momentum": 0.0},
    ],
    ids=["nesterov", "adam", "classical", "plain"],
)
@pytest.mark.parametrize("method", METHODS_ALONE)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_k_calls_of_partial_fit_are_a_fit_of_k_epochs(of, method, how):
    X, y = data_for(of)
    how = {"method": method, "max_iter": 5, **how}
    step = small(of, **how)
    for k in range(1, 6):
        step.partial_fit(X, y)
        assert step.n_iter_ == k
    whole = small(of, **how).fit(X, y)
    assert same_training(step, whole)
    assert np.array_equal(step.predict(X), whole.predict(X))


@pytest.mark.parametrize("schedule", ["cosine", "adaptive"])
@pytest.mark.parametrize("last_batch", ["train", "drop"])
def test_partial_fit_keeps_to_the_schedule_and_to_weights(schedule, last_batch):
    X, y = classes()
    how = {"learning_rate": schedule, "last_batch": last_batch, "shuffle": False}
    how["class_weight"] = {0: 1, 1: 2, 2: 3}
    weight = np.linspace(0, 1, len(y))
    step = small(**how)
    for _ in range(4):
        step.partial_fit(X, y, weight)
    assert same_training(step, small(**how).fit(X, y, sample_weight=weight))


@pytest.mark.parametrize("of", ESTIMATORS)
def test_partial_fit_after_the_end_of_the_schedule_says_that_it_is_in_vain(of):
    X, y = data_for(of)
    model = small(of, learning_rate="cosine").fit(X, y)
    before = network_bits(model.network_)
    with pytest.warns(UserWarning, match="'cosine' is 0 after max_iter=4 epochs"):
        model.set_params(drop_fraction=0.0).partial_fit(X, y)
    assert same(network_bits(model.network_), before)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(learning_rate="constant").partial_fit(X, y)
    assert not same(network_bits(model.network_), before)


def test_partial_fit_for_labels_and_several_columns():
    X, _ = classes()
    for of, y in (
        (SparseMLPClassifier, labels_of_columns(X)),
        (SparseMLPRegressor, X[:, :2] - X[:, 2:4]),
    ):
        step = small(of, max_iter=2).partial_fit(X, y).partial_fit(X, y)
        assert same_training(step, small(of, max_iter=2).fit(X, y))


def test_partial_fit_may_begin_with_rows_that_lack_a_class():
    X, y = classes()
    model = small().partial_fit(X[y < 2], y[y < 2], classes=[2, 0, 1])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(X).shape == (150, 3)
    model.partial_fit(X[y == 2], y[y == 2])
    model.partial_fit(X, y, classes=[0, 1, 2])
    assert model.n_iter_ == 3


def test_a_fit_begins_anew_whatever_was_before():
    X, y = classes()
    model = small().partial_fit(X, y)
    assert same_training(model.fit(X, y), small().fit(X, y))


@pytest.mark.parametrize("of", ESTIMATORS)
@pytest.mark.parametrize("method", sorted({*METHODS_ALONE} - {"ctre_seq_abl2"}))
def test_warm_start_goes_on_for_as_many_epochs_again(of, method):
    X, y = data_for(of)
    warm = small(of, method=method, warm_start=True, max_iter=3).fit(X, y).fit(X, y)
    assert warm.n_iter_ == len(warm.history_) == 6
    assert same_training(warm, small(of, method=method, max_iter=6).fit(X, y))


@pytest.mark.parametrize(
    ("solver", "setting"),
    [
        ("sgd", {"learning_rate_init": 0.001}),
        ("sgd", {"alpha": 0.1}),
        ("sgd", {"momentum": 0.5}),
        ("sgd", {"nesterovs_momentum": False}),
        ("adam", {"learning_rate_init": 0.001}),
        ("adam", {"beta_1": 0.5}),
        ("adam", {"beta_2": 0.5}),
        ("adam", {"adam_epsilon": 0.1}),
    ],
    ids=str,
)
def test_settings_may_change_between_the_epochs(solver, setting):
    X, y = classes()
    model = small(solver=solver).partial_fit(X, y)
    same_setting = copy.deepcopy(model).partial_fit(X, y)
    model.set_params(**setting).partial_fit(X, y)
    assert not same(network_bits(model.network_), network_bits(same_setting.network_))


def test_a_model_in_memory_that_cannot_be_written_to_goes_on(tmp_path):
    X, y = classes()
    model = small(hidden_layer_sizes=(400,), epsilon=2).fit(X, y)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    assert not mapped.network_.layers[0].weights.flags.writeable
    assert same_training(mapped.partial_fit(X, y), model.partial_fit(X, y))


@pytest.mark.parametrize("of", ESTIMATORS)
def test_a_network_that_was_handed_out_is_not_trained_on(of):
    X, y = data_for(of)
    model = small(of).fit(X, y)
    network, history = model.network_, model.history_
    before, n_before = network_bits(network.copy()), len(history)
    model.partial_fit(X, y)
    model.set_params(warm_start=True).fit(X, y)
    assert same(network_bits(network), before)
    assert len(history) == n_before
    assert not same(network_bits(model.network_), before)


# ---- threads -------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["sgd", "adam"])
@pytest.mark.parametrize("method", METHODS_ALONE)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_the_same_bits_for_any_number_of_threads(of, method, solver):
    X, y = data_for(of, n=700)
    weight = np.random.default_rng(0).uniform(0.5, 2, size=700)
    how = {
        "method": method,
        "solver": solver,
        "batch_size": 512,
        "early_stopping": True,
    }
    models = [
        small(of, n_jobs=n, **how).fit(X, y, sample_weight=weight) for n in (1, 2, 3)
    ]
    assert [model.receipt_.threads for model in models] == [1, 2, 3]
    for model in models[1:]:
        assert same_training(models[0], model)
        assert models[0].validation_scores_ == model.validation_scores_
        assert np.array_equal(models[0].predict(X), model.predict(X))


# ---- among scikit-learn's tools ------------------------------------------------------


def test_in_a_pipeline():
    X, y = classes()
    pipeline = make_pipeline(StandardScaler(), small(max_iter=60)).fit(X * 1e3 + 1e4, y)
    assert pipeline.score(X * 1e3 + 1e4, y) > 0.8


def test_in_a_grid_search_over_methods_and_epsilon():
    X, y = classes()
    grid = {"method": METHODS_ALONE, "epsilon": [0.5, 2.0]}
    search = GridSearchCV(small(), grid, cv=3, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 2 * len(METHODS_ALONE)
    best = small(**search.best_params_).fit(X, y)
    assert same_training(search.best_estimator_, best)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_in_a_cross_validation_of_two_processes(of):
    X, y = data_for(of)
    two = cross_val_score(small(of), X, y, cv=4, n_jobs=2, error_score="raise")
    assert two.tolist() == cross_val_score(small(of), X, y, cv=4).tolist()


@pytest.mark.parametrize("of", ESTIMATORS)
def test_clones_know_the_parameters_and_nothing_else(of):
    X, y = data_for(of)
    model = small(of, method=SET(new_values="zero")).fit(X, y)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "network_")
    assert same_training(fresh.fit(X, y), model)


@pytest.mark.parametrize("solver", ["sgd", "adam"])
@pytest.mark.parametrize("method", METHODS_ALONE)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_a_pickle_or_copy_goes_on_to_the_bit(of, method, solver):
    X, y = data_for(of)
    model = small(of, method=method, solver=solver).fit(X, y)
    pickled = pickle.loads(pickle.dumps(model))
    copied = copy.deepcopy(model)
    model.partial_fit(X, y)
    assert not same_training(copied, model)
    for other in (pickled, copied):
        other.partial_fit(X, y)
        assert same_training(other, model)
        assert np.array_equal(other.predict(X), model.predict(X))


def test_set_params_changes_the_next_fit_alone():
    X, y = classes()
    model = small().fit(X, y)
    before = model.predict_proba(X)
    model.set_params(hidden_layer_sizes=(5,), activation="tanh", method="set")
    assert np.array_equal(model.predict_proba(X), before)
    model.fit(X, y)
    assert model.network_.sizes == [12, 5, 3]
    assert model.network_.activation == "tanh"


def test_weights_and_validation_data_are_routed_through_a_pipeline():
    X, y = classes()
    X_val, y_val = classes(seed=1, n=40)
    weight = np.linspace(0.5, 2, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = small().set_fit_request(sample_weight=True, X_val=True, y_val=True)
        pipeline = Pipeline(
            [
                ("scale", StandardScaler().set_fit_request(sample_weight=False)),
                ("m", model),
            ],
            transform_input=["X_val"],
        )
        pipeline.fit(X, y, sample_weight=weight, X_val=X_val, y_val=y_val)
    scaler = StandardScaler().fit(X)
    direct = small().fit(
        scaler.transform(X),
        y,
        sample_weight=weight,
        X_val=scaler.transform(X_val),
        y_val=y_val,
    )
    assert len(direct.validation_scores_) == 4
    assert pipeline["m"].validation_scores_ == direct.validation_scores_
    assert same_training(pipeline["m"], direct)


def test_weights_and_validation_data_are_routed_through_a_grid_search():
    X, y = classes()
    X_val, y_val = classes(seed=1, n=40)
    weight = np.linspace(0.5, 2, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = small().set_fit_request(sample_weight=True, X_val=True, y_val=True)
        model.set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"epsilon": [1.0, 2.0]}, cv=3, error_score="raise")
        search.fit(X, y, sample_weight=weight, X_val=X_val, y_val=y_val)
    direct = small(**search.best_params_)
    direct.fit(X, y, sample_weight=weight, X_val=X_val, y_val=y_val)
    assert same_training(search.best_estimator_, direct)
    assert search.best_estimator_.validation_scores_ == direct.validation_scores_


def test_partial_fit_can_ask_for_classes_and_weights():
    with sklearn.config_context(enable_metadata_routing=True):
        model = small().set_partial_fit_request(sample_weight=True, classes=True)
        assert model.get_metadata_routing().partial_fit.requests == {
            "sample_weight": True,
            "classes": True,
        }


# ---- it learns -----------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["sgd", "adam"])
@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_learns_with_every_solver(method, solver):
    X, y = classes(n=400)
    model = small(
        hidden_layer_sizes=(40,),
        method=method,
        solver=solver,
        learning_rate_init={"sgd": 0.05, "adam": 0.005}[solver],
        max_iter=60,
    )
    model.fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.75
    assert model.loss_curve_[-1] < 0.6 * model.loss_curve_[0]
