"""`cofire compare`: the runs of a file, the table, the command."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from cofire.cli import app
from cofire.cli.lists import spread_lists
from cofire.data.training_rows import FileOptions
from cofire.experiments import Result, Run
from cofire.experiments.compare import comparison_runs, comparison_table
from cofire.experiments.parts import parts_of

pytest.importorskip("pandas", reason="CSV files need pandas: cofire[data]")


@pytest.fixture
def words_csv(tmp_path):
    """Two features that tell three words apart, and one that tells nothing."""
    rng = np.random.default_rng(0)
    lines = ["x,y,noise,label"]
    for _ in range(120):
        k = int(rng.integers(3))
        x, y = rng.normal([k, -k], 0.2)
        lines.append(
            f"{x:.3f},{y:.3f},{rng.normal():.3f},{('red', 'green', 'blue')[k]}"
        )
    path = tmp_path / "words.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def runs_of(path, methods=("set", "ctre_sim"), seeds=2, **more):
    return comparison_runs(
        str(path),
        FileOptions(),
        methods,
        seeds,
        hidden=12,
        epsilon=2,
        epochs=3,
        more=more,
    )


def test_methods_share_the_rows_of_a_seed_and_seeds_do_not(words_csv):
    runs = runs_of(words_csv)
    assert [(run.seed, run.method) for run in runs] == [
        (0, "set"),
        (0, "ctre_sim"),
        (1, "set"),
        (1, "ctre_sim"),
    ]
    parts = [parts_of(run) for run in runs]
    assert np.array_equal(parts[0].X_test, parts[1].X_test)
    assert not np.array_equal(parts[0].X_test, parts[2].X_test)
    for own in parts:
        assert (len(own.y), len(own.y_val), len(own.y_test)) == (86, 10, 24)


def test_the_three_parts_of_a_file_have_no_row_in_common(words_csv):
    parts = parts_of(runs_of(words_csv)[0])
    rows = [tuple(row) for X in (parts.X, parts.X_val, parts.X_test) for row in X]
    assert len(set(rows)) == len(rows) == 120


def test_a_file_that_changed_is_another_comparison(words_csv):
    before = runs_of(words_csv)
    words_csv.write_text(words_csv.read_text() + "0.1,0.1,0.1,red\n")
    assert not set(before) & set(runs_of(words_csv))
    parts_of.__globals__["_of_file"].cache_clear()
    with pytest.raises(ValueError, match="has changed"):
        parts_of(before[0])


def result(method, seed, score):
    return Result(
        score=score,
        validation_score=0.5,
        best_epoch=1,
        connections=10,
        density=0.1,
        seconds=2.0,
        curves={},
        run=Run("madelon", method, 100, 1.0, seed),
    )


def test_the_table_has_the_best_first_and_pairs_the_others_with_it():
    results = [result("set", s, 0.50 + 0.01 * s) for s in range(6)]
    results += [result("ctre_sim", s, 0.80 + 0.01 * s) for s in range(6)]
    table = comparison_table(results, "madelon", "accuracy")
    assert [row[0] for row in table.rows] == ["CTRE_sim", "SET"]
    assert table.rows[0][3:5] == [None, None]
    assert table.rows[1][3].startswith("30")  # points behind, in every pair the same
    assert table.rows[1][4] == pytest.approx(2**-5)  # all six pairs one way
    assert table.bold == {(0, 1)}


def test_a_seed_that_failed_is_left_out_of_the_pairs():
    results = [result("set", s, 0.5) for s in (0, 1)]
    results += [result("ctre_sim", s, 0.8) for s in (1, 2)]
    table = comparison_table(results, "madelon", "accuracy")
    assert [row[2] for row in table.rows] == [2, 2]
    assert table.rows[1][3:5] == [None, None]  # one pair says nothing of a spread


def invoke(*arguments):
    return CliRunner().invoke(app, spread_lists(map(str, arguments)))


def compare(path, out, *more):
    sizes = ("--hidden", 12, "--epsilon", 2, "--epochs", 3, "--jobs", 1)
    return invoke("compare", path, *sizes, "--out", out, *more)


def test_the_command_writes_a_table_and_a_page_and_goes_on(words_csv, tmp_path):
    pytest.importorskip("plotly", reason="the page needs plotly: cofire[plot]")
    out = tmp_path / "out"
    done = compare(words_csv, out, "--methods", "set", "static", "--seeds", 2)
    assert done.exit_code == 0, done.output
    assert "4 of 4 runs done" in done.output
    assert "SET" in done.output and "behind the best" in done.output
    assert sorted(p.name for p in out.iterdir() if "sqlite" not in p.name) == [
        "compare.csv",
        "compare.html",
        "compare.md",
        "compare.tex",
    ]
    more = compare(words_csv, out, "--methods", "set", "static", "--seeds", 3, "--json")
    assert more.exit_code == 0, more.output
    told = json.loads(more.stdout)
    assert [row[2] for row in told["rows"]] == ["3", "3"]
    assert "6 of 6 runs done" in more.output


def test_numbers_to_be_predicted_are_compared_by_r2(tmp_path):
    pytest.importorskip("plotly", reason="the page needs plotly: cofire[plot]")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3))
    table = np.column_stack([X, X @ [1.0, 2.0, 3.0]])
    path = tmp_path / "sum.csv"
    np.savetxt(path, table, delimiter=",", header="a,b,c,sum", comments="")
    done = compare(path, tmp_path / "out", "--methods", "set", "--seeds", 1)
    assert done.exit_code == 0, done.output
    assert "R^2 %" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.csv"], "nothing.csv"),
        (["madelom"], "madelon"),
        (["madelon", "--methods", "sett"], "Did you mean 'set'"),
        (["madelon", "--option", "momentum"], "expected name=value"),
        (["madelon", "--option", "momentun=1"], "Did you mean 'momentum'"),
    ],
)
def test_what_cannot_be_is_said_before_anything_runs(arguments, message, tmp_path):
    done = invoke("compare", *arguments, "--out", tmp_path / "out")
    assert done.exit_code == 1
    assert message in done.output
    assert not (tmp_path / "out").exists()


def test_a_run_of_a_file_prints_its_name_alone(words_csv):
    from cofire.cli.board import label

    run = runs_of(words_csv)[3]
    assert label(run) == "words.csv ctre_sim n=12 eps=2 seed 1"
    assert label(replace(run, split=5)).endswith("seed 1 split 5")
