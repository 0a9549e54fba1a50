"""Hostile files on the command line: refused in words, and nothing is written."""

import os
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from cofire.cli import app
from cofire.data.tables import read_table
from helpers.reliability.figures import report
from helpers.reliability.table_cases import NO_ROWS, NO_TRAINING, PLAIN, npz

SMALL = ("--hidden", 8, "--epochs", 2, "--epsilon", 1, "--n-jobs", 1)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def check_refused(*arguments):
    """Status 1, one paragraph on stderr, nothing on stdout, and no other file."""
    before = sorted(Path().rglob("*"))
    result = run(*arguments)
    assert result.exit_code == 1, (arguments, result.output)
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    said = result.stderr.strip()
    assert said.startswith("cofire: ") and "\n\n" not in said, said
    assert "Traceback" not in said and "allow_pickle=`" not in said
    assert len(said) < 1200 and result.stdout == ""
    assert sorted(Path().rglob("*")) == before


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "plain.csv").write_text(PLAIN)
    out = folder / "plain.cofire"
    assert run("train", folder / "plain.csv", *SMALL, "--out", out).exit_code == 0
    return out


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", NO_TRAINING)
def test_train(name):
    Path(name).write_bytes(NO_TRAINING[name])
    check_refused("train", name, *SMALL)


@pytest.mark.parametrize("name", NO_ROWS)
def test_predict_and_evaluate(name, model):
    Path(name).write_bytes(NO_ROWS[name])
    check_refused("predict", model, name, "--out", "predicted.csv")
    check_refused("evaluate", model, name)
    Path("predicted.csv").write_text("old")
    check_refused("predict", model, name, "--out", "predicted.csv")
    assert Path("predicted.csv").read_text() == "old"


@pytest.mark.parametrize("name", [n for n in NO_TRAINING if "." in n])
def test_a_file_to_test_with(name):
    Path("plain.csv").write_text(PLAIN)
    Path(name).write_bytes(NO_TRAINING[name])
    if name in NO_ROWS:  # the others have rows that can be asked about
        check_refused("train", "plain.csv", "--test", name, *SMALL)


@pytest.mark.parametrize("suffix", ["csv", "npz", "mat", "libsvm", "parquet"])
def test_a_folder(suffix, model):
    os.mkdir(f"folder.{suffix}")
    check_refused("train", f"folder.{suffix}")
    check_refused("predict", model, f"folder.{suffix}")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_that_may_not_be_read(model):
    Path("secret.csv").write_text(PLAIN)
    os.chmod("secret.csv", 0)
    check_refused("train", "secret.csv")
    check_refused("predict", model, "secret.csv")


@pytest.mark.parametrize("name", ["noise.npz", "empty.csv", "one-row.csv"])
def test_a_file_that_is_no_model(name):
    Path("plain.csv").write_text(PLAIN)
    Path(name).write_bytes(NO_TRAINING[name])
    check_refused("predict", name, "plain.csv")
    check_refused("evaluate", name, "plain.csv")


def test_settings_that_no_machine_can_meet():
    Path("plain.csv").write_text(PLAIN)
    check_refused("train", "plain.csv", "--hidden", 2**31 - 1, "--hidden", 2**31 - 1)
    check_refused("train", "plain.csv", "--hidden", 2**31)
    check_refused("train", "plain.csv", *SMALL, "--batch-size", 0)
    check_refused("train", "plain.csv", *SMALL, "--learning-rate", 1e39)
    check_refused("train", "plain.csv", *SMALL, "--option", "beta_1=NaN")


def test_a_pickle_in_a_file_is_not_run():
    for name in ("bomb.npz", "bomb-y.npz"):
        Path(name).write_bytes(NO_TRAINING[name])
        run("train", name, *SMALL)
        assert not Path("pickle-was-run").exists()


@pytest.mark.parametrize(
    "labels",
    [
        [2**53, 2**53 + 1],
        [2**62, 2**62 + 1],
        [-(2**63), 2**63 - 1],
        [10, 20],
    ],
)
def test_large_whole_labels_stay_apart(labels):
    rows = "".join(f"{i},{labels[i % 2]}\n" for i in range(10))
    Path("a.csv").write_text("x,y\n" + rows)
    assert read_table(Path("a.csv")).y.tolist() == labels * 5
    Path("a.npz").write_bytes(npz(X=np.ones((10, 1)), y=np.array(labels * 5)))
    assert read_table(Path("a.npz")).y.tolist() == labels * 5


@pytest.mark.parametrize("value", ["1e300", "1e19", str(2**64), str(2**63)])
def test_targets_beyond_64_bits_are_quantities(value):
    Path("a.csv").write_text("x,y\n" + f"1,{value}\n2,3\n" * 5)
    y = read_table(Path("a.csv")).y
    assert y.tolist() == [float(value), 3.0] * 5


@pytest.mark.slow
def test_every_file_in_every_command(model):
    """The figure for the table; each case is a test above."""
    wrong, n = [], 0
    for name, content in (NO_TRAINING | NO_ROWS).items():
        Path(name).write_bytes(content)
        commands = [("train", name, *SMALL)] if name in NO_TRAINING else []
        if name in NO_ROWS:
            commands += [("predict", model, name), ("evaluate", model, name)]
        for command in commands:
            n += 1
            try:
                check_refused(*command)
            except AssertionError as error:
                wrong.append(f"{command}: {error}")
        os.remove(name)
    report(
        "hostile files on the command line",
        "status 1, one paragraph, no traceback, no file written",
        f"{len(NO_TRAINING | NO_ROWS)} files, {n} commands, {len(wrong)} wrong",
        met=not wrong,
    )
    assert not wrong, "\n".join(wrong)
