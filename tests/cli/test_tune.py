"""`cofire tune`: a table, a picture, a model; the same command continues."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from typer.testing import CliRunner

import cofire
from cofire.cli import app
from helpers import processes

FAST = ("--trials", 4, "--folds", 2, "--networks", 2, "--option", "max_iter=4")


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tune")
    frame = load_iris(as_frame=True).frame
    frame.to_csv(folder / "iris.csv", index=False)
    load_diabetes(as_frame=True).frame[:120].to_csv(folder / "d.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def answer(folder):
    store, out = ("--store", folder / "s"), ("--out", folder / "m.cofire")
    found = run("tune", folder / "iris.csv", *FAST, *store, *out)
    assert found.exit_code == 0, found.output
    return found


def test_it_says_how_small_and_writes_table_picture_and_model(answer, folder):
    text = answer.stdout
    assert "| accuracy % " in text and "\nDefault: " in text and "\nBest: " in text
    assert "Smallest within 1 point of the best: " in text
    assert "on the 30 test rows" in text
    assert "trial 1 of 4: " in answer.stderr and "with other folds" in answer.stderr
    assert (folder / "s" / "tune-iris.png").read_bytes().startswith(b"\x89PNG")
    assert "connections" in (folder / "s" / "tune-iris.md").read_text("utf-8")
    assert len(cofire.load(folder / "m.cofire").networks_) == 2


def test_the_same_command_takes_everything_from_the_store(answer, folder):
    store, out = ("--store", folder / "s"), ("--out", folder / "again.cofire")
    again = run("tune", folder / "iris.csv", *FAST, *store, *out)
    # Microseconds too: they are those of the trials. A file has the times of its fit.
    first, second = (
        [line for line in one.stdout.splitlines() if not line.startswith("saved")]
        for one in (answer, again)
    )
    assert first == second
    lines = [line for line in again.stderr.splitlines() if "trial" in line]
    assert lines and all(line.endswith("(from the store)") for line in lines)
    listed = run("runs", "list", "--out", folder / "s", "--data", "iris.csv").stdout
    assert listed.count("profile tune") >= 4


def test_the_command_it_prints_trains_exactly_that_model(folder):
    """The smallest: its own file, and that of `cofire train`."""
    where = ("--store", folder / "s", "--out", folder / "small.cofire", "--small")
    found = run("tune", folder / "iris.csv", *FAST, *where, "--json")
    facts = json.loads(found.stdout)
    assert facts["saved"] == "smallest" and facts["default"]["trial"] == 0
    command = facts["smallest"]["command"]
    assert command.startswith(f"cofire train {folder / 'iris.csv'} ")
    words = command.split()[1:]
    trained = run(*words, "--out", folder / "t.cofire", "--no-baselines", "--json")
    assert trained.exit_code == 0, trained.output
    assert json.loads(trained.stdout)["test_score"] == facts["smallest"]["test_score"]
    ours, theirs = (cofire.load(folder / f"{n}.cofire") for n in ("small", "t"))
    rows = np.random.default_rng(0).normal(size=(50, 4))
    assert np.array_equal(ours.predict_proba(rows), theirs.predict_proba(rows))


def test_without_matplotlib_there_is_everything_else(answer, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    store, out = ("--store", folder / "s"), ("--out", folder / "no.cofire")
    found = run("tune", folder / "iris.csv", *FAST, *store, *out)
    assert found.exit_code == 0 and "Smallest within 1 point" in found.stdout
    assert "no picture: " in found.stderr and "'cofire[plot]'" in found.stderr
    assert "tune-iris.png" not in found.stdout and (folder / "no.cofire").exists()


def test_numbers_and_a_named_target(folder):
    where = ("--store", folder / "d", "--out", folder / "d.cofire", "--json")
    found = run("tune", folder / "d.csv", "--target", "bmi", *FAST, *where)
    facts = json.loads(found.stdout)
    assert facts["task"] == "regression" and facts["score"] == "R²"
    assert "--target bmi" in facts["best"]["command"]
    assert (folder / "d" / "tune-d-bmi.png").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--folds", 999), "--folds: expected a number of folds from 2 to"),
        (("--target", "nothing"), "nothing"),
        (("--option", "momentum"), "--option momentum: expected name=value"),
        (("--store", "/proc/x"), "--store /proc/x/runs.sqlite"),
        (("--out", "/proc/x/m"), "--out /proc/x/m"),
    ],
)
def test_bad_input_is_told_before_anything_is_trained(folder, options, message):
    found = run("tune", folder / "iris.csv", "--store", folder / "x", *options)
    assert found.exit_code == 1 and message in found.stderr
    assert "trial 1" not in found.stderr


def test_too_few_connections_are_told_in_options(folder):
    where = ("--store", folder / "few", "--out", folder / "few.cofire")
    fixed = ("--max-connections", 2, "--option", "epsilon=3")
    found = run("tune", folder / "iris.csv", *FAST, *where, *fixed)
    assert found.exit_code == 1
    assert "--max-connections 2: no trial has so few connections" in found.stderr
    assert "more trials (--trials)" in found.stderr


@pytest.mark.parametrize("option", ["--trials", "--within", "--seed", "--folds"])
def test_impossible_numbers_are_refused(folder, option):
    assert run("tune", folder / "iris.csv", option, -1).exit_code == 2


def test_an_interrupt_says_how_to_continue(folder):
    command = [sys.executable, "-c", "from cofire.cli import main; main()", "tune"]
    where = ["--store", "i", "--out", "i.cofire", "--trials", "500"]
    process = subprocess.Popen(
        [*command, "iris.csv", *map(str, FAST), *where],
        cwd=folder,
        env=processes.environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stderr:
        if line.startswith("trial 2 of 500"):
            break
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert "finished trials are kept: the same command continues" in said
    assert "Traceback" not in said
