import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

import cofire
from cofire import SparseMLPClassifier, saving
from cofire.cli import app
from cofire.data import CATALOG, load, standardised
from helpers.pipeline_cases import FRAME, fitted

CODE = "from cofire.cli import main; main()"
SOURCE = str(Path(cofire.__file__).parents[1])


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def run_piped(*arguments, cwd):
    environment = os.environ | {"PYTHONPATH": SOURCE, "PYTHONIOENCODING": "ascii"}
    environment.pop("FORCE_COLOR", None)
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE, *arguments],
        capture_output=True,
        cwd=cwd,
        env=environment,
        timeout=120,
    )


@pytest.fixture(scope="module")
def piped_demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    done = run_piped("demo", "--epochs", "3", "--seeds", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    X = np.random.default_rng(0).standard_normal((40, 3))
    model = SparseMLPClassifier((9,), epsilon=1.5, max_iter=2, random_state=0)
    path = tmp_path_factory.mktemp("model") / "m.cofire"
    model.fit(X, np.where(X[:, 0] > 0, "yes", "no")).save(path)
    return path


def test_help_names_the_commands(tmp_path):
    done = run_piped("--help", cwd=tmp_path)
    assert done.returncode == 0
    commands = b"demo train predict evaluate info data doctor --version"
    for command in commands.split():
        assert command in done.stdout


def test_the_help_of_train_names_all_methods(tmp_path):
    names = run_piped("train", "--help", cwd=tmp_path).stdout.decode()
    names = names.split("Methods:")[1].replace(",", " ").split()
    assert names == list(cofire.METHODS)


def test_help_need_not_wait_for_numpy_and_scikit_learn():
    code = "import sys, cofire.cli; print(*(m in sys.modules for m in MODULES))"
    code = f"MODULES = ('numpy', 'sklearn'); {code}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env=os.environ | {"PYTHONPATH": SOURCE},
        check=True,
    )
    assert done.stdout.split() == [b"False", b"False"]


def test_version():
    assert run("--version").output == f"cofire {cofire.__version__}\n"


def test_the_demo_writes_its_page_and_its_model(piped_demo):
    folder, _ = piped_demo
    assert sorted(p.name for p in folder.iterdir()) == [
        "cofire-demo.cofire",
        "cofire-demo.html",
    ]
    assert "500 inputs" in (folder / "cofire-demo.html").read_text("utf-8")
    assert cofire.load(folder / "cofire-demo.cofire").network_.n_connections == 1102


def test_the_demo_is_plain_text_in_a_pipe(piped_demo):
    _, output = piped_demo
    assert b"\x1b" not in output and b"\r" not in output
    lines = output.decode().splitlines()
    for method in ("Dense", "SET", "CTRE"):
        assert sum(line.startswith(f"{method:<6} seed 0: epoch 3/3") for line in lines)
        assert sum(f" {method} " in line and "," in line for line in lines)
    assert sum(line.startswith("Default seed 0: epoch 20/20, loss") for line in lines)
    boosting = re.compile(r"Gradient boosting seed 0: test \d\d\.\d %, \d+\.\d s")
    assert sum(boosting.fullmatch(line) is not None for line in lines) == 1
    assert sum(" Gradient boosting " in line for line in lines) == 1  # in the table
    text = " ".join(output.decode().split())
    assert "The default, SparseMLPClassifier(), is" in text
    assert "points" in text and "s in all" in text


def test_the_next_commands_exist(piped_demo, monkeypatch):
    folder, output = piped_demo
    text = output.decode().split("Next:")[1]
    commands = [line.split("   ")[0].split()[1:] for line in text.splitlines() if line]
    assert len(commands) == 4
    monkeypatch.chdir(folder)
    for arguments in commands:
        assert run(arguments[0], "--help").exit_code == 0
    assert run(*commands[0]).exit_code == 0  # cofire info on the model just saved


def test_the_demo_in_json(tmp_path):
    page = tmp_path / "deep" / "page.html"
    result = run("demo", "--epochs", 2, "--seeds", 2, "--out", page, "--json")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert figures["page"] == str(page) and page.exists()
    assert figures["seeds"] == [0, 1] and figures["epochs"] == 2
    rows = figures["methods"]
    for name in ("dense", "set", "ctre_sim"):
        row = rows[name]
        assert len(row["accuracies"]) == 2
        assert row["curve"]["mean"][-1] == pytest.approx(row["mean"])
        assert row["curve"]["low"][-1] == min(row["accuracies"])
    assert rows["dense"]["density"] == 1
    data = standardised(load("madelon"))
    train, test = (data.X_train, data.y_train), (data.X_test, data.y_test)
    with threadpool_limits(1):
        theirs = HistGradientBoostingClassifier().fit(*train).score(*test)
    assert rows["gradient_boosting"]["accuracies"] == [theirs]
    assert rows["gradient_boosting"]["connections"] is None
    default = SparseMLPClassifier(random_state=1).fit(*train)
    assert rows["default"]["accuracies"][1] == default.score(*test)
    assert figures["default_networks"] == len(default.networks_)
    gap = 100 * (rows["default"]["mean"] - theirs)
    assert figures["default_above_boosting"] == pytest.approx(gap)
    assert "seed 1" in result.stderr


def test_the_demo_marks_the_known_useful_features():
    useful = (
        "28 48 64 105 128 153 241 281 318 336 338 378 433 442 451 453 455 472 475 493"
    )
    known = CATALOG["madelon"].relevant_features
    assert known == tuple(int(n) for n in useful.split())


@pytest.mark.parametrize("option", [("--epochs", "0"), ("--seeds", "0")])
def test_the_demo_refuses_nothing_to_do(option):
    assert run("demo", *option).exit_code == 2


def test_info_says_what_a_model_is(model):
    result = run("info", model)
    assert result.exit_code == 0
    for text in ("SparseMLPClassifier", "15, 9, 2", "no, yes", "cofire", "dense twin"):
        assert text in result.output


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    path = tmp_path_factory.mktemp("pipeline") / "p.cofire"
    saving.save(fitted("ColumnTransformer"), path)
    return path


def test_info_lists_the_steps_of_a_pipeline(pipeline):
    result = run("info", pipeline)
    assert result.exit_code == 0 and result.stderr == ""
    steps = "step 0: ColumnTransformer (Pipeline, OneHotEncoder, FunctionTransformer,"
    assert f"pipeline                {steps}" in result.stdout
    assert "model: SparseMLPClassifier" in result.stdout
    facts = json.loads(run("info", pipeline, "--json").stdout)
    assert facts["scikit_learn"] == sklearn.__version__
    assert facts["features"] == fitted("ColumnTransformer")[-1].n_features_in_
    assert facts["columns"] == FRAME.columns.tolist()


def test_a_pipeline_of_another_scikit_learn_is_noted(tmp_path, monkeypatch):
    monkeypatch.setattr(sklearn, "__version__", "1.2.3")
    saving.save(fitted("StandardScaler"), tmp_path / "p")
    monkeypatch.undo()
    result = run("info", tmp_path / "p")
    assert result.exit_code == 0
    assert "cofire: note: The pipeline was saved with scikit-learn 1.2" in result.stderr


@pytest.mark.parametrize("command", ["predict", "evaluate", "explain"])
def test_a_pipeline_is_for_python(command, pipeline, tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    result = run(command, pipeline, tmp_path / "a.csv")
    assert result.exit_code == 1
    assert "is a pipeline that was saved in Python" in result.stderr
    assert "(step 0, model)" in result.stderr and "cofire.load" in result.stderr


def test_info_in_json(model):
    facts = json.loads(run("info", model, "--json").stdout)
    assert facts["sizes"] == [15, 9, 2]  # three columns of four pieces
    assert facts["classes"] == ["no", "yes"]
    assert facts["features"] == 3


@pytest.mark.parametrize("content", [None, b"", b"not a model"])
def test_info_on_what_is_no_model(content, tmp_path):
    path = tmp_path / "m.cofire"
    if content is not None:
        path.write_bytes(content)
    result = run("info", path)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "m.cofire" in result.stderr and "Traceback" not in result.stderr


def test_doctor_proves_determinism():
    found = cofire.doctor()
    assert found["deterministic"] is True
    assert found["known_answer"] != "differs"
    assert len({proof["sha256"] for proof in found["proofs"]}) == 1
    assert all(proof["equal"] for proof in found["proofs"])
    ways = [proof["way"] for proof in found["proofs"]]
    assert ways[:7] == ["1 thread", *(f"{n} threads" for n in (2, 3, 4, 7, 8, 16))]
    assert ["saved", "HASHSEED", "HASHSEED", "fork", "spawn"] == [
        next(word for word in ("saved", "HASHSEED", "fork", "spawn") if word in way)
        for way in ways[7:]
    ]
    assert found["required"]["numpy"] == np.__version__
    assert found["energy"].startswith(("measured by RAPL: ", "estimated: "))


def test_doctor_speaks_plainly(monkeypatch):
    from cofire.diagnostics import doctor as checkup

    proofs = [
        {"way": "1 thread", "sha256": "a" * 64, "equal": True, "note": ""},
        {"way": "fork", "sha256": None, "equal": None, "note": "no such thing"},
    ]
    found = {
        "cofire": "1",
        "python": "3",
        "platform": "x",
        "required": {"numpy": "2"},
        "optional": {"pillow": None},
        "simd_level": "baseline",
        "cores": 2,
        "energy": "estimated: no counters",
        "data": {"madelon": None},
        "proofs": proofs,
        "deterministic": True,
        "known_answer": "same",
        "seconds": 1.25,
    }
    monkeypatch.setattr(checkup, "doctor", lambda: found)
    result = run("doctor")
    assert result.exit_code == 0
    assert "pillow not installed" in result.output
    assert "estimated: no counters" in result.output
    assert "no such thing" in result.output and "a" * 16 in result.output
    assert "none of this changes a bit" in result.output and "1.2 s" in result.output
    assert json.loads(run("doctor", "--json").stdout) == found

    found["known_answer"] = "differs from x86-64"
    assert run("doctor").exit_code == 0
    assert "as it may" in run("doctor").output

    found["known_answer"] = "differs"
    assert run("doctor").exit_code == 1
    assert "NOT THE KNOWN HASH" in run("doctor").output

    found |= {"known_answer": "same", "deterministic": False}
    proofs[0]["equal"] = False
    assert run("doctor").exit_code == 1
    assert "NOT EQUAL" in run("doctor").output
    assert "NO 1 thread" in run("doctor").output


@pytest.fixture
def signals_restored(monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def swallowed():
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt as interrupt:
        raise ImportError("initialization failed") from interrupt


def ended():
    signal.raise_signal(signal.SIGTERM)


def interrupted():
    raise KeyboardInterrupt


def ignored():
    """Interrupted where Python only prints exceptions: the interrupt comes again."""

    class Dies:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    Dies()
    for _ in range(60_000):  # it comes soon, but on a busy machine not at once
        time.sleep(0.001)


@pytest.mark.parametrize("command", [interrupted, swallowed, ended, ignored])
def test_what_is_interrupted_ends_with_a_word(
    command, monkeypatch, capsys, signals_restored
):
    monkeypatch.setattr(cofire.cli, "app", lambda arguments: command())
    with pytest.raises(SystemExit) as end:
        cofire.cli.main()
    assert end.value.code == 130
    assert capsys.readouterr().err == "cofire: interrupted\n"


def test_other_errors_and_ends_are_what_they_were(monkeypatch, signals_restored):
    monkeypatch.setattr(cofire.cli, "app", lambda arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cofire.cli.main()
    monkeypatch.setattr(cofire.cli, "app", lambda arguments: sys.exit(3))
    with pytest.raises(SystemExit) as end:
        cofire.cli.main()
    assert end.value.code == 3


def test_other_errors_that_python_ignores_are_printed(
    monkeypatch, capsys, signals_restored
):
    class Breaks:
        def __del__(self):
            raise ValueError("lost")

    monkeypatch.setattr(cofire.cli, "app", lambda arguments: Breaks() and None)
    with pytest.raises(SystemExit) as end:
        cofire.cli.main()
    assert end.value.code == 0
    assert "ValueError: lost" in capsys.readouterr().err
