"""benchmarks/tables: fits in processes of their own, and files that continue."""

import csv
import importlib
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

pd = pytest.importorskip("pandas")

FOLDER = Path(__file__).parents[2] / "benchmarks" / "tables"

CATALOGUE = """
from types import SimpleNamespace
import numpy as np

def _table(name, task, half, rows):
    return SimpleNamespace(name=name, task=task, half=half, rows=rows, features=3)

TABLES = {t.name: t for t in [
    _table("large", "classes", "choosing", 90),
    _table("little", "classes", "choosing", 60),
    _table("curve", "numbers", "choosing", 70),
    _table("lost", "classes", "choosing", 9),
    _table("secret", "classes", "proving", 60),
]}

def load(name):
    if name == "lost":
        raise FileNotFoundError("lost.npz does not exist")
    z = np.random.default_rng(0).normal(size=(TABLES[name].rows, 3))
    return z, 2 * z[:, 0] if name == "curve" else np.where(z[:, 0] > 0, "b", "a")
"""

MODELS = """
import time
from sklearn.dummy import DummyClassifier
from models import NotAvailable

class Sleeps(DummyClassifier):
    def fit(self, X, y):
        time.sleep(600)

class Computes(DummyClassifier):
    def fit(self, X, y):
        while True:
            pass

class Breaks(DummyClassifier):
    def fit(self, X, y):
        raise ValueError("no such luck")

class Eats(DummyClassifier):
    def fit(self, X, y):
        bytearray(64 * 2**30)

def absent(case):
    raise NotAvailable("weights not available")

MODELS = {
    "sleeps": lambda case: Sleeps(), "computes": lambda case: Computes(),
    "breaks": lambda case: Breaks(), "eats": lambda case: Eats(),
    "fine": lambda case: DummyClassifier(), "absent": absent,
}
"""


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """The modules of the benchmark; a catalogue and models that are made for tests."""
    (tmp_path / "made_tables.py").write_text(CATALOGUE)
    (tmp_path / "made_models.py").write_text(MODELS)
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("PYTHONPATH", "PYTHONWARNINGS"):  # which a run changes
        monkeypatch.setenv(name, os.environ.get(name, ""))
    names = ("run", "fold", "models", "distort", "curve", "summary")
    found = SimpleNamespace(**{n: importlib.import_module(n) for n in names})
    found.made = importlib.import_module("made_tables")
    monkeypatch.setattr(found.run, "PROVING_LOG", tmp_path / "proving-runs.csv")
    yield found
    sys.modules.pop("made_tables", None)


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def command(out, *more, half="choosing", models=("logistic", "knn")):
    how = ["--half", half, "--catalogue", "made_tables", "--folds", "2"]
    return [*how, "--models", *models, "--out", str(out), "--repeats", "1", *more]


# --- a run, and its continuation ------------------------------------------------------


def test_a_run_writes_a_row_per_fit_and_does_not_run_it_twice(tables, tmp_path, capsys):
    out = tmp_path / "rows.csv"
    there = ("--tables", "little", "curve", "large")
    assert tables.run.main(command(out, *there)) == 0
    rows = rows_of(out)
    assert len(rows) == 3 * 2 * 2
    assert {row["status"] for row in rows} == {"ok"}
    for row in rows:
        numbers = row["task"] == "numbers"
        assert float(row["score"]) > 0.5
        assert (row["rmse"] != "") == numbers
        assert (row["log_loss"] != "") == (row["auc"] != "") == (not numbers)
        assert int(row["model_bytes"]) > 0 and float(row["fit_seconds"]) > 0
        assert row["commit"] and row["machine"] and row["cofire"]
    # light tables come first
    assert list(dict.fromkeys(r["table"] for r in rows)) == ["little", "curve", "large"]

    before = out.read_bytes()
    capsys.readouterr()
    assert tables.run.main(command(out, *there)) == 0
    assert out.read_bytes() == before
    assert "0 fits to run" in capsys.readouterr().out


def test_an_interrupted_file_is_completed(tables, tmp_path):
    out = tmp_path / "rows.csv"
    tables.run.main(command(out, "--tables", "little"))
    whole = rows_of(out)
    lines = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(b"".join(lines[:3]) + lines[3][:40])  # the fourth was cut short

    assert list(tables.run.read_rows(out)) == [
        ("little", "logistic", 0, 0, ""),
        ("little", "knn", 0, 0, ""),
    ]
    tables.run.main(command(out, "--tables", "little"))
    again = tables.run.read_rows(out)
    assert len(again) == len(whole)
    for row in whole:
        assert again[tables.run.key_of(row)]["score"] == row["score"]
    assert len(tables.summary.read([out])) == len(whole)


def test_failed_rows_run_again_only_if_asked(tables, tmp_path):
    row = {"status": "failed: x", "model": "knn", "commit": "a"}
    must_run = tables.run.must_run
    assert must_run(None, [], "a")
    assert not must_run(row, [], "a") and must_run(row, ["failed"], "a")
    assert not must_run(row | {"status": "ok"}, ["failed", "slow"], "a")
    assert must_run(row | {"status": "too slow"}, ["slow"], "a")
    # a model's rows: those of another commit, so that a continued run ends
    assert must_run(row | {"status": "ok"}, ["knn"], "b")
    assert not must_run(row | {"status": "ok"}, ["knn"], "a")


def test_unknown_names_and_the_wrong_half_are_refused(tables, tmp_path):
    out = tmp_path / "rows.csv"
    with pytest.raises(SystemExit, match="unknown model knm. Did you mean knn"):
        tables.run.main(command(out, models=["knm"]))
    with pytest.raises(SystemExit, match="unknown table litle. Did you mean little"):
        tables.run.main(command(out, "--tables", "litle"))
    with pytest.raises(SystemExit, match="secret is in the proving half"):
        tables.run.main(command(out, "--tables", "secret"))
    assert not out.exists()


def test_runs_of_the_proving_half_give_a_reason_and_are_written_down(tables, tmp_path):
    out = tmp_path / "rows.csv"
    with pytest.raises(SystemExit, match="--reason"):
        tables.run.main(command(out, half="proving"))
    for _ in range(2):  # the second continues the first
        out.unlink(missing_ok=True)
        tables.run.main(command(out, "--reason", "first proof", half="proving"))
    (entry,) = rows_of(tables.run.PROVING_LOG)
    assert entry["reason"] == "first proof" and entry["models"] == "logistic knn"
    assert entry["commit"] and entry["date"]
    tables.run.main(
        command(out, "--reason", "more", "--again", "failed", half="proving")
    )
    assert len(rows_of(tables.run.PROVING_LOG)) == 1  # nothing was left to run
    assert {row["table"] for row in rows_of(out)} == {"secret"}


def test_a_table_that_cannot_be_read_is_no_failure_of_a_model(tables, tmp_path):
    out = tmp_path / "rows.csv"
    with pytest.raises(SystemExit, match="lost: no table: lost.npz does not exist"):
        tables.run.main(command(out, "--tables", "lost", "little"))
    assert {row["table"] for row in rows_of(out)} == {"little"}


# --- limits ---------------------------------------------------------------------------


def jobs_of(tables, model, folds=3, table="little"):
    made = {"catalogue": "made_tables", "models": "made_models"}
    return [tables.fold.Job(table, model, 0, i, folds, **made) for i in range(folds)]


def run_all(tables, jobs, **limits):
    rows = []
    tables.run.run_jobs(jobs, lambda job, row: rows.append((job, row)), **limits)
    return rows


def test_a_model_that_is_too_slow_is_not_tried_on_the_other_folds(tables, monkeypatch):
    monkeypatch.setattr(tables.run, "PATIENCE", 0.5)
    jobs = jobs_of(tables, "sleeps") + jobs_of(tables, "fine")
    rows = run_all(tables, jobs, cap=2.0)
    status = [(job.model, row["status"]) for job, row in rows]
    assert sorted(status) == [("fine", "ok")] * 3 + [("sleeps", "too slow")] * 3
    tried = [row for job, row in rows if "fit_seconds" in row and job.model == "sleeps"]
    assert len(tried) == 1


def test_the_cap_counts_seconds_of_the_processor(tables, monkeypatch):
    monkeypatch.setattr(tables.run, "PATIENCE", 1000)
    ((_, row),) = run_all(tables, jobs_of(tables, "computes")[:1], cap=1.0)
    assert row == {"status": "too slow", "cpu_seconds": 1.0}


def test_errors_and_missing_memory_are_rows(tables):
    jobs = jobs_of(tables, "breaks")[:1] + jobs_of(tables, "eats")[:1]
    rows = run_all(tables, jobs, memory=8 * 2**30)
    assert [row["status"] for _, row in rows] == [
        "failed: ValueError: no such luck",
        "failed: needs more than 8 GiB",
    ]


def test_a_model_that_is_not_there_is_asked_for_once(tables, monkeypatch):
    started = []
    start = tables.run._start

    def counting(processes, job, cap, memory):
        started.append(job)
        return start(processes, job, cap, memory)

    monkeypatch.setattr(tables.run, "_start", counting)
    jobs = jobs_of(tables, "absent") + jobs_of(tables, "absent", table="large")
    rows = run_all(tables, jobs)
    assert {row["status"] for _, row in rows} == {
        "not available: weights not available"
    }
    assert len(rows) == 6 and len(started) == 1


# --- one fit --------------------------------------------------------------------------


def test_folds_cover_all_rows_once_and_repeats_differ(tables):
    y = np.arange(50) % 3
    tests = [tables.fold.parts(y, "classes", 5, 0, i)[1] for i in range(5)]
    assert sorted(np.concatenate(tests)) == list(range(50))
    other = tables.fold.parts(y, "classes", 5, 1, 0)[1]
    assert not np.array_equal(tests[0], other)


def test_class_scores_of_a_class_that_training_rows_lack(tables):
    known, truth = np.array([0, 2]), np.array([0, 2, 1, 0])
    values = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.4, 0.6]])
    found = tables.fold.class_scores(known, values.argmax(1), values, True, truth)
    assert found["score"] == 0.5
    expected = -np.mean(np.log([0.9, 0.8, 1e-7, 0.4]))
    assert found["log_loss"] == pytest.approx(expected, rel=1e-5)
    # one class against the rest: pairs in the right order; equal values count half
    assert found["auc"] == pytest.approx(np.mean([3 / 4, 0.5, 1.0]))


def test_values_that_are_not_finite_are_refused(tables):
    with pytest.raises(ValueError, match="not all finite"):
        tables.fold.number_scores([1.0, np.nan], np.array([1.0, 2.0]))


def frame(n=120):
    rng = np.random.default_rng(1)
    z = rng.normal(size=(n, 3))
    X = pd.DataFrame({"a [cm]": z[:, 0], "b": z[:, 1]})
    X.iloc[::5, 1] = np.nan
    X["colour"] = pd.Categorical(rng.choice(["red", "green", "blue"], n))
    X.loc[3, "colour"] = None
    return X, z[:, 0]


@pytest.mark.parametrize(
    "name", ["logistic", "rbf_svm", "knn", "hist_gradient_boosting", "mlp"]
)
@pytest.mark.parametrize("kind", ["frame", "sparse", "array"])
@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_models_take_every_kind_of_table(tables, name, kind, task):
    X, y = frame()
    if kind != "frame":
        X = np.clip(128 + 40 * np.stack([y, y**2], axis=1), 0, 255).astype(np.uint8)
        X = scipy.sparse.csr_matrix(X) if kind == "sparse" else X
    y = np.where(y > 0, 2, 5) if task == "classes" else y
    X = tables.fold.plain_columns(X)
    job = tables.fold.Job("made", name, 0, 0)
    y = np.unique(y, return_inverse=True)[1] if task == "classes" else y
    found = tables.fold.run(job, X, y, task)
    assert found["score"] > 0.5
    assert ("log_loss" in found) == (task == "classes" and name != "rbf_svm")


def test_our_model_takes_mixed_columns(tables):
    X, y = frame()
    job = tables.fold.Job("made", "cofire", 0, 0, settings={"max_iter": 30})
    found = tables.fold.run(
        job, tables.fold.plain_columns(X), (y > 0).astype(int), "classes"
    )
    assert found["score"] > 0.5


def test_few_categories_keeps_the_most_frequent(tables):
    X = pd.DataFrame({"x": pd.Categorical([0, 0, 0, 1, 1, 2, 3, None])})
    found = tables.models.FewCategories(most=3).fit_transform(X)["x"]
    assert found.tolist()[:7] == [0, 0, 0, 1, 1, -1, -1] and pd.isna(found[7])


# --- distortions and curves -----------------------------------------------------------


@pytest.mark.parametrize("change", ["scale", "offset", "tails", "outliers"])
def test_distortions_change_numbers_and_keep_the_rest(tables, change):
    X, _ = frame(4000)
    distort = tables.distort.DISTORTIONS[change]
    found = distort(X, np.random.default_rng(0))
    assert not found["b"].equals(X["b"]) and found["b"].dtype == np.float64
    assert found["colour"].equals(X["colour"])
    assert (found["b"].isna() == X["b"].isna()).all()
    if change != "outliers":  # the order of the values stays
        order = np.argsort(X["b"].to_numpy(), kind="stable")
        assert (np.diff(found["b"].to_numpy()[order][:3000]) >= 0).all()
    sparse = scipy.sparse.random(300, 5, 0.1, "csr", random_state=0)
    assert distort(sparse, np.random.default_rng(0)).nnz == sparse.nnz


def test_the_verdict_on_distortions(tables):
    def row(change, score, fold, status="ok"):
        return {"table": "t", "repeat": 0, "fold": fold, "change": change} | {
            "score": score,
            "status": status,
            "task": "classes",
        }

    plain = [row("plain", 0.9, 0), row("plain", 0.8, 1)]
    near = [row("scale", 0.9, 0), row("scale", 0.792, 1), row("outliers", 0.1, 0)]
    verdict = tables.distort.verdict
    lines, passed = verdict(pd.DataFrame(plain + near), "classes")
    assert passed and len(lines) == 2 and "-0.0040" in lines[0]
    far = [row("scale", 0.9, 0), row("scale", 0.788, 1)]
    assert not verdict(pd.DataFrame(plain + far), "classes")[1]
    failed = [row("scale", 0.9, 0), row("scale", np.nan, 1, "failed: x")]
    assert not verdict(pd.DataFrame(plain + failed), "classes")[1]


def test_a_curve_refuses_a_parameter_that_does_not_exist(tables, tmp_path):
    out = str(tmp_path / "curve.csv")
    with pytest.raises(SystemExit, match="unknown parameter of SparseMLPClassifier"):
        tables.curve.main(["--vary", "n_netwroks", "1", "2", "--out", out])


def test_a_curve_runs_every_value(tables, tmp_path, capsys):
    out = tmp_path / "curve.csv"
    how = ["--catalogue", "made_tables", "--tables", "little", "--out", str(out)]
    assert tables.curve.main(["--vary", "max_iter", "2", "5", *how]) == 0
    assert [row["change"] for row in rows_of(out)] == ["max_iter=2", "max_iter=5"]
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert "max_iter=5" in capsys.readouterr().out
