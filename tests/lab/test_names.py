"""Print names, order and looks of methods come from their classes."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import cofire.lab
from cofire.lab.experiments import Run, grid
from cofire.lab.names import is_full, method_name, method_position
from cofire.lab.report.look import STROKES, in_order, stroke_of
from cofire.methods import METHODS
from cofire.methods.dense import Dense
from cofire.methods.set import SET


@dataclass(frozen=True)
class Own(SET):
    """A method of somebody's own that has no title."""


@dataclass(frozen=True)
class Everything(Dense):
    """Another method whose networks have every connection."""

    title = "Every connection"


@pytest.fixture
def plugins(monkeypatch):
    monkeypatch.setitem(METHODS._loaded, "own", Own)
    monkeypatch.setitem(METHODS._loaded, "everything", Everything)


def test_a_title_is_the_print_name_and_is_not_inherited(plugins):
    assert method_name("set") == SET.title == "SET"
    assert method_name("everything") == "Every connection"
    assert method_name("own") == "own"


def test_a_method_that_cannot_be_loaded_keeps_its_name(monkeypatch):
    class Broken:
        def load(self):
            raise SystemError("no such library")

    monkeypatch.setitem(METHODS._added, "broken", Broken())
    assert method_name("broken") == "broken" and not is_full("broken")
    assert method_name("gone") == "gone" and not is_full("gone")


def test_the_house_method_comes_first_with_a_stroke_of_its_own():
    assert in_order(["set", "cofire", "ctre_sim"]) == ["cofire", "ctre_sim", "set"]
    assert stroke_of("cofire") == STROKES["cofire"]
    assert method_position("cofire") < method_position("ctre_sim")
    assert method_position("rigl_uniform") < method_position("somebody's")


def test_a_method_with_every_connection_has_no_epsilon(plugins):
    runs = grid(
        data=["madelon"],
        methods=["everything", "own"],
        hidden=[10],
        epsilon=[1, 5],
        seeds=[0],
    )
    assert [(run.method, run.epsilon) for run in runs] == [
        *[("everything", None), ("own", 1.0), ("own", 5.0)]
    ]
    run = Run.of(data="madelon", method="everything", hidden=10, epsilon=1, seed=0)
    assert run.epsilon is None


def test_no_code_of_the_laboratory_compares_with_the_name_of_a_method():
    names = "|".join(map(re.escape, [*METHODS, "ctre"]))
    compared = re.compile(rf"""[=!]= ?"({names})"|startswith\("({names})""")
    for file in Path(cofire.lab.__file__).parent.rglob("*.py"):
        found = [
            line for line in file.read_text().splitlines() if compared.search(line)
        ]
        assert found == [], file
