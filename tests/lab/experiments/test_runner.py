"""The runner: every run once, whatever happens to processes; and what a run is."""

import json
import os
import signal
import subprocess
import threading
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path

import joblib
import numpy as np
import pytest
import scipy.sparse

from cofire import SparseMLPClassifier, engine, profiles
from cofire.callbacks import Monitor
from cofire.core.machine import available_cores
from cofire.data import paper_parts
from cofire.data.preprocessing.training_rows import FileOptions, TrainingRows
from cofire.estimators.recipe import Recipe
from cofire.lab import names
from cofire.lab.experiments import Outcome, Run, Store, baselines
from cofire.lab.experiments import runner as module
from cofire.lab.experiments.baselines import BASELINES, baselines_of
from cofire.lab.experiments.exchange import read_runs
from cofire.lab.experiments.execute import execute, parameters
from cofire.lab.experiments.runner import fill_cores, run_all
from cofire.lab.experiments.store import run_of
from cofire.lab.workers import local
from cofire.methods import METHODS
from helpers import processes, run_cases
from helpers.run_cases import executed, of_seed, outcome, runs, wait_until

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        yield store


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "executed").mkdir()
    return tmp_path / "executed"


def elsewhere(store, folder, n, executor):
    """Another process that runs the same runs."""
    arguments = [store.path, folder, n, executor]
    return subprocess.Popen(
        processes.program("run_cases", "run_elsewhere", *arguments),
        env=processes.environment(),
        stderr=subprocess.DEVNULL,  # workers that have lost their runner complain
    )


def scores(store):
    return {result.run.seed: result.score for result in store.results()}


def statuses(store):
    return {row["seed"]: row["status"] for row in store.rows()}


# ---- all goes well -------------------------------------------------------------------


def test_every_run_is_executed_once_and_kept(store, folder):
    wanted = runs(6, str(folder))
    campaign = run_all(wanted + wanted[:2], store, n_cores=2, execute=run_cases.counted)
    assert executed(folder) == [0, 1, 2, 3, 4, 5]
    assert scores(store) == {seed: seed / 100 for seed in range(6)}
    assert (campaign.n_runs, campaign.done, campaign.failed) == (6, 6, [])
    assert campaign.running == {} and campaign.seconds_left == 0.0
    kept = store.results()[3]
    expected = of_seed(wanted[3])
    assert all(
        kept.curves[n].tobytes() == c.tobytes() for n, c in expected.curves.items()
    )
    assert kept.machine["threads"] == 1
    again = run_all(wanted, store, n_cores=2, execute=run_cases.counted)
    assert (again.n_done_before, again.done) == (6, 0)
    assert executed(folder) == [0, 1, 2, 3, 4, 5]


def test_what_is_done_is_not_done_again_and_the_rest_is(store, folder):
    wanted = runs(4, str(folder))
    store.add(wanted[1:2])
    store.claim(wanted[1])
    store.finish(wanted[1], outcome(0.99), {})
    campaign = run_all(wanted, store, n_cores=2, execute=run_cases.counted)
    assert executed(folder) == [0, 2, 3]
    assert scores(store)[1] == 0.99
    assert (campaign.n_done_before, campaign.done) == (1, 3)


def test_runs_begin_in_the_order_they_are_given(store):
    wanted = [runs(6)[k] for k in (4, 0, 5, 2, 1, 3)]
    begun = {}
    run_all(
        wanted,
        store,
        n_cores=2,
        execute=of_seed,
        watch=lambda campaign: begun.update(campaign.running),
    )
    assert list(begun) == wanted


def test_one_at_a_time_gives_all_threads_to_one_run(store):
    most = []
    run_all(
        runs(3),
        store,
        n_cores=2,
        one_at_a_time=True,
        execute=of_seed,
        watch=lambda campaign: most.append(len(campaign.running)),
    )
    assert max(most) == 1
    assert [result.notes["threads"] for result in store.results()] == [2, 2, 2]
    assert [result.machine["threads"] for result in store.results()] == [2, 2, 2]


def test_what_a_watcher_sees_adds_up(store):
    seen = []

    def watch(campaign):
        over = campaign.done + len(campaign.failed)
        assert over + len(campaign.running) <= campaign.n_runs == 5
        assert len(campaign.running) <= campaign.n_processes == 2
        counts = store.counts()
        assert counts["done"] == campaign.done
        assert counts["failed"] == len(campaign.failed)
        assert counts["running"] == len(campaign.running)
        seen.append((over, len(campaign.running)))

    run_all(runs(5), store, n_cores=2, execute=run_cases.raising, watch=watch)
    assert len(seen) == 10  # five begin, five end
    assert seen[0] == (0, 1) and seen[-1] == (5, 0)
    assert Counter(over for over, _ in seen).keys() == set(range(6))


@pytest.mark.parametrize(
    "n_runs, n_cores, expected",
    [
        (100, 8, (8, 1)),
        (8, 8, (8, 1)),
        (3, 8, (3, 2)),
        (1, 8, (1, 8)),
        (0, 8, (1, 8)),
        (5, 1, (1, 1)),
    ],
)
def test_cores_are_filled_with_processes_first(n_runs, n_cores, expected):
    assert fill_cores(n_runs, n_cores) == expected


def test_without_a_number_all_cores_are_used():
    processes, threads = fill_cores(1)
    assert (processes, threads) == (1, available_cores())


# ---- how long it will take -----------------------------------------------------------


def kept(store, seconds, **where):
    """Put a finished run into the store."""
    place = {"data": "madelon", "method": "set", "hidden": 100, "epsilon": 1.0}
    run = Run(**place | {"seed": 99, "epochs": 10} | where)
    store.add([run])
    store.claim(run)
    store.finish(run, outcome(seconds=seconds), {})


def expected(store, run, n_processes=1, n=1):
    left = dict.fromkeys(replace(run, seed=k) for k in range(n))
    return module._Pace(store).expect(left, {}, n_processes)


def test_the_time_left_is_that_of_the_runs_most_alike(store):
    run = Run("madelon", "set", 100, 1.0, 0, epochs=10)
    assert expected(store, run) is None
    kept(store, 64.0, data="isolet")
    assert expected(store, run) == 64
    kept(store, 32.0, hidden=500)
    assert expected(store, run) == 32
    kept(store, 16.0, method="rigl")
    assert expected(store, run) == 16
    kept(store, 8.0)
    kept(store, 4.0, seed=98)
    assert expected(store, run) == pytest.approx(6)
    assert expected(store, replace(run, epochs=500)) == pytest.approx(300)


def test_the_time_left_is_shared_but_no_run_is_split(store):
    run = Run("madelon", "set", 100, 1.0, 0, epochs=10)
    kept(store, 6.0)
    assert expected(store, run, n_processes=2, n=8) == 24
    assert expected(store, run, n_processes=8, n=1) == 6
    assert expected(store, run, n_processes=8, n=0) == 0


# ---- runs that fail ------------------------------------------------------------------


def test_a_run_that_raises_is_noted_and_the_others_finish(store):
    campaign = run_all(runs(4), store, n_cores=2, execute=run_cases.raising)
    assert scores(store) == {0: 0.0, 2: 0.02, 3: 0.03}
    (row,) = store.rows(status="failed")
    assert row["seed"] == 1
    assert row["error"].startswith("Traceback")
    assert row["error"].endswith("RuntimeError: [/b] is no [markup]\n")
    assert campaign.failed == [(runs(2)[1], row["error"])]


def test_failed_runs_are_run_again_only_on_request(store):
    run_all(runs(3), store, n_cores=1, execute=run_cases.raising)
    campaign = run_all(runs(3), store, n_cores=1, execute=of_seed)
    assert (campaign.done, campaign.n_done_before, campaign.n_failed_before) == (
        0,
        2,
        1,
    )
    assert statuses(store)[1] == "failed"
    campaign = run_all(runs(3), store, n_cores=1, execute=of_seed, retry_failed=True)
    assert (campaign.done, campaign.n_done_before, campaign.n_failed_before) == (
        1,
        2,
        0,
    )
    assert set(statuses(store).values()) == {"done"}


@pytest.mark.parametrize("n_cores", [1, 2])
def test_a_process_that_dies_takes_only_its_own_run_down(store, n_cores):
    campaign = run_all(runs(5), store, n_cores=n_cores, execute=run_cases.dying)
    assert scores(store) == {0: 0.0, 2: 0.02, 4: 0.04}
    failed = {row["seed"]: row["error"] for row in store.rows(status="failed")}
    assert sorted(failed) == [1, 3]
    assert "EXIT(7)" in failed[1] and "SIGKILL(-9)" in failed[3]
    assert all(error.endswith("(out of memory?).") for error in failed.values())
    assert sorted(run.seed for run, _ in campaign.failed) == [1, 3]
    assert campaign.running == {}


@pytest.mark.parametrize(
    "executor, words",
    [
        (run_cases.leaving, "SystemExit: enough"),
        (run_cases.unsendable, "pickle"),
        (run_cases.unwritable, "JSON compliant"),
    ],
)
def test_a_run_that_exits_or_brings_what_cannot_be_kept_has_failed(
    store, executor, words
):
    run_all(runs(3), store, n_cores=1, execute=executor)
    (row,) = store.rows(status="failed")
    assert row["seed"] == 1 and words in row["error"]
    assert sorted(scores(store)) == [0, 2]


# ---- interrupts ----------------------------------------------------------------------


def test_an_interrupt_gives_the_runs_in_flight_back(store, folder):
    def interrupt(campaign):
        if campaign.done == 2 and len(campaign.running) == 2:
            signal.raise_signal(signal.SIGINT)

    wanted = runs(5, str(folder))
    with pytest.raises(KeyboardInterrupt):
        run_all(wanted, store, n_cores=2, execute=run_cases.held_up, watch=interrupt)
    assert statuses(store) == dict.fromkeys(range(5), "waiting") | {
        0: "done",
        1: "done",
    }
    (folder / "go").touch()
    run_all(wanted, store, n_cores=2, execute=run_cases.held_up)
    assert scores(store) == {seed: seed / 100 for seed in range(5)}
    assert Counter(executed(folder))[0] == Counter(executed(folder))[1] == 1


def test_a_second_interrupt_while_it_ends_changes_nothing(store, folder, monkeypatch):
    give_back = store.give_back

    def impatient(runs):
        signal.raise_signal(signal.SIGINT)
        give_back(runs)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(store, "give_back", impatient)

    def interrupt(campaign):
        if campaign.done == 2 and len(campaign.running) == 2:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    wanted = runs(4, str(folder))
    with pytest.raises(KeyboardInterrupt):
        run_all(wanted, store, n_cores=2, execute=run_cases.held_up, watch=interrupt)
    assert sorted(statuses(store).values()) == ["done", "done", "waiting", "waiting"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_signals_with_handlers_of_another_kind_are_left_to_them(store, folder):
    came = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        campaign = run_all(
            runs(2, str(folder)),
            store,
            n_cores=1,
            execute=run_cases.counted,
            watch=lambda campaign: signal.raise_signal(signal.SIGINT),
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert campaign.done == 2 and len(came) == 4


def test_workers_do_not_hear_the_ctrl_c_of_the_terminal(store, folder):
    # Elsewhere: what Python starts beside the first worker of a process counts, too.
    assert elsewhere(store, folder, 3, "interrupted").wait() == 0
    assert set(statuses(store).values()) == {"done"}


def test_it_ends_where_there_is_no_pgrep_to_find_processes(store, folder):
    """Loky ends its workers with it, where psutil is not installed."""
    arguments = "run_without_psutil", store.path, folder, 3, "dying"
    subprocess.run(
        processes.program("run_cases", *arguments),
        env=processes.environment(PATH="/there/is/nothing"),
        timeout=run_cases.PATIENCE,
        check=True,
    )
    assert sorted(statuses(store).values()) == ["done", "done", "failed"]


def test_an_error_in_the_display_ends_the_runs_too(store):
    def broken(campaign):
        if campaign.done:
            raise RuntimeError("no terminal any more")

    with pytest.raises(RuntimeError, match="terminal"):
        run_all(runs(4), store, n_cores=2, execute=of_seed, watch=broken)
    assert store.counts()["running"] == 0 and store.counts()["done"] == 1


def test_after_a_kill_it_ends_as_if_nothing_had_happened(store, folder, tmp_path):
    n = 5
    killed = elsewhere(store, folder, n, "held_up")
    wait_until(lambda: executed(folder)[:4] == [0, 1, 2, 3] and len(scores(store)) == 2)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert sorted(scores(store)) == [0, 1]
    (folder / "go").touch()
    run_all(runs(n, str(folder)), store, n_cores=2, execute=run_cases.held_up)
    with Store(tmp_path / "whole.sqlite") as whole:
        run_all(runs(n, str(folder)), whole, n_cores=2, execute=of_seed)
        for one, other in zip(store.results(), whole.results(), strict=True):
            assert one.run == other.run and one.score == other.score
            assert one.notes["seed"] == other.notes["seed"]
            for name, curve in other.curves.items():
                assert one.curves[name].tobytes() == curve.tobytes()


def test_a_worker_ends_when_its_runner_is_gone(monkeypatch):
    ended = threading.Event()
    monkeypatch.setattr(os, "_exit", lambda code: ended.set())
    parents = iter([7, 1])
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    local._end_with_parent(7)
    assert ended.wait(run_cases.PATIENCE)


def test_two_runners_share_a_file_and_run_everything_once(store, folder):
    n = 8
    other = elsewhere(store, folder, n, "in_company")
    campaign = run_all(
        runs(n, str(folder)), store, n_cores=1, execute=run_cases.in_company
    )
    other.wait()
    assert other.returncode == 0
    assert executed(folder) == list(range(n))
    assert scores(store) == {seed: seed / 100 for seed in range(n)}
    assert campaign.done + campaign.elsewhere == n
    assert 0 < campaign.done < n


def test_signs_of_life_are_given_while_runs_run(store, monkeypatch, folder):
    monkeypatch.setattr(module, "SIGN_INTERVAL", 0.01)
    begun = []

    def watch(campaign):
        if campaign.running and not begun:
            begun.append(store.rows()[0]["alive"])
            (first,) = begun
            wait_until(lambda: store.rows()[0]["alive"] > first)

    run_all(runs(1, str(folder)), store, n_cores=1, execute=of_seed, watch=watch)
    assert begun


# ---- what a run is -------------------------------------------------------------------

RUN = Run.of(data="madelon", method="ctre_sim", hidden=20, epsilon=2, seed=3, epochs=4)


def test_a_run_is_what_one_would_do_by_hand():
    found = execute(RUN)
    (X, y), (X_val, y_val), (X_test, y_test) = paper_parts("madelon")
    monitor = Monitor(X_test, y_test)
    model = SparseMLPClassifier(
        (20, 20, 20),
        method="ctre_sim",
        epsilon=2,
        random_state=3,
        callbacks=[monitor],
        **profiles.MASKED | {"max_iter": 4},
    ).fit(X, y, X_val=X_val, y_val=y_val)
    best = int(np.argmax(model.validation_scores_))
    assert found.best_epoch == best + 1
    assert found.score == monitor.scores[best] == model.score(X_test, y_test)
    assert found.validation_score == model.score(X_val, y_val)
    assert found.connections == model.network_.n_connections
    assert found.density == model.density_
    assert found.curves["test_score"].tolist() == np.float32(monitor.scores).tolist()
    losses = [record["loss"] for record in model.history_]
    assert found.curves["loss"].tolist() == np.float32(losses).tolist()
    inputs = np.asarray((model.coefs_[0] != 0).sum(axis=1)).ravel()
    assert found.curves["inputs"].tolist() == inputs.tolist()
    assert found.notes["rows"] == [1800, 200, 600]


def test_a_run_of_the_default_profile_is_what_train_does():
    run = Run.of(
        data="madelon",
        method="set",
        hidden=20,
        seed=3,
        profile="default",
        epochs=0,
        options={"n_networks": 2},
    )
    found = execute(run)
    rows = TrainingRows.of_catalogue("madelon", FileOptions())
    model = SparseMLPClassifier((20, 20), method="set", n_networks=2, random_state=3)
    model.fit(rows.X, rows.y)
    assert found.score == model.score(rows.X_test, rows.y_test)
    assert (
        found.connections
        == model.n_connections_
        == 2 * found.curves["inputs"].sum()
        + 2 * sum(layer.nnz for layer in model.network_.layers[1:])
    )
    assert found.notes["rows"] == [2000, 0, 600] and found.notes["networks"] == 2
    assert found.validation_score is None and found.best_epoch == model.n_iter_
    assert "validation_score" not in found.curves
    # Of the first network: as many rows per epoch as the recipe has steps.
    steps = 100 * 64
    assert found.notes["rows_an_epoch"] == steps
    least = 3 * steps * model.network_.n_connections
    assert found.curves["multiply_adds"][0] == pytest.approx(least)
    assert len(found.curves["test_score"]) == model.n_iter_
    with pytest.raises(ValueError, match="split=1"):
        execute(replace(run, split=1))


@pytest.mark.parametrize("name", ["logistic_regression", "gradient_boosting"])
def test_a_baseline_is_a_run_too(name, store):
    run = Run.of(data="madelon", method=name, seed=1)
    assert (run.hidden, run.epochs, run.profile) == (0, 0, "scikit-learn")
    assert Run.of(data="madelon", method=name, seed=1, hidden=9, epsilon=3) == run
    run_all([run], store, n_cores=1)
    (found,) = store.results()
    rows = TrainingRows.of_catalogue("madelon", FileOptions())
    model = BASELINES[name].fit(rows.X, rows.y, "classification", seed=1)
    assert found.score == model.score(rows.X_test, rows.y_test)
    assert (found.connections, found.best_epoch) == (0, 0) and found.seconds > 0
    assert found.curves == {} and found.validation_score is None
    assert found.notes["rows"] == [2000, 0, 600]


def test_the_names_of_the_baselines_have_titles():
    assert BASELINES.keys() == names.BASELINES.keys()
    assert not BASELINES.keys() & set(METHODS)
    for task in ("classification", "regression"):
        assert len(baselines_of(task)) == 3


def test_a_baseline_says_which_model_it_is():
    X = np.random.default_rng(0).normal(size=(40, 3))
    targets = {"classification": X[:, 0] > 0, "regression": X[:, 0]}
    for task, y in targets.items():
        for name in baselines_of(task):
            baseline = BASELINES[name]
            model = baseline.make(X, 2 if task == "classification" else 0, 0, 1)
            last = getattr(model, "steps", [("", model)])[-1][1]
            assert type(last).__name__ in baseline.python[task]
            assert baseline.fit(X, y, task).score(X, y) > 0.5


def test_sparse_rows_are_made_dense_only_if_they_are_few(monkeypatch):
    X = scipy.sparse.random_array((60, 5), density=0.5, format="csr", rng=0)
    y = np.asarray(X[:, [0]].sum(axis=1)).ravel() > 0
    for name in baselines_of("classification"):
        baseline = BASELINES[name]
        model = baseline.fit(X, y, "classification")
        assert model.score(baseline.rows(X), y) > 0.5
    monkeypatch.setattr(baselines, "MOST_BYTES", 100)
    with pytest.raises(MemoryError, match="HistGradientBoosting"):
        BASELINES["gradient_boosting"].fit(X, y, "classification")
    BASELINES["random_forest"].fit(X, y, "classification")


def test_without_restore_best_a_run_has_the_score_of_its_last_epoch():
    run = replace(RUN, epochs=12)
    kept = execute(run)
    last = execute(replace(run, options='{"restore_best":false}'))
    assert kept.best_epoch < last.best_epoch == run.epochs  # else this shows nothing
    assert last.score == pytest.approx(kept.curves["test_score"][-1])
    assert last.validation_score == pytest.approx(kept.curves["validation_score"][-1])
    assert last.notes["best_validated_score"] == kept.score


def test_a_run_says_how_its_features_are_scaled():
    by_the_paper, same, other = (
        execute(replace(RUN, options=options))
        for options in ("{}", '{"scale":"standard"}', '{"scale":"minmax"}')
    )
    same_but_for_time(by_the_paper, same)  # Madelon is standardised there, too
    assert by_the_paper.curves["loss"].tolist() != other.curves["loss"].tolist()


def same_but_for_time(a: Outcome, b: Outcome):
    assert (a.score, a.best_epoch) == (b.score, b.best_epoch)
    assert a.notes == b.notes and a.curves.keys() == b.curves.keys()
    for name, curve in a.curves.items():
        if not name.endswith("seconds"):
            assert np.float32(curve).tobytes() == np.float32(b.curves[name]).tobytes()


def test_a_run_is_the_same_again_and_on_more_threads():
    first = execute(RUN)
    same_but_for_time(first, execute(RUN))
    same_but_for_time(first, execute(RUN, n_threads=2))
    other = execute(replace(RUN, seed=4))
    assert other.curves["loss"].tolist() != first.curves["loss"].tolist()


def test_a_run_through_the_runner_is_the_same_run(store):
    run_all([RUN], store, n_cores=1)
    same_but_for_time(execute(RUN), store.results()[0])


def test_multiply_adds_are_those_of_training_and_of_the_search():
    training = 3 * 1800 * execute(RUN).connections
    of = {
        m: execute(replace(RUN, method=m)).curves["multiply_adds"]
        for m in ("set", "rigl", "ctre_sim")
    }
    assert of["set"].tolist() == [training] * 4
    assert of["ctre_sim"][0] == training and all(of["ctre_sim"][1:] > training)
    assert all(of["rigl"] > training)  # it grows before the first epoch, too


def test_rows_left_over_by_the_batches_are_not_counted():
    dropped = execute(replace(RUN, method="set", options='{"batch_size":700}'))
    whole = execute(
        replace(RUN, method="set", options='{"batch_size":700,"last_batch":"train"}')
    )
    rows = [found.notes["rows_an_epoch"] for found in (dropped, whole)]
    assert rows == [1400, 1800]
    adds = [found.curves["multiply_adds"][0] for found in (dropped, whole)]
    assert adds == [3 * r * dropped.connections for r in rows]


def settings(profile="masked", **options):
    return parameters(
        Run.of(
            data="madelon",
            method="set",
            hidden=9,
            epsilon=1,
            seed=5,
            epochs=7,
            profile=profile,
            options=options,
        )
    )


def test_the_profile_and_the_run_say_how_it_is_trained():
    found = settings()
    own = {"method": "set", "max_iter": 7, "random_state": 5, "epsilon": 1.0}
    assert found == profiles.MASKED | own | {"hidden_layer_sizes": (9, 9, 9)}
    assert settings("default") == own | {"hidden_layer_sizes": (9, 9)}
    assert settings("sparse")["method_options"]["drop_rule"] == "signed"


@pytest.mark.parametrize("profile", ["masked", "sparse", "house"])
def test_a_profile_leaves_nothing_that_counts_to_the_default_recipe(profile):
    left = {f.name for f in fields(Recipe)} - settings(profile).keys()
    # Its patience is that of early_stopping, which is off; steps are no parameter, and
    # without standardize there are no pieces.
    assert left == {"n_iter_no_change", "n_pieces", "steps_per_epoch"}
    assert settings(profile)["standardize"] is False
    assert settings(profile)["early_stopping"] is False
    assert settings(profile)["n_networks"] == 1


def test_a_sparse_run_without_epsilon_has_that_of_before():
    run = Run.of(data="madelon", method="set", hidden=9, seed=0, epsilon=None)
    assert parameters(run)["epsilon"] == 5.0
    assert "epsilon" not in parameters(replace(run, profile="default"))


@pytest.mark.parametrize(
    ("profile", "method"), [("masked", "snip"), ("sparse", "set"), ("house", "cofire")]
)
def test_the_runs_of_the_docs_come_out_the_same(profile, method):
    rows = [
        row
        for row in read_runs(DOCS / "results" / "runs.csv")
        if (row["profile"], row["method"], row["data"]) == (profile, method, "madelon")
    ]
    row = min(rows, key=lambda row: row["seconds"])
    level = json.loads(row["machine"])["simd_level"]
    if level != engine.simd_level():
        pytest.skip(f"these bits are those of {level}")
    found = execute(run_of(row))
    for name in ("score", "validation_score", "best_epoch", "connections"):
        assert getattr(found, name) == row[name]


def test_options_come_before_the_profile():
    found = settings(
        momentum=0.5,
        method_options={"returning": "fresh"},
        learning_rate={"60": 0.1, "70": 0.05},
        study="removal",
    )
    assert found["momentum"] == 0.5
    assert found["method_options"] == {
        "drop_rule": "magnitude",
        "new_values": "he_uniform",
        "returning": "fresh",
    }
    assert found["learning_rate"] == {60: 0.1, 70: 0.05}
    assert "study" not in found
    assert profiles.MASKED["method_options"]["returning"] == "kept"


def test_a_dense_run_gets_no_epsilon():
    dense = Run.of(data="madelon", method="dense", hidden=9, seed=0)
    assert "epsilon" not in parameters(dense)
    assert execute(replace(dense, epochs=2)).density == 1.0


def test_a_schedule_among_the_options_is_followed():
    found = execute(replace(RUN, method="set", options='{"learning_rate":{"2":1e-30}}'))
    # With steps that small the loss of the last two epochs is that of the network.
    plain = execute(replace(RUN, method="set"))
    assert found.curves["loss"][:2].tolist() == plain.curves["loss"][:2].tolist()
    assert found.curves["loss"][3] != plain.curves["loss"][3]


def test_joblib_goes_on_working_beside_the_runner(store):
    before = joblib.Parallel(2)(joblib.delayed(abs)(-k) for k in range(3))
    run_all(runs(2), store, n_cores=2, execute=run_cases.of_seed)
    after = joblib.Parallel(2)(joblib.delayed(abs)(-k) for k in range(3))
    assert before == after == [0, 1, 2]
