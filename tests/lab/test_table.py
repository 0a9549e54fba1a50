"""Tables: one content in three formats."""

import csv
import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofire.lab.names import DATA_NAMES, method_name
from cofire.lab.table import (
    MeanSpread,
    Table,
    to_csv,
    to_latex,
    to_markdown,
    with_best_bold,
    write_table,
)
from cofire.methods import METHODS
from cofire.persistence import atomic as writing


def example(**changes):
    content = {
        "name": "accuracy",
        "title": "Test accuracy",
        "caption": "15 seeds, 100 % of the rows & more.",
        "columns": ["data", "n", "SET", "CTRE_sim", "p"],
        "rows": [
            ["Madelon", 100, MeanSpread(58.04, 2.26), MeanSpread(81.6, 1.3), 1e-5],
            ["Isolet", 12_345, MeanSpread(80.0, 0.5), None, -0.25],
        ],
        "digits_of": {"p": 3},
    }
    return Table(**content | changes)


def cells_of(markdown):
    """A Markdown table read back: split at bars that are not escaped."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines
    ]


def test_markdown_shows_rounded_numbers_in_columns():
    head, rule, first, second = cells_of(to_markdown(example()))
    assert head == ["data", "n", "SET", "CTRE_sim", "p"]
    assert [cell[0] for cell in rule] == [":", "-", "-", "-", "-"]
    assert first == ["Madelon", "100", "58.0 ± 2.3", "81.6 ± 1.3", "\\< 0.001"]
    assert second == ["Isolet", "12,345", "80.0 ± 0.5", "-", "-0.250"]
    lines = to_markdown(example()).splitlines()
    assert lines[0] == "# Test accuracy" and lines[2].startswith("15 seeds")
    assert len({len(line) for line in lines if line.startswith("|")}) == 1


def test_markdown_has_the_heading_that_is_asked_for():
    assert to_markdown(example(), heading=3).startswith("### Test accuracy\n")
    assert to_markdown(example(caption=""), heading=0).startswith("| data")


def test_bold_is_marked_in_markdown_and_latex():
    table = with_best_bold(example(), ["SET"])
    assert table.bold == {(1, 2)}
    assert "**80.0 ± 0.5**" in to_markdown(table)
    assert r"\textbf{80.0 $\pm$ 0.5}" in to_latex(table)


def test_the_best_is_looked_for_in_groups_and_shared():
    rows = [["a", 1], ["a", 3], ["a", 3], ["b", None], ["b", MeanSpread(0.5, 9)]]
    table = Table("t", "", ["group", "x"], rows)
    assert with_best_bold(table, ["x"], group=["group"]).bold == {
        (1, 1),
        (2, 1),
        (4, 1),
    }
    assert with_best_bold(table, ["x"]).bold == {(1, 1), (2, 1)}
    assert with_best_bold(Table("t", "", ["x"], [[None]]), ["x"]).bold == frozenset()


def test_csv_keeps_every_digit_and_splits_means_from_spreads():
    third = 1 / 3
    rows = [[MeanSpread(third, np.float64(0.1)), 7, 'a "b", c'], [None, None, None]]
    text = to_csv(Table("t", "", ["x", "n", "words"], rows))
    read = list(csv.reader(io.StringIO(text)))
    assert read[0] == ["x", "x sd", "n", "words"]
    assert read[1] == [repr(third), "0.1", "7", 'a "b", c']
    assert read[2] == ["", "", "", ""]
    assert "\r" not in text


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=5))
def test_numbers_come_back_from_csv_as_they_were(numbers):
    text = to_csv(Table("t", "", ["x"], [[x] for x in numbers]))
    assert [float(row["x"]) for row in csv.DictReader(io.StringIO(text))] == numbers


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]))


@given(words)
def test_any_text_is_one_cell_of_markdown(text):
    *_, row = cells_of(to_markdown(Table("t", "", ["a", "b"], [[text, 1]]), heading=0))
    assert len(row) == 2 and row[1] == "1"


@given(words)
def test_any_text_is_legal_latex(text):
    table = Table("t", text, ["a", "b"], [[text, 1]], caption=text)
    body = to_latex(table).split("\n", 1)[1]  # without the comment
    plain = re.sub(r"\\[&%$#_{}\\]", "", body)  # what is escaped is text
    assert plain.count("{") == plain.count("}")
    assert plain.count("$") % 2 == 0
    assert not re.search(r"[%#~]", plain)
    rows = re.findall(r"^    (.*) \\\\$", body, re.M)
    unescaped = [re.sub(r"\\&", "", row) for row in rows]
    assert [row.count("&") for row in unescaped] == [1, 1]


def test_latex_is_a_booktabs_table():
    text = to_latex(example())
    order = re.findall(r"\\(begin\{\w+\}|end\{\w+\}|\w+rule|caption|label)", text)
    assert order == [
        *("begin{table}", "caption", "label", "begin{tabular}"),
        *("toprule", "midrule", "bottomrule", "end{tabular}", "end{table}"),
    ]
    assert r"\begin{tabular}{lrrrr}" in text
    assert r"CTRE\_sim" in text and r"100 \% of the rows \& more." in text
    assert "$-$0.250" in text and r"58.0 $\pm$ 2.3" in text


def test_three_files_are_written_and_replaced(tmp_path):
    folder = tmp_path / "new" / "folder"
    written = write_table(example(), folder)
    assert [path.name for path in written] == [
        *("accuracy.md", "accuracy.csv", "accuracy.tex"),
    ]
    before = [path.read_bytes() for path in written]
    write_table(example(), folder)
    assert [path.read_bytes() for path in written] == before
    assert sorted(folder.iterdir()) == sorted(written)


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    writing.write_atomically(path, b"old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(writing.os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        writing.write_atomically(path, b"new")
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_a_table_says_what_is_wrong_with_it():
    with pytest.raises(ValueError, match="2 columns, but a row has 1"):
        Table("t", "", ["a", "b"], [[1]])
    with pytest.raises(ValueError, match="file's name"):
        Table("../t", "", ["a"], [])


def test_every_method_has_a_name_in_print():
    assert len({method_name(name) for name in METHODS}) == len(METHODS)
    assert method_name("ctre_wo_random") == "CTRE_w/oRandom"
    assert len(set(DATA_NAMES.values())) == len(DATA_NAMES) == 8


@pytest.mark.parametrize("name", ["p", "p, Holm"])
def test_a_p_value_is_never_shown_as_zero(name):
    table = Table("t", "", [name, "x"], [[1e-9, 1e-9], [0.2, 0.2]], digits=4)
    assert [table.text(0, 0), table.text(1, 0)] == ["< 0.0001", "0.2000"]
    assert table.text(0, 1) == "0.0000"
