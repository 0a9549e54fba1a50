"""Single details of the authors' program: which runs, and what the table says."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from cofire.lab.experiments import Store
from cofire.lab.paper import ITEMS, Choice
from cofire.lab.paper.blocks import PROGRAM
from cofire.lab.paper.details import DETAILS
from cofire.lab.paper.reproduce import tabulate
from cofire.methods import make_method
from helpers.results_cases import result

ITEM = ITEMS["details"]


def options(run):
    return json.loads(run.options).get("method_options", {})


def test_a_run_has_at_most_one_detail_and_its_method_knows_it():
    runs = ITEM.runs(Choice())
    counts = Counter((run.data, run.method, json.dumps(options(run))) for run in runs)
    assert set(counts.values()) == {5} and len(counts) == 3 * len(DETAILS)
    for run in runs:
        method = make_method(run.method, options(run))
        assert len(options(run)) <= 1
        assert {name: getattr(method, name) for name in options(run)} == options(run)


def test_the_details_are_those_of_the_program_and_one_suspect_more():
    ours = {
        name: value for detail in DETAILS.values() for name, value in detail.items()
    }
    theirs = {name: value for name, value in PROGRAM.items() if name in ours}
    assert ours == theirs | {"rows": "last_batch"} and len(theirs) == 2


def test_the_table_names_the_detail_and_marks_what_it_decides(tmp_path):
    choice = Choice(methods=("ctre_seq",), seeds=2)

    def score(run):
        return 0.61 if "first_update" in run.options else 0.85

    with Store(tmp_path / "runs.sqlite") as store:
        for number, run in enumerate(ITEM.runs(choice)):
            store.add([run])
            found = replace(result(replace(run, epochs=3), number), score=score(run))
            store.finish(run, found, {})
        (table,) = tabulate(ITEM, store, choice).tables
        assert tabulate(ITEM, store, replace(choice, program=True)).tables == []
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert {row["detail"]: row["mark"] for row in rows} == {
        "none": "above",
        "update before training": "agrees",
        "ties by index": "above",
        "similarity from the last batch": "above",
    }
    assert {(row["paper"].mean, row["seeds there"]) for row in rows} == {(61.1, 15)}
    assert rows[0]["difference"] == pytest.approx(85 - 61.1)
