"""Names and objects for `similarity=`."""

import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from sklearn.base import clone

from cofire import SparseMLPRegressor, load
from cofire.saving import save
from cofire.search import (
    SIMILARITIES,
    Exact,
    Found,
    Linear,
    Screened,
    Similarity,
    make_similarity,
)
from helpers.estimator_cases import numbers, same_training
from helpers.similarity_cases import many_rows, model


def test_names_stand_for_searches_with_their_defaults():
    assert make_similarity("exact") == Exact()
    assert make_similarity("screened") == Screened() == Screened(recall=0.99)
    assert make_similarity("linear") == Linear() == Linear(tables=8)
    own = Screened(recall=0.5)
    assert make_similarity(own) is own


@pytest.mark.parametrize("name", ["screend", "Screened", "SCREENED"])
def test_an_unknown_name_is_answered_with_a_known_one(name):
    with pytest.raises(ValueError, match="Did you mean 'screened'[?] Known: exact, li"):
        make_similarity(name)
    with pytest.raises(ValueError, match="unknown similarity"):
        model(name).fit(*many_rows(100))


@pytest.mark.parametrize("recall", [0, 0.0, -0.1, 1.5, 1.0000001, float("nan")])
def test_a_recall_that_none_can_have_is_refused(recall):
    with pytest.raises(ValueError, match=r"recall must lie in \(0, 1\], got "):
        Screened(recall=recall)


@pytest.mark.parametrize("tables", [0, -3])
def test_no_tables_are_refused(tables):
    with pytest.raises(
        ValueError, match=f"tables must be a whole number >= 1, got {tables}"
    ):
        Linear(tables=tables)


OBJECTS = [Exact(), Screened(), Screened(recall=0.9), Screened(1.0), Linear(tables=3)]


@pytest.mark.parametrize("similarity", OBJECTS, ids=repr)
def test_a_search_prints_compares_and_is_pickled(similarity):
    assert eval(repr(similarity)) == similarity
    assert pickle.loads(pickle.dumps(similarity)) == similarity
    assert len({similarity, copy.deepcopy(similarity)}) == 1
    assert sum(similarity == other for other in OBJECTS) == 1
    with pytest.raises(FrozenInstanceError):
        similarity.recall = 0.5


@pytest.mark.parametrize("similarity", OBJECTS, ids=repr)
def test_an_estimator_is_cloned_saved_and_loaded_with_its_search(similarity, tmp_path):
    X, y = many_rows(600)
    fitted = clone(model(similarity, max_iter=2)).fit(X, y)
    assert fitted.similarity == similarity
    save(fitted, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.similarity == similarity
    assert type(loaded.similarity) is type(similarity)
    assert same_training(loaded.partial_fit(X, y), fitted.partial_fit(X, y))
    assert repr(similarity) in repr(loaded)


def test_a_search_of_ones_own_is_used_but_cannot_be_saved(tmp_path):
    class Last(Similarity):
        """The last free indices."""

        def find(self, search, rarity, factor):
            indices = [
                np.setdiff1d(np.arange(layer.n_in * layer.n_out), kept)[-n:]
                for layer, kept, n in zip(
                    search.network.layers, search.kept, search.n_wanted, strict=True
                )
            ]
            return Found(indices)

    how = {"method": "ctre_wo_random", "max_iter": 2}
    fitted = model(Last(), **how).fit(*many_rows(100))
    for layer in fitted.network_.layers:
        assert layer.flat_indices[-1] == layer.n_in * layer.n_out - 1
    assert fitted.history_[1]["recall"] is None
    with pytest.raises(ValueError, match="similarity: Last cannot be stored"):
        save(fitted, tmp_path / "model")


def test_a_regressor_takes_all_searches():
    X, y = numbers(n=700, n_features=20)
    for mode in SIMILARITIES:
        fitted = model(mode, of=SparseMLPRegressor).fit(X, y)
        assert (fitted.history_[1]["recall"] is not None) == (mode == "screened")
