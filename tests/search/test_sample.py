"""The rows that a search looks at: a sample, or a deck that is copied in tiles."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from cofire import engine
from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.engine import _native
from cofire.search import Deck, Screened
from cofire.search.sample import MOST_BYTES, RARE
from cofire.search.strategy import ENOUGH_FIRINGS, sample_rows
from helpers import naive
from helpers.engine_cases import examples
from helpers.search_cases import KINDS
from helpers.similarity_cases import (
    assert_indices,
    assert_same_found,
    deck_of,
    find,
    lifelike,
    one_layer,
    pairs,
    true_recall,
)

pytestmark = pytest.mark.usefixtures("small_networks_are_screened")


# ---- the deck ------------------------------------------------------------------------


@examples(60)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    n_rows=st.sampled_from([1, 7, 8, 63, 64, 65, 200]),
    n_features=st.sampled_from([1, 2, 9, 40]),
)
def test_a_copy_in_tiles_holds_the_same_whole_numbers(seed, kind, n_rows, n_features):
    rng = np.random.default_rng(seed)
    X = rng.integers(-50, 50, size=(n_rows + 3, n_features))
    X[rng.random(X.shape) < 0.3] = 0
    if kind == "bytes":
        rows = engine.Rows(
            (X + 50).astype(np.uint8), offset=np.full(n_features, -50, np.float32)
        )
    else:
        X = X.astype(np.float32)
        rows = engine.Rows(scipy.sparse.csr_array(X) if kind == "sparse" else X)
    order = rng.permutation(len(X))[:n_rows]
    copy = rows.tiles(order)
    assert len(copy) == n_rows
    indices, n = np.arange(n_features) * (n_features + 1), n_features
    layer = SparseLayer.from_flat_indices(indices, np.ones(n), np.zeros(n), n, n)
    network = SparseNetwork([layer], "relu", "identity")
    np.testing.assert_array_equal(engine.predict(network, copy), X[order])
    any_order = rng.permutation(n_rows)
    assert rows.rarity(order[any_order]).tolist() == copy.rarity(any_order).tolist()
    again = copy.tiles(any_order)
    np.testing.assert_array_equal(engine.predict(network, again), X[order][any_order])


def test_a_copy_in_tiles_is_as_exact_as_is_said_and_zeros_stay_zeros():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40)) * 10.0 ** rng.uniform(-6, 6, size=40)
    X[rng.random(X.shape) < 0.3] = 0
    X[:, 0], X[:, 1], X[:, 2] = 0, 1990.3, -1e-30
    X[0, 3] = 1e30
    X = X.astype(np.float32)
    indices = np.arange(40) * 41
    layer = SparseLayer.from_flat_indices(indices, np.ones(40), np.zeros(40), 40, 40)
    network = SparseNetwork([layer], "relu", "identity")
    copy = engine.predict(network, engine.Rows(X).tiles(np.arange(300)))
    extent = np.maximum(X.max(axis=0), 0) - np.minimum(X.min(axis=0), 0)
    assert (np.abs(copy - X) <= extent * 2.0**-15).all()
    assert (copy[X == 0] == 0).all()


def test_a_deck_has_every_row_once_and_those_with_a_rare_feature_first():
    n, rng = 10_000, np.random.default_rng(0)
    rarity = rng.choice([9, RARE, RARE + 1, n], p=[0.02, 0.02, 0.06, 0.9], size=n)
    case = lifelike(n)
    deck = deck_of(case, rarity=rarity)
    n_rare = int((rarity <= RARE).sum())
    assert n_rare <= deck.n_sure < n_rare + 64 and deck.n_sure % 64 == 0
    first, again, other = (deck.deal(np.random.default_rng(s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    for dealt in (first, other):
        assert sorted(dealt) == list(range(n))
        assert dealt[: deck.n_sure].tolist() == list(range(deck.n_sure))
        tiles = dealt[: n // 64 * 64].reshape(-1, 64)
        assert (tiles % 64 == np.arange(64)).all()
        assert (tiles // 64 == tiles[:, :1] // 64).all()
    # No more than an eighth is rare, and none may be.
    assert deck_of(case, rarity=np.full(n, 3)).n_sure == n // 8 // 64 * 64
    assert deck_of(case, rarity=np.full(n, n)).n_sure == 0


def test_a_large_copy_is_not_made():
    rows = engine.Rows(np.zeros((64, 1024), np.float32))
    assert Deck.is_worthwhile(rows, MOST_BYTES // 2048)
    assert not Deck.is_worthwhile(rows, MOST_BYTES // 2048 + 1)
    assert not Deck.is_worthwhile(engine.Rows(np.zeros((64, 2), np.uint8)), 64)


def with_deck(case, similarity, **changes):
    deck = deck_of(case)
    return find(case, similarity, deck=lambda: deck, **changes)


@pytest.mark.parametrize("recall", [0.9, 0.98])
def test_a_search_of_a_deck_has_the_recall_that_is_asked_for(recall):
    case, truth, told = lifelike(20_000), [], []
    deck = deck_of(case)
    for epoch in range(12):
        found = find(case, Screened(recall), epoch=epoch, deck=lambda: deck)
        assert_indices(case, found.indices)
        truth.append(
            np.average(true_recall(case, found.indices), weights=case.n_wanted)
        )
        told.append(np.average(found.recall, weights=case.n_wanted))
    assert np.mean(truth) >= recall
    assert np.mean(told) == pytest.approx(np.mean(truth), abs=0.5 * (1 - recall))


@pytest.mark.parametrize("n_rows", [600, 1000, 5000, 20_000])
def test_a_search_of_a_deck_is_the_same_for_any_number_of_threads(n_rows):
    case = lifelike(n_rows, weighted=n_rows == 5000)
    alone = with_deck(case, "screened")
    for n_threads in (2, 3):
        assert_same_found(with_deck(case, "screened", n_threads=n_threads), alone)
    assert min(true_recall(case, alone.indices)) > 0.95


def test_a_recall_of_1_looks_at_the_rows_themselves():
    def refuse():
        raise AssertionError("a deck")

    case = lifelike(3000)
    found = find(case, Screened(recall=1.0), deck=refuse)
    assert min(true_recall(case, found.indices)) > 0.999
    with pytest.raises(AssertionError, match="a deck"):
        find(case, Screened(recall=0.999), deck=refuse)


TILES = r"tiles: expected the shape \(1, 3, 64\), got "


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"order": np.array([5])}, r"order: must lie in \[0, 5\), but order\[0\] = 5"),
        ({"tiles": np.empty((2, 3, 64), np.uint16)}, TILES),
        ({"tiles": np.empty((1, 2, 64), np.uint16)}, TILES),
        ({"tiles": np.empty((1, 3, 32), np.uint16)}, TILES),
        ({"step": np.empty(2, np.float32)}, "step: expected 3, one per feature, got 2"),
        ({"zero": np.empty(2, np.int32)}, "zero: expected 3, one per feature, got 2"),
    ],
)
def test_a_wrong_argument_of_a_copy_is_named(changes, message):
    rows = engine.Rows(np.ones((5, 3), np.float32)).native
    told = {"order": np.arange(5), "tiles": np.empty((1, 3, 64), np.uint16)}
    told |= {"step": np.empty(3, np.float32), "zero": np.empty(3, np.int32)}
    assert _native.tile_rows(rows, **told).n_rows == 5
    with pytest.raises(ValueError, match=message):
        _native.tile_rows(rows, **told | changes)


# ---- the sample ----------------------------------------------------------------------


def rows_only(n, **changes):
    """A search over n rows with other numbers than their positions."""
    case = one_layer([0], 1.0, np.ones((2 * n + 1, 1), np.float32), 1)
    return pairs(case, row_ids=2 * np.arange(n) + 1, **changes)


def test_few_rows_are_all_taken_in_a_random_order():
    search = rows_only(500)
    ids, share = sample_rows(search, None, 500)
    assert share is None
    assert sorted(ids) == search.row_ids.tolist() != ids.tolist()
    others = [replace(search, epoch=99), replace(search, seed=99)]
    orders = [sample_rows(other, None, 500)[0].tolist() for other in others]
    assert len({tuple(order) for order in [ids.tolist(), *orders]}) == 3


def test_a_sample_has_the_size_asked_for_and_stands_for_all_rows():
    search = rows_only(20_000)
    sizes = []
    for epoch in range(20):
        ids, share = sample_rows(replace(search, epoch=epoch), None, 1000)
        assert np.isin(ids, search.row_ids).all()
        assert len(set(ids.tolist())) == len(ids) == len(share)
        assert share.dtype == np.float32 and (share == 20).all()
        assert (np.diff(ids) < 0).any()  # in a random order
        sizes.append(len(ids))
    assert len(set(sizes)) > 1
    assert abs(np.mean(sizes) - 1000) < 4 * np.sqrt(1000 / 20)


def test_rows_with_a_rare_feature_are_likelier_and_stand_for_fewer():
    n, size = 20_000, 1000
    rng = np.random.default_rng(0)
    rarity = rng.choice([1, ENOUGH_FIRINGS, 20, 100, n], size=n).astype(np.int64)
    likely = np.maximum(size / n, np.minimum(ENOUGH_FIRINGS / rarity, 1))
    search, chosen = rows_only(n), np.zeros(n)
    for epoch in range(30):
        ids, share = sample_rows(replace(search, epoch=epoch), lambda: rarity, size)
        at = (ids - 1) // 2
        chosen[at] += 1
        np.testing.assert_allclose(share, 1 / likely[at], rtol=1e-6)
        variance = ((1 - likely) / likely).sum()
        assert abs(share.sum() - n) < 5 * np.sqrt(variance)
    assert (chosen[rarity <= ENOUGH_FIRINGS] == 30).all()
    for kind in (20, 100, n):
        those = rarity == kind
        expected = likely[those][0]
        assert chosen[those].mean() / 30 == pytest.approx(expected, rel=0.05)


def test_a_sample_is_one_of_seed_and_epoch():
    search = rows_only(5000)
    rarity = np.random.default_rng(1).integers(1, 5000, size=5000)

    def sample(**changes):
        ids, share = sample_rows(replace(search, **changes), lambda: rarity, 300)
        return ids.tobytes() + share.tobytes()

    assert sample() == sample()
    assert len({sample(), sample(seed=1), sample(epoch=1)}) == 3


@examples(60)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from([*KINDS, "scaled bytes", "sparse with zeros"]),
    n_rows=st.sampled_from([0, 1, 2, 30]),
    n_features=st.sampled_from([1, 2, 9, 40]),
    full=st.sampled_from([0.0, 0.05, 0.5, 1.0]),
)
def test_rarity_is_counted_among_the_rows_that_are_asked_for(
    seed, kind, n_rows, n_features, full
):
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 5, size=(n_rows + 5, n_features))
    X[rng.random(X.shape) >= full] = 0
    if kind == "scaled bytes":
        zero = rng.integers(5, size=n_features)  # the byte that stands for 0
        rows = engine.Rows(
            X.astype(np.uint8), scale=np.full(n_features, 0.5), offset=-zero / 2
        )
        X = X - zero
    elif kind == "bytes":
        rows = engine.Rows(X.astype(np.uint8))
    elif kind == "floats":
        rows = engine.Rows(-X.astype(np.float32))
    else:
        sparse = scipy.sparse.csr_array(X.astype(np.float32))
        if kind == "sparse with zeros" and sparse.nnz:
            sparse.data[rng.random(sparse.nnz) < 0.3] = 0
            X = sparse.toarray()
        rows = engine.Rows(sparse)
    ids = rng.permutation(len(X))[:n_rows]
    rarity = rows.rarity(ids)
    assert rarity.dtype == np.int64
    assert rarity.tolist() == naive.rarity(X[ids])
