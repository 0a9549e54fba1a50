"""Older run stores are brought up to date in one transaction, or not at all."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cofire
from cofire.lab.experiments import Run, Store, StoreError, migrations
from cofire.lab.experiments.store import run_of
from helpers.run_cases import outcome, runs

FIRST = (Path(__file__).parent / "store_v1.sql").read_text()
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(cofire.__file__).parents[1])}


@pytest.fixture
def path(tmp_path):
    """A store of the first version, with one run of each status."""
    path = tmp_path / "runs.sqlite"
    database = sqlite3.connect(path)
    database.executescript(FIRST)
    database.close()
    return path


def content(path):
    """Everything in the file, and its version."""
    database = sqlite3.connect(path)
    version = database.execute("PRAGMA user_version").fetchone()[0]
    dump = list(database.iterdump())
    database.close()
    return version, dump


def columns(path):
    database = sqlite3.connect(path)
    found = database.execute("PRAGMA table_info(runs)").fetchall()
    database.close()
    return found


def add_mood(database):
    database.execute("ALTER TABLE runs ADD COLUMN mood TEXT")
    database.execute("UPDATE runs SET mood = 'fine' WHERE status = 'done'")


def rename_mood(database):
    database.execute("ALTER TABLE runs RENAME COLUMN mood TO temper")


@pytest.fixture
def newer(monkeypatch):
    """Two versions that do not exist."""
    monkeypatch.setitem(migrations.MIGRATIONS, 2, add_mood)
    monkeypatch.setitem(migrations.MIGRATIONS, 3, rename_mood)


def test_a_store_of_before_migrations_is_read_as_it_is(path):
    _, before = content(path)
    with Store(path) as store:
        assert list(store.counts().values()) == [1, 1, 1, 1]
        (found,) = store.results()
        assert found.run == runs(1, epochs=4)[0] and found.score == 0.75
        assert found.curves["test_score"].tolist() == [0.25, 0.5, 0.75, 0.625]
    version, after = content(path)
    assert after == before and version == migrations.latest_version()


def test_the_default_of_version_0_1_gets_a_name_of_its_own(path):
    database = sqlite3.connect(path)
    database.execute(
        "UPDATE runs SET profile = 'default', key = replace(key, 'masked', 'default'), "
        "data = 'default' WHERE seed < 2"
    )
    database.execute(
        "UPDATE runs SET key = replace(key, 'madelon', 'default') WHERE seed < 2"
    )
    database.commit()
    database.close()
    with Store(path) as store:
        rows = store.rows()
        named = [row["profile"] for row in rows]
        assert named == ["defaults_0_1", "defaults_0_1", "masked", "masked"]
        assert [run_of(row).key for row in rows[:2]] == [row["key"] for row in rows[:2]]
        assert store.results()[0].run.data == "default"
        new = Run("madelon", "set", 100, 1.0, 0, "default", 4)
        store.add([new])
        assert store.claim(new)  # it is not taken for the one that is done


def test_the_first_version_is_that_of_before_migrations(path, tmp_path, monkeypatch):
    monkeypatch.setattr(migrations, "latest_version", lambda: 1)
    Store(tmp_path / "new.sqlite").close()
    assert columns(tmp_path / "new.sqlite") == columns(path)


def test_an_older_store_goes_through_all_versions_and_keeps_its_runs(path, newer):
    before = columns(path)
    with Store(path) as store:
        rows = store.rows()
        assert [row["temper"] for row in rows] == ["fine", None, None, None]
        assert [row["status"] for row in rows] == [
            *("done", "failed", "waiting", "running")
        ]
        assert store.claim(rows_run(rows[2]))
        store.finish(rows_run(rows[2]), outcome(0.5), {})
    assert content(path)[0] == 3
    assert columns(path)[:-1] == before
    after = content(path)
    Store(path).close()  # once is enough
    assert content(path) == after


def rows_run(row):
    return runs(4, epochs=4)[row["seed"]]


def test_a_new_store_is_like_one_that_was_brought_up_to_date(path, tmp_path, newer):
    Store(path).close()
    Store(tmp_path / "new.sqlite").close()
    assert columns(tmp_path / "new.sqlite") == columns(path)
    assert content(tmp_path / "new.sqlite")[0] == 3


def test_a_newer_store_is_refused_and_stays_as_it_is(path, monkeypatch):
    database = sqlite3.connect(path)
    latest = migrations.latest_version()
    database.execute(f"PRAGMA user_version = {latest + 1}")
    database.close()
    before = content(path)
    words = rf"newer cofire \(schema {latest + 1}, this one knows {latest}\): please"
    with pytest.raises(StoreError, match=words):
        Store(path)
    assert content(path) == before


@pytest.mark.parametrize(
    "error, words",
    [
        ("database.execute('SELECT gone FROM runs')", "no such column: gone"),
        ("raise ValueError('no mood')", "no mood"),
    ],
)
def test_a_migration_that_fails_half_way_changes_nothing(
    path, newer, monkeypatch, error, words
):
    def fails(database):
        rename_mood(database)
        database.execute("DELETE FROM curves")
        exec(error)

    monkeypatch.setitem(migrations.MIGRATIONS, 3, fails)
    before = content(path)
    expected = rf"from schema 1 to 3: {words}\. The file is as it was"
    with pytest.raises(StoreError, match=expected):
        Store(path)
    assert content(path) == before
    monkeypatch.setitem(migrations.MIGRATIONS, 3, rename_mood)
    Store(path).close()
    assert content(path)[0] == 3


def test_an_interrupt_changes_nothing_either(path, monkeypatch):
    def interrupted(database):
        add_mood(database)
        raise KeyboardInterrupt

    monkeypatch.setitem(migrations.MIGRATIONS, 2, interrupted)
    before = content(path)
    with pytest.raises(KeyboardInterrupt):
        Store(path)
    assert content(path) == before


# What another process does: it has the same migration, which takes a while.
ELSEWHERE = """
import os, sys, time
from cofire.lab.experiments import Store, migrations

def slow(database):
    database.execute("CREATE TABLE log (process INTEGER)")
    database.execute("INSERT INTO log VALUES (?)", (os.getpid(),))
    time.sleep(0.3)
    {end}

migrations.MIGRATIONS[2] = slow
print("ready", flush=True)
sys.stdin.readline()
with Store(sys.argv[1]) as store:
    print(store.counts()["done"])
"""


def elsewhere(path, end=""):
    return subprocess.Popen(
        [sys.executable, "-c", ELSEWHERE.format(end=end), path],
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_of_processes_that_open_it_at_once_one_brings_it_up_to_date(path):
    processes = [elsewhere(path) for _ in range(3)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.communicate()[0] for process in processes] == ["1\n"] * 3
    assert [process.returncode for process in processes] == [0] * 3
    database = sqlite3.connect(path)
    ((by,),) = database.execute("SELECT process FROM log").fetchall()
    database.close()
    assert by in [process.pid for process in processes]
    assert content(path)[0] == 2


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_process_that_is_killed_half_way_changes_nothing(path):
    before = content(path)
    process = elsewhere(path, end="os.kill(os.getpid(), 9)")
    process.communicate("\n")
    assert process.returncode == -signal.SIGKILL
    assert content(path) == before


def claim(path, owner, alive):
    database = sqlite3.connect(path)
    with database:
        database.execute(
            "UPDATE runs SET owner = ?, alive = ? WHERE status = 'running'",
            (owner, alive),
        )
    database.close()


def test_a_store_whose_runs_are_being_run_is_not_changed_under_them(path, newer):
    claim(path, f"{socket.gethostname()}:{os.getppid()}", time.time())
    before = content(path)
    with pytest.raises(StoreError, match=rf"older cofire, .*:{os.getppid()}, HOST"):
        Store(path)
    assert content(path) == before


def test_a_claim_that_is_void_does_not_stop_a_migration_and_stays(path, newer):
    claim(path, "elsewhere:1", time.time() - 1000)
    with Store(path) as store:
        (row,) = store.rows(status="running")
        assert row["owner"] == "elsewhere:1"
        assert store.claim(rows_run(row))
