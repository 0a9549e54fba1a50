"""`cofire explain`: columns by name, with and without labelled rows."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from cofire import SparseMLPRegressor
from cofire.cli import app


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    random = np.random.default_rng(0)
    n = 400
    rows = pd.DataFrame(
        {
            "noise": random.normal(size=n),
            "colour": random.choice(["red", "green", "blue"], n),
            "size": random.normal(size=n),
            "day": pd.date_range("2020-01-01", periods=n).astype(str),
        }
    )
    rows["bought"] = np.where(
        (rows["colour"] == "red") ^ (rows["size"] > 0.5), "y", "n"
    )
    rows[:300].to_csv(folder / "train.csv", index=False)
    rows[300:].to_csv(folder / "test.csv", index=False)
    made = run(
        "train", folder / "train.csv", "--out", folder / "m.cofire", "--no-baselines"
    )
    assert made.exit_code == 0, made.output
    return folder


def test_columns_are_named_once_and_ranked(trained):
    facts = json.loads(run("explain", trained / "m.cofire", "--json").stdout)
    names = [column["column"] for column in facts["columns"]]
    assert set(names[:2]) == {"colour", "size"}
    assert sorted(names) == ["colour", "day", "noise", "size"]
    assert sum(column["importance"] for column in facts["columns"]) == pytest.approx(1)
    assert "colour=red" in [one["input"] for one in facts["classes"]["y"]]


def test_labelled_rows_measure_what_shuffling_costs(trained):
    files = trained / "m.cofire", trained / "test.csv"
    facts = json.loads(run("explain", *files, "--json").stdout)
    losses = {column["column"]: column["loss"] for column in facts["columns"]}
    assert min(losses["colour"], losses["size"]) > 0.2
    assert abs(losses["noise"]) < 0.1
    assert facts["score_name"] == "accuracy" and facts["rows"] == 100
    text = run("explain", *files, "--top", 2).stdout
    assert "accuracy lost when shuffled" in text
    assert "2 more columns: " in text


def test_the_picture_is_drawn(trained):
    result = run("explain", trained / "m.cofire", "--out", trained / "new" / "i.png")
    assert result.exit_code == 0, result.output
    assert (trained / "new" / "i.png").read_bytes().startswith(b"\x89PNG")


def test_a_place_that_cannot_be_written_is_told_first(trained):
    result = run("explain", trained / "m.cofire", "--out", "/proc/x/i.png")
    assert result.exit_code == 1
    assert "--out /proc/x/i.png" in result.stderr


def test_the_name_of_a_picture_says_its_format(trained, monkeypatch):
    monkeypatch.chdir(trained)
    for name, suggested in (("x", "x.png"), ("x.bmpx", "x.png")):
        made = run("explain", "m.cofire", "--out", name)
        assert made.exit_code == 1 and f"Try --out {suggested}" in made.stderr
        assert not made.stdout and not (trained / "x.png").exists()


def test_long_names_do_not_push_the_bars_away(tmp_path):
    random = np.random.default_rng(0)
    long = "what somebody wrote into the heading of a spreadsheet, column "
    rows = pd.DataFrame(random.normal(size=(60, 2)), columns=[long + "1", long + "2"])
    rows["y"] = rows[long + "1"] > 0
    rows.to_csv(tmp_path / "long.csv", index=False)
    model = tmp_path / "long.cofire"
    quick = "--no-baselines", "--networks", 1
    made = run("train", tmp_path / "long.csv", "--out", model, *quick)
    assert made.exit_code == 0, made.output
    shown = run("explain", model)
    assert shown.exit_code == 0, shown.output
    head, first, second, *_ = shown.stdout.splitlines()
    assert max(map(len, (head, first, second))) <= 82
    assert {line[:40].split()[-1] for line in (first, second)} == {"1", "2"}


def test_a_model_of_python_without_names_is_explained(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 4))
    model = SparseMLPRegressor(random_state=0).fit(X, 3 * X[:, 2])
    model.save(tmp_path / "m")
    facts = json.loads(run("explain", tmp_path / "m", "--json").stdout)
    assert facts["columns"][0]["column"] == "feature 2"
    assert facts["classes"] == {}
