"""`--cluster`: the same results as without, and errors in words."""

import json
import os
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import cofire
from cofire.cli import app
from cofire.lab.experiments import Store, runner
from cofire.lab.workers import dask_cluster
from cofire.tuning import elsewhere
from cofire.tuning import search as search_module
from helpers import clusters, processes
from helpers.clusters import bits, real_runs
from helpers.needs import needs_package
from helpers.tuning_cases import search, untimed

needs_package("distributed", "pip install 'cofire[cluster]'")


def invoke(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        "a,b,label",
        *(f"{i % 7},{i * i % 5},{'yn'[i % 3 == 0]}" for i in range(90)),
    ]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(rows))
    return path


# ---- compare and reproduce -----------------------------------------------------------


def test_compare_finds_what_it_finds_here(cluster, table, tmp_path):
    how = ["--methods", "set", "--methods", "dense", "--seeds", 2, "--epochs", 2]
    how += ["--no-baselines"]
    here = invoke("compare", table, *how, "--jobs", 1, "--out", tmp_path / "here")
    there = invoke(
        *("compare", table, *how, "--cluster", cluster.address),
        *("--out", tmp_path / "there"),
    )
    assert here.exit_code == there.exit_code == 0, there.output
    assert " on ann (127.0.0.1:" in there.output or " on bob (" in there.output
    stores = [Store(tmp_path / name / "runs.sqlite") for name in ("here", "there")]
    with stores[0] as one, stores[1] as other:
        assert len(bits(one)) == 4
        assert bits(one) == bits(other)


def test_reproduce_sends_its_runs(cluster, tmp_path):
    how = ["--datasets", "madelon", "--methods", "set", "--hidden", 1000]
    how += ["--seeds", 1, "--epochs", 2, "--out", tmp_path]
    done = invoke("reproduce", "table2", *how, "--cluster", cluster.address)
    assert done.exit_code == 0, done.output
    assert " on ann (" in done.output or " on bob (" in done.output
    with Store(tmp_path / "runs.sqlite") as store:
        assert store.counts()["done"] == len(store.rows()) > 0
    how += ["--only-write", "--cluster", "tcp://127.0.0.1:1"]
    assert invoke("reproduce", "table2", *how).exit_code == 0  # nobody is asked


def test_what_reproduce_measures_in_seconds_runs_here(cluster, tmp_path, monkeypatch):
    executors = []

    def run_all(*arguments, executor, **how):
        executors.append(executor)
        return runner.Campaign(0, 1)

    monkeypatch.setattr(runner, "run_all", run_all)
    for item in ("cost", "table2"):
        invoke("reproduce", item, "--out", tmp_path, "--cluster", cluster.address)
    assert executors[0] is None
    assert isinstance(executors[-1], dask_cluster.DaskCluster)


def test_the_display_names_workers_and_lost_time():
    from rich.console import Console

    from cofire.cli.board import CampaignBoard

    (one, other), console = real_runs(2), Console(width=150, force_terminal=False)
    campaign = runner.Campaign(2, 2, running={one: 0.0, other: 0.0})
    board = CampaignBoard(console)
    board.watch(campaign)
    with console.capture() as plain:
        console.print(board.table())
    assert "worker" not in plain.get()
    campaign.workers = {one: "ann (10.0.0.7:4567)", other: "waiting"}
    campaign.n_lost, campaign.lost_seconds = 1, 212.0
    with console.capture() as named:
        console.print(board.table())
    assert "ann (10.0.0.7:4567)" in named.get() and "waiting" in named.get()
    assert "1 lost and begun again (4 min)" in named.get()


# ---- tune ----------------------------------------------------------------------------


def test_tune_has_the_trials_it_has_here(cluster, tmp_path):
    found = search()
    there = search(tmp_path, cluster=cluster.address)
    assert untimed(there) == untimed(found)
    steps = []  # again, from the store and without workers
    assert untimed(search(tmp_path, watch=steps.append)) == untimed(found)
    assert all(step.stored for step in steps)


def test_an_interrupted_tune_continues_on_a_cluster(cluster, tmp_path):
    def interrupt(step):
        if step.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(tmp_path, cluster=cluster.address, watch=interrupt)
    with Store(tmp_path / "runs.sqlite") as store:
        assert store.counts() == {"waiting": 0, "running": 0, "done": 3, "failed": 0}
    assert untimed(search(tmp_path, cluster=cluster.address)) == untimed(search())


def test_trials_that_diverge_and_errors_come_back_as_they_are(
    cluster, tmp_path, monkeypatch
):
    def propose(space, trials, seed):
        return {} if not trials else {"learning_rate_init": 1e30}

    monkeypatch.setattr(search_module, "propose", propose)
    found = search(tmp_path, n_trials=2, cluster=cluster.address)
    assert [trial["state"] for trial in found.trials_] == ["done", "diverged"]

    def nothing(model, X, y):  # sent as it is: workers cannot import it
        return float("nan")

    with pytest.raises(ValueError, match="scoring: nan"):
        search(n_trials=1, scoring=nothing, cluster=cluster.address)


def test_a_beaten_fold_ends_the_trial_whatever_the_others_gave():
    job = elsewhere.Job(3, 0, {"alpha": 0.1}, [])
    workers = elsewhere.Elsewhere(None, "", "", 2)
    beaten = elsewhere.Part([], [4, 8, 3], 0, 0.5, 1.0, [0.2], [30.0])
    diverged = cofire.errors.DivergenceError(layer=0)
    assert workers._over(job, {1: diverged}) is None
    assert workers._over(job, {0: diverged, 1: beaten}) is diverged
    trial = workers._over(job, {0: beaten, 1: diverged})
    assert trial.stopped and trial.scores == [0.2] and trial.settings == job.settings


def test_the_tune_command_sends_folds(cluster, table, tmp_path):
    how = ["--trials", 2, "--folds", 2, "--networks", 1, "--option", "max_iter=2"]
    done = [
        invoke("tune", table, *how, "--json", "--store", tmp_path / name, *more)
        for name, more in (("a", []), ("b", ["--cluster", cluster.address]))
    ]
    assert [one.exit_code for one in done] == [0, 0], done[1].output
    here, there = (json.loads(one.stdout.splitlines()[-1]) for one in done)
    timed = ("seconds", "microseconds")
    assert [
        {name: v for name, v in trial.items() if name not in timed}
        for trial in here["trials"]
    ] == [
        {name: v for name, v in trial.items() if name not in timed}
        for trial in there["trials"]
    ]
    assert here["best"]["test_score"] == there["best"]["test_score"]


# ---- Ctrl-C, and errors --------------------------------------------------------------


def test_ctrl_c_leaves_a_store_that_resumes(cluster, table, tmp_path):
    command = [sys.executable, "-c", "from cofire.cli import main; main()", "compare"]
    command += [str(table), "--methods", "set", "--seeds", "40", "--no-baselines"]
    command += ["--epochs", "2", "--out", str(tmp_path)]
    running = subprocess.Popen(
        [*command, "--cluster", cluster.address],
        env=processes.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    for line in running.stdout:
        if line.startswith("2 of 40 runs done"):
            break
    os.kill(running.pid, signal.SIGINT)
    said, _ = running.communicate(timeout=clusters.PATIENCE)
    assert running.returncode == 130 and "same command resumes" in said
    with Store(tmp_path / "runs.sqlite") as store:
        counts = store.counts()
    assert counts["running"] == counts["failed"] == 0
    assert counts["waiting"] > 0 and counts["done"] >= 2
    done = subprocess.run(
        [*command, "--cluster", cluster.address],
        env=processes.environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    with Store(tmp_path / "runs.sqlite") as store:
        assert store.counts()["done"] == 40


@pytest.mark.parametrize("command", ["compare", "tune"])
def test_what_is_wrong_with_a_cluster_is_said_in_words(command, table, monkeypatch):
    monkeypatch.setattr(dask_cluster, "CONNECT", 0.5)
    address = f"tcp://{clusters.HOST}:{clusters.free_port()}"
    done = invoke(command, table, "--cluster", address)
    assert done.exit_code == 1 and f"cofire: cluster {address}: no Dask" in done.output
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = invoke(command, table, "--cluster", address)
    assert done.exit_code == 1 and "pip install 'cofire[cluster]'" in done.output


def test_jobs_are_for_this_machine(table):
    done = invoke("compare", table, "--cluster", "tcp://127.0.0.1:1", "--jobs", 2)
    assert done.exit_code == 1 and "--jobs is for runs on this machine" in done.output
