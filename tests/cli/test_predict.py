"""Ids, row numbers and dates on the command line; rows that a model knows."""

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.commands import done, run

SMALL = ("--hidden", 8, "--epochs", 2, "--epsilon", 1, "--n-jobs", 1, "--no-baselines")


def refused(*arguments):
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("cofire: ") and "`" not in result.stderr
    return result.stderr


def predictions(*arguments):
    return list(csv.DictReader(io.StringIO(done("predict", *arguments).stdout)))


def visits(n=60, seed=0):
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 700, n), "D")
    frame = pd.DataFrame(
        {
            "who": [f"{i:03d}" for i in range(n)],
            "day": days.strftime("%d/%m/%Y"),
            "x": rng.normal(size=n).round(3),
        }
    )
    frame["kind"] = np.where(days.month < 6, "spring", "later")
    return frame


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    visits().to_csv("a.csv", index=False)
    visits(9, seed=1).drop(columns="kind").to_csv("new.csv", index=False)
    return tmp_path


def test_rows_are_numbered_unless_a_column_identifies_them():
    done("train", "a.csv", "--drop", "who", *SMALL)
    rows = predictions("a.cofire", "new.csv")
    assert list(rows[0]) == ["row", "prediction"]
    assert [row["row"] for row in rows] == [str(i) for i in range(1, 10)]
    rows = predictions("a.cofire", "new.csv", "--id", "who", "--id", "x", "--proba")
    assert list(rows[0])[:3] == ["who", "x", "prediction"]
    assert [row["who"] for row in rows] == [f"{i:03d}" for i in range(9)]  # as written
    assert [float(row["x"]) for row in rows] == visits(9, seed=1).x.tolist()
    digits = {len(row["probability_later"].lstrip("0.")) for row in rows}
    assert max(digits) <= 6
    assert "(--id, in new.csv) 'whom'. Did you mean 'who'?" in refused(
        "predict", "a.cofire", "new.csv", "--id", "whom"
    )


def test_the_model_knows_which_column_identifies_rows():
    done("train", "a.csv", "--id", "who", *SMALL)
    result = done("predict", "a.cofire", "new.csv")
    assert result.stdout.startswith("who,prediction\n000,") and not result.stderr
    visits(9).drop(columns=["who", "kind"]).to_csv("without.csv", index=False)
    result = done("predict", "a.cofire", "without.csv")
    assert result.stdout.startswith("row,prediction\n1,")
    assert "has no column 'who': rows are numbered instead" in result.stderr
    assert (
        "1 column of numbers, 0 of words, 1 of dates, 6 features"
        in done("info", "a.cofire").stdout
    )


def test_a_wrong_date_is_named():
    done("train", "a.csv", "--id", "who", *SMALL)
    Path("new.csv").write_text("who,day,x\n1,03/04/2021,1\n2,soon,1\n3,31/02/2021,2\n")
    said = refused("predict", "a.cofire", "new.csv")
    assert "new.csv: column 'day' must hold dates, as in training, and has " in said
    assert "'soon' in row 2, '31/02/2021' in row 3. Correct the cells" in said


def test_the_command_that_works_is_shown_and_works():
    frame = visits()
    frame.loc[3, "x"] = np.nan
    frame["day"] = "02/03/2021"
    frame.assign(note=[f"n {i}" for i in range(60)]).to_csv("a.csv", index=False)
    frame = pd.concat([frame] * 4).assign(note=[f"n {i}" for i in range(240)])
    frame.assign(**{"my note": frame.note})[
        ["who", "day", "x", "note", "my note", "kind"]
    ].to_csv("a.csv", index=False)
    for command in ("train", "compare"):
        more = ("--option", "standardize=false", "--epochs", 2)
        said = refused(command, "a.csv", "--id", "who", "--month-first", *more)
        assert "a.csv: 3 faults:\n  column 'note'" in said
        line = said.splitlines()[-1].strip()
        assert line.startswith(f"cofire {command} a.csv ") and "--month-first" in line
        for part in ("--drop note --drop 'my note'", "--missing mean", "--id who"):
            assert part in line
        assert "--epochs 2" in line
    import shlex

    words = shlex.split(said.splitlines()[-1].strip().replace("compare", "train", 1))
    done(*words[1:], "--no-baselines", "--hidden", 8)


def test_evaluate_says_if_the_model_knows_the_rows():
    done("train", "a.csv", "--id", "who", *SMALL)
    said = done("evaluate", "a.cofire", "a.csv").stderr
    assert "80 % of these rows are rows that the model was trained on" in said
    visits(50, seed=2).to_csv("other.csv", index=False)
    assert "trained on" not in done("evaluate", "a.cofire", "other.csv").stderr


def test_predictions_that_cannot_be_written_are_reported_first(monkeypatch):
    done("train", "a.csv", "--id", "who", *SMALL)
    from cofire import SparseMLPClassifier

    def predict(*_):
        raise AssertionError("it was predicted")

    monkeypatch.setattr(SparseMLPClassifier, "predict", predict)
    Path("folder").mkdir()
    for out in ("folder", "a.csv/p.csv"):
        said = refused("predict", "a.cofire", "new.csv", "--out", out)
        assert f"--out {out}: a file cannot be written there (" in said
        assert "Name a file in a folder that you may write to" in said


def test_a_text_for_missing_values():
    Path("b.csv").write_text("x,kind\n" + "1.5,a\n2.5,b\n" * 20 + "n/k,a\n")
    assert "'n/k' in row 41" in refused("train", "b.csv")
    done("train", "b.csv", "--na", "n/k", "--missing", "mean", *SMALL)
    Path("c.csv").write_text("x\n1\nn/k\n-\n")
    assert "has '-' in row 3" in refused("predict", "b.cofire", "c.csv")
    assert len(predictions("b.cofire", "c.csv", "--na", "-")) == 3
