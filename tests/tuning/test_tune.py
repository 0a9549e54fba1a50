"""cofire.tune: never worse than the default, repeatable, resumed from the store."""

import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

import cofire
from cofire import SparseMLPClassifier, SparseMLPRegressor
from cofire.cli import app
from cofire.lab.experiments import Store, StoreError
from cofire.tuning import search as search_module
from helpers import processes
from helpers.tuning_cases import FAST, X, search, untimed, y


@pytest.fixture(scope="module")
def found():
    return search()


# ---- what comes back -----------------------------------------------------------------


def test_the_default_is_the_first_trial_and_the_best_is_no_worse(found):
    assert found.trials_[0]["params"] == {} and found.trials_[0]["state"] == "done"
    assert found.default_["trial"] == 0 and found.default_["n_networks"] == 2
    assert found.best_["score"] >= found.default_["score"]
    assert found.smallest_["score"] > found.best_["score"] - 0.01
    assert found.smallest_["connections"] <= found.best_["connections"]
    assert [trial["trial"] for trial in found.trials_] == list(range(6))


def test_the_best_is_trained_as_an_ensemble_on_all_rows(found):
    model = found.best_estimator_
    own = found.estimator(found.best_).fit(X, y)
    assert np.array_equal(model.predict_proba(X), own.predict_proba(X))
    assert len(model.networks_) == 2 and model.random_state == 0
    assert found.best_params_.items() <= model.get_params().items()
    assert eval(found.code(found.best_)).get_params() == model.get_params() | {
        "n_jobs": 1
    }


def test_rows_are_plain_and_make_a_table(found):
    frame = pd.DataFrame(found.front_)
    assert {"score", "connections", "bytes", "microseconds"} <= set(frame.columns)
    assert frame["score"].is_monotonic_increasing
    assert (frame["fits"] == 6).all()  # two repeats of three folds
    text = str(found)
    assert "accuracy %" in text and "default" in text and "smallest" in text


def test_no_model_is_trained_without_refit():
    found = search(n_trials=1, refit=False)
    assert not hasattr(found, "best_estimator_")
    assert found.best_ is found.default_ and found.best_params_ == {}


def test_the_smallest_may_be_preferred_and_connections_limited(found):
    small = search(prefer="smallest")
    assert small.preferred_ is small.smallest_
    assert untimed(small)[0] == untimed(found)[0]
    assert small.best_estimator_.n_networks == small.smallest_["n_networks"]
    limited = search(max_connections=150)
    assert limited.best_["connections"] <= 150
    assert limited.best_estimator_.n_connections_ <= 150


def test_numbers_sparse_rows_and_frames_are_taken():
    rows, numbers = load_diabetes(return_X_y=True, as_frame=True)
    model = SparseMLPRegressor(**FAST)
    found = cofire.tune(model, rows[:120], numbers[:120], n_trials=2, cv=KFold(2))
    assert found.score_name == "R²" and "R²" in str(found)
    assert found.best_estimator_.predict(rows[:3]).shape == (3,)
    sparse = search(X=scipy.sparse.csr_array(X), n_trials=2)
    assert sparse.best_estimator_.n_features_in_ == 4
    words = search(X=X.tolist(), y=np.array(["a", "b", "c"])[y].tolist(), n_trials=2)
    assert set(words.best_estimator_.classes_) == {"a", "b", "c"}


def test_a_scorer_is_used_and_then_nothing_is_stopped():
    scores = search(n_trials=3, scoring="neg_log_loss")
    assert scores.score_name == "neg_log_loss"
    assert max(row["score"] for row in scores.rows_) < 0
    assert {trial["state"] for trial in scores.trials_} == {"done"}


def test_a_trial_that_diverges_counts_as_one(tmp_path, monkeypatch):
    def propose(space, trials, seed):
        return {} if not trials else {"learning_rate_init": 1e30}

    monkeypatch.setattr(search_module, "propose", propose)
    for _ in range(2):  # the second from the store
        found = search(tmp_path, n_trials=2)
        assert [trial["state"] for trial in found.trials_] == ["done", "diverged"]
        assert found.best_ is found.default_


# ---- again, and on -------------------------------------------------------------------


def test_equal_searches_have_equal_trials_and_other_seeds_others(found):
    assert untimed(search()) == untimed(found)
    other = search(random_state=1)
    assert untimed(other) != untimed(found)


@pytest.mark.parametrize("over", [0, 2, 5])
def test_an_interrupted_search_continues_as_if_it_had_not_been(found, over, tmp_path):
    def interrupt(step):
        if step.number == over:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(tmp_path, watch=interrupt)
    run = []
    resumed = search(tmp_path, watch=lambda step: run.append(step))
    assert untimed(resumed) == untimed(found)
    assert [step.stored for step in run[:6]] == [i <= over for i in range(6)]
    again = []
    assert untimed(search(tmp_path, watch=again.append)) == untimed(found)
    assert all(step.stored for step in again)


def test_an_interrupt_within_a_trial_leaves_it_waiting(found, tmp_path, monkeypatch):
    real, calls = search_module.run_trial, []

    def run_trial(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(search_module, "run_trial", run_trial)
    with pytest.raises(KeyboardInterrupt):
        search(tmp_path)
    with Store(tmp_path / "runs.sqlite") as store:
        counts = store.counts()
    assert counts == {"waiting": 1, "running": 0, "done": 2, "failed": 0}
    assert untimed(search(tmp_path)) == untimed(found)


def test_a_killed_search_continues(found, tmp_path):
    command = processes.program("tuning_cases", tmp_path)
    process = subprocess.Popen(
        command, env=processes.environment(), stdout=subprocess.PIPE, text=True
    )
    said = [process.stdout.readline().strip() for _ in range(3)]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert said == ["over 0", "over 1", "over 2"]
    steps = []
    assert untimed(search(tmp_path, watch=steps.append)) == untimed(found)
    assert all(step.stored for step in steps[:3])


def test_more_trials_add_to_what_is_there(found, tmp_path):
    search(tmp_path, n_trials=3)
    steps = []
    assert untimed(search(tmp_path, watch=steps.append)) == untimed(found)
    assert [step.stored for step in steps[:6]] == [True] * 3 + [False] * 3
    with Store(tmp_path / "runs.sqlite") as store:
        rows = store.rows()
    assert {row["profile"] for row in rows} == {"tune"}
    assert {row["data"] for row in rows} == {"150 x 4"}


def test_other_rows_or_settings_are_another_search(tmp_path):
    search(tmp_path, n_trials=1)
    for changed in ({"y": y[::-1]}, {"X": X * 2}, {"random_state": 1}):
        steps = []
        search(tmp_path, n_trials=1, watch=steps.append, **changed)
        assert not any(step.stored for step in steps)
    for same in ({"name": "a copy"}, {"within": 0.5}, {"X": X.tolist()}):
        steps = []
        search(tmp_path, n_trials=1, watch=steps.append, **same)
        assert all(step.stored for step in steps)


def test_two_processes_at_once_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(Store, "claim", lambda *a, **k: False)
    with pytest.raises(StoreError, match="another process runs trial 0"):
        search(tmp_path)


def test_no_trial_begins_after_the_time(tmp_path):
    found = search(tmp_path, timeout=0)
    assert len(found.trials_) == 1
    assert len(search(tmp_path, n_trials=2).trials_) == 2
    assert len(search(tmp_path, n_trials=6, timeout=0).trials_) == 2  # stored: free


def test_runs_are_listed_and_exported_but_not_in_the_report(tmp_path):
    search(tmp_path, n_trials=1)
    where = ["--out", str(tmp_path)]
    listed = CliRunner().invoke(app, ["runs", "list", *where])
    assert "150 x 4 cofire" in listed.output and "profile tune" in listed.output
    report = CliRunner().invoke(app, ["report", *where])
    assert report.exit_code == 1 and "no run of `compare`" in report.output
    file = tmp_path / "runs.csv"
    exported = CliRunner().invoke(app, ["runs", "export", str(file), *where])
    assert exported.exit_code == 0, exported.output
    assert len(pd.read_csv(file)) == 3  # the trial, and twice the same one again
    # Elsewhere they count too, though a file of runs has no curves.
    other, steps = tmp_path / "other", []
    assert CliRunner().invoke(app, ["runs", "import", str(file), "--out", str(other)])
    assert len(search(other, n_trials=2, watch=steps.append).trials_) == 2
    assert [step.stored for step in steps[:2]] == [True, False]


def test_trials_are_stopped_by_the_curves_of_others(tmp_path, monkeypatch):
    # Then whoever has no more connections is taken for clearly better.
    monkeypatch.setattr(search_module, "margin", lambda scores: -2.0)
    found = search(tmp_path)
    states = [trial["state"] for trial in found.trials_]
    assert states[0] == "done" and "stopped" in states
    assert untimed(search(tmp_path)) == untimed(found)
    assert untimed(search()) == untimed(found)


# ---- bad input -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"n_trials": 0}, "n_trials: expected a whole number, 1 or more, got 0"),
        ({"n_trials": 2.5}, "n_trials: expected a whole number"),
        ({"timeout": -1}, "timeout: expected a number, 0 or more, got -1"),
        ({"within": None}, "within: expected a number, 0 or more, got None"),
        ({"max_connections": 0}, "max_connections: expected a whole number, 1 or"),
        ({"max_connections": 1}, "`max_connections=1`: no trial has so few conn"),
        ({"prefer": "small"}, 'prefer: expected "best" or "smallest", got \'small\''),
        ({"random_state": None}, "random_state: expected a whole number, 0 to"),
        ({"y": y[:7]}, r"X: expected rows .* \(150, 4\) and 7"),
        ({"X": X[:, 0]}, "X: expected rows"),
    ],
)
def test_bad_arguments_are_named(how, message):
    with pytest.raises(ValueError, match=message):
        search(**how)


@pytest.mark.parametrize("folds", [1, 151, True])
def test_impossible_folds_are_named(folds):
    with pytest.raises(ValueError):
        cofire.tune(SparseMLPClassifier(**FAST), X, y, cv=folds)


def test_other_estimators_are_refused_with_what_to_do():
    with pytest.raises(TypeError, match=r"got SparseMLPClassifier. Give an object"):
        cofire.tune(SparseMLPClassifier, X, y)
    pipeline = make_pipeline(SparseMLPClassifier())
    with pytest.raises(TypeError, match="got Pipeline. Of a pipeline, transform X"):
        cofire.tune(pipeline, X, y)


def test_a_file_is_no_store(tmp_path):
    (tmp_path / "a").write_text("")
    for file in (tmp_path / "a", os.devnull):
        with pytest.raises(ValueError, match="store: expected a folder, got the file"):
            search(file)


def test_without_optuna_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r"pip install 'cofire\[tune\]'"):
        search()
