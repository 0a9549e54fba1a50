import hashlib
import io
import json
import os
import pickle
import stat
import struct
import zipfile
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as safetensors_arrays
from safetensors.numpy import load_file
from safetensors.numpy import save as safetensors_bytes
from sklearn.exceptions import NotFittedError

import cofire
from cofire import (
    METHODS,
    Augmentation,
    SparseMLPClassifier,
    SparseMLPRegressor,
)
from cofire.callbacks import Monitor
from cofire.errors import ModelFormatError
from cofire.methods.set import SET
from cofire.persistence import atomic
from cofire.persistence import model_file as container
from cofire.saving import save
from helpers.estimator_cases import METHODS_ALONE, earlier

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 7)).astype(np.float32)
NUMBER = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)  # three classes
WORDS = np.array(["ant", "bee", "cat"])


def classifier(**parameters):
    defaults = {"hidden_layer_sizes": (9, 8), "epsilon": 1.5, "random_state": 3}
    return earlier(**defaults | {"max_iter": 3} | parameters)


def regressor(**parameters):
    defaults = {"hidden_layer_sizes": (9, 8), "epsilon": 1.5, "random_state": 3}
    return earlier(SparseMLPRegressor, **defaults | {"max_iter": 3} | parameters)


def saved_and_loaded(model, path):
    model.save(path)
    return cofire.load(path)


def networks(model):
    progress = model._progress
    return [model.network_, progress.network, progress.best_network]


def arrays(model):
    """Every array of a model, in a fixed order."""
    for network in filter(None, networks(model)):
        for layer in network.layers:
            yield from (layer.indptr, layer.indices, layer.weights, layer.bias)
    for state in model._progress.optimizer.state:
        yield from (*state.weights, *state.bias)


def scalars(model):
    names = "n_features_in_ n_iter_ loss_ loss_curve_ history_ seed_ receipt_".split()
    names += ["validation_scores_", "best_validation_score_", "resumed_after_"]
    public = {name: getattr(model, name) for name in names}
    progress = dict(vars(model._progress))
    for name in ("network", "best_network", "optimizer"):
        progress.pop(name)
    optimizer = model._progress.optimizer
    return public | {
        "progress": progress,
        "optimizer": (optimizer.kind, optimizer.settings(), optimizer.steps_done),
        "activations": [n and (n.activation, n.output) for n in networks(model)],
    }


def assert_same(ours, theirs):
    assert type(ours) is type(theirs)
    assert ours.get_params() == theirs.get_params()
    assert scalars(ours) == scalars(theirs)
    for a, b in zip(arrays(ours), arrays(theirs), strict=True):
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes()
    for name in ("classes_", "feature_names_in_", "target_mean_", "target_scale_"):
        if hasattr(theirs, name):
            a, b = getattr(ours, name), getattr(theirs, name)
            assert a.dtype == b.dtype and a.tolist() == b.tolist()


def weights(model):
    return b"".join(array.tobytes() for array in arrays(model))


# ---- round trips --------------------------------------------------------------------

MULTILABEL = np.stack([NUMBER > 0, NUMBER > 1, X[:, 2] > 0], axis=1).astype(int)
FITTED = {
    "plain": lambda: classifier().fit(X, NUMBER),
    "words": lambda: classifier(method="set").fit(X, WORDS[NUMBER]),
    "static": lambda: classifier(method="static", density=0.4).fit(X, NUMBER),
    "dense": lambda: classifier(method="dense", activation="tanh").fit(X, NUMBER),
    "adam": lambda: classifier(solver="adam", learning_rate="cosine").fit(X, NUMBER),
    "method object": lambda: classifier(
        method=SET(new_values="zero", returning="kept")
    ).fit(X, NUMBER),
    "images": lambda: classifier(augmentation=Augmentation(1, 7, shift=0.3)).fit(
        X, NUMBER
    ),
    "knobs": lambda: classifier(
        label_smoothing=0.1, input_dropout=np.float32(0.25), drop_schedule="cosine"
    ).fit(X, NUMBER),
    "class weights": lambda: classifier(class_weight={0: 1, 1: 2.5, 2: 1}).fit(
        X, NUMBER
    ),
    "word weights": lambda: classifier(
        class_weight={"ant": 1, "bee": 2, "cat": 3}, method="set"
    ).fit(X, WORDS[NUMBER]),
    "restored": lambda: classifier(max_iter=12).fit(X, NUMBER, X_val=X, y_val=NUMBER),
    "early stopping": lambda: classifier(
        early_stopping=True, n_iter_no_change=2, max_iter=9
    ).fit(X, NUMBER),
    "last epoch kept": lambda: classifier(restore_best=False).fit(
        X, NUMBER, X_val=X, y_val=NUMBER
    ),
    "multi-label": lambda: classifier().fit(X, MULTILABEL),
    "sparse": lambda: classifier().fit(scipy.sparse.csr_array(X), NUMBER),
    "sizes as a list": lambda: classifier(hidden_layer_sizes=[5]).fit(X, NUMBER),
    "no hidden layer": lambda: classifier(hidden_layer_sizes=()).fit(X, NUMBER),
    "numpy parameters": lambda: classifier(
        hidden_layer_sizes=np.int64(6), alpha=np.float32(0.1)
    ).fit(X, NUMBER),
    "names": lambda: classifier().fit(pd.DataFrame(X, columns=list("abcdefß")), NUMBER),
    "regressor": lambda: regressor().fit(X, X[:, 0]),
    "two outputs": lambda: regressor(method="set").fit(X, X[:, :2]),
    "regressor with R^2": lambda: regressor().fit(
        X, X[:, 0], X_val=X, y_val=X[:, 0], sample_weight_val=np.ones(60)
    ),
}


@cache
def fitted(kind):
    return FITTED[kind]()


@pytest.mark.parametrize("kind", FITTED)
def test_a_model_comes_back_to_the_bit(kind, tmp_path):
    model = fitted(kind)
    loaded = saved_and_loaded(model, tmp_path / "m.cofire")
    assert_same(loaded, model)
    assert str(loaded.receipt_) == str(model.receipt_)
    frame = X if kind != "names" else pd.DataFrame(X, columns=model.feature_names_in_)
    assert loaded.predict(frame).tolist() == model.predict(frame).tolist()
    assert loaded.predict(frame).dtype == model.predict(frame).dtype
    if hasattr(model, "predict_proba"):
        ours, theirs = loaded.predict_proba(frame), model.predict_proba(frame)
        assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize(
    "labels",
    [
        *(np.array([2, 0, 1], dtype=t) for t in ("i1", "u1", "i4", "u4", "i8", "u8")),
        *(np.array([2.0, -1.0, 0.0], dtype=t) for t in ("f2", "f4", "f8")),
        np.array([2**63, 1, 2**64 - 1], dtype="u8"),
        np.array([False, True, True]),
        np.array(["b", "ä", "longer"]),
        np.array(["b", "a", "c"], dtype="U20"),
        np.array(["b", "a", "c"], dtype=object),
        pd.Series(["b", "a", "c"]),
        pd.Series(["b", "a", "c"], dtype="category"),
        pd.Series([3, 1, 2], dtype="Int64"),
        np.array([3, 1, 2], dtype=">i4"),
    ],
    ids=lambda labels: f"{labels.dtype}-{labels[0]}",
)
def test_labels_keep_dtype_and_order(labels, tmp_path):
    y = labels[NUMBER]
    if isinstance(y, pd.Series):
        y = y.reset_index(drop=True)
    model = classifier(method="static", max_iter=1).fit(X, y)
    loaded = saved_and_loaded(model, tmp_path / "m.cofire")
    assert_same(loaded, model)
    assert loaded.classes_.dtype.byteorder == model.classes_.dtype.byteorder
    assert [type(a) for a in loaded.classes_] == [type(a) for a in model.classes_]


@settings(max_examples=15, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 6), max_size=3),
    solver=st.sampled_from(["sgd", "adam"]),
    method=st.sampled_from(sorted(METHODS)),
    seed=st.integers(0, 2**32 - 1),
    alpha=st.floats(0, 0.1),
)
def test_any_network_comes_back(sizes, solver, method, seed, alpha, tmp_path_factory):
    model = classifier(
        hidden_layer_sizes=sizes,
        solver=solver,
        method=method,
        random_state=seed,
        alpha=alpha,
        max_iter=2,
        epsilon=0.6,
    ).fit(X, NUMBER)
    path = tmp_path_factory.mktemp("any") / "m.cofire"
    assert_same(saved_and_loaded(model, path), model)


def test_equal_models_give_equal_files(tmp_path):
    model = fitted("restored")
    model.save(tmp_path / "a")
    cofire.load(tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_loaded_model_keeps_its_preprocessing(tmp_path):
    plain = {"columns": ["a"], "target": "ß"}
    save(classifier().fit(X, NUMBER), tmp_path / "m", preprocessing=plain)
    loaded = saved_and_loaded(cofire.load(tmp_path / "m"), tmp_path / "m")
    loaded.partial_fit(X, NUMBER).save(tmp_path / "m")
    assert container.read(tmp_path / "m")[0]["preprocessing"] == plain
    # Another fit may be of other rows.
    loaded.fit(X[:, :5], NUMBER).save(tmp_path / "m")
    assert "preprocessing" not in container.read(tmp_path / "m")[0]


def test_the_safetensors_library_reads_the_same_arrays(tmp_path):
    fitted("adam").save(tmp_path / "m")
    theirs = load_file(tmp_path / "m")
    _, ours = container.read(tmp_path / "m")
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert array.dtype == theirs[name].dtype
        assert array.tobytes() == theirs[name].tobytes()


# ---- going on -----------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["sgd", "adam"])
@pytest.mark.parametrize("method", METHODS_ALONE)
def test_a_loaded_model_goes_on_as_if_it_had_never_stopped(method, solver, tmp_path):
    whole = classifier(method=method, solver=solver, max_iter=5).fit(X, NUMBER)
    model = classifier(method=method, solver=solver, max_iter=5)
    for _ in range(5):
        model = saved_and_loaded(model.partial_fit(X, NUMBER), tmp_path / "m")
    assert weights(model) == weights(whole)
    assert model.loss_curve_ == whole.loss_curve_


@pytest.mark.parametrize("restore_best", [True, False])
def test_a_warm_start_goes_on_after_loading(restore_best, tmp_path):
    model = classifier(warm_start=True, max_iter=6, restore_best=restore_best)
    model.fit(X, NUMBER, X_val=X[::2], y_val=NUMBER[::2])
    loaded = saved_and_loaded(model, tmp_path / "m")
    for one in (model, loaded):
        one.fit(X, NUMBER, X_val=X[::2], y_val=NUMBER[::2])
    assert weights(loaded) == weights(model)
    assert loaded.validation_scores_ == model.validation_scores_
    assert loaded.best_validation_score_ == model.best_validation_score_


def test_a_loaded_regressor_goes_on(tmp_path):
    whole = regressor(max_iter=4).fit(X, X[:, :2])
    model = regressor().fit(X, X[:, :2])
    loaded = saved_and_loaded(model, tmp_path / "m").partial_fit(X, X[:, :2])
    assert weights(loaded) == weights(whole)


# ---- what is not stored -------------------------------------------------------------


def test_callbacks_and_random_states_are_left_out_with_a_note(tmp_path):
    model = classifier(
        callbacks=[Monitor(X, NUMBER)], random_state=np.random.RandomState(0)
    ).fit(X, NUMBER)
    loaded = saved_and_loaded(model, tmp_path / "m")
    assert loaded.callbacks == ()
    assert loaded.random_state is None
    assert loaded.seed_ == model.seed_
    notes = container.read(tmp_path / "m")[0]["notes"]
    assert len(notes) == 2 and "RandomState" in notes[1]


@dataclass(frozen=True)
class Own(SET):
    pass


class Subclass(SparseMLPClassifier):
    pass


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: classifier(), NotFittedError, "not fitted"),
        (lambda: classifier(method=Own()).fit(X, NUMBER), ValueError, "method: Own"),
        (lambda: Subclass((40,)).fit(X, NUMBER), ValueError, "Subclass cannot be"),
        (
            lambda: classifier().fit(X, NUMBER).set_params(alpha=-1),
            ValueError,
            "alpha",
        ),
    ],
)
def test_what_cannot_be_stored_is_refused_and_nothing_is_written(
    make, error, message, tmp_path
):
    model = make()
    with pytest.raises(error, match=message):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


# ---- writing ------------------------------------------------------------------------


def fail(*arguments):
    raise OSError(28, "No space left on device")


class FullDisk(io.BytesIO):
    write = fail


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    broken, tmp_path, monkeypatch
):
    path = tmp_path / "m.cofire"
    fitted("words").save(path)
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, broken, fail)
        with pytest.raises(OSError, match="No space"):
            fitted("plain").save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    assert_same(cofire.load(path), fitted("words"))


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(atomic, "open", lambda *a: FullDisk(), raising=False)
        with pytest.raises(OSError, match="No space"):
            fitted("plain").save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_missing_folders_are_created(tmp_path):
    fitted("plain").save(tmp_path / "not" / "here" / "m")
    assert_same(cofire.load(tmp_path / "not" / "here" / "m"), fitted("plain"))


def test_a_place_that_cannot_be_written_is_named_and_nothing_is_made(tmp_path):
    (tmp_path / "file").write_text("")
    for place in ("file/new/m", "."):
        with pytest.raises(OSError) as caught:
            fitted("plain").save(tmp_path / place)
        assert caught.value.filename == os.path.realpath(tmp_path / place)
        assert "tmp" not in os.path.basename(caught.value.filename).split(".")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_relative_paths_links_and_permissions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fitted("plain").save("m.cofire")
    os.symlink("m.cofire", "link")
    fitted("words").save("link")
    assert os.path.islink("link")
    assert_same(cofire.load("m.cofire"), fitted("words"))
    umask = os.umask(0)
    os.umask(umask)
    assert os.stat("m.cofire").st_mode & 0o777 == 0o666 & ~umask


@pytest.mark.parametrize("name", ["pipe", "link to a pipe"])
def test_a_pipe_or_a_device_is_not_replaced(name, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    os.symlink("pipe", tmp_path / "link to a pipe")
    with pytest.raises(OSError, match="Not a regular file") as caught:
        fitted("plain").save(tmp_path / name)
    assert caught.value.filename == str(tmp_path / "pipe")
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)
    assert len(list(tmp_path.iterdir())) == 2


# ---- malformed files: thousands more in tests/reliability/test_malformed_files.py ----


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "m.cofire"
    fitted("words").save(path)
    return path.read_bytes()


def refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ModelFormatError):
        cofire.load(path)


def zipped():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a", "b")
    return file.getvalue()


def with_header(header, data=b""):
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(header)) + header + data


F32 = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}


@pytest.mark.parametrize(
    "strange",
    [
        *(b"", b"\0", b"\0" * 8, b"\xff" * 8, b"\xff" * 4096, b"not a model"),
        *(pickle.dumps({"a": 1}), pickle.dumps(X), zipped()),
        struct.pack("<Q", 2**63) + b"{}",
        with_header(b""),
        with_header(b"[]"),
        with_header(b"1"),
        with_header(b"{}"),
        with_header(b"{"),
        with_header(b"[" * 100_000),
        with_header(b'{"a":' * 100_000),
        with_header(b"\xff\xfe{}"),
        with_header(b"9" * 5000),
        with_header({"__metadata__": 1}),
        with_header({"__metadata__": {"cofire": 1}}),
        with_header({"__metadata__": {"cofire": "{}"}}),
        with_header({"__metadata__": {"cofire": "[]"}}),
        with_header({"__metadata__": {"cofire": "[" * 5000}}),
        with_header({"__metadata__": {"cofire": '{"format":1}'}}),
        with_header({"__metadata__": {"cofire": '{"format":NaN}'}}),
        with_header({"__metadata__": {"cofire": '{"format":true}'}}),
        with_header({"__metadata__": {"cofire": '{"format":"1"}'}}),
        with_header({"__metadata__": {"cofire": '{"format":1,"format":1}'}}),
        with_header(b'{"__metadata__":{},"__metadata__":{}}'),
        with_header({"a": F32}, b"1234"),
        safetensors_bytes({"a": np.zeros(3, np.float32)}),
        safetensors_bytes({"a": np.zeros(3, np.float32)}, {"cofire": "1"}),
    ],
    ids=lambda strange: f"{len(strange)}-{strange[:24]!r}",
)
def test_other_files_are_refused(strange, tmp_path):
    refused(tmp_path / "m", strange)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(tmp_path_factory, strange):
    path = tmp_path_factory.mktemp("any") / "m"
    refused(path, strange)
    refused(path, with_header(strange))


def test_files_that_are_not_there_or_no_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        cofire.load(tmp_path / "m")
    with pytest.raises(IsADirectoryError):
        cofire.load(tmp_path)
    with pytest.raises(ModelFormatError, match="regular"):
        cofire.load("/dev/zero")


def test_a_file_is_what_safetensors_writes(content, tmp_path):
    tensors = safetensors_arrays(content)
    assert {a.dtype.name for a in tensors.values()} == {"int64", "int32", "float32"}
    end = 8 + int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8:end])["__metadata__"]
    assert safetensors_bytes(tensors, metadata) == content


def test_a_newer_format_says_so(content, tmp_path):
    document = json.dumps({"format": 3, "cofire": "9.0"})
    (tmp_path / "m").write_bytes(with_header({"__metadata__": {"cofire": document}}))
    with pytest.raises(ModelFormatError, match="written by a newer cofire .9.0"):
        cofire.load(tmp_path / "m")


# ---- forged files: right checksums, wrong contents ----------------------------------


def forge(source, target, change):
    """Change document and tensors of a good file, and give it right checksums."""
    document, tensors = container.read(source)
    tensors = {name: array.copy() for name, array in tensors.items()}
    change(document, tensors)
    container.write(target, document, tensors)


def put(*path_and_value):
    *path, last, value = path_and_value

    def change(document, tensors):
        for key in path:
            document = document[key]
        document[last] = value

    return change


def array(name, change):
    def apply(document, tensors):
        found = tensors[name]
        tensors[name] = np.ascontiguousarray(change(found))

    return apply


def edited(name, place, value):
    def change(found):
        found[place] = value
        return found

    return array(name, change)


IMAGE, TALL, DEEP = {"height": 1, "width": 7}, {"height": 0.5}, {"depth": 3}


@pytest.mark.parametrize(
    "change",
    [
        put("estimator", "SparseMLPTransformer"),
        put("estimator", "os.system"),
        put("estimator", ["SparseMLPClassifier"]),
        put("estimator", "SparseMLPRegressor"),
        put("parameters", "method", "posix"),
        put("parameters", "method", {"name": "set", "settings": {"x": 1}}),
        put("parameters", "method", {"name": "os", "settings": {}}),
        put("parameters", "method", {"name": "set"}),
        put("parameters", "method", {"name": "set", "settings": {"new_values": 1}}),
        put("parameters", "augmentation", "images"),
        put("parameters", "augmentation", "posix"),
        put("parameters", "augmentation", {"name": "set", "settings": {}}),
        put("parameters", "augmentation", {"name": "images", "settings": {}}),
        put("parameters", "augmentation", {"name": "images", "settings": IMAGE | TALL}),
        put("parameters", "augmentation", {"name": "images", "settings": IMAGE | DEEP}),
        put("parameters", "label_smoothing", 1),
        put("parameters", "input_dropout", "0.2"),
        put("parameters", "n_networks", 0),
        put("parameters", "update_interval", "pass"),
        put("progress", "rate_factor", 0.0),
        put("progress", "rate_factor", 1),
        put("progress", "rate_factor", "1.0"),
        put("chosen", ["epsilon"]),
        put("energy", []),
        put("energy", {}),
        put("energy", "5 J"),
        put("energy", "joules", -1.0),
        put("energy", "joules", "5"),
        put("energy", "joules", {"$float": "nan"}),
        put("energy", "core_seconds", None),
        put("energy", "source", "guess"),
        put("energy", "assumption", 12),
        put("energy", "complete", 1),
        put("parameters", "drop_schedule", "exec"),
        put("parameters", "activation", "exec"),
        put("parameters", "alpha", -1),
        put("parameters", "alpha", "0"),
        put("parameters", "unheard_of", 1),
        put("parameters", "callbacks", {"$tuple": ["print"]}),
        put("parameters", []),
        put("parameters", None),
        put("parameters", "n_jobs", 0),
        put("n_features", 8),
        put("n_features", -1),
        put("n_features", True),
        put("n_features", 7.0),
        put("feature_names", ["a"]),
        put("feature_names", [1, 2, 3, 4, 5, 6, 7]),
        put("feature_names", 7),
        put("targets", "classes_", None),
        put("targets", "classes_", ["ant", "bee", "cat"]),
        put(
            "targets",
            "classes_",
            {"$array": {"dtype": "<U3", "values": ["ant", "bee"]}},
        ),
        put(
            "targets",
            "classes_",
            {"$array": {"dtype": "<U3", "values": ["b", "a", "c"]}},
        ),
        put(
            "targets",
            "classes_",
            {"$array": {"dtype": "<U3", "values": ["a", "a", "c"]}},
        ),
        put("targets", "classes_", {"$array": {"dtype": "O", "values": ["a", 1, "c"]}}),
        put(
            "targets",
            "classes_",
            {"$array": {"dtype": "<U99999999", "values": ["a"] * 3}},
        ),
        put("threads", "2"),
        put("progress", None),
        put("progress", "sizes", [7, 9, 8]),
        put("progress", "sizes", [7, 9, 8, 4]),
        put("progress", "sizes", [7]),
        put("progress", "sizes", []),
        put("progress", "sizes", [7, 2**70, 8, 3]),
        put("progress", "sizes", [3, 9, 8, 3]),
        put("progress", "activation", "gelu"),
        put("progress", "output", "identity"),
        put("progress", "best_network", "own"),
        put("progress", "best_network", {}),
        put("progress", "optimizer", "adam"),
        put("progress", "optimizer", "lion"),
        put("progress", "settings", {"learning_rate": "x"}),
        put("progress", "settings", {"state": []}),
        put("progress", "steps_done", -1),
        put("progress", "seed", 2**31),
        put("progress", "seed", None),
        put("progress", "epoch", 4),
        put("progress", "history", []),
        put("progress", "history", [1, 2, 3]),
        put("progress", "history", [{}, {}, {}]),
        put("progress", "history", 0, "train_seconds", "long"),
        put("progress", "history", 0, "loss", {"$oops": 1}),
        put("progress", "history", 0, "rows", "many"),
        put("progress", "history", 0, "rows", -1),
        put("progress", "history", 0, "rows", 10**400),
        put("progress", "best_score", "high"),
        put("progress", "stalled_epochs", 0.5),
        edited("network.0.indptr", 0, 1),
        edited("network.0.indptr", -1, 10**9),
        edited("network.0.indptr", 1, -5),
        edited("network.0.indptr", 1, 2**62),
        edited("network.0.indices", 0, 7),
        edited("network.0.indices", 0, -1),
        edited("network.0.indices", slice(None), 0),
        array("network.0.indices", lambda a: a[::-1]),
        edited("network.0.weights", 0, np.nan),
        edited("network.1.bias", 0, np.inf),
        edited("moments.0.0.weights", 0, np.nan),
        array("network.0.weights", lambda a: a[:-1]),
        array("network.0.bias", lambda a: a[:-1]),
        array("network.0.bias", lambda a: a[:0]),
        array("network.0.indptr", lambda a: a[:0]),
        array("network.0.indices", lambda a: a.astype(np.int64)),
        array("network.0.indptr", lambda a: a.astype(np.int32)),
        array("network.0.weights", lambda a: a.astype(np.float64)),
        array("network.0.weights", lambda a: a.reshape(1, -1)),
        array("moments.0.0.bias", lambda a: a[:-1]),
        array("moments.0.0.bias", lambda a: a.astype(np.int32)),
        lambda d, t: t.pop("network.0.bias"),
        lambda d, t: t.pop("moments.1.0.weights"),
        lambda d, t: t.update(extra=np.zeros(1, np.float32)),
        *(
            lambda d, t, key=key: d.pop(key)
            for key in ("estimator", "parameters", "n_features", "targets", "progress")
        ),
    ],
)
def test_forged_contents_are_refused(change, content, tmp_path):
    (tmp_path / "good").write_bytes(content)
    forge(tmp_path / "good", tmp_path / "m", change)
    with pytest.raises(ModelFormatError):
        cofire.load(tmp_path / "m")


def test_a_header_with_a_damaged_byte_is_called_damaged(content, tmp_path):
    (tmp_path / "m").write_bytes(content[:100] + b"\xc5" + content[101:])
    words = "damaged: byte 100 of its header is no text. .*copy it again"
    with pytest.raises(ModelFormatError, match=words) as caught:
        cofire.load(tmp_path / "m")
    assert "codec" not in str(caught.value)


def test_checksums_are_those_of_the_arrays(content, tmp_path):
    (tmp_path / "m").write_bytes(content)
    document, tensors = container.read(tmp_path / "m")
    for name, found in tensors.items():
        sha256 = hashlib.sha256(found.tobytes()).hexdigest()
        assert document["tensors"][name] == sha256
