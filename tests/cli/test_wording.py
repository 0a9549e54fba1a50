"""The command line speaks of options, says what to do next, and says it in time."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import cofire
import cofire.errors
from cofire.cli import app
from cofire.cli.choices import CHOICES, choices
from cofire.cli.words import OPTIONS, in_options, message

DATA = Path(cofire.__file__).parent / "data"
ROWS = "".join(f"{i % 7},{i % 5},{'ab'[i % 2]}\n" for i in range(40))
SMALL = ("--hidden", 8, "--epochs", 2, "--epsilon", 1, "--n-jobs", 1)


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def refused(*arguments):
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("cofire: ") and "`" not in result.stderr
    return result.stderr


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COFIRE_DATA", raising=False)
    Path("a.csv").write_text("x,z,kind\n" + ROWS)
    return tmp_path


# ---- arguments become options --------------------------------------------------------


@pytest.mark.parametrize(
    ("python", "options"),
    [
        ("`header=False`", "--no-header"),
        ("`header`", "--no-header"),
        ("`separator=';'`", "--separator ';'"),
        ("`decimal=','`", "--decimal ,"),
        ("`drop=['id']`", "--drop id"),
        ("`drop=['a b', 'c']`", "--drop 'a b' c"),
        ("""`drop=["it's"]`""", """--drop 'it'"'"'s'"""),
        ("`test_fraction=0`", "--test-fraction 0"),
        (
            "`missing='mean'` or `missing='median'`",
            "--missing mean or --missing median",
        ),
        ("`cofire.data.fetch('mnist')`", "`cofire data fetch mnist`"),
        ("`cofire train`", "`cofire train`"),
        ("`verbose=1` and header=False", "`verbose=1` and header=False"),
        ("`drop=['a`b']`", "`drop=['a`b']`"),
    ],
)
def test_arguments_become_options(python, options):
    assert in_options(f"Pass {python}.") == f"Pass {options}."


def test_every_argument_that_a_message_names_has_an_option():
    named = set()
    for path in DATA.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }  # docstrings
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if id(node) not in texts:
                    named |= set(re.findall(r"`(\w+)(?=[=`])", node.value))
    assert {"header", "drop", "missing", "target"} <= named <= OPTIONS.keys()


def test_every_option_exists():
    text = run("train", "--help").output + run("tune", "--help").output
    assert all(re.search(rf"{option}\b", text) for option in OPTIONS.values())


def test_errors_of_the_system_name_the_file():
    error = FileNotFoundError(2, "No such file or directory", "/no/where")
    assert message(error) == (
        "/no/where: No such file or directory. Check the name and the folder"
    )
    assert message(OSError("disk full")) == "disk full"


# ---- what the commands say -----------------------------------------------------------


def test_advice_names_options():
    Path("n.csv").write_text("1,2,3\n4,5,6\n")
    assert "Pass --no-header if it is data" in refused("train", "n.csv")
    Path("gap.csv").write_text("x,z,kind\n,1,a\n" + ROWS)
    said = refused("train", "gap.csv", "--profile", "masked")
    assert "--missing mean, --missing median or --missing most_frequent" in said
    assert "(--drop) 'q'" in refused("train", "a.csv", "--drop", "q")
    assert "--no-header is for files" in refused("train", "madelon", "--no-header")
    assert "--task is for files" in refused(
        "compare", "madelon", "--task", "regression"
    )
    np.savez("a.npz", data=np.eye(3), y=np.arange(3))
    assert "with --samples NAME" in refused("train", "a.npz")


def test_a_dirty_cell_is_not_advice_to_drop_a_column():
    values = [f"{i / 7:.3f}" for i in range(300)]
    values[5] = "n.a.?"
    lines = "".join(f"{value},{'ab'[i % 2]}\n" for i, value in enumerate(values))
    Path("dirty.csv").write_text("alcohol,kind\n" + lines)
    said = refused("train", "dirty.csv", "--test-fraction", 0)
    assert "holds numbers, except for 'n.a.?' in row 6 (299 other rows)" in said
    assert "pass --na 'n.a.?': then it counts" in said and "--drop" not in said
    said = refused("train", "dirty.csv", "--profile", "masked")
    assert "pass --na 'n.a.?' and --missing mean: then" in said


def test_what_is_neither_a_file_nor_a_data_set():
    said = refused("train", "madelom")
    assert "'madelom' is neither a file nor a known data set. Did you mean" in said


def test_notes_name_options():
    lines = "".join(f"{i},{line}\n" for i, line in enumerate(ROWS.split()))
    Path("b.csv").write_text("id,x,z,kind\n" + lines)
    said = run("train", "b.csv", *SMALL).stderr
    assert "note: column 'id' counts the rows; --drop id leaves it out." in said


@pytest.mark.parametrize("command", ["predict", "evaluate", "info"])
def test_a_damaged_model_has_a_next_step(command):
    assert run("train", "a.csv", *SMALL).exit_code == 0
    content = bytearray(Path("a.cofire").read_bytes())
    data = () if command == "info" else ("a.csv",)
    Path("cut.cofire").write_bytes(content[:-9])
    content[-5] ^= 1
    Path("changed.cofire").write_bytes(content)
    for name in ("cut.cofire", "changed.cofire"):
        said = refused(command, name, *data)
        assert said.startswith(f"cofire: {name}: ")
        assert said.endswith(
            "The file was damaged or edited: copy it again from its source, or train "
            "again.\n"
        )
    assert "the model comes first, then the data" in refused(command, "a.csv", *data)


# ---- before the training, not after it -----------------------------------------------


@pytest.fixture
def no_training(monkeypatch):
    def fit(*_, **__):
        raise AssertionError("it was trained")

    monkeypatch.setattr(cofire.SparseMLPClassifier, "fit", fit)


@pytest.mark.parametrize("out", ["folder", "a.csv/m.cofire", "/proc/m.cofire"])
def test_a_model_that_cannot_be_written_is_reported_first(out, no_training):
    if out.startswith("/proc") and not Path("/proc").is_dir():
        pytest.skip("there is no /proc")
    Path("folder").mkdir()
    before = sorted(Path().rglob("*"))
    said = refused("train", "a.csv", "--out", out)
    assert said.startswith(f"cofire: --out {out}: a file cannot be written there (")
    assert sorted(Path().rglob("*")) == before


def test_a_demo_that_cannot_be_written_is_reported_first(no_training):
    Path("page.html").mkdir()
    assert "--out page.html: a file cannot be" in refused("demo", "--out", "page.html")


def test_a_comparison_that_cannot_be_written_is_reported_first(no_training):
    Path("taken").write_text("")
    said = refused("compare", "a.csv", "--out", "taken")
    assert "--out taken/runs.sqlite: a file cannot be written there (" in said


def test_a_report_that_cannot_be_written_is_reported_first(monkeypatch):
    from cofire.lab.experiments import Store

    Store(Path("out") / "runs.sqlite").close()
    said = refused("report", "--out", "out", "--page", "a.csv/page.html")
    assert "--page a.csv/page.html: a file cannot be written there (" in said


# ---- results are named, whatever happens to the page ---------------------------------


@pytest.mark.parametrize("as_json", [False, True])
def test_a_comparison_without_a_page_names_its_results(as_json, monkeypatch):
    def full(*arguments, **more):
        raise OSError(28, "No space left on device")

    page = "cofire.lab.report.results_page.write_results_page"
    monkeypatch.setattr(page, full)
    small = ("--hidden", 8, "--epochs", 2, "--jobs", 1, "--seeds", 1, "--no-baselines")
    more = ("--json",) if as_json else ()
    result = run("compare", "a.csv", "--methods", "set", *small, *more)
    assert result.exit_code == 0, result.output
    for end in ("md", "csv", "tex"):
        assert Path(f"cofire-results/compare-a.{end}").is_file()
        assert f"compare-a.{end}" in result.stdout
    assert "compare-a.html" not in result.output
    if not as_json:
        assert "Best on these rows: SET." in result.stdout
    (line,) = [one for one in result.stderr.splitlines() if "warning" in one]
    assert line.startswith("cofire: warning: the page was not drawn: ")
    assert "No space left on device" in line
    assert "the same command draws it then" in line


def test_a_comparison_has_a_page_though_seeds_have_different_inputs():
    """Pieces follow from the training rows: a quarter of zeros, or somewhat less."""
    rows = "".join(f"{max(0, i % 12 - 2)},{i % 5},{'ab'[i % 2]}\n" for i in range(60))
    Path("b.csv").write_text("x,z,kind\n" + rows)
    small = ("--hidden", 8, "--epochs", 2, "--jobs", 1, "--seeds", 4, "--no-baselines")
    result = run("compare", "b.csv", "--methods", "set", *small)
    assert "warning" not in result.stderr
    assert Path("cofire-results/compare-b.html").is_file()


# ---- a next step ---------------------------------------------------------------------


def test_the_names_of_extras_are_quoted():
    error = ImportError("needs x: pip install cofire[plot]")
    assert message(error) == "needs x: pip install 'cofire[plot]'"
    error = ImportError("needs x: pip install 'cofire[data]'.")
    assert message(error) == "needs x: pip install 'cofire[data]'."


@pytest.mark.parametrize(
    ("content", "next_step"),
    [
        (b"", "train again."),
        (b"\0" * 8, "Name a file that a model was saved to."),
        (b"x,y,z\n1,2,3\n", "train again."),
    ],
)
def test_every_wrong_model_file_has_a_next_step(content, next_step):
    Path("m.cofire").write_bytes(content)
    with pytest.raises(cofire.errors.ModelFormatError) as caught:
        cofire.load("m.cofire")
    assert str(caught.value).endswith(next_step)


def test_what_is_not_there_has_a_next_step():
    assert "Check its name and folder" in refused("train", "no.csv")
    assert (
        "Check its name; `cofire train` writes"
        in run("predict", "no.cofire", "a.csv").stderr
    )
    said = run("report", "--out", "nowhere").stderr
    assert "`cofire compare` and `cofire reproduce` make runs" in said


def test_a_line_per_epoch_if_asked_for():
    quiet = run("train", "a.csv", *SMALL, "--no-baselines")
    assert "epoch" not in quiet.stderr
    told = run("train", "a.csv", *SMALL, "--no-baselines", "--verbose", "--json")
    lines = [line for line in told.stderr.splitlines() if "epoch " in line]
    assert len(lines) == 8 and "network 4 of 4  epoch 2/2  loss " in lines[-1]
    assert told.stdout.startswith("{")


# ---- help ----------------------------------------------------------------------------


COMMANDS = [
    "export",
    *("demo", "train", "predict", "evaluate", "info", "compare", "reproduce"),
    *("report", "doctor", "data list", "data fetch", "runs list", "runs show"),
    *("runs export", "runs import", "runs delete"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_no_gap(command):
    result = run(*command.split(), "--help")
    # Braces are also how the parser marks arguments, in front of their help.
    text = re.sub(r"^(Usage:.*|\s+\{\w+\})", "", result.output, flags=re.MULTILINE)
    assert result.exit_code == 0 and "{" not in text


EXPORTED = ("target", "tables", "layers")


@pytest.mark.parametrize("name", CHOICES)
def test_help_names_every_choice(name):
    others = {"item": "reproduce"} | dict.fromkeys(EXPORTED, "export")
    text = run(others.get(name, "train"), "--help").output
    assert all(choice in text for choice in choices(name))


def test_an_activation_of_the_table_is_in_the_help(monkeypatch):
    from cofire.core import network

    monkeypatch.setattr(network, "ACTIVATIONS", (*network.ACTIVATIONS, "softplus"))
    assert "softplus" in run("train", "--help").output
