"""A Dask cluster of real processes on loopback: every run once, whatever is lost."""

import json
import os
import signal
import sys
import threading
import traceback
from collections import Counter

import pytest

from cofire.lab.experiments import Store
from cofire.lab.experiments.labels import files_of
from cofire.lab.experiments.runner import run_all
from cofire.lab.workers import dask_cluster, remote
from cofire.lab.workers.dask_cluster import DaskCluster
from cofire.lab.workers.remote import ClusterError
from helpers import clusters, run_cases
from helpers.clusters import Cluster, begun, bits, real_runs, wait_until
from helpers.needs import needs_package

needs_package("distributed", "pip install 'cofire[cluster]'")


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        yield store


def connected(address, told=None):
    executor = DaskCluster(address)
    executor.tell = (told if told is not None else []).append
    return executor


# ---- all goes well -------------------------------------------------------------------


def test_bits_are_those_of_this_machine_and_workers_are_named(cluster, store, tmp_path):
    names, machines = Counter(), []
    with connected(cluster.address) as executor:
        campaign = run_all(
            real_runs(6),
            store,
            executor=executor,
            watch=lambda campaign: names.update([campaign.last_worker]),
        )
    assert (campaign.done, campaign.failed, campaign.n_lost) == (6, [], 0)
    del names[None]
    assert {str(name).split()[0] for name in names} <= {"ann", "bob"} and names
    machines = [result.machine["threads"] for result in store.results()]
    assert machines == [1] * 6
    with Store(tmp_path / "here.sqlite") as here:
        run_all(real_runs(6), here, n_cores=1)
        assert bits(store) == bits(here)


def test_a_run_that_raises_is_noted_and_the_others_finish(cluster, store):
    with connected(cluster.address) as executor:
        for execute in (run_cases.raising, run_cases.unsendable, run_cases.leaving):
            wanted = run_cases.runs(3, data=execute.__name__)
            campaign = run_all(wanted, store, executor=executor, execute=execute)
            assert [run.seed for run, _ in campaign.failed] == [1]
            assert campaign.failed[0][1].startswith("Traceback")
    assert store.counts() == {"waiting": 0, "running": 0, "done": 6, "failed": 3}


def test_an_interrupt_leaves_a_store_that_resumes(cluster, store):
    def interrupt(campaign):
        if campaign.done == 2:
            signal.raise_signal(signal.SIGINT)

    wanted = run_cases.runs(6)
    with pytest.raises(KeyboardInterrupt), connected(cluster.address) as executor:
        run_all(
            wanted,
            store,
            executor=executor,
            execute=run_cases.of_seed,
            watch=interrupt,
        )
    counts = store.counts()
    assert counts["running"] == 0 and 2 <= counts["done"] < 6
    with connected(cluster.address) as executor:
        run_all(wanted, store, executor=executor, execute=run_cases.of_seed)
    assert store.counts()["done"] == 6


# ---- files ---------------------------------------------------------------------------


def test_a_file_that_workers_do_not_have_is_sent_to_each_once(
    cluster, store, tmp_path, monkeypatch
):
    from cofire.data.preprocessing.training_rows import FileOptions
    from cofire.lab.experiments.compare import comparison_runs

    rows = ["a,b,label", *(f"{i % 7},{i % 5},{'yn'[i % 2]}" for i in range(60))]
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(rows))
    wanted = comparison_runs(
        str(file), FileOptions(), ["set", "logistic_regression"], 3, epochs=2
    )
    with Store(tmp_path / "here.sqlite") as here:
        run_all(wanted, here, n_cores=1)
        expected = bits(here)

    def gone(campaign):
        """Workers that have the copies need no file."""
        file.unlink(missing_ok=True)

    monkeypatch.setattr(dask_cluster.worker_files, "missing", clusters.no_files_here)
    monkeypatch.setattr(dask_cluster, "_receive", clusters.counted_receive)
    with connected(cluster.address) as executor:
        executor.needs(files_of(wanted))
        while executor.n_workers < 2:
            executor.wait(0.1)
        campaign = run_all(wanted, store, executor=executor, watch=gone)
    assert campaign.failed == []
    assert bits(store) == expected
    received = [json.loads(p.read_text()) for p in cluster.folder.glob("received-*")]
    assert len({one["pid"] for one in received}) == len(received) == 2
    assert {one["n"] for one in received} == {len("\n".join(rows))}


# ---- workers and schedulers that are lost --------------------------------------------


def test_kills_pauses_late_workers_and_a_new_scheduler_change_no_bit(
    store, tmp_path, monkeypatch
):
    """Four workers: one killed, one paused beyond its lease; later all are lost."""
    monkeypatch.setattr(dask_cluster, "LEASE", 6.0)
    monkeypatch.setattr(dask_cluster, "PATIENCE", 60.0)
    n, told, errors, finished = 9, [], [], {}
    folder = tmp_path / "cluster"

    def go(*seeds):
        for seed in seeds:
            (folder / f"go-{seed}").touch()

    def is_done(*seeds):
        done = {result.run.seed for result in store.results(curves=[])}
        return done.issuperset(seeds)

    def direct():
        """What happens to the cluster meanwhile."""
        wait_until(lambda: all(begun(folder, seed) for seed in range(4)))
        killed, paused = begun(folder, 0)[-1], begun(folder, 1)[-1]
        os.kill(killed, signal.SIGKILL)
        os.kill(paused, signal.SIGSTOP)
        cluster.add("late")
        wait_until(lambda: len(begun(folder, 0)) > 1)  # on the late one
        wait_until(lambda: any("has been silent" in text for text in told))
        go(0, 2)
        wait_until(lambda: len(begun(folder, 1)) > 1)  # on the first that was free
        os.kill(paused, signal.SIGCONT)
        go(1, 3)  # for the one that was paused, too
        wait_until(lambda: is_done(0, 1, 2, 3))
        wait_until(lambda: any(begun(folder, seed) for seed in range(4, n)))
        finished.update({seed: len(begun(folder, seed)) for seed in range(4)})
        cluster.kill_scheduler()
        cluster.start("new", "newer")
        go(*range(4, n))

    def directed():
        try:
            direct()
        except BaseException:
            errors.append(traceback.format_exc())
            clusters.end(cluster.scheduler)  # which ends the campaign, too

    with Cluster(folder).start("one", "two", "three", "four") as cluster:
        director = threading.Thread(target=directed)
        director.start()
        try:
            with connected(cluster.address, told) as executor:
                campaign = run_all(
                    real_runs(n), store, executor=executor, execute=clusters.on_cue
                )
        finally:
            director.join()
            assert errors == [], (errors, told)
    assert campaign.failed == []
    assert store.counts() == {"waiting": 0, "running": 0, "done": n, "failed": 0}
    assert campaign.done == n and campaign.n_lost >= 3 and campaign.lost_seconds > 0
    # What had finished was not begun again by the loss of the scheduler.
    assert {seed: len(begun(folder, seed)) for seed in range(4)} == finished
    said = "\n".join(told)
    assert "was lost" in said and "has been silent" in said
    assert "scheduler" in said and "there again" in said
    with Store(tmp_path / "here.sqlite") as here:
        run_all(real_runs(n), here, n_cores=1)
        assert bits(store) == bits(here)


def test_a_run_that_ends_its_workers_has_failed_and_the_others_finish(store, tmp_path):
    told = []
    with Cluster(tmp_path / "cluster").start() as cluster:
        cluster.add("guarded", nanny=True)  # which starts it again
        with connected(cluster.address, told) as executor:
            campaign = run_all(
                run_cases.runs(3), store, executor=executor, execute=clusters.deadly
            )
    assert [run.seed for run, _ in campaign.failed] == [1]
    assert "last of 3 workers" in campaign.failed[0][1]
    assert "guarded" in campaign.failed[0][1]
    assert len(begun(cluster.folder, 1)) == remote.MOST_LOSSES == 3
    assert store.counts()["done"] == 2
    assert sum("guarded" in text for text in told) == 2


def test_a_scheduler_that_stays_away_ends_the_campaign_and_loses_nothing(
    store, tmp_path, monkeypatch
):
    def kill(campaign):
        if campaign.done == 2:
            cluster.kill_scheduler()

    with Cluster(tmp_path / "cluster").start("one") as cluster:
        with connected(cluster.address) as executor:
            while not executor.n_workers:
                executor.wait(0.1)
            monkeypatch.setattr(dask_cluster, "PATIENCE", 0.5)
            with pytest.raises(ClusterError, match="kept.*same command"):
                run_all(
                    run_cases.runs(5),
                    store,
                    executor=executor,
                    execute=run_cases.of_seed,
                    watch=kill,
                )
    assert store.counts() == {"waiting": 3, "running": 0, "done": 2, "failed": 0}
    run_all(run_cases.runs(5), store, n_cores=1, execute=run_cases.of_seed)
    assert store.counts()["done"] == 5


# ---- clusters that cannot be used ----------------------------------------------------


def test_a_worker_with_another_cofire_is_named_and_gets_nothing(
    store, tmp_path, monkeypatch
):
    other = tmp_path / "other" / "cofire-9.9.9.dist-info"
    other.mkdir(parents=True)
    about = "Metadata-Version: 2.1\nName: cofire\nVersion: 9.9.9\n"
    (other / "METADATA").write_text(about)
    told, wanted = [], run_cases.runs(2)
    how = {"execute": run_cases.of_seed}
    with Cluster(tmp_path / "cluster").start() as cluster:
        ours = clusters.processes.environment()["PYTHONPATH"]
        path = os.pathsep.join([str(other.parent), ours])
        cluster.add("stranger", PYTHONPATH=path)
        monkeypatch.setattr(dask_cluster, "GRACE", 0.0)
        words = "stranger.* has cofire 9.9.9, but here it is"
        with connected(cluster.address) as executor:
            with pytest.raises(ClusterError, match=words):
                run_all(wanted, store, executor=executor, **how)
        assert store.counts()["waiting"] == 2
        monkeypatch.setattr(dask_cluster, "GRACE", 60.0)
        cluster.add("friend")
        with connected(cluster.address, told) as executor:
            campaign = run_all(wanted, store, executor=executor, **how)
    assert campaign.done == 2 and campaign.last_worker.startswith("friend")
    assert any("stranger" in text and "gets nothing" in text for text in told)


def test_an_address_where_nobody_answers_is_an_error(monkeypatch):
    monkeypatch.setattr(dask_cluster, "CONNECT", 0.5)
    address = f"tcp://{clusters.HOST}:{clusters.free_port()}"
    with pytest.raises(ClusterError, match="no Dask scheduler answers.*dask scheduler"):
        DaskCluster(address)


def test_without_dask_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'cofire\[cluster\]'"):
        DaskCluster("tcp://127.0.0.1:8786")
