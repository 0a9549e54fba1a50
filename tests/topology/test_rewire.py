import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofire.core.layer import SparseLayer
from cofire.topology.rewire import rewire
from helpers import naive
from helpers.strategies import layers


@st.composite
def rewirings(draw):
    """Draw a layer, connections of it to drop, and free indices to grow, unordered."""
    layer = draw(layers(min_nnz=1))
    active = sorted(naive.flat_indices(layer))
    dropped = draw(st.lists(st.sampled_from(active), unique=True))
    free = set(range(layer.n_in * layer.n_out)) - set(active) | set(dropped)
    some = st.lists(st.sampled_from(sorted(free)), unique=True) if free else st.just([])
    grown = draw(some)
    return layer, np.array(dropped, np.int64), np.array(grown, np.int64)


@given(rewiring=rewirings(), returning=st.sampled_from(["fresh", "kept"]))
def test_rewire_equals_the_dictionary(rewiring, returning):
    layer, dropped, grown = rewiring
    new_weights = np.arange(10, 10 + len(grown), dtype=np.float32)

    after, origin = rewire(layer, dropped, grown, new_weights, returning=returning)

    after.check()
    indices, weights, origins = naive.rewire(
        layer, dropped, grown, new_weights, returning
    )
    assert after.flat_indices.tolist() == indices
    assert after.weights.tolist() == weights
    assert origin.tolist() == origins
    assert origin.dtype == np.int64


@given(layer=layers())
def test_everything_can_go_and_come_back(layer):
    nothing = np.empty(0, np.int64)
    empty, origin = rewire(layer, layer.flat_indices, nothing, np.empty(0))
    empty.check()
    assert (empty.nnz, len(origin)) == (0, 0)

    again, origin = rewire(empty, nothing, layer.flat_indices, layer.weights)
    again.check()
    assert np.array_equal(again.flat_indices, layer.flat_indices)
    assert np.array_equal(again.weights, layer.weights)
    assert (origin == -1).all()


@given(rewiring=rewirings())
def test_rewire_shares_the_bias_and_leaves_its_arguments_alone(rewiring):
    layer, dropped, grown = rewiring
    before, new_weights = layer.copy(), np.full(len(grown), 7, np.float32)
    after, _ = rewire(layer, dropped, grown, new_weights, returning="kept")
    assert after.bias is layer.bias
    assert (new_weights == 7).all()
    for name in ("indptr", "indices", "weights", "bias"):
        assert np.array_equal(getattr(layer, name), getattr(before, name))


def test_a_connection_that_returns_is_fresh_or_kept():
    layer = SparseLayer.from_flat_indices([0, 2], [0.5, 5], [0, 0], n_in=2, n_out=2)
    index = np.array([0])

    fresh, origin = rewire(layer, index, index, np.array([9.0]))
    assert (fresh.weights.tolist(), origin.tolist()) == ([9, 5], [-1, 1])

    kept, origin = rewire(layer, index, index, np.array([9.0]), returning="kept")
    assert (kept.weights.tolist(), origin.tolist()) == ([0.5, 5], [0, 1])


@pytest.mark.parametrize(
    ("dropped", "grown", "n_weights", "message"),
    [
        ([1], [], 0, "dropped: no connection has index 1"),
        ([6], [], 0, "dropped: no connection has index 6"),
        ([0, 0], [], 0, "dropped: an index occurs twice"),
        ([], [2], 1, "grown: the connection with index 2 still exists"),
        ([2], [0], 1, "grown: the connection with index 0 still exists"),
        ([0], [1, 2], 2, "grown: the connection with index 2 still exists"),
        ([0], [1, 1], 2, "grown: an index occurs twice"),
        ([0], [0, 0], 2, "grown: an index occurs twice"),
        ([], [1, 3, 3], 3, "grown: an index occurs twice"),
        ([], [1, 4], 2, r"grown: indices must lie in \[0, 4\)"),
        ([], [-1, 1], 2, r"grown: indices must lie in \[0, 4\)"),
        ([], [4], 1, r"grown: indices must lie in \[0, 4\)"),
        ([], [-1], 1, r"grown: indices must lie in \[0, 4\)"),
        ([0], [1], 2, "new_weights: expected 1, .* got 2"),
    ],
)
def test_rewire_refuses(dropped, grown, n_weights, message):
    layer = SparseLayer.from_flat_indices([0, 2], [1, 5], [0, 0], n_in=2, n_out=2)
    dropped, grown = np.array(dropped, np.int64), np.array(grown, np.int64)
    with pytest.raises(ValueError, match=message):
        rewire(layer, dropped, grown, np.zeros(n_weights))


def test_rewire_refuses_an_unknown_way_to_return():
    layer = SparseLayer.from_flat_indices([0], [1], [0], n_in=2, n_out=1)
    nothing = np.empty(0, np.int64)
    with pytest.raises(ValueError, match="unknown returning 'keep'.*'kept'"):
        rewire(layer, nothing, nothing, np.empty(0), returning="keep")
