"""checkpoint=: a fit that was cut off goes on where it was."""

import multiprocessing
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import cofire
from cofire.callbacks import Callback, Checkpoint
from helpers.estimator_cases import earlier
from helpers.reliability.checkpoint_cases import FITS, X, estimator, sha256, y


class CutOff(Callback):
    """Ends a fit as Ctrl-C does, after so many epochs."""

    def __init__(self, after):
        self.after = after

    def on_epoch_end(self, progress, record):
        if progress.epoch == self.after:
            raise KeyboardInterrupt


def model(folder=None, **parameters):
    defaults = {"hidden_layer_sizes": (20,), "epsilon": 2, "random_state": 0}
    defaults |= {"max_iter": 6, "method": "set", "callbacks": [CutOff(None)]}
    if folder is not None:
        callbacks = [CutOff(None), Checkpoint(folder, every=1)]
        defaults |= {"callbacks": callbacks}
    return earlier(**defaults | parameters)


def cut_off(estimator, after, *data):
    estimator.callbacks[0].after = after
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(*(data or (X, y)))
    estimator.callbacks[0].after = None


def files(folder):
    return sorted(path.name for path in Path(folder).rglob("epoch-*.cofire"))


def weights(estimator):
    layers = estimator.network_.layers
    return b"".join(array.tobytes() for a in layers for array in (a.indices, a.weights))


def test_warnings_point_to_the_line_of_the_user(tmp_path):
    model(tmp_path / "a").fit(X, y)
    with pytest.warns(UserWarning, match="No checkpoint in") as heard:
        model(tmp_path / "a", alpha=0.1).fit(X, y)
    assert [warning.filename for warning in heard] == [__file__]
    model(tmp_path / "b").fit(X, y)
    for path in Path(tmp_path, "b").rglob("epoch-*.cofire"):
        path.write_bytes(b"damaged")
    with pytest.warns(UserWarning, match="A checkpoint was skipped") as heard:
        model(tmp_path / "b").fit(X, y)
    assert {warning.filename for warning in heard} == {__file__}

    class Twice(Callback):
        def on_epoch_end(self, progress, record):
            with pytest.warns(UserWarning, match="Another process runs") as heard:
                model(tmp_path / "c").fit(X, y)
            assert [warning.filename for warning in heard] == [__file__]
            return True

    running = model(tmp_path / "c")
    running.callbacks[0].on_epoch_end = Twice().on_epoch_end
    running.fit(X, y)


# ---- to the bit ----------------------------------------------------------------------


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("after", [1, 4, 11])
def test_a_fit_goes_on_to_the_bit(tmp_path, name, after):
    whole = estimator(name).fit(X, y)
    first = estimator(name, tmp_path)
    first.callbacks.insert(0, CutOff(after))
    with pytest.raises(KeyboardInterrupt):
        first.fit(X, y)
    again = estimator(name, tmp_path)
    again.callbacks.insert(0, CutOff(None))
    again.fit(X, y)
    assert again.resumed_after_ == after - 1  # cut off before its epoch was written
    again.callbacks.pop(0)
    assert sha256(again) == sha256(whole)


def test_a_finished_fit_is_read_not_repeated(tmp_path):
    first = model(tmp_path).fit(X, y)
    again = model(tmp_path).fit(X, y)
    assert again.resumed_after_ == again.n_iter_ == 6
    assert again.history_ == first.history_  # the very seconds: nothing was trained
    assert weights(again) == weights(first)


def test_an_early_stop_is_an_end(tmp_path):
    settings = {"early_stopping": True, "n_iter_no_change": 2, "max_iter": 100}
    first = model(tmp_path, **settings).fit(X, y)
    assert first.n_iter_ < 100
    again = model(tmp_path, **settings).fit(X, y)
    assert again.history_ == first.history_


def test_a_warm_start_has_checkpoints_of_its_own(tmp_path):
    begun = model().fit(X, y)
    whole = clone(begun)
    whole.__dict__ |= begun.__dict__ | {"warm_start": True}
    begun.set_params(callbacks=model(tmp_path).callbacks, warm_start=True)
    other = clone(begun)
    other.__dict__ |= begun.__dict__
    whole.fit(X, y)
    cut_off(begun, 9)
    assert files(tmp_path) == ["epoch-00000007.cofire", "epoch-00000008.cofire"]
    other.fit(X, y)
    assert other.resumed_after_ == 8
    assert other.n_iter_ == 12
    assert weights(other) == weights(whole)


def test_a_checkpoint_is_a_model_file(tmp_path):
    cut_off(estimator_ := model(tmp_path), 4)
    (path,) = tmp_path.rglob("epoch-00000003.cofire")
    loaded = cofire.load(path)
    assert loaded.n_iter_ == 3 and estimator_.n_iter_ == 4
    assert loaded.predict(X).shape == y.shape
    assert loaded.checkpoint is None  # a file does not say where to write


# ---- other fits ----------------------------------------------------------------------

OTHERS = {
    "another seed": ({"random_state": 1}, {}),
    "another parameter": ({"alpha": 0.01}, {}),
    "smoothed labels": ({"label_smoothing": 0.1}, {}),
    "hidden inputs": ({"input_dropout": 0.1}, {}),
    "another schedule": ({"drop_schedule": "cosine"}, {}),
    "more epochs": ({"max_iter": 7}, {}),
    "another X": ({}, {"X": X + 1}),
    "another y": ({}, {"y": y[::-1]}),
    "other labels": ({}, {"y": np.array(["ant", "bee", "cat"], dtype=object)[y]}),
    "weights": ({}, {"sample_weight": np.ones(len(y))}),
    "a sparse X": ({}, {"X": scipy.sparse.csr_array(X)}),
    "validation data": ({}, {"X_val": X[:9], "y_val": y[:9]}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_fit_starts_anew_and_says_so(tmp_path, name):
    parameters, data = OTHERS[name]
    data = {"X": X, "y": y} | data
    cut_off(model(tmp_path), 3)
    before = {path: path.read_bytes() for path in tmp_path.rglob("epoch-*.cofire")}
    other = model(tmp_path, **parameters)
    with pytest.warns(UserWarning, match="starts from scratch"):
        other.fit(**data)
    assert other.resumed_after_ == 0
    assert len(list(tmp_path.iterdir())) == 2
    assert all(path.read_bytes() == content for path, content in before.items())
    assert weights(other) == weights(model(**parameters).fit(**data))


def test_threads_and_verbosity_make_no_other_fit(tmp_path, capsys):
    cut_off(model(tmp_path), 4)
    again = model(tmp_path, n_jobs=1, verbose=1).fit(X, y)
    assert again.resumed_after_ == 3
    assert "after epoch 3" in capsys.readouterr().err


def test_without_a_random_state(tmp_path):
    parameters = {"random_state": None}
    cut_off(first := model(tmp_path, **parameters), 4)
    again = model(tmp_path, **parameters).fit(X, y)
    assert again.resumed_after_ == 3 and again.seed_ == first.seed_
    anew = model(tmp_path, **parameters).fit(X, y)
    assert anew.resumed_after_ == 0 and anew.seed_ != first.seed_
    assert len(files(tmp_path)) == 2


def test_the_clones_of_a_grid_search_do_not_meet(tmp_path):
    grid = {"alpha": [1e-4, 1e-2]}
    plain = GridSearchCV(model(callbacks=()), grid, cv=2).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there are other fits in the folder
        kept = GridSearchCV(model(callbacks=(), checkpoint=tmp_path), grid, cv=2)
        kept.fit(X, y)
        again = clone(kept).fit(X, y)
    assert len(list(tmp_path.iterdir())) == 5
    assert again.best_estimator_.resumed_after_ == 6
    scores = [search.cv_results_["mean_test_score"] for search in (plain, kept, again)]
    assert np.array_equal(scores[0], scores[1])
    assert np.array_equal(scores[0], scores[2])


# ---- the files -----------------------------------------------------------------------


def test_the_last_two_are_kept(tmp_path):
    model(tmp_path).fit(X, y)
    assert files(tmp_path) == ["epoch-00000005.cofire", "epoch-00000006.cofire"]


@pytest.mark.parametrize(
    ("rhythm", "written"),
    [
        ({"every": 4}, [4, 8]),
        ({"every_seconds": 0}, [8, 9]),
        ({"every_seconds": 1e9}, []),
        ({"every": 9, "every_seconds": 1e9}, [9]),
        ({}, []),
    ],
)
def test_the_rhythm(tmp_path, rhythm, written):
    callbacks = [CutOff(None), Checkpoint(tmp_path, **rhythm)]
    cut_off(model(callbacks=callbacks, max_iter=20), 10)
    assert files(tmp_path) == [f"epoch-{epoch:08}.cofire" for epoch in written]


def test_a_damaged_checkpoint_is_skipped_with_a_warning(tmp_path):
    cut_off(model(tmp_path), 5)
    (newest,) = tmp_path.rglob("epoch-00000004.cofire")
    content = bytearray(newest.read_bytes())
    content[-1] ^= 1
    newest.write_bytes(content)
    again = model(tmp_path)
    with pytest.warns(UserWarning, match="skipped.*epoch-00000004.*checksum"):
        again.fit(X, y)
    assert again.resumed_after_ == 3
    assert weights(again) == weights(model().fit(X, y))
    assert files(tmp_path) == ["epoch-00000005.cofire", "epoch-00000006.cofire"]


def test_two_damaged_ones_mean_a_fresh_start(tmp_path):
    cut_off(model(tmp_path), 5)
    for path in tmp_path.rglob("epoch-*.cofire"):
        path.write_bytes(b"")
    again = model(tmp_path)
    with pytest.warns(UserWarning, match="skipped"):
        again.fit(X, y)
    assert again.resumed_after_ == 0
    assert weights(again) == weights(model().fit(X, y))


def test_a_checkpoint_of_another_fit_in_this_ones_place_is_skipped(tmp_path):
    model(tmp_path / "a", alpha=0.5).fit(X, y)
    cut_off(model(tmp_path / "b"), 5)
    (foreign,) = (tmp_path / "a").rglob("epoch-00000006.cofire")
    (own,) = (tmp_path / "b").iterdir()
    foreign.rename(own / "epoch-00000006.cofire")
    again = model(tmp_path / "b")
    with pytest.warns(UserWarning, match="belongs to another fit"):
        again.fit(X, y)
    assert again.resumed_after_ == 4


def test_temporary_files_are_removed_at_the_next_start(tmp_path):
    cut_off(model(tmp_path), 5)
    (own,) = tmp_path.iterdir()
    (own / ".epoch-00000005.cofire.0123.tmp").write_bytes(b"half")
    model(tmp_path).fit(X, y)
    assert not list(tmp_path.rglob(".*"))


def _fit_and_wait(folder, begun, go_on):
    class Wait(CutOff):
        def on_epoch_end(self, progress, record):
            begun.set()
            go_on.wait(60)

    waiting = model(folder)
    waiting.callbacks[0].__class__ = Wait
    Wait.__qualname__ = CutOff.__qualname__
    waiting.fit(X, y)


def test_two_processes_at_the_same_fit_do_not_disturb_each_other(tmp_path):
    context = multiprocessing.get_context("fork")
    begun, go_on = context.Event(), context.Event()
    other = context.Process(target=_fit_and_wait, args=(tmp_path, begun, go_on))
    other.start()
    assert begun.wait(60)
    with pytest.warns(UserWarning, match="Another process"):
        here = model(tmp_path).fit(X, y)
    assert weights(here) == weights(model().fit(X, y))
    assert len(files(tmp_path)) < 2  # only the other one writes
    go_on.set()
    other.join(60)
    assert other.exitcode == 0
    assert len(files(tmp_path)) == 2


# ---- wrong arguments -----------------------------------------------------------------


def test_wrong_rhythms():
    with pytest.raises(ValueError, match="every must be.*got 0"):
        Checkpoint("a", every=0)
    with pytest.raises(ValueError, match="every_seconds must be.*got -1"):
        Checkpoint("a", every_seconds=-1)
    with pytest.raises(TypeError, match="folder of a checkpoint must be a path, got 3"):
        Checkpoint(3)


def test_one_folder_is_enough(tmp_path):
    with pytest.raises(ValueError, match="checkpoint: one folder is enough"):
        model(tmp_path, checkpoint=tmp_path).fit(X, y)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    fitted = model().fit(X, y)
    before = weights(fitted)
    fitted.set_params(checkpoint=tmp_path / "file")
    with pytest.raises(OSError, match="checkpoint=.*cannot be used as a folder"):
        fitted.fit(X, y)
    assert weights(fitted) == before


@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="root may write")
def test_a_folder_that_cannot_be_written_to(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match="cannot be used as a folder"):
        model(tmp_path).fit(X, y)


def test_a_refused_fit_lets_go_of_the_folder(tmp_path):
    bad = model(tmp_path, early_stopping=True, validation_fraction=1e-9)
    with pytest.raises(ValueError, match="validation_fraction"):
        bad.fit(X, y)
    kept = model(tmp_path, early_stopping=True, validation_fraction=0.1)
    kept.fit(X, y)  # would warn of another process at it
    assert files(tmp_path)


def test_what_a_file_cannot_hold_is_refused_before_training(tmp_path):
    class Odd(type(cofire.METHODS["set"]())):
        pass

    odd = model(tmp_path, method=Odd())
    with pytest.raises(ValueError, match="method: Odd cannot be stored"):
        odd.fit(X, y)
    assert not hasattr(odd, "network_")
