"""Jobs through submitit, with its local executor: processes instead of Slurm."""

import os
import signal
import sys
import threading
from pathlib import Path

import pytest
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold

from cofire import SparseMLPClassifier
from cofire.lab.experiments import Store
from cofire.lab.experiments.runner import run_all
from cofire.lab.workers import jobs
from cofire.lab.workers.connect import connected
from cofire.tuning import elsewhere
from cofire.tuning.elsewhere import Job
from cofire.tuning.trial import run_trial
from helpers import clusters, processes, run_cases
from helpers.clusters import begun, bits, real_runs, wait_until
from helpers.needs import needs_package
from helpers.tuning_cases import FAST, X, y

needs_package("submitit", "pip install 'cofire[slurm]'")


@pytest.fixture
def address(tmp_path, monkeypatch):
    """Two jobs at once, that import our helpers."""
    monkeypatch.setenv("PYTHONPATH", processes.environment()["PYTHONPATH"])
    monkeypatch.setenv("COFIRE_TEST_FOLDER", str(tmp_path))
    return f"local:jobs=2,folder={tmp_path / 'jobs'}"


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        yield store


def test_bits_are_those_of_this_machine_and_nothing_is_left(address, store, tmp_path):
    names = set()
    with connected(address) as executor:
        campaign = run_all(
            real_runs(3),
            store,
            executor=executor,
            watch=lambda campaign: names.add(campaign.last_worker),
        )
    assert (campaign.done, campaign.failed) == (3, [])
    assert len(names) == 4 and all(n.startswith("job ") for n in names - {None})
    assert list((tmp_path / "jobs").iterdir()) == []
    with Store(tmp_path / "here.sqlite") as here:
        run_all(real_runs(3), here, n_cores=1)
        assert bits(store) == bits(here)


@pytest.mark.slow
def test_jobs_that_die_are_begun_again_and_then_given_up(
    address, store, tmp_path, monkeypatch
):
    monkeypatch.setattr(jobs, "FLUSH", 0.1)
    told = []
    with connected(address) as executor:
        executor.tell = told.append
        campaign = run_all(
            run_cases.runs(3), store, executor=executor, execute=clusters.deadly
        )
        logs = Path(executor.shared)
    assert [run.seed for run, _ in campaign.failed] == [1]
    assert "last of 3 workers" in campaign.failed[0][1] and len(told) == 2
    assert store.counts()["done"] == 2 and campaign.n_lost == 3
    assert any(logs.glob("*.err"))  # they may say why


@pytest.mark.slow
def test_an_interrupt_cancels_the_jobs(address, store, tmp_path):
    pids = []

    def interrupt():
        wait_until(lambda: begun(tmp_path, 0) and begun(tmp_path, 1))
        pids.extend([*begun(tmp_path, 0), *begun(tmp_path, 1)])
        os.kill(os.getpid(), signal.SIGINT)

    impatient = threading.Thread(target=interrupt)
    impatient.start()
    with pytest.raises(KeyboardInterrupt), connected(address) as executor:
        run_all(real_runs(3), store, executor=executor, execute=clusters.on_cue)
    impatient.join()
    assert store.counts()["waiting"] == 3 and os.listdir(tmp_path / "jobs") == []
    wait_until(lambda: len(pids) == 2 and not any(map(is_alive, pids)))


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_trials_read_their_rows_from_the_folder_of_the_jobs(address):
    model, scorer = SparseMLPClassifier(**FAST), check_scoring(SparseMLPClassifier())
    folds, job = list(KFold(2, shuffle=True).split(X)), Job(0, 0, {"epsilon": 3.0}, [])
    about = elsewhere.Search(model, X, y, [folds], [[5, 6]], scorer)
    with connected(address) as executor, elsewhere.sent(about, executor) as workers:
        ((_, there, machine),) = workers.run([job])
    here = run_trial(model, job.settings, X, y, folds, [5, 6], scorer)
    assert there.ensembles[-1].scores == here.ensembles[-1].scores
    assert (there.scores, there.sizes) == (here.scores, here.sizes)
    assert machine["threads"] == 1


def test_wrong_addresses_are_named(tmp_path, monkeypatch):
    folder = f"folder={tmp_path}"
    for options, words in (
        ("partition", "expected name=value instead of 'partition'"),
        (f"{folder},color=red", "cluster local:.*color"),
    ):
        with pytest.raises(ValueError, match=words), connected(f"local:{options}"):
            pass
    assert os.listdir(tmp_path) == []
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(ImportError, match=r"pip install 'cofire\[slurm\]'"):
        with connected(f"slurm:{folder}"):
            pass
