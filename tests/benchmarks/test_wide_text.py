"""benchmarks/wide_text.py: the rows, and what the page says first."""

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bench():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield importlib.import_module("wide_text")


def run(accuracy):
    return {
        "accuracy": accuracy,
        "fit_core_seconds": 2.0,
        "predict_core_seconds": 0.1,
        "bytes": 3e6,
        "chosen": {"C": 3},
    }


def test_who_wins_comes_first(bench):
    lost = {"linear SVM": run(0.9), "cofire, one": run(0.7), "cofire, four": run(0.85)}
    said = bench.verdict(lost)
    assert said == "**linear SVM wins with 90.0 %.** cofire, four is 5.0 points behind."
    won = {"linear SVM": run(0.8), "cofire, one": run(0.81), "cofire, four": run(0.9)}
    said = bench.verdict(won)
    assert said.endswith("The best of the others is linear SVM, 10.0 points behind.")


def test_models_stand_by_accuracy(bench):
    models = {"a": run(0.5), "b": run(0.9), "c": run(0.7)}
    assert [name for name, _ in bench.ranked(models)] == ["b", "c", "a"]
    assert bench.table_row("b", models["b"]) == "| b | 90.0 | 2.0 | 0.10 | 3.0 | C 3 |"


def test_rows_are_wide_and_learn_nothing_of_the_test_texts(bench):
    train = ["red green blue", "green blue", "blue sky"]
    first, _ = bench.rows(train, ["red sea"])
    again, _ = bench.rows(train, ["blue " * 50, "red red"])
    assert first.shape == (3, bench.COLUMNS)
    assert bench.COLUMNS >= 100_000
    assert first.getnnz(axis=1).tolist() == [5, 3, 3]  # words, and pairs of words
    assert (first != again).nnz == 0


def test_the_page_is_that_of_the_figures(bench):
    results = ROOT / "docs" / "results"
    facts = json.loads((results / "wide-text.json").read_text())
    assert (results / "wide-text.md").read_text() == bench.page(facts)


def test_the_chosen_settings_are_the_best_on_validation_rows(bench):
    path = ROOT / "docs" / "results" / "wide-text.json"
    choice = json.loads(path.read_text())["choice"]
    assert set(choice) == set(bench.CANDIDATES)
    assert max(choice, key=lambda name: choice[name]["accuracy"]) == bench.CHOSEN
