"""`cofire compare`: the runs of a file, the table, the command."""

import json
import re
import shlex
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from typer.testing import CliRunner

from cofire import SparseMLPClassifier
from cofire.cli import app
from cofire.cli.compare import METHODS
from cofire.cli.lists import spread_lists
from cofire.data.preprocessing.training_rows import FileOptions
from cofire.lab.experiments import Result, Run, Store
from cofire.lab.experiments.compare import (
    HIDDEN,
    comparison_runs,
    comparison_table,
    not_surely_worse,
    standings,
    with_target,
)
from cofire.lab.experiments.grid import n_hidden_layers
from cofire.lab.experiments.labels import run_label
from cofire.lab.experiments.run_data import load_run_data
from cofire.lab.names import method_name
from helpers.needs import needs_package

needs_package("pandas", "pip install cofire[data]")


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
    parts = [load_run_data(run) for run in runs]
    assert np.array_equal(parts[0].X_test, parts[1].X_test)
    assert not np.array_equal(parts[0].X_test, parts[2].X_test)
    for own in parts:
        assert own.X_val is own.y_val is None  # the default recipe needs none
        assert (len(own.y), len(own.y_test)) == (96, 24)
    baseline = load_run_data(runs_of(words_csv, ["random_forest"])[0])
    assert np.array_equal(baseline.X, parts[0].X)
    assert np.array_equal(baseline.X_test, parts[0].X_test)


@pytest.mark.parametrize("profile", ["default", "masked"])
def test_the_parts_of_a_file_have_no_row_in_common(words_csv, profile):
    parts = load_run_data(replace(runs_of(words_csv)[0], profile=profile))
    given = [X for X in (parts.X, parts.X_val, parts.X_test) if X is not None]
    assert len(given) == (2 if profile == "default" else 3)
    rows = [tuple(row) for X in given for row in X]
    assert len(set(rows)) == len(rows) == 120


def test_a_file_that_changed_is_another_comparison(words_csv):
    before = runs_of(words_csv)
    words_csv.write_text(words_csv.read_text() + "0.1,0.1,0.1,red\n")
    assert not set(before) & set(runs_of(words_csv))
    load_run_data.__globals__["_of_file"].cache_clear()
    with pytest.raises(ValueError, match="has changed"):
        load_run_data(before[0])


def test_rows_to_test_with_that_changed_are_another_comparison(words_csv, tmp_path):
    def runs():
        return comparison_runs(
            str(words_csv),
            FileOptions(test=test),
            ["set"],
            1,
            hidden=12,
            epsilon=2,
            epochs=3,
            more={},
        )

    test = tmp_path / "test.csv"
    test.write_text(words_csv.read_text())
    before = runs()
    assert len(load_run_data(before[0]).y_test) == 120
    test.write_text(words_csv.read_text() + "0.1,0.1,0.1,red\n")
    assert not set(before) & set(runs())
    load_run_data.__globals__["_of_file"].cache_clear()
    with pytest.raises(ValueError, match=r"test\.csv has changed"):
        load_run_data(before[0])


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
    table = comparison_table(results, "madelon")
    assert [row[0] for row in table.rows] == ["CTRE_sim", "SET"]
    assert table.rows[0][3:5] == [None, None]
    assert table.rows[1][3].startswith("30")  # points behind, in every pair the same
    assert table.rows[1][4] == pytest.approx(2**-5)  # all six pairs one way
    assert table.bold == {(0, 1)}


def test_a_seed_that_failed_is_left_out_of_the_pairs():
    results = [result("set", s, 0.5) for s in (0, 1)]
    results += [result("ctre_sim", s, 0.8) for s in (1, 2)]
    table = comparison_table(results, "madelon")
    assert [row[2] for row in table.rows] == [2, 2]
    assert table.rows[1][3:5] == [None, None]  # one pair says nothing of a spread


def invoke(*arguments):
    return CliRunner().invoke(app, spread_lists(map(str, arguments)))


def compare(path, out, *more, baselines=False):
    sizes = ("--hidden", 12, "--epsilon", 2, "--epochs", 3, "--jobs", 1)
    which = "--baselines" if baselines else "--no-baselines"
    return invoke("compare", path, *sizes, "--out", out, which, *more)


def test_the_command_writes_a_table_and_a_page_and_goes_on(words_csv, tmp_path):
    out = tmp_path / "out"
    done = compare(words_csv, out, "--methods", "set", "static", "--seeds", 2)
    assert done.exit_code == 0, done.output
    assert "4 of 4 runs done" in done.output
    assert "SET" in done.output and "behind the best" in done.output
    assert sorted(p.name for p in out.iterdir() if "sqlite" not in p.name) == [
        "compare-words.csv",
        "compare-words.html",
        "compare-words.md",
        "compare-words.tex",
    ]
    more = compare(words_csv, out, "--methods", "set", "static", "--seeds", 3, "--json")
    assert more.exit_code == 0, more.output
    assert "6 of 6 runs done" in more.output
    told = json.loads(more.stdout)
    assert (told["target"], told["score"]) == ("label", "accuracy")
    best, other = told["methods"]
    assert best["seeds"] == other["seeds"] == 3
    assert best["behind"] is None and other["behind"]["value"] >= 0
    with Store(out / "runs.sqlite") as store:
        own = [r for r in store.results() if r.run.method == best["method"]]
    assert best["mean"] == pytest.approx(np.mean([r.score for r in own]))
    assert best["sd"] == pytest.approx(np.std([r.score for r in own]))
    assert best["connections"] == own[0].connections
    assert 0 < best["density"] == own[0].density < 1


def test_numbers_to_be_predicted_are_compared_by_r2(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3))
    table = np.column_stack([X, X @ [1.0, 2.0, 3.0]])
    path = tmp_path / "sum.csv"
    np.savetxt(path, table, delimiter=",", header="a,b,c,sum", comments="")
    done = compare(path, tmp_path / "out", "--methods", "set", "--seeds", 1)
    assert done.exit_code == 0, done.output
    assert "%" not in done.output.split("a t interval of 95 %")[0]
    with Store(tmp_path / "out" / "runs.sqlite") as store:
        score = f"{store.results()[0].score:.3f}"
    assert f"R² {score} in" in done.output and f"**{score}**" in done.output
    listed = invoke("runs", "list", "--out", tmp_path / "out").output
    assert f"R² {score}" in listed and "%" not in listed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.csv"], "nothing.csv"),
        (["madelom"], "madelon"),
        (["madelon", "--methods", "sett"], "Did you mean 'set'"),
        (["madelon", "--option", "momentum"], "expected name=value"),
        (["madelon", "--option", "momentun=1"], "Did you mean 'momentum'"),
        (["madelon", "--drop", "a"], "--drop is for files"),
        (["madelon", "--task", "regression"], "--task is for files"),
        (["madelon", "--density", "0.1", "--epsilon", "1"], "leave one of them out"),
        (["madelon", "--density", "0"], "--density must be in (0, 1], got 0.0"),
        (["madelon", "--epsilon", "0"], "--epsilon must be more than 0, got 0.0"),
    ],
)
def test_what_cannot_be_is_said_before_anything_runs(arguments, message, tmp_path):
    done = invoke("compare", *arguments, "--out", tmp_path / "out")
    assert done.exit_code == 1
    assert message in done.output
    assert not (tmp_path / "out").exists()


def test_the_label_of_a_run_tells_it_from_others(words_csv):
    run = runs_of(words_csv)[3]
    assert run_label(run) == "words.csv ctre_sim n=12 eps=2 seed 1, 3 epochs"
    assert "seed 1 split 5," in run_label(replace(run, split=5))
    options = FileOptions(target="label", scale="minmax", drop=("noise", "x"))
    (other,) = comparison_runs(
        str(words_csv),
        options,
        ["set"],
        1,
        hidden=12,
        epsilon=None,
        epochs=4,
        more={"density": 0.5},
    )
    assert run_label(other) == (
        "words.csv set n=12 seed 0, 4 epochs, target label, drop noise x, "
        "scale minmax, density 0.5"
    )


# ---- baselines, and what to do next --------------------------------------------------


def train_again(command):
    """Run a command that was printed; return its figures."""
    program, *arguments = shlex.split(command)
    assert program == "cofire"
    done = invoke(*arguments, "--json", "--no-baselines")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def score_of(out, method, seed=0):
    with Store(out / "runs.sqlite") as store:
        (found,) = store.results(method=method, seed=seed)
    return found.score


def test_baselines_are_trained_on_the_same_rows(words_csv, tmp_path):
    out = tmp_path / "out"
    only = "--methods", "cofire", "--seeds", 2, "--json"
    done = compare(words_csv, out, *only, baselines=True)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    found = {one["method"]: one for one in told["methods"]}
    assert sorted(found) == [
        *("cofire", "gradient_boosting", "logistic_regression", "random_forest")
    ]
    assert found["cofire"]["connections"] > 0
    for name in ("gradient_boosting", "logistic_regression", "random_forest"):
        one = found[name]
        assert one["connections"] is one["density"] is None and one["seeds"] == 2
    rows = load_run_data(runs_of(words_csv, ["cofire"])[1])
    model = RandomForestClassifier(500, random_state=1).fit(rows.X, rows.y)
    assert score_of(out, "random_forest", 1) == model.score(rows.X_test, rows.y_test)
    text = (out / "compare-words.md").read_text("utf-8")
    assert "Random forest: sklearn.ensemble.RandomForestClassifier" in text
    # What is there is there: without baselines, and with other settings of a network.
    assert compare(words_csv, out, "--methods", "set", "--seeds", 2).exit_code == 0
    more = compare(words_csv, out, *only, "--epochs", 4, baselines=True)
    assert "8 of 8 runs done" in more.output and more.exit_code == 0
    with Store(out / "runs.sqlite") as store:
        assert len(store.rows(profile="scikit-learn")) == 6


def test_numbers_have_ridge_regression(tmp_path):
    X = np.random.default_rng(1).normal(size=(90, 3))
    path = tmp_path / "sum.csv"
    table = np.column_stack([X, X @ [1.0, 2.0, 3.0]])
    np.savetxt(path, table, delimiter=",", header="a,b,c,sum", comments="")
    only = "--methods", "static", "--seeds", 1
    done = compare(path, tmp_path / "out", *only, baselines=True)
    assert done.exit_code == 0, done.output
    assert "Best on these rows: Ridge regression." in done.output
    assert "It is a model of scikit-learn: " in done.output
    assert "RidgeCV(" in done.output.split("Best on these rows")[1]
    last = done.output.strip().splitlines()[-2:]
    assert last[0] == "Of cofire's methods the best is Static:"
    trained = train_again(f"{last[1]} --out {tmp_path / 'm.cofire'}")
    assert trained["test_score"] == score_of(tmp_path / "out", "static")


@pytest.mark.parametrize(
    ("settings", "method"),
    [
        ((), "cofire"),
        (("--hidden", 30, "--epsilon", 2.5, "--epochs", 6, "--drop", "noise"), "set"),
        (("--density", 0.4, "--option", "momentum=0.5", "n_networks=2"), "ctre_seq"),
        (("--density", 0.4, "--scale", "minmax", "--target", "label"), "dense"),
    ],
)
def test_the_last_line_trains_the_very_model(
    words_csv, tmp_path, settings, method, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my data").mkdir()
    path = words_csv.rename(tmp_path / "my data" / "words.csv")
    out, only = tmp_path / "out", ("--methods", method, "--seeds", 1, "--jobs", 1)
    more = ("--no-baselines", "--out", out)
    done = invoke("compare", path.relative_to(tmp_path), *settings, *only, *more)
    assert done.exit_code == 0, done.output
    assert f"Best on these rows: {method_name(method)}.\nTo train it:" in done.output
    command = done.output.strip().splitlines()[-1].strip()
    assert command.startswith("cofire train 'my data/words.csv'")
    assert train_again(command)["test_score"] == score_of(out, method)


def test_methods_that_never_moved_a_connection_are_named(words_csv, tmp_path):
    only = "--methods", "set", "static", "--seeds", 1
    short = compare(words_csv, tmp_path / "out", *only, "--epochs", 2)
    assert "Best, and equally good on these rows: SET, Static." in short.output
    assert "The same networks in all runs: SET, Static." in short.output
    assert "To train SET:" in short.output
    text = (tmp_path / "out" / "compare-words.md").read_text("utf-8")
    assert "No connection moved: SET and Static are the same networks" in text
    assert "surely worse" not in short.output
    long = compare(words_csv, tmp_path / "longer", *only, "--epochs", 300)
    assert "The same networks" not in long.output and long.exit_code == 0


def test_what_the_seeds_do_not_settle_is_said(words_csv, tmp_path):
    only = "--methods", "set", "dense", "--seeds", 2
    said = compare(words_csv, tmp_path / "out", *only, "--epochs", 30).output
    assert re.search(r"Not surely worse: (SET|Dense)\.", said)
    sure = [result("set", s, 0.50 + 0.01 * s) for s in range(6)]
    sure += [result("ctre_sim", s, 0.80 + 0.01 * s) for s in range(6)]
    assert not_surely_worse(standings(sure)) == []
    assert not_surely_worse(standings(sure[:2] + sure[6:8])) == ["set"]


def test_the_default_methods_begin_with_the_default(words_csv):
    assert METHODS[0] == SparseMLPClassifier().method
    assert HIDDEN == SparseMLPClassifier().hidden_layer_sizes[0]
    assert n_hidden_layers("default") == len(SparseMLPClassifier().hidden_layer_sizes)


# ---- what is kept, and under which name ----------------------------------------------


def cells_of_page(path):
    found = re.search(
        r'<script id="data"[^>]*>(.*?)</script>', path.read_text("utf-8"), re.DOTALL
    )
    return json.loads(found[1])["cells"]


def test_the_page_has_the_means_of_the_table(words_csv, tmp_path):
    out = tmp_path / "out"
    done = compare(words_csv, out, "--methods", "set", "dense", "--seeds", 3, "--json")
    told = {one["method"]: one for one in json.loads(done.stdout)["methods"]}
    page = (out / "compare-words.html").read_text("utf-8")
    for one in told.values():
        shown = f"{100 * one['mean']:.1f} ± {100 * one['sd']:.1f}"
        assert page.count(f">{shown}<") >= 1
    cells = cells_of_page(out / "compare-words.html")
    assert [(c["data"], c["seeds"], c["options"]) for c in cells] == [
        ("words.csv", 3, ""),
        ("words.csv", 3, ""),
    ]
    last = cells[0]["y"]["selected"][0][-1]
    assert last == pytest.approx(told["set"]["mean"], abs=1e-3)
    markup = page.partition('<script id="data"')[0]
    assert "sha256" not in markup and str(tmp_path) not in markup
    again = "cofire compare words.csv --methods set --methods dense --seeds 3"
    assert f"to write it again: <code>{again}" in markup
    best = max(told, key=lambda name: told[name]["mean"])
    headline = re.search("<h1>(.*?)</h1>", markup)[1]
    assert method_name(best) in headline
    assert "equally good" in headline or "not significant with 3 seeds" in headline
    assert str(words_csv) in page  # in the receipts


def test_a_copy_or_a_named_target_is_not_run_again(words_csv, tmp_path):
    out, copy = tmp_path / "out", tmp_path / "elsewhere" / "words.csv"
    methods = "--methods", "set", "dense", "--seeds"
    assert compare(words_csv, out, *methods, 2).exit_code == 0
    copy.parent.mkdir()
    copy.write_bytes(words_csv.read_bytes())
    assert compare(words_csv, out, *methods, 2, "--target", "label").exit_code == 0
    assert compare(words_csv, out, *methods, 2, "--target", -1).exit_code == 0
    assert compare(copy, out, *methods, 3).exit_code == 0
    with Store(out / "runs.sqlite") as store:
        assert len(store.rows()) == 6
    assert [cell["seeds"] for cell in cells_of_page(out / "compare-words.html")] == [
        3,
        3,
    ]
    assert (out / "compare-words-label.md").exists()  # beside, not in place of


def test_runs_stored_without_their_target_are_found(words_csv, tmp_path):
    out = tmp_path / "out"
    with Store(out / "runs.sqlite") as store:
        for run in runs_of(words_csv, ["set"]):
            store.add([run])
            store.claim(run)
            store.finish(run, result("set", run.seed, 0.625), {})
    done = compare(words_csv, out, "--methods", "set", "--seeds", 2)
    assert "62.5 ± 0.0" in done.output
    with Store(out / "runs.sqlite") as store:
        assert len(store.rows()) == 2


def test_failed_runs_are_run_again_if_asked_to(words_csv, tmp_path):
    out = tmp_path / "out of here"
    run = with_target(runs_of(words_csv, ["set"], 1)[0], "label")
    with Store(out / "runs.sqlite") as store:
        store.add([run])
        store.claim(run)
        store.fail(run, "OSError: full")
    only = "--methods", "set", "--seeds", 1
    said = compare(words_csv, out, *only).output
    assert f"runs list --status failed --out '{out}'" in said
    said = compare(words_csv, out, *only, "--retry-failed").output
    assert "1 of 1 runs done" in said and "failed before" not in said


def test_what_training_warns_of_is_noted_once(words_csv, tmp_path):
    out = tmp_path / "out"
    only = "--methods", "set", "static", "--seeds", 2, "--epsilon", 50
    said = compare(words_csv, out, *only).output
    assert said.count("cofire: note: Every layer is full") == 1
    assert "UserWarning" not in said and "site-packages" not in said


def test_a_column_that_counts_the_rows_is_told_of(words_csv, tmp_path):
    head, *rows = words_csv.read_text().splitlines()
    lines = [f"id,{head}", *(f"{i},{row}" for i, row in enumerate(rows))]
    words_csv.write_text("\n".join(lines) + "\n")
    only = "--methods", "set", "--seeds", 1
    said = compare(words_csv, tmp_path / "out", *only).output
    assert said.count("column 'id' counts the rows; --drop id") == 1
    said = compare(words_csv, tmp_path / "out", *only, "--drop", "id").output
    assert "counts the rows" not in said


def test_columns_are_left_out_and_densities_kept(words_csv, tmp_path):
    done = invoke(
        *("compare", words_csv, "--hidden", 12, "--epochs", 3, "--jobs", 1, "--json"),
        *("--density", 0.3, "--drop", "noise", "--categorical", "y", "--seeds", 1),
        *("--task", "classification", "--methods", "set", "dense"),
        *("--out", tmp_path / "out", "--no-baselines"),
    )
    assert done.exit_code == 0, done.output
    told = {one["method"]: one for one in json.loads(done.stdout)["methods"]}
    assert told["set"]["density"] == pytest.approx(0.3, abs=0.01)
    assert told["dense"]["density"] == 1
    with Store(tmp_path / "out" / "runs.sqlite") as store:
        n_in = store.results()[0].notes["sizes"][0]
    # x, and a feature for each value of y among the rows to train with
    assert n_in > 50
    cells = cells_of_page(tmp_path / "out" / "compare-words.html")
    assert [cell["dense"] for cell in cells] == [False, True]


def test_the_caption_says_how_many_seeds_it_takes():
    methods = ("ctre_sim", "ctre_seq", "set", "rigl", "static", "dense")

    def caption(seeds):
        results = [
            result(m, s, 0.5 + 0.01 * k) for k, m in enumerate(methods) for s in seeds
        ]
        return comparison_table(results, "madelon").caption

    said = caption(range(5))
    assert "With 5 rivals it takes 8 seeds" in said and "here there are 5" in said
    assert "With 8 seeds and 5 rivals p is 0.039 or more" in caption(range(8))
