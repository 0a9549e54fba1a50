"""Estimators with standardize=True: what they learn, keep, store and continue."""

import json
import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
import scipy.sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

import cofire
from cofire import Augmentation, SparseMLPClassifier, SparseMLPRegressor, profiles
from cofire.callbacks import Callback, Checkpoint, Monitor
from cofire.errors import ModelFormatError
from helpers.estimator_cases import (
    ESTIMATORS,
    classes,
    data_for,
    same_training,
    small,
)
from helpers.reliability.file_cases import pack, unpack


def raw(of=SparseMLPClassifier, **how):
    return small(of, standardize=True, **how)


def plain(of=SparseMLPClassifier, **how):
    return small(of, standardize=False, **how)


def outputs(model, X):
    return model._predict_outputs(X)


def table(n=150, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    frame = pd.DataFrame(
        {
            "colour": np.array(["red", "green", "blue"])[y],
            "age": rng.normal(40, 10, n),
            "income": rng.lognormal(8, 2, n) * (1 + y),
        }
    )
    frame.loc[rng.random(n) < 0.4, "colour"] = None
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    return frame, y


# ---- what it is for ------------------------------------------------------------------


@pytest.mark.parametrize("of", ESTIMATORS)
def test_on_plain_data_it_is_StandardScaler(of):
    X, y = data_for(of)
    X = np.clip(X, -2, 2)
    scaled = StandardScaler().fit_transform(X.astype(np.float64))
    assert np.abs(scaled).max() < 4
    ours, theirs = raw(of, n_pieces=0).fit(X, y), plain(of).fit(scaled, y)
    np.testing.assert_allclose(outputs(ours, X), outputs(theirs, scaled), atol=1e-4)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_units_offsets_and_an_outlier_hardly_matter(of):
    X, y = data_for(of)
    X = X.astype(np.float64)
    model = raw(of, max_iter=20).fit(X, y)
    factor = 10.0 ** np.linspace(-6, 6, 12)
    moved = X * factor + 1e8 * np.minimum(factor, 1)
    other = raw(of, max_iter=20).fit(moved, y)
    np.testing.assert_allclose(outputs(other, moved), outputs(model, X), atol=1e-2)
    moved[5, 3] = 1e30
    other = raw(of, max_iter=20).fit(moved, y)
    rows = np.arange(len(y)) != 5
    score = model.score(X[rows], y[rows])
    assert abs(other.score(moved[rows], y[rows]) - score) < 0.1


def test_a_table_is_learnt():
    frame, y = table(400)
    model = raw(max_iter=60, hidden_layer_sizes=(20,), epsilon=5).fit(frame, y)
    assert model.score(frame, y) > 0.7  # 0.6 of the rows tell their class


def test_huge_values_give_finite_outputs():
    X, y = classes()
    model = raw().fit(X, y)
    assert np.isfinite(outputs(model, np.full((2, 12), 1e300))).all()
    assert np.isfinite(outputs(model, np.full((2, 12), np.nan))).all()


def test_without_it_nothing_is_learnt_of_the_columns():
    X, y = classes()
    model = plain().fit(X, y)
    assert model._fitted.encoder is None
    assert model.input_names_ == [f"x{i}" for i in range(12)]
    frame = pd.DataFrame(X, columns=[f"gene {i}" for i in range(12)])
    assert plain().fit(frame, y).input_names_ == list(frame.columns)


def test_names_of_inputs():
    frame, y = table()
    model = raw(n_pieces=0).fit(frame, y)
    assert model.input_names_ == [
        *("age", "income", "income missing"),
        *("colour=blue", "colour=green", "colour=red", "colour missing"),
    ]
    assert model.n_features_in_ == 3
    assert model.network_.sizes[0] == len(model.input_names_) == 7
    assert model.coefs_[0].shape[0] == 7
    with pytest.raises(AttributeError, match="not fitted"):
        _ = raw().input_names_


def test_the_tag_says_whether_gaps_are_allowed():
    assert raw().__sklearn_tags__().input_tags.allow_nan is True
    assert plain().__sklearn_tags__().input_tags.allow_nan is False


# ---- weights, validation, continuing -------------------------------------------------


@pytest.mark.parametrize("of", ESTIMATORS)
def test_rows_of_weight_0_do_not_count(of):
    X, y = data_for(of)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    broken = X.copy()
    broken[weight == 0] = 1e9
    ours = raw(of, input_dropout=0.1).fit(broken, y, sample_weight=weight)
    used = weight > 0
    theirs = raw(of, input_dropout=0.1).fit(
        X[used], y[used], sample_weight=weight[used]
    )
    assert same_training(ours, theirs)


def test_class_weights_are_sample_weights():
    X, y = classes()
    by_class = {0: 0.0, 1: 1.0, 2: 3.0}
    ours = raw(class_weight=by_class).fit(X, y)
    theirs = raw().fit(X, y, sample_weight=np.array([0.0, 1.0, 3.0])[y])
    assert same_training(ours, theirs)
    assert np.array_equal(ours._fitted.encoder.scale, theirs._fitted.encoder.scale)


FORMS = {
    "dense": lambda X: X,
    "sparse": lambda X: scipy.sparse.csr_array(np.where(np.abs(X) > 1, X, 0)),
    "bytes": lambda X: np.clip(128 + 40 * X, 0, 255).astype(np.uint8),
    "table": lambda X: pd.DataFrame(X).assign(level=np.where(X[:, 0] > 0, "a", "b")),
}


def formed(form, X):
    made = FORMS[form](X)
    return made.set_axis(map(str, made.columns), axis=1) if form == "table" else made


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_validation_rows_are_encoded_by_what_the_training_rows_taught(of, form):
    X, y = data_for(of)
    X = formed(form, X)
    model = raw(of).fit(X, y, X_val=X, y_val=y)
    last = raw(of).fit(X, y).score(X, y)
    assert model.validation_scores_[-1] == pytest.approx(last, abs=1e-5)
    monitor = Monitor(X, y)
    raw(of, callbacks=[monitor]).fit(X, y)
    assert monitor.scores == model.validation_scores_
    stopped = raw(of, early_stopping=True).fit(X, y)
    assert len(stopped.validation_scores_) == 4
    assert np.isfinite(stopped.validation_scores_).all()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_calls_of_partial_fit_are_a_fit(of, form):
    X, y = data_for(of)
    X = formed(form, X)
    model = raw(of, max_iter=3).fit(X, y)
    parts = raw(of, max_iter=3)
    for _ in range(3):
        parts.partial_fit(X, y)
    assert same_training(parts, model)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_the_first_partial_fit_learns_the_columns(of):
    X, y = data_for(of)
    model = raw(of, learning_rate_init=1e-4).partial_fit(X, y)
    encoder = model._fitted.encoder
    model.partial_fit(X * 100, y)
    assert model._fitted.encoder is encoder
    model.set_params(warm_start=True).fit(X * 100, y)
    assert model._fitted.encoder is encoder
    model.set_params(warm_start=False).fit(X * 100, y)
    n = X.shape[1]  # pieces have no unit
    scale = model._fitted.encoder.scale
    np.testing.assert_allclose(scale[:n], 100 * encoder.scale[:n], rtol=1e-6)
    np.testing.assert_allclose(scale[n:], encoder.scale[n:], rtol=1e-6)


@pytest.mark.parametrize("of", ESTIMATORS)
@pytest.mark.parametrize("first", [True, False])
def test_training_must_continue_as_it_began(of, first):
    X, y = data_for(of)
    model = small(of, standardize=first).fit(X, y)
    model.set_params(standardize=not first, warm_start=True)
    began = "with" if first else "without"
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=f"standardize=.*began {began} it"):
            call(X, y)
    # What was fitted says how to predict, not the parameter.
    assert np.array_equal(
        outputs(model, X), outputs(small(of, standardize=first).fit(X, y), X)
    )


def test_images_are_moved_as_bytes_and_as_floats():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (60, 16), dtype=np.uint8)
    y = rng.integers(2, size=60)
    how = {"augmentation": Augmentation(4, 4)}
    as_bytes, as_floats = raw(**how).fit(X, y), raw(**how).fit(X / 1.0, y)
    assert as_bytes.loss_ == pytest.approx(as_floats.loss_, rel=0.3)
    gaps = X / 1.0
    gaps[0, 0] = np.nan
    message = "16 features, X has 17"
    with pytest.raises(ValueError, match=message):
        raw(**how).fit(gaps, y)


# ---- storing -------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_a_model_comes_back_to_the_bit(of, form, tmp_path):
    X, y = data_for(of)
    X = formed(form, X)
    model = raw(of, max_iter=2).fit(X, y)
    model.save(tmp_path / "model")
    loaded = cofire.load(tmp_path / "model")
    loaded.save(tmp_path / "again")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes()
    for copy in (loaded, pickle.loads(pickle.dumps(model))):
        assert copy.standardize is True
        assert copy.input_names_ == model.input_names_
        assert copy.n_features_in_ == model.n_features_in_
        assert np.array_equal(outputs(copy, X), outputs(model, X))
        continued = copy.partial_fit(X, y)
        assert same_training(continued, clone(model).set_params(max_iter=3).fit(X, y))


def test_a_file_is_what_safetensors_writes(tmp_path):
    frame, y = table()
    raw().fit(frame, y).save(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    tensors = safetensors.numpy.load(content)
    assert tensors["encoder.scale"].dtype == np.float64
    end = 8 + int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8:end])["__metadata__"]
    assert safetensors.numpy.save(tensors, metadata) == content


def test_a_clone_knows_nothing():
    frame, y = table()
    copy = clone(raw().fit(frame, y))
    assert copy.standardize is True
    assert not hasattr(copy, "_fitted")
    assert same_training(copy.fit(frame, y), raw().fit(frame, y))


def test_files_without_the_parameter_were_trained_without_it(tmp_path, monkeypatch):
    X, y = classes()
    model = plain().fit(X, y)
    model.save(tmp_path / "model")
    parts = unpack((tmp_path / "model").read_bytes())
    del parts.document["parameters"]["standardize"], parts.document["encoder"]
    (tmp_path / "old").write_bytes(pack(parts))
    old = cofire.load(tmp_path / "old")
    assert old.standardize is False and old._fitted.encoder is None
    assert np.array_equal(outputs(old, X), outputs(model, X))
    assert same_training(old.partial_fit(X, y), model.partial_fit(X, y))
    # It is not the present default that says so.
    monkeypatch.setitem(profiles.DEFAULTS_0_1, "standardize", True)
    assert cofire.load(tmp_path / "old").standardize is True


def damaged(change):
    def written(parts, path):
        change(parts)
        path.write_bytes(pack(parts))

    return written


def set_plain(name, value):
    def change(parts):
        parts.document["encoder"][name] = value

    return change


def set_tensor(name, value):
    def change(parts):
        parts.tensors[name] = np.array(value, parts.tensors[name].dtype)

    return change


MALFORMED = {
    "no encoder": lambda parts: parts.document.update(encoder=None),
    "an encoder that is none": lambda parts: parts.document.update(encoder=[1]),
    "no categories": set_plain("categories", []),
    "a wrong flag": set_plain("sparse", None),
    "other features": lambda parts: parts.document.update(n_features=4),
    "features without number": lambda parts: parts.document.update(n_features=2**40),
    "other levels": set_plain("categories", [[0, ["blue"], False, True]]),
    "a scale too few": set_tensor("encoder.scale", np.ones(6)),
    "a scale that is NaN": set_tensor("encoder.scale", [np.nan] * 7),
    "a column outside": set_tensor("encoder.missing", [7]),
    "a tensor too few": lambda parts: parts.tensors.pop("encoder.centre"),
    "a tensor too many": lambda parts: parts.tensors.update(
        {"encoder.other": np.zeros(3, np.float32)}
    ),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_files_are_refused(kind, tmp_path):
    frame, y = table()
    model = raw().fit(frame, y)
    model.save(tmp_path / "model")
    parts = unpack((tmp_path / "model").read_bytes())
    (tmp_path / "same").write_bytes(pack(parts))
    assert np.array_equal(
        outputs(cofire.load(tmp_path / "same"), frame), outputs(model, frame)
    )
    damaged(MALFORMED[kind])(parts, tmp_path / "bad")
    with pytest.raises(ModelFormatError):
        cofire.load(tmp_path / "bad")


class Interrupt(Callback):
    def on_epoch_end(self, progress, record):
        if progress.epoch == 3:
            raise KeyboardInterrupt


@pytest.mark.parametrize("form", FORMS)
def test_an_interrupted_fit_resumes_to_the_bit(form, tmp_path):
    X, y = classes()
    X = formed(form, X)
    how = {"max_iter": 5}
    whole = raw(**how).fit(X, y)
    policy = Checkpoint(tmp_path, every=1)
    with pytest.raises(KeyboardInterrupt):
        raw(**how, callbacks=[policy, Interrupt()]).fit(X, y)
    # A checkpoint is a model file.
    newest = sorted(tmp_path.glob("*/epoch-*.cofire"))[-1]
    loaded = cofire.load(newest)
    assert loaded.input_names_ == whole.input_names_
    assert np.isfinite(outputs(loaded, X)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the callback is missing: it is another fit
        again = raw(**how, callbacks=[policy]).fit(X, y)
    assert same_training(again, whole)


def test_a_checkpoint_belongs_to_its_columns(tmp_path):
    X, y = classes()
    how = {"checkpoint": str(tmp_path)}
    model = raw(**how).fit(X, y)
    assert raw(**how).fit(X, y).resumed_after_ == model.n_iter_
    # Twice the values give the same inputs, but are other columns.
    with pytest.warns(UserWarning, match="No checkpoint"):
        other = raw(**how).fit(2 * X, y)
    assert other.resumed_after_ == 0
    assert same_training(other, model)


# ---- memory --------------------------------------------------------------------------


def peak_of(call):
    """The most that Python and NumPy had allocated during a call, in bytes."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def large(kind):
    """Rows, and the bytes of a float32 copy of them."""
    rng = np.random.default_rng(0)
    if kind == "csr":
        X = scipy.sparse.random_array(
            (20_000, 500), density=0.2, format="csr", dtype=np.float32, rng=rng
        )
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        X.sum_duplicates()
        return X, X.data.nbytes + X.indices.nbytes
    X = rng.integers(0, 255, size=(20_000, 500), dtype=np.uint8)
    if kind == "frame":
        frame = pd.DataFrame(X.astype(np.float64))
        return frame.assign(whole=1).set_axis(map(str, range(501)), axis=1), 4 * X.size
    return X.astype(kind, copy=False), 4 * X.size


@pytest.mark.parametrize(
    ("kind", "copies"),
    [
        ("uint8", 0),
        ("float32", 1),
        ("float64", 1),
        ("int64", 1),
        ("csr", 1),
        ("frame", 1),
    ],
)
def test_at_most_one_copy_is_made(kind, copies):
    X, size = large(kind)
    y = np.random.default_rng(1).integers(2, size=20_000)
    model = SparseMLPClassifier(
        (20,), epsilon=2, max_iter=1, standardize=True, random_state=0
    )
    rest = 8e6 + 40 * len(y)  # parts of X in float64; targets, order, outputs
    assert peak_of(lambda: model.fit(X, y)) < copies * size + rest
    assert peak_of(lambda: model.predict(X)) < min(copies, 1) * size + rest


def test_bytes_are_not_copied_at_all():
    X, size = large("uint8")
    model = SparseMLPRegressor((20,), epsilon=2, max_iter=1, standardize=True)
    y = np.random.default_rng(1).normal(size=20_000)
    assert peak_of(lambda: model.fit(X, y)) < 0.25 * X.nbytes + 8e6
