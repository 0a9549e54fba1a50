"""benchmarks/energy_page.py: what it says first, and whose figures the page has."""

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield importlib.import_module("energy_page")


def figures(joules, accuracy=0.9):
    used = {"joules": joules, "core_seconds": joules / 12, "source": "estimate"}
    used["assumption"] = "12 W per core"
    works = dict.fromkeys(("training", "alone", "together"), used)
    return works | {"accuracy": accuracy, "connections": 7, "bytes": 28}


def run(pages, default, twin, small=None):
    works = figures(1.0)
    found = {pages.DEFAULT: figures(default), pages.SPARSER: figures(1.0)}
    found |= {pages.SCIKIT_TWIN: figures(twin), pages.SAME_ACCURACY: None}
    if small is not None:
        extra = {"sizes": [4, 8, 8, 2], "search": {"joules": 3.0}}
        found[pages.SAME_ACCURACY] = figures(small, accuracy=0.8) | extra
    return found | {"receipt": works | {"ours": works["together"]}}


def test_where_dense_networks_take_less_comes_first(pages):
    runs = [run(pages, 6.0, 24.0, small=2.0), run(pages, 4.0, 24.0)]
    said = list(pages.cheaper_dense({"cats": runs}))
    assert len(said) == 3  # the small one: training, and both ways of predicting
    assert said[0] == (
        "- cats, training: dense, the default's accuracy, scikit-learn, 2.5 times less "
        "(test accuracy 80.0, cofire 90.0)."
    )


def test_seeds_without_such_a_network_are_counted(pages):
    runs = [run(pages, 6.0, 24.0, small=2.0), run(pages, 4.0, 24.0)]
    assert "for 1 of 2 seeds: with layers of 8 neurons" in pages.search(runs)
    assert pages.search(runs[1:]).endswith("for 0 of 1 seeds.")
    assert not any(pages.SAME_ACCURACY in line for line in pages.table("", runs[1:]))
    assert pages.middle(runs, pages.SAME_ACCURACY, "training", "joules") == 2.0


def test_the_page_is_that_of_the_figures(pages):
    results = ROOT / "docs" / "results"
    facts = json.loads((results / "energy.json").read_text())
    assert (results / "energy.md").read_text() == pages.page(facts)
    used = [r[pages.DEFAULT]["training"] for t in facts["tables"].values() for r in t]
    label = "measured" if all(u["source"] == "rapl" for u in used) else "estimated"
    assert f"All joules are **{label}**" in pages.page(facts)
