"""`cofire reproduce` and `cofire runs`, on the bundled Madelon data."""

import json
import re
from io import StringIO

import pytest
from rich.console import Console
from typer.testing import CliRunner

from cofire.cli import app
from cofire.cli.board import CampaignBoard
from cofire.cli.lists import spread_lists
from cofire.lab.experiments import Run, Store
from cofire.lab.experiments.runner import Campaign
from helpers.run_cases import outcome, runs

SMALL = (
    *("table2", "--quick", "--datasets", "madelon", "--methods", "set", "dense"),
    *("--epochs", 3, "--seeds", 1, "--jobs", 1),
)


@pytest.fixture(autouse=True)
def bundled_data_only(monkeypatch):
    monkeypatch.delenv("COFIRE_DATA", raising=False)


def cofire(*arguments, code=0):
    """What the command says; lists are spread as `main` does it."""
    done = CliRunner().invoke(app, spread_lists(map(str, arguments)))
    assert done.exit_code == code, done.output
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """A folder with a small table, and what was said while it was made."""
    folder = tmp_path_factory.mktemp("results")
    return folder, cofire("reproduce", *SMALL, "--out", folder)


@pytest.fixture
def filled(tmp_path):
    """A folder whose store has two runs done, one failed and one waiting."""
    with Store(tmp_path / "runs.sqlite") as store:
        store.add(runs(4))
        for run in runs(2):
            store.claim(run)
            store.finish(run, outcome(0.5 + run.seed / 10), {"cores": 2})
        store.claim(runs(3)[2])
        store.fail(runs(3)[2], "Traceback\nValueError: [/b] no")
    return tmp_path


# ---- reproduce -----------------------------------------------------------------------


def test_a_small_table_is_run_and_written(reproduced):
    folder, said = reproduced
    with Store(folder / "runs.sqlite") as store:
        found = store.results()
    assert {(r.run.method, r.run.seed, r.run.epochs) for r in found} == {
        ("set", 0, 3),
        ("dense", 0, 3),
    }
    assert "2 of 2 runs done" in said
    names = {file.name for file in folder.iterdir()}
    table = "table2-quick-3-epochs"
    assert {f"{table}.md", f"{table}.csv", f"{table}.tex", "runs.sqlite"} <= names
    text = (folder / f"{table}.md").read_text("utf-8")
    assert "REDUCED" in text and "3 epochs" in text and "missing" not in text
    for result in found:
        # Of a single seed there is no spread.
        assert f"{100 * result.score:.1f}** |" in text
        assert f"{100 * result.score:.1f}** |" in said
    assert str(folder / f"{table}.md") in said


def test_the_same_command_again_runs_nothing(reproduced):
    folder, _ = reproduced
    with Store(folder / "runs.sqlite") as store:
        before = store.rows()
    said = cofire("reproduce", *SMALL, "--out", folder)
    with Store(folder / "runs.sqlite") as store:
        assert store.rows() == before
    assert "runs done" not in said and "table2" in said


def test_a_larger_choice_runs_what_is_new_alone(reproduced):
    folder, _ = reproduced
    more = [
        3 if a == 1 and SMALL[k - 1] == "--seeds" else a for k, a in enumerate(SMALL)
    ]
    cofire("reproduce", *more, "--methods", "static", "--out", folder)
    with Store(folder / "runs.sqlite") as store:
        # --quick has no more than two seeds; the main table has no method static.
        assert sorted((r.run.method, r.run.seed) for r in store.results()) == [
            *(("dense", 0), ("dense", 1)),
            *(("set", 0), ("set", 1)),
        ]
        store.delete(row["id"] for row in store.rows(seed=1))


def test_only_write_runs_nothing(reproduced, tmp_path):
    folder, _ = reproduced
    new = tmp_path / "new"
    said = cofire("reproduce", *SMALL, "--only-write", "--out", new, code=1)
    assert "there are no runs yet" in said and not new.exists()
    Store(new / "runs.sqlite").close()
    said = cofire("reproduce", *SMALL, "--only-write", "--out", new)
    assert "nothing to show yet" in said
    with Store(tmp_path / "new" / "runs.sqlite") as store:
        assert store.rows() == []
    for file in folder.glob("table2*"):
        file.unlink()
    cofire("reproduce", *SMALL, "--only-write", "--out", folder)
    assert (folder / "table2-quick-3-epochs.csv").exists()


def test_a_choice_with_nothing_in_it_is_said_to_be_one(tmp_path):
    said = cofire("reproduce", "table5", "--datasets", "isolet", "--out", tmp_path)
    assert "it has none of what was asked for. It has: --datasets" in said
    assert "--hidden 100 500 1000; --epsilon 1 5 13." in said
    assert not list(tmp_path.glob("table5*"))
    # Dense networks have no epsilon, but one that no table has is not theirs either.
    said = cofire("reproduce", "table2", "--epsilon", 99, "--out", tmp_path)
    assert "it has none of what was asked for" in said and "runs done" not in said


def test_the_list_has_every_item_with_its_runs(reproduced, tmp_path):
    folder, _ = reproduced
    said = cofire("reproduce", "--list", *SMALL[1:], "--out", folder)
    lines = {line.split()[0]: line for line in said.splitlines() if line.split()}
    items = [f"table{k}" for k in range(1, 11)] + [f"figure{k}" for k in range(2, 14)]
    assert {*items, "cost", "fair"} <= set(lines)
    assert re.search(r"Test accuracy +2 +2 +madelon", lines["table2"])
    assert cofire("reproduce", "--out", tmp_path / "no") == cofire(
        "reproduce", "--list", "--out", tmp_path / "no"
    )
    assert not (tmp_path / "no").exists()
    one = cofire("reproduce", "--list", "table8", "--out", tmp_path / "no")
    assert "table8" in one and "table2" not in one


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["tabel2"], "unknown table or figure 'tabel2'. Did you mean 'table2'?"),
        (["figure1"], "figure1 is a drawing of the method"),
        (["table2", "--methods", "sett"], "unknown method 'sett'. Did you mean 'set'?"),
        (["table2", "--datasets", "madelon", "isolt"], "Did you mean 'isolet'?"),
        (["table2", "--similarity", "exat"], "Did you mean 'exact'?"),
        (["table2", "--seeds", "0"], "--seeds"),
        (["table2", "--epsilon", "few"], "--epsilon"),
    ],
)
def test_what_does_not_exist_is_refused_with_a_hint(tmp_path, arguments, words):
    said = cofire("reproduce", *arguments, "--out", tmp_path / "new", code=2)
    assert words in said and "Traceback" not in said
    assert not (tmp_path / "new").exists()


def test_a_file_that_is_no_store_is_refused(tmp_path):
    (tmp_path / "runs.sqlite").write_text("something else")
    said = cofire("reproduce", *SMALL, "--out", tmp_path, code=1)
    assert "runs.sqlite is not a run store" in said
    assert (tmp_path / "runs.sqlite").read_text() == "something else"


def test_failed_runs_are_told_of_until_they_are_run_again(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        run = Run.of(
            data="madelon", method="set", hidden=100, epsilon=1, seed=0, epochs=3
        )
        store.add([run])
        store.claim(run)
        store.fail(run, "OSError: [/dev] is full")
    only = [a for a in SMALL if a != "dense"]
    said = cofire("reproduce", *only, "--out", tmp_path)
    assert "1 runs failed before" in said and "--retry-failed" in said
    assert f"`cofire runs list --status failed --out {tmp_path}`" in said
    said = cofire("reproduce", *only, "--retry-failed", "--out", tmp_path)
    assert "1 of 1 runs done" in said and "failed before" not in said


@pytest.mark.parametrize("terminal", [False, True])
def test_a_display_takes_errors_and_options_as_they_are(terminal):
    console = Console(
        file=StringIO(),
        force_terminal=terminal,
        width=200,
        color_system=None,
        highlight=False,
    )
    run = Run("madelon", "set", 100, 1.0, 0, options='{"a":"[/red]"}')
    campaign = Campaign(4, 1, n_failed_before=1, done=1, seconds_left=7200.0)
    campaign.failed.append((run, "Traceback\nKeyError: '[/bold]'"))
    campaign.running[run] = 0.0
    campaign.last = run, outcome(0.25)
    with CampaignBoard(console) as board:
        console.print(board.table())
        board.watch(campaign)
        console.print(board.table())
    board.conclude(campaign)
    said = console.file.getvalue()
    assert said.count("KeyError: '[/bold]'") == 1
    assert "a [/red]" in said and "25.0 %" in said
    assert "1 of 4 runs done, 1 running, 2 failed" in said and "2.0 h" in said


# ---- lists ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "typed, spread",
    [
        ("--methods set rigl", "--methods set --methods rigl"),
        ("--methods=set rigl", "--methods=set --methods rigl"),
        (
            "t --epsilon 1 5 -0.5 --quick u",
            "t --epsilon 1 --epsilon 5 --epsilon -0.5 --quick u",
        ),
        # What is no number is not one more number.
        ("train --epsilon 5 a.csv", "train --epsilon 5 a.csv"),
        ("train --hidden 9 8 a.csv 7", "train --hidden 9 --hidden 8 a.csv 7"),
        ("train --option a=1 b=2 c.csv", "train --option a=1 --option b=2 c.csv"),
        ("--seeds 3 table2", "--seeds 3 table2"),
        ("--list table2 table3", "--list table2 table3"),
        ("", ""),
    ],
)
def test_lists_are_spread_and_end_where_something_else_begins(typed, spread):
    assert spread_lists(typed.split()) == spread.split()


# ---- runs ----------------------------------------------------------------------------


def test_runs_are_listed_a_line_each(filled):
    said = cofire("runs", "list", "--out", filled)
    first, *lines = said.splitlines()
    assert first == "1 waiting, 2 done, 1 failed"
    assert len(lines) == 4
    assert "madelon set n=100 eps=1 seed 1, 500 epochs" in lines[1]
    assert "60.0 %" in lines[1]
    assert lines[2].endswith("ValueError: [/b] no")
    said = cofire("runs", "list", "--out", filled, "--status", "done", "--limit", 1)
    assert "seed 1" in said and "seed 0" not in said and "and 1 before" in said
    said = cofire("runs", "list", "--method", "rigl", "--out", filled, code=2)
    assert "unknown method 'rigl'" in said and "Known: set" in said
    said = cofire("runs", "list", "--status", "don", "--out", filled, code=2)
    assert "Did you mean 'done'?" in said
    cofire("runs", "list", "--limit", 0, "--out", filled, code=2)


def test_a_failure_is_told_by_what_was_wrong_not_by_its_last_line(tmp_path):
    """A data set that is not here says where to get it, in lines of their own."""
    error = (
        "Traceback (most recent call last):\n"
        '  File "fetch.py", line 45, in fetch\n    raise FileNotFoundError(\n'
        "FileNotFoundError: isolet.npz is in none of the folders /a\n"
        "Or get these files elsewhere:\n  https://example.org/isolet.mat\n"
    )
    run = Run("isolet", "set", 100, 1.0, 0)
    with Store(tmp_path / "runs.sqlite") as store:
        store.add([run])
        store.claim(run)
        store.fail(run, error)
    said = cofire("runs", "list", "--out", tmp_path)
    assert said.rstrip().endswith("isolet.npz is in none of the folders /a")
    assert "https://example.org" in cofire("runs", "show", 1, "--out", tmp_path)
    console = Console(file=StringIO(), width=200, highlight=False)
    campaign = Campaign(1, 1)
    campaign.failed.append((run, error))
    with CampaignBoard(console) as board:
        board.watch(campaign)
    assert "isolet.npz is in none of the folders /a\n" in console.file.getvalue()


def test_runs_of_a_file_are_found_by_its_name(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        store.add([Run("/some/where/my.csv", "set", 10, 5.0, s) for s in range(50)])
        store.add([Run("/some/where/other.csv", "set", 10, 5.0, 0)])
    for data in ("my.csv", "/some/where/my.csv"):
        said = cofire("runs", "list", "--data", data, "--out", tmp_path)
        assert said.count("my.csv") == 40 and "and 10 before them" in said
    assert "other.csv" not in said
    listed = cofire("runs", "list", "--data", "my.csv", "--json", "--out", tmp_path)
    assert len(json.loads(listed)) == 50  # a program wants all
    some = cofire("runs", "list", "--limit", 2, "--json", "--out", tmp_path)
    assert [row["seed"] for row in json.loads(some)] == [49, 0]


def test_runs_as_json_can_be_read(filled):
    listed = json.loads(cofire("runs", "list", "--json", "--out", filled))
    assert [row["status"] for row in listed] == ["done", "done", "failed", "waiting"]
    assert listed[0]["notes"]["rows_an_epoch"] == 1800 and listed[3]["notes"] is None
    with Store(filled / "runs.sqlite") as store:
        store.finish(runs(1)[0], outcome(curves={"loss": [0.5, float("nan")]}), {})

    def no_constant(name):
        raise ValueError(f"{name} is no JSON")

    shown = json.loads(
        cofire("runs", "show", 1, "--json", "--out", filled), parse_constant=no_constant
    )
    assert shown["curves"] == {"loss": [0.5, None]}


def test_all_that_is_known_of_a_run_is_shown(filled):
    said = cofire("runs", "show", 2, "--out", filled)
    assert re.search(r"score +0.6\n", said) and "'test_loss': 4" in said
    assert "alive" not in said and "key" not in said
    assert "ValueError: [/b] no" in cofire("runs", "show", 3, "--out", filled)
    assert "no run 99" in cofire("runs", "show", 99, "--out", filled, code=1)


def test_runs_go_out_and_come_in_again(filled, tmp_path):
    file, new = tmp_path / "x" / "runs.csv", tmp_path / "y"
    assert cofire("runs", "export", file, "--out", filled) == f"2 lines: {file}\n"
    assert cofire("runs", "import", file, "--out", new) == "2 runs are new.\n"
    assert cofire("runs", "import", file, "--out", new) == "0 runs are new.\n"
    file.write_text(file.read_text().replace("0.6", "0.5"))
    said = cofire("runs", "import", file, "--out", new)
    assert said.startswith(
        "0 runs are new.\n1 runs are in the store with another score"
    )
    assert cofire("runs", "list", "--out", new).startswith("2 done\n")
    said = cofire("runs", "export", tmp_path / "c.csv", "--curves", "--out", filled)
    assert said.startswith("8 lines")
    assert "no curves" in cofire(
        "runs", "export", tmp_path / "d.csv", "--curves", "--out", new, code=1
    )
    said = cofire("runs", "export", tmp_path / "runs.xlsx", "--out", filled, code=1)
    assert ".csv or .parquet" in said


def test_an_import_that_fails_makes_no_store(tmp_path):
    (tmp_path / "bad.csv").write_text("a,b\n")
    new = tmp_path / "new"
    cofire("runs", "import", tmp_path / "none.csv", "--out", new, code=2)
    assert not new.exists()
    said = cofire("runs", "import", tmp_path / "bad.csv", "--out", new, code=1)
    assert "not an export of runs" in said and "Traceback" not in said
    assert not new.exists()


def test_runs_are_deleted_by_number_or_status(filled):
    said = cofire("runs", "delete", 1, 99, "--out", filled, code=1)
    assert "there is no run 99" in said and "none was deleted" in said
    assert "1 runs deleted" in cofire("runs", "delete", 1, "--out", filled)
    said = cofire("runs", "delete", "--failed", "--waiting", "--out", filled)
    assert "2 runs deleted" in said
    assert cofire("runs", "list", "--out", filled).startswith("1 done\n")
    assert "0 runs deleted" in cofire("runs", "delete", "--waiting", "--out", filled)
    assert "--failed" in cofire("runs", "delete", "--out", filled, code=2)


@pytest.mark.parametrize("command", ["list", "show 1", "export a.csv", "delete 1"])
def test_without_a_store_there_is_nothing_to_look_at(tmp_path, command):
    said = cofire("runs", *command.split(), "--out", tmp_path / "no", code=1)
    assert "there are no runs yet" in said and "Traceback" not in said
    assert not (tmp_path / "no").exists()


# ---- help ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command, words",
    [
        (
            "reproduce",
            "--quick --only-write --retry-failed --list table10 figure13 claims",
        ),
        ("runs", "list show export import delete"),
        ("runs list", "--status waiting --limit --json"),
        ("runs show", "--json --out"),
        ("runs export", ".parquet --curves"),
        ("runs import", "without their curves"),
        ("runs delete", "--failed --waiting"),
    ],
)
def test_help_teaches(command, words):
    said = cofire(*command.split(), "--help")
    for word in words.split():
        assert word in said
    if command == "reproduce":
        assert "cofire reproduce table2 --quick" in said
