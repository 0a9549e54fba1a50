"""`cofire train --memory` and `cofire predict --memory`: files read again and again."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import cofire
from cofire.cli import app
from helpers.streams import make_frame, make_rows

QUICK = ["--networks", "1", "--hidden", "20", "--epochs", "4"]


def run(*words, fails=False):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert (done.exit_code != 0) == fails, done.output
    return done


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A Parquet file with words and dates, larger than the buffer."""
    monkeypatch.chdir(tmp_path)
    X, y = make_frame(3000)
    path = tmp_path / "big.parquet"
    X.assign(id=np.arange(3000), label=y).to_parquet(path, row_group_size=500)
    return path


def test_a_file_is_trained_on_and_predicted_part_by_part(table, tmp_path):
    words = ["train", table, "--memory", "120MB", "--drop", "id", *QUICK, "--json"]
    figures = json.loads(run(*words).stdout)
    assert figures["task"] == "classification" and figures["classes"] == ["no", "yes"]
    assert figures["test_score"] > 0.7 and 400 < figures["test_rows"] < 800
    model = cofire.load(tmp_path / "big.cofire")
    words = ["predict", "big.cofire", table, "--memory", "120MB", "--proba"]
    run(*words, "--out", "found.csv")
    found = pd.read_csv(tmp_path / "found.csv")
    X = pd.read_parquet(table)[list(model.feature_names_in_)]
    assert (found["prediction"] == model.predict(X)).all()
    assert found["row"].tolist() == list(range(1, 3001))
    expected = model.predict_proba(X)[:, 0]
    assert found["probability_no"].to_numpy() == pytest.approx(expected, rel=1e-4)
    assert run(*words).stdout == (tmp_path / "found.csv").read_text(encoding="utf-8")
    # Without --memory, words would be taken for numbers.
    assert "--memory" in run("predict", "big.cofire", table, fails=True).stderr


def test_numbers_of_an_npy_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.nan_to_num(make_rows(3000)[0])
    np.save("big.npy", np.column_stack([X, X[:, 0] * 2 + X[:, 1]]))
    np.save("new.npy", X)
    said = run("train", "big.npy", "--memory", "100MB", *QUICK).stdout
    assert "regression" in said and "R^2 on" in said and "saved: big.cofire" in said
    found = [
        run("predict", "big.cofire", name, "--memory", "100MB").stdout
        for name in ("big.npy", "new.npy")
    ]
    assert found[0] == found[1]
    assert len(found[0].splitlines()) == 3001


def test_what_does_not_go_with_it_is_refused(table):
    words = ["train", table, "--memory", "120MB", "--drop", "id", *QUICK]
    assert "--scale and --memory" in run(*words, "--scale", "none", fails=True).stderr
    said = run("train", table, "--memory", "2MB", *QUICK, fails=True).stderr
    assert "is the least that works" in said
    said = run("train", table, "--memory", "much", *QUICK, fails=True).stderr
    assert "expected a number of bytes" in said
    said = run("train", "none.parquet", "--memory", "1GB", fails=True).stderr
    assert "no such file" in said
    pd.read_parquet(table).to_csv("small.csv", index=False)
    assert "cannot be read as a stream" in (
        run("train", "small.csv", "--memory", "1GB", fails=True).stderr
    )
    run("train", table, "--drop", "x4", *QUICK, "--no-baselines")
    said = run("predict", "big.cofire", table, "--memory", "1GB", fails=True).stderr
    assert "Leave --memory out" in said
