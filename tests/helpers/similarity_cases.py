"""Searches as the trainer makes them, and what they are tried on."""

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse
from hypothesis import strategies as st

from cofire import SparseMLPClassifier, engine
from cofire.core.layer import SparseLayer
from cofire.core.network import ACTIVATIONS, SparseNetwork
from cofire.engine import _native
from cofire.engine.networks import native_network
from cofire.search import SIMILARITIES, Deck, make_similarity, screened
from cofire.search.strategy import sample_rows
from helpers.engine_cases import random_network
from helpers.estimator_cases import small
from helpers.search_cases import KINDS, Case, assert_same_indices

# Correlations have their own tests (../engine/test_search_correlations.py).
SCORES = tuple(s for s in engine.SCORES if s not in ("gradient", "pearson"))

of_every_mode = pytest.mark.parametrize("mode", SIMILARITIES)

of_every_score = pytest.mark.parametrize("score", SCORES)


def pairs(case, **changes):
    names = ("network", "rows", "row_ids", "sample_weight", "kept", "n_wanted")
    how = {name: getattr(case, name) for name in names}
    how |= {name: getattr(case, name) for name in ("seed", "epoch", "score", "ties")}
    return engine.PairSearch(**how | changes)


def find(case, similarity, *, factor=None, **changes):
    """Search, with the rarity of the features known."""
    search = pairs(case, **changes)
    rarity = case.rows.rarity(search.row_ids)
    return make_similarity(similarity).find(search, lambda: rarity, factor)


class Screen(NamedTuple):
    """What the native search gives back."""

    indices: list[np.ndarray]
    recall: list[float]
    factor: list[int]
    n_rows: int
    multiply_adds: int


def screen(case, *, factor=4, recall=0.99, **changes):
    """Call the native search itself, for any number of rows."""
    search = pairs(case, **changes)
    rarity = case.rows.rarity(search.row_ids)
    sample_ids, row_weight = sample_rows(search, lambda: rarity, screened.SAMPLE)
    row_ids = np.random.default_rng(0).permutation(search.row_ids)
    search = replace(search, row_ids=row_ids)
    how = {"factor": [factor] * len(search.n_wanted), "recall": recall, "n_sure": 0}
    found = _native.screened_pairs(
        network=native_network(search.network),
        request=search.native(),
        screening=_native.Screening(
            sample_ids=sample_ids, row_weight=row_weight, **how
        ),
        n_threads=search.n_threads,
    )
    return Screen(
        found.pairs, found.recall, found.factor, found.n_rows, found.multiply_adds
    )


def true_recall(case, indices):
    """Per layer the fraction of indices that score at least as the last of the best."""
    recall = []
    for ranks, kept, found in zip(case.ranks(), case.kept, indices, strict=True):
        free = np.delete(ranks.ravel(), kept)
        last = np.sort(free)[len(free) - len(found)]
        recall.append(float((ranks.flat[found] >= last).mean()))
    return recall


def assert_indices(case, indices):
    """As many as wanted, ascending, each once, of the layer, and none that is kept."""
    assert len(indices) == len(case.network.layers)
    for layer, kept, n, found in zip(
        case.network.layers, case.kept, case.n_wanted, indices, strict=True
    ):
        assert found.dtype == np.int64 and found.shape == (n,)
        assert (np.diff(found) > 0).all()
        assert not n or (found[0] >= 0 and found[-1] < layer.n_in * layer.n_out)
        assert not np.isin(found, kept).any()


def no_indices():
    return np.empty(0, np.int64)


def one_layer(indices, weights, X, n_out, *, bias=0.0, output="identity", **how):
    """A case of one layer from all of X's features, where every index is free."""
    n_in, bias = X.shape[1], np.broadcast_to(np.float32(bias), n_out).copy()
    weights = np.broadcast_to(np.float32(weights), len(indices)).copy()
    network = SparseNetwork(
        [SparseLayer.from_flat_indices(indices, weights, bias, n_in, n_out)],
        "relu",
        output,
    )
    dense = X.toarray() if scipy.sparse.issparse(X) else X
    how = {"kept": [no_indices()], "n_wanted": [n_out]} | how
    kept, n_wanted = how.pop("kept"), how.pop("n_wanted")
    ids = np.arange(X.shape[0])
    dense = dense.astype(np.float64)
    return Case(network, engine.Rows(X), dense, ids, None, kept, n_wanted, **how)


@cache
def shared_causes(n_rows, seed=0):
    """300 features that are made of 25 causes and some noise, half of them 0."""
    rng = np.random.default_rng(seed)
    causes = rng.normal(size=(25, 300)) * (rng.random((25, 300)) < 0.3)
    X = rng.normal(size=(n_rows, 25)) @ causes + 0.7 * rng.normal(size=(n_rows, 300))
    X = np.maximum(X, 0).astype(np.float32)
    return engine.Rows(X), X.astype(np.float64)


@cache
def lifelike(n_rows, output="identity", *, score="cosine", weighted=False):
    """Such features, and a network 300-200-100 that is 5 % full."""
    rows, dense = shared_causes(n_rows)
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.2, 3, size=n_rows).astype(np.float32) if weighted else None
    network = random_network(rng, (300, 200, 100), output=output, densities=[0.05] * 2)
    kept = [layer.flat_indices for layer in network.layers]
    n_wanted = [int(0.3 * layer.nnz) for layer in network.layers]
    how = {"seed": 0, "score": score}
    ids = np.arange(n_rows)
    case = Case(network, rows, dense, ids, weight, kept, n_wanted, **how)
    case.ranks = cache(case.ranks)
    return case


widths = st.sampled_from([1, 2, 3, 7, 12, 25, 50])

of_all_kinds = {
    "seed": st.integers(0, 2**32 - 1),
    "sizes": st.lists(widths, min_size=2, max_size=5),
    "kind": st.sampled_from(KINDS),
    "weighted": st.booleans(),
    "dead": st.sampled_from([0.0, 0.2, 0.9]),
    "activation": st.sampled_from(ACTIVATIONS),
    "fullness": st.sampled_from([0.0, 0.4, 1.0]),
    "wish": st.sampled_from([0.0, 0.02, 0.3, 1.0]),
    "score": st.sampled_from(SCORES),
    "ties": st.sampled_from(engine.TIES),
}


def assert_same_found(one, two):
    assert_same_indices(one.indices, two.indices)
    assert one.factor == two.factor
    if one.recall is not None:
        assert one.recall == pytest.approx(two.recall, rel=1e-9)


def assert_recall(case, similarity, at_least):
    """The recall is as high as asked for, and what the search says it is."""
    found = find(case, similarity, n_threads=2)
    assert_indices(case, found.indices)
    truth = true_recall(case, found.indices)
    assert min(truth) >= at_least
    assert found.recall == pytest.approx(truth, abs=0.03)


def deck_of(case, **changes):
    how = {"rarity": case.rows.rarity(case.row_ids), "weight": case.sample_weight}
    how |= changes
    return Deck.of(case.rows, case.row_ids, how["rarity"], how["weight"])


def model(similarity, *, of=SparseMLPClassifier, **how):
    how = {"hidden_layer_sizes": (120, 100), "epsilon": 6, "max_iter": 4} | how
    how = {"learning_rate_init": 0.01} | how
    return small(of, similarity=similarity, **how)


@cache
def many_rows(n=800):
    """150 features that are made of 20 causes, which decide about three classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20)) @ rng.normal(size=(20, 150)) / 3
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    return np.maximum(X, 0).astype(np.float32), y
