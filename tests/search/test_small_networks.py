"""What the default search does for a small network: it is exact, and says so."""

import pytest

from cofire import engine
from cofire.search import screened
from helpers.estimator_cases import same_training
from helpers.search_cases import assert_same_indices
from helpers.similarity_cases import find, lifelike, many_rows, model


@pytest.fixture
def searches(monkeypatch):
    """The names of the native searches that were made."""
    made = []
    for name in ("best_pairs", "screened_pairs"):
        search = getattr(engine, name)

        def spy(*arguments, search=search, name=name, **more):
            made.append(name)
            return search(*arguments, **more)

        monkeypatch.setattr(engine, name, spy)
    return made


def test_a_search_of_few_products_is_exact_and_of_one_row_more_is_screened(searches):
    case = lifelike(7000)
    n_pairs = sum(layer.n_in * layer.n_out for layer in case.network.layers)
    n_rows = screened.FEW_PRODUCTS // n_pairs
    assert screened.FEW_ROWS < n_rows < 7000
    few, more = ({"row_ids": case.row_ids[:n]} for n in (n_rows, n_rows + 1))
    found = find(case, "screened", factor=[64, 64], **few)
    find(case, "screened", **more)
    assert searches == ["best_pairs", "screened_pairs"]
    assert_same_indices(found.indices, find(case, "exact", **few).indices)
    assert found.recall == [1.0, 1.0]
    assert found.factor == [screened.FIRST_FACTOR] * 2


def test_a_fit_of_a_small_network_is_that_of_the_exact_search(searches):
    X, y = many_rows()
    assert len(y) > screened.FEW_ROWS
    by_default = model("screened").fit(X, y)
    exact = model("exact").fit(X, y)
    assert set(searches) == {"best_pairs"}
    assert same_training(by_default, exact)
    for record in by_default.history_[1:]:
        assert record["recall"] == [1.0] * 3
        assert record["candidate_factor"] == [screened.FIRST_FACTOR] * 3
