"""The table of data sets: a row holds every fact, and nothing else compares names."""

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cofire
from cofire.data import CATALOG, Preprocessing, load, paper_data, paper_parts
from cofire.data.catalog.files import write_arrays
from cofire.data.catalog.reading import assembled
from cofire.data.preprocessing.paper import paper_rows

SOURCE = Path(cofire.__file__).parent


@pytest.mark.parametrize("name", CATALOG)
def test_the_facts_of_a_row_fit_together(name):
    entry = CATALOG[name]
    if entry.image_shape:
        assert np.prod(entry.image_shape) == entry.n_features
    assert all(0 <= i < entry.n_features for i in entry.relevant_features)
    assert 100 / entry.n_classes - 0.1 <= entry.chance < 100
    assert entry.paper_scale in ("minmax", "standard")
    assert entry.print_name and callable(entry.convert)


def test_correlations_tell_the_relevant_features_of_madelon():
    correlation = np.abs(np.corrcoef(load("madelon").X_train, rowvar=False))
    np.fill_diagonal(correlation, 0)
    strongest = correlation.max(axis=0)
    relevant = list(CATALOG["madelon"].relevant_features)
    assert (strongest[relevant] > 0.6).all()
    assert (np.delete(strongest, relevant) < 0.2).all()


@pytest.fixture
def ninth(tmp_path, monkeypatch):
    """A data set that is a file and a row of the table, and nothing more."""
    rng = np.random.default_rng(0)
    arrays = {
        "X_train": rng.integers(0, 9, (40, 6)).astype(np.uint16),
        "y_train": (np.arange(40) % 2).astype(np.uint8),
        "X_test": rng.integers(0, 9, (20, 6)).astype(np.uint16),
        "y_test": (np.arange(20) % 2).astype(np.uint8),
    }
    write_arrays(tmp_path / "ninth.npz", arrays)
    entry = replace(
        CATALOG["madelon"],
        print_name="Ninth",
        n_features=6,
        paper_scale="standard",
        paper_test_fraction=0.25,
        relevant_features=(),
    )
    monkeypatch.setenv("COFIRE_DATA", str(tmp_path))
    monkeypatch.setitem(CATALOG, "ninth", entry)
    content = assembled("ninth", arrays).digest()
    monkeypatch.setitem(CATALOG, "ninth", replace(entry, content=content))
    return CATALOG["ninth"]


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_a_ninth_data_set_is_one_row(ninth, scale, monkeypatch):
    monkeypatch.setitem(CATALOG, "ninth", replace(ninth, paper_scale=scale))
    assert load("ninth").X_train.shape == (40, 6)
    data = paper_data("ninth")
    assert (data.X_train.shape, data.X_test.shape) == ((45, 6), (15, 6))
    if scale == "standard":
        np.testing.assert_allclose(data.X_train.mean(axis=0), 0, atol=1e-6)
    else:
        assert data.X_train.min() == 0 and data.X_train.max() == 1
    assert [len(y) for _, y in paper_parts("ninth")] == [40, 5, 15]
    steps = Preprocessing.of_paper(paper_rows("ninth"))
    assert steps.scale == scale
    assert np.array_equal(steps.transform(paper_rows("ninth").X_test)[0], data.X_test)


def test_a_row_without_a_fraction_keeps_the_split_of_its_file(ninth, monkeypatch):
    monkeypatch.setitem(CATALOG, "ninth", replace(ninth, paper_test_fraction=None))
    assert paper_rows("ninth").X_test.shape == (20, 6)


def test_no_code_compares_the_name_of_a_data_set():
    found = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare | ast.MatchValue):
                words = {
                    part.value
                    for part in ast.walk(node)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                }
                if words & CATALOG.keys():
                    found.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert not found
