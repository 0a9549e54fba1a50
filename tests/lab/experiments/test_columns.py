"""The columns of an outcome are one list: store, exports and page follow it."""

import os
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

import cofire
from cofire.lab.experiments.results import COLUMNS, Column, Outcome, columns_of

HERE = Path(__file__).parent
TESTS = HERE.parents[1]  # where the package `helpers` is


def test_columns_are_fields_with_the_type_of_the_field():
    assert list(COLUMNS) == list(Outcome.__dataclass_fields__)[: len(COLUMNS)]
    assert COLUMNS["best_epoch"].sql == "best_epoch INTEGER"
    assert COLUMNS["density"].sql == "density REAL"
    assert [n for n, column in COLUMNS.items() if column.optional] == [
        "validation_score"
    ]


def test_a_later_column_must_allow_for_runs_that_lack_it():
    @dataclass(frozen=True)
    class Later(Outcome):
        energy: Annotated[float, Column("energy", since=2)] = 0.0

    with pytest.raises(TypeError, match="energy must allow None"):
        columns_of(Later)


# One field more, as a contributor would add it.
FIELD = "    curves: Mapping[str, np.ndarray]\n"
MORE = """    energy: Annotated[
        float | None, Column("kilojoules", "{:.1f}".format, unit=0.001, since=2)
    ] = None
"""
SCRIPT = """
import csv, sqlite3, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from cofire.lab.experiments import Store
from cofire.lab.experiments.exchange import export_runs, read_runs, take_over
from cofire.lab.report.results_page import results_page
from helpers.run_cases import outcome, runs

folder = Path(sys.argv[1])
old, new = runs(1, epochs=4)[0], runs(3, epochs=4)[2]
with Store(folder / "runs.sqlite") as store:
    store.finish(new, outcome(0.5, energy=12345.0), {})
    assert [r.energy for r in store.results()] == [None, 12345.0]
    export_runs(store, folder / "all.csv")
    page = results_page(store.results())
lines = list(csv.DictReader((folder / "all.csv").read_text().splitlines()))
assert [line["energy"] for line in lines] == ["", "12345.0"]
# A copy without the column is what an older cofire exports.
with (folder / "older.csv").open("w") as file:
    names = [name for name in lines[0] if name != "energy"]
    writer = csv.DictWriter(file, names, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(lines)
for name, energies in [("all.csv", [None, 12345.0]), ("older.csv", [None, None])]:
    with Store(folder / f"{name}.sqlite") as store:
        assert take_over(store, read_runs(folder / name)) == (2, 0)
        assert [r.energy for r in store.results()] == energies
assert ">kilojoules<" in page and ">12.3<" in page
assert '["energy","kilojoules",0.001]' in page
database = sqlite3.connect(folder / "runs.sqlite")
print(database.execute("PRAGMA user_version").fetchone()[0])
database.close()
"""


def test_a_column_more_is_stored_exported_and_shown_without_other_changes(tmp_path):
    package = Path(cofire.__file__).parent
    skipped = shutil.ignore_patterns("__pycache__", "bundled", "*.npz")
    shutil.copytree(package, tmp_path / "src" / "cofire", ignore=skipped)
    results = tmp_path / "src" / "cofire" / "lab" / "experiments" / "results.py"
    source = results.read_text()
    assert source.count(FIELD) == 1
    results.write_text(source.replace(FIELD, FIELD + MORE))
    database = sqlite3.connect(tmp_path / "runs.sqlite")
    database.executescript((HERE / "store_v1.sql").read_text())
    database.close()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, tmp_path, TESTS],
        env=os.environ | {"PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("2\n", "")
