"""The run store: whose file, whose claim, all or nothing, what comes back."""

import os
import sqlite3
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import cofire
from cofire.lab.experiments import Run, Store, StoreError, migrations
from cofire.lab.experiments import store as module
from cofire.lab.experiments.exchange import export_runs, read_runs, take_over
from cofire.lab.experiments.grid import grid
from helpers import processes
from helpers.needs import needs_package
from helpers.run_cases import outcome, runs


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.sqlite"


@pytest.fixture
def store(path):
    with Store(path) as store:
        yield store


def elsewhere(*arguments, **how):
    """Another process that does something of `run_cases`."""
    return subprocess.Popen(
        processes.program("run_cases", *arguments),
        env=processes.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **how,
    )


def pragma(path, name):
    database = sqlite3.connect(path)
    try:
        return database.execute(f"PRAGMA {name}").fetchone()[0]
    finally:
        database.close()


# ---- a run is a value ----------------------------------------------------------------


def test_equal_runs_have_one_key_and_different_runs_different_ones():
    whole, decimal = Run("madelon", "set", 9, 1, 0), Run("madelon", "set", 9, 1.0, 0)
    assert whole == decimal and whole.key == decimal.key
    others = [
        Run("isolet", "set", 9, 1, 0),
        Run("madelon", "rigl", 9, 1, 0),
        Run("madelon", "set", 90, 1, 0),
        Run("madelon", "set", 9, 1.5, 0),
        Run("madelon", "set", 9, 1, 1),
        Run("madelon", "set", 9, 1, 0, profile="sparse"),
        Run("madelon", "set", 9, 1, 0, epochs=3),
        Run("madelon", "set", 9, 1, 0, split=0),
        Run("madelon", "set", 9, 1, 0, options='{"momentum":0.5}'),
    ]
    assert len({run.key for run in (whole, *others)}) == 10


def test_the_order_of_options_does_not_matter():
    place = {"data": "madelon", "method": "set", "hidden": 9, "epsilon": 1, "seed": 0}
    a = Run.of(**place, options={"momentum": 0.5, "alpha": 0})
    b = Run.of(**place, options={"alpha": 0, "momentum": 0.5})
    assert a == b


def test_a_dense_run_has_no_epsilon():
    dense = Run.of(data="madelon", method="dense", hidden=9, epsilon=5, seed=0)
    assert dense.epsilon is None
    assert Run.of(data="madelon", method="dense", hidden=9, seed=0) == dense


@pytest.mark.parametrize(
    "wrong, meant",
    [({"method": "ctre_sin"}, "ctre_sim"), ({"profile": "mask"}, "masked")],
)
def test_a_run_of_what_does_not_exist_is_refused(wrong, meant):
    place = {"data": "madelon", "method": "set", "hidden": 9, "epsilon": 1, "seed": 0}
    with pytest.raises(ValueError, match=f"Did you mean '{meant}'"):
        Run.of(**place | wrong)


def test_a_cell_gives_its_runs_back():
    for run in grid(
        data=["madelon"],
        methods=["set", "dense"],
        hidden=[9],
        epsilon=[1, 5],
        seeds=range(2),
        epochs=3,
        options={"alpha": 0},
    ):
        assert run.cell.run(run.seed) == run


# ---- whose file it is ----------------------------------------------------------------


def test_a_new_file_says_whose_it_is(store, path):
    assert pragma(path, "application_id") == migrations.APPLICATION
    assert pragma(path, "user_version") == migrations.latest_version()
    assert pragma(path, "journal_mode") == "wal"


def test_folders_are_made_only_if_a_store_may_be(tmp_path):
    path = tmp_path / "a" / "b" / "runs.sqlite"
    with pytest.raises(FileNotFoundError, match="there are no runs yet"):
        Store(path, create=False)
    assert not path.parent.exists()
    Store(path).close()
    Store(path, create=False).close()


def foreign(path):
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE runs (mine TEXT)")
    database.close()


def nearly_empty(path):
    database = sqlite3.connect(path)
    database.execute("PRAGMA application_id = 77")
    database.close()


def newer(path):
    Store(path).close()
    database = sqlite3.connect(path)
    database.execute(f"PRAGMA user_version = {migrations.latest_version() + 1}")
    database.close()


def no_database(path):
    path.write_bytes(b"score,seed\n" * 500)


@pytest.mark.parametrize(
    "made_by, words",
    [
        (foreign, "another program's"),
        (nearly_empty, "another program's"),
        (newer, "newer cofire .*please update"),
        (no_database, "not a run store"),
    ],
)
def test_a_file_that_is_not_ours_is_refused_and_left_alone(path, made_by, words):
    made_by(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=f"runs.sqlite .*{words}"):
        Store(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["runs.sqlite"]


def test_a_folder_in_its_place_is_said_to_be_the_trouble(path):
    path.mkdir()
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(path)


def test_processes_may_make_the_same_file_at_once(path):
    others = [elsewhere("claim_elsewhere", path, 0) for _ in range(3)]
    for other in others:
        assert other.stdout.readline() == "ready\n"
    for other in others:
        other.stdin.write("\n")
        other.stdin.flush()
    for other in others:
        other.communicate()
        assert other.returncode == 0
    with Store(path) as store:
        assert sum(store.counts().values()) == 0


# ---- adding and claiming -------------------------------------------------------------


def test_adding_again_changes_nothing(store):
    store.add(runs(3))
    assert store.claim(runs(3)[1])
    store.finish(runs(3)[1], outcome(), {})
    before = store.rows()
    store.add(runs(3))
    store.add([])
    assert store.rows() == before
    store.add(runs(4))
    assert store.counts() == {"waiting": 3, "running": 0, "done": 1, "failed": 0}


def test_a_run_is_claimed_once(store, path):
    store.add(runs(2))
    with Store(path) as other:
        assert store.claim(runs(2)[0])
        assert not other.claim(runs(2)[0])
        assert not store.claim(runs(2)[0])
        assert other.claim(runs(2)[1])
    assert not store.claim(runs(3)[2])  # of which the store does not know


def test_processes_that_race_claim_every_run_once(store, path):
    n = 300
    store.add(runs(n))
    others = [elsewhere("claim_elsewhere", path, n) for _ in range(2)]
    for other in others:
        assert other.stdout.readline() == "ready\n"
    for other in others:
        other.stdin.write("\n")
        other.stdin.flush()
    claimed = [other.communicate()[0].split() for other in others]
    assert [other.returncode for other in others] == [0, 0]
    assert sorted(map(int, claimed[0] + claimed[1])) == list(range(n))
    assert store.counts()["running"] == n
    # Both have ended: what they had claimed is free at once.
    assert all(store.claim(run) for run in runs(n))


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets, `clock.now`."""
    clock = SimpleNamespace(now=1e9)
    fake = SimpleNamespace(
        time=lambda: clock.now,
        strftime=module.time.strftime,
        gmtime=module.time.gmtime,
    )
    monkeypatch.setattr(module, "time", fake)
    return clock


@pytest.fixture
def living():
    """The id of another process that lives."""
    process = elsewhere("claim_elsewhere", "nowhere", 0)
    yield process.pid
    process.kill()
    process.communicate()


@pytest.mark.parametrize("where", ["here", "on another machine"])
def test_a_claim_counts_while_its_owner_gives_signs_of_life(
    path, store, clock, living, where
):
    store.add(runs(1))
    with Store(path) as owner:
        here = owner.owner.rpartition(":")[0]
        owner.owner = f"{here if where == 'here' else 'elsewhere'}:{living}"
        assert owner.claim(runs(1)[0])
        clock.now += module.SILENCE - 1
        assert not store.claim(runs(1)[0])
        owner.give_sign_of_life()
        clock.now += module.SILENCE - 1
        assert not store.claim(runs(1)[0])
        clock.now += 2
        assert store.claim(runs(1)[0])
        # It is not the first one's any more, nor does that one keep it alive.
        owner.give_back(runs(1))
        assert store.counts()["running"] == 1


def test_only_the_own_claims_are_given_back(path, store, living):
    store.add(runs(3))
    with Store(path) as other:
        other.owner = f"elsewhere:{living}"
        assert store.claim(runs(3)[0]) and other.claim(runs(3)[1])
        store.finish(runs(3)[0], outcome(), {})
        assert store.claim(runs(3)[2])
        store.give_back(runs(3))
    assert [row["status"] for row in store.rows()] == ["done", "running", "waiting"]
    assert store.claim(runs(3)[2])


# ---- what came of it -----------------------------------------------------------------


def test_what_is_written_comes_back_to_the_bit(store):
    odd = np.array([np.nan, np.inf, -0.0, 1e-45, 1 / 3], np.float32)
    brought = outcome(1 / 3, curves={"loss": odd, "inputs": np.arange(7)})
    store.add(runs(1))
    store.claim(runs(1)[0])
    store.finish(runs(1)[0], brought, {"cores": 2})
    (result,) = store.results()
    for name in ("score", "validation_score", "best_epoch", "connections", "density"):
        assert getattr(result, name) == getattr(brought, name)
    assert result.seconds == brought.seconds
    assert result.run == runs(1)[0] and result.cofire == cofire.__version__
    assert result.receipt == brought.receipt and result.notes == brought.notes
    assert result.machine == {"cores": 2}
    assert result.curves["loss"].tobytes() == odd.tobytes()
    assert result.curves["inputs"].tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_a_process_killed_while_finishing_leaves_nothing_half_done(store, path):
    store.add(runs(1))
    other = elsewhere("finish_and_die", path)
    other.communicate()
    assert other.returncode == -9
    (row,) = store.rows()
    assert row["status"] == "running" and row["score"] is None
    assert store.curves(row["id"]) == {}
    assert store.claim(runs(1)[0])
    store.finish(runs(1)[0], outcome(0.25), {})
    assert [result.score for result in store.results()] == [0.25]


def test_an_error_while_finishing_leaves_nothing_half_done(store):
    store.add(runs(1))
    store.claim(runs(1)[0])
    with pytest.raises(ValueError, match="could not convert string to float"):
        store.finish(runs(1)[0], outcome(curves={"a": [1.0], "b": ["x"]}), {})
    assert store.counts()["running"] == 1 and store.curves(1) == {}
    store.finish(runs(1)[0], outcome(), {})  # the connection is as good as before


def test_a_failed_run_says_why_and_is_run_again_on_request(store):
    (run,) = runs(1)
    store.add([run])
    store.claim(run)
    store.fail(run, "Traceback\nValueError: no")
    (row,) = store.rows(status="failed")
    assert row["error"].endswith("ValueError: no") and row["owner"] is None
    assert not store.claim(run)
    assert store.claim(run, again=True)
    assert store.rows()[0]["error"] is None
    store.finish(run, outcome(), {})
    assert not store.claim(run, again=True)


def test_who_comes_too_late_takes_no_result_away(store):
    (run,) = runs(1)
    store.add([run])
    store.claim(run)
    store.finish(run, outcome(0.5), {})
    store.fail(run, "died, long after another process had taken over")
    assert [result.score for result in store.results()] == [0.5]


def test_a_run_deleted_while_it_runs_may_still_finish(store):
    (run,) = runs(1)
    store.add([run])
    store.claim(run)
    assert store.delete([1]) == 1
    store.finish(run, outcome(0.5), {})
    assert [result.score for result in store.results()] == [0.5]


def test_deleting_takes_the_curves_along(store, path):
    store.add(runs(3))
    for run in runs(3)[:2]:
        store.claim(run)
        store.finish(run, outcome(), {})
    assert store.delete([1, 3, 99]) == 2
    database = sqlite3.connect(path)
    assert database.execute("SELECT DISTINCT run FROM curves").fetchall() == [(2,)]
    database.close()
    assert [row["id"] for row in store.rows()] == [2]


def test_rows_and_results_are_chosen_by_their_columns(store):
    many = [
        Run("madelon", "set", 100, 1, 0),
        Run("madelon", "dense", 100, None, 0),
        Run("isolet", "set", 100, 1, 0, split=0),
        Run("isolet", "set", 500, 5, 1, split=1),
    ]
    store.add(many)
    for run in many[1:]:
        store.claim(run)
        store.finish(run, outcome(run.hidden / 1000), {})

    def chosen(**where):
        return [many.index(result.run) for result in store.results(**where)]

    assert chosen() == [1, 2, 3]
    assert chosen(data="isolet", hidden=500) == [3]
    assert chosen(data=["madelon", "isolet"], method=("set",)) == [2, 3]
    assert chosen(epsilon=None) == [1]
    assert chosen(split=[None, 1]) == [1, 3]
    assert chosen(data=[]) == []
    assert [len(result.curves) for result in store.results(curves=())] == [0, 0, 0]
    read = store.results(curves=["loss", "nonsense"])[0].curves
    assert list(read) == ["loss"] and read["loss"].dtype == np.float32


def test_runs_of_a_method_that_is_not_installed_can_be_read(store):
    run = Run("madelon", "of_another_package", 100, 1.0, 0)
    store.add([run])
    store.claim(run)
    store.finish(run, outcome(), {})
    assert store.results()[0].run == run


# ---- export and import ---------------------------------------------------------------


@pytest.fixture
def filled(store):
    """Two data sets: one has as many inputs as epochs, the other none of its curves."""
    some = [
        Run("isolet", "set", 100, 1.0, 0, epochs=4),
        Run("madelon", "dense", 100, None, 3, split=2, options='{"alpha":0}'),
    ]
    store.add([*some, *runs(2)])
    for k, run in enumerate(some):
        store.claim(run)
        store.finish(run, outcome(1 / (3 + k), validation_score=None), {"cores": 2})
    inputs = np.arange(4, dtype=np.float32)
    seen = outcome(0.7, notes={"text": 'a "b", c\nd'})
    store.claim(runs(1)[0])
    store.finish(runs(1)[0], outcome(0.7, curves={**seen.curves, "inputs": inputs}), {})
    store.claim(runs(2)[1])
    store.fail(runs(2)[1], "no")
    return store


def test_csv_brings_back_all_but_curves(filled, tmp_path):
    file = tmp_path / "new" / "runs.csv"
    assert export_runs(filled, file) == 3
    with Store(tmp_path / "other.sqlite") as other:
        other.add([filled.results()[0].run])
        other.claim(filled.results()[0].run)
        other.fail(filled.results()[0].run, "here it failed")
        assert take_over(other, read_runs(file)) == (3, 0)
        assert take_over(other, read_runs(file)) == (0, 0)
        here = {result.run: result for result in other.results()}
        for there in filled.results():
            found = here[there.run]
            for name in ("score", "validation_score", "best_epoch", "density"):
                assert getattr(found, name) == getattr(there, name)
            assert found.notes == there.notes and found.machine == there.machine
            assert found.finished == there.finished and found.seconds == there.seconds
            assert found.curves == {}
        assert [row["error"] for row in other.rows()] == [None] * 3
        assert export_runs(other, tmp_path / "again.csv") == 3
    lines = file.read_text("utf-8").splitlines()
    assert sorted(lines) == sorted(
        (tmp_path / "again.csv").read_text("utf-8").splitlines()
    )


def test_what_version_0_1_called_the_default_is_imported_as_that(filled, tmp_path):
    old, new = (
        Run("madelon", "set", 100, 1.0, seed, profile="default") for seed in (0, 1)
    )
    for run, notes in ((old, {}), (new, {"networks": 1})):
        filled.add([run])
        filled.claim(run)
        filled.finish(run, outcome(0.5, notes=notes), {})
    export_runs(filled, tmp_path / "runs.csv")
    found = {row["seed"]: row for row in read_runs(tmp_path / "runs.csv")[-2:]}
    assert found[0]["profile"] == "defaults_0_1"
    assert found[1]["profile"] == "default"


def test_curves_are_exported_a_line_an_epoch(filled, tmp_path):
    assert export_runs(filled, tmp_path / "curves.csv", curves=True) == 3 * 4
    header, first, *_ = (tmp_path / "curves.csv").read_text("utf-8").splitlines()
    names = header.split(",")
    assert "inputs" not in names  # of which there may be as many as epochs
    line = dict(zip(names, first.split(","), strict=True))
    assert line["data"] == "isolet" and line["epoch"] == "1"
    loss = np.float32(line["test_loss"])
    assert loss == filled.results()[0].curves["test_loss"][0]


def test_parquet_has_the_same_values(filled, tmp_path):
    parquet = needs_package("pyarrow.parquet", "pip install cofire[data]")
    assert export_runs(filled, tmp_path / "runs.parquet") == 3
    rows = parquet.read_table(tmp_path / "runs.parquet").to_pylist()
    there = filled.rows(status="done")
    assert rows == [{name: row[name] for name in rows[0]} for row in there]
    export_runs(filled, tmp_path / "runs.csv")
    assert read_runs(tmp_path / "runs.parquet") == read_runs(tmp_path / "runs.csv")
    (tmp_path / "other.parquet").write_bytes(b"PAR1 or not")
    with pytest.raises(ValueError, match=r"other\.parquet is not a Parquet file"):
        read_runs(tmp_path / "other.parquet")
    assert export_runs(filled, tmp_path / "c.parquet", curves=True) == 12
    assert parquet.read_table(tmp_path / "c.parquet").num_rows == 12


def test_parquet_without_pyarrow_says_what_to_install(filled, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"cofire\[data\]"):
        export_runs(filled, tmp_path / "runs.parquet")
    assert not (tmp_path / "runs.parquet").exists()


def test_an_export_that_fails_leaves_the_file_as_it_was(
    filled, store, tmp_path, monkeypatch
):
    file = tmp_path / "runs.csv"
    file.write_text("mine")

    def broken(*arguments):
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", broken)
        with pytest.raises(OSError, match="full"):
            export_runs(filled, file)
    with pytest.raises(ValueError, match="must end in .csv or .parquet"):
        export_runs(filled, tmp_path / "runs.xlsx")
    store.delete(row["id"] for row in store.rows())
    with pytest.raises(ValueError, match="no finished runs"):
        export_runs(store, file)
    assert file.read_text() == "mine"
    assert not [f for f in tmp_path.iterdir() if f.name.startswith(".runs")]


@pytest.mark.parametrize(
    "spoil, words",
    [
        (lambda line: line.replace("0.25", "good"), "line 3: score cannot be 'good'"),
        (lambda line: line.replace("0.25", "nan"), "line 3: score cannot be 'nan'"),
        (lambda line: line.replace("0.25", "7"), "line 3: score cannot be '7'"),
        (lambda line: line.replace("{}", ""), "line 3: options is empty"),
        (lambda line: line[:20], "line 3: .* is empty"),
    ],
)
def test_an_import_with_a_bad_line_is_refused(store, tmp_path, spoil, words):
    store.add(runs(2))
    for run in runs(2):
        store.claim(run)
        store.finish(run, outcome(0.25), {})
    file = tmp_path / "runs.csv"
    export_runs(store, file)
    *good, bad = file.read_text("utf-8").splitlines()
    file.write_text("\n".join([*good, spoil(bad)]), "utf-8")
    with pytest.raises(ValueError, match=words):
        read_runs(file)


def test_an_import_of_something_else_says_what_it_lacks(store, tmp_path):
    file = tmp_path / "iris.csv"
    file.write_text("data,method\n1,2\n")
    with pytest.raises(ValueError, match="not an export of runs: it lacks best_epoch"):
        read_runs(file)


def test_an_export_that_went_through_a_spreadsheet_is_read(filled, tmp_path):
    export_runs(filled, tmp_path / "runs.csv")
    text = (tmp_path / "runs.csv").read_text("utf-8")
    (tmp_path / "runs.csv").write_text(text, "utf-8-sig")
    assert len(read_runs(tmp_path / "runs.csv")) == 3


def test_a_run_with_another_score_stays_and_is_counted(filled, tmp_path):
    export_runs(filled, tmp_path / "runs.csv")
    rows = read_runs(tmp_path / "runs.csv")
    before = filled.rows()
    rows[0]["score"] += 0.125
    assert take_over(filled, rows) == (0, 1)
    assert filled.rows() == before


class InterruptedAt:
    """A connection that is interrupted as soon as it has done something."""

    def __init__(self, connection, statement):
        self._connection, self._statement = connection, statement

    def execute(self, statement, *values):
        done = self._connection.execute(statement, *values)
        if statement.startswith(self._statement):
            raise KeyboardInterrupt
        return done

    def __getattr__(self, name):
        return getattr(self._connection, name)


@pytest.mark.parametrize("statement", ["BEGIN", "SELECT", "UPDATE", "COMMIT"])
def test_an_interrupted_transaction_leaves_a_store_that_can_be_used(store, statement):
    store.add(runs(2))
    whole = store._db
    store._db = InterruptedAt(whole, statement)
    with pytest.raises(KeyboardInterrupt):
        store.claim(runs(1)[0])
    store._db = whole
    assert store.counts()["running"] == (statement == "COMMIT")
    assert store.claim(runs(2)[1])
