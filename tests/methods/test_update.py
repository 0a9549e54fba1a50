"""An update of the topology outside of training: arrays in, arrays out."""

from dataclasses import dataclass

import numpy as np
import pytest

from cofire.core.layer import SparseLayer
from cofire.methods import Grown, Method, Similar, TrainingPoint
from cofire.methods.set import SET
from cofire.methods.update import update_topology
from cofire.search import Found
from cofire.topology.select import random_absent

POINT = TrainingPoint(update=3, epoch=3, max_epochs=10)


def layers():
    """Two layers of 4 x 3 and 3 x 2 indices, with 6 and 3 connections."""
    first = SparseLayer.from_flat_indices(
        range(0, 12, 2), range(1, 7), np.zeros(3), 4, 3
    )
    second = SparseLayer.from_flat_indices([0, 2, 4], [7, 8, 9], np.zeros(2), 3, 2)
    return [first, second]


def no_search(request, kept, n_wanted):
    raise AssertionError("nothing to search for")


def updated(method, find=no_search, drop_fraction=0.5):
    return update_topology(
        layers(), method, POINT, seed=1, drop_fraction=drop_fraction, find=find
    )


@dataclass(frozen=True)
class Moving(Method):
    """Lets the second layer grow what the first one lost, one more connection each."""

    budget: tuple[int, ...] = (2, 2)

    def budgets(self, layers, n_dropped, point):
        assert (list(n_dropped), point) == ([3, 1], POINT)
        return self.budget

    def grow(self, layer, dropped, n, context):
        return Grown(random_absent(layer, n, context.rng("grow"), also=dropped), n)


def test_without_budgets_of_its_own_a_method_keeps_each_layers_connections():
    update = updated(SET())
    assert [layer.nnz for layer in update.layers] == [6, 3]
    assert [len(indices) for indices in update.dropped] == [3, 1]
    for before, after, origin in zip(
        layers(), update.layers, update.origins, strict=True
    ):
        after.check()
        stayed = origin >= 0
        assert np.array_equal(after.weights[stayed], before.weights[origin[stayed]])


def test_a_budget_moves_connections_between_layers():
    update = updated(Moving())
    assert [layer.nnz for layer in update.layers] == [5, 4]
    assert [len(indices) for indices in update.grown] == [2, 2]


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ((4, 1), "2 with a sum of at most 4, as many as were dropped; got .4, 1."),
        ((5, -1), "one number >= 0 per layer"),
        ((4,), "one number >= 0 per layer, 2 with"),
        ((-4, 8), "one number >= 0 per layer"),
    ],
)
def test_a_budget_that_is_not_there_is_refused(budget, message):
    with pytest.raises(ValueError, match=message):
        updated(Moving(budget))


def test_a_layer_takes_no_more_than_it_has_room_for():
    full = SparseLayer.from_flat_indices(range(6), range(1, 7), np.zeros(2), 3, 2)
    first = layers()[0]

    @dataclass(frozen=True)
    class AllToTheLast(Moving):
        def budgets(self, layers, n_dropped, point):
            return [0, sum(n_dropped)]

    with pytest.raises(ValueError, match="3 connections to layer 2, which has 0 free"):
        update_topology(
            [first, full],
            AllToTheLast(),
            POINT,
            seed=1,
            drop_fraction=0.5,
            find=no_search,
        )


def test_the_search_is_whoever_calls_own():
    """Another framework answers the request from its own activations."""
    asked = []

    @dataclass(frozen=True)
    class Asking(Moving):
        def search(self, point):
            return Similar("hebb", rows=0.5)

        def grow(self, layer, dropped, n, context):
            return Method.grow(self, layer, dropped, n, context)

    def find(request, kept, n_wanted):
        asked.append((request, [k.tolist() for k in kept], n_wanted))
        return Found([np.array([1, 3]), np.array([1, 5])])

    update = updated(Asking(), find)
    assert asked == [(Similar("hebb", rows=0.5), [[6, 8, 10], [2, 4]], [2, 2])]
    assert [indices.tolist() for indices in update.grown] == [[1, 3], [1, 5]]
    assert update.n_random == [0, 0]
    assert update.layers[0].flat_indices.tolist() == [1, 3, 6, 8, 10]
    assert update.layers[1].flat_indices.tolist() == [1, 2, 4, 5]
