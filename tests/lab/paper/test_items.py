"""An item brings what makes its files: nothing else knows of it."""

import re
from pathlib import Path

import pytest

import cofire.lab
from cofire.lab.experiments import Store
from cofire.lab.paper import ITEMS, Choice
from cofire.lab.paper.blocks import Block
from cofire.lab.paper.item import Item, Overview
from cofire.lab.paper.reproduce import tabulate, write
from cofire.lab.table import Table
from helpers.needs import needs_package
from helpers.results_cases import result

BLOCK = Block(("madelon",), ("set",), 2, (100,), (1,), epochs=3)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        yield store


def finish(store, runs):
    store.add(runs)
    for number, run in enumerate(runs):
        store.finish(run, result(run, number), {})


def mean_table(found):
    rows = [[c.method, float(g.percent.mean())] for c, g in found.cells.items()]
    return [Table("mine-means", "Mine", ["method", "mean"], rows, found.about)]


def test_an_item_of_one_s_own_is_tabulated_drawn_and_written(store, tmp_path):
    needs_package("matplotlib", "pip install cofire[plot]")
    from matplotlib.figure import Figure

    drawn = []

    def figures(cells):
        drawn.extend(cells)
        return {"-a": Figure()}

    item = Item(
        "mine",
        "Mine",
        (BLOCK,),
        tables=mean_table,
        figures=figures,
        page=lambda found: f"{found.n_runs} runs, {len(found.missing)} missing",
    )
    first, second = item.runs(Choice())
    finish(store, [first])
    made = tabulate(item, store, Choice())
    assert made.found.missing == [second]
    assert "1 of 2 runs are missing" in made.tables[0].caption
    files = write(made, tmp_path / "out")
    assert sorted(path.name for path in files) == [
        *("mine-a.png", "mine-a.svg", "mine-means.csv", "mine-means.md"),
        *("mine-means.tex", "mine.md"),
    ]
    assert (tmp_path / "out" / "mine.md").read_text() == "2 runs, 1 missing"
    assert drawn == [first.cell]


def test_an_item_that_needs_no_runs_is_made_of_nothing_and_others_are_not(store):
    bare = Item("mine", "Mine", tables=mean_table)
    assert tabulate(bare, store, Choice()).tables[0].rows == []
    some = Item("mine", "Mine", (BLOCK,), tables=mean_table)
    assert tabulate(some, store, Choice()).tables == []
    overview = Overview("mine", "Mine", tables=mean_table, of=(some,))
    assert tabulate(overview, store, Choice()).tables == []


def test_an_overview_is_made_of_what_is_done_of_its_items(store):
    one = Item("one", "One", (BLOCK,))
    overview = Overview("mine", "Mine", tables=mean_table, of=(one, one))
    finish(store, one.runs(Choice())[:1])
    finish(store, ITEMS["table2"].runs(Choice(quick=True))[:1])  # of another item
    made = tabulate(overview, store, Choice())
    assert made.found.n_runs == 2 and overview.runs(Choice()) == []
    assert len(made.tables[0].rows) == 1


def test_every_item_brings_what_is_made_of_it():
    for item in ITEMS.values():
        assert item.tables or item.figures or item.page, item.name


def test_no_code_of_the_laboratory_asks_for_the_name_or_class_of_an_item():
    names = "|".join(map(re.escape, ITEMS))
    asked = re.compile(
        rf"""name [=!]= ?"|[=!]= ?"({names})"|isinstance\(\w*\.?item\b|\.name in\b"""
    )
    for file in (Path(cofire.lab.__file__).parent / "paper").glob("*.py"):
        found = [line for line in file.read_text().splitlines() if asked.search(line)]
        assert [line for line in found if "selected_score" not in line] == [], file
