"""SET, by known answers."""

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.methods.set import SET
from helpers.method_cases import update


def test_set_drops_the_smallest_and_may_grow_it_again():
    # Four indices, three connections: the weakest goes, one of two indices comes.
    layer = SparseLayer.from_flat_indices(
        [0, 1, 2], [3, -0.1, 2], [0, 0], n_in=2, n_out=2
    )
    seen = set()
    for seed in range(30):
        dropped, grown = update(SET(), layer, 1, seed)
        assert dropped.tolist() == [1]
        assert grown.n_random == 1
        seen.add(int(grown.indices[0]))
    assert seen == {1, 3}


def test_the_signed_rule_drops_a_share_of_either_sign():
    # By magnitude only positive ones would go.
    weights = [-9, -8, -7, -6, -5, 1, 1.5, 2, 2.5, 3]
    layer = SparseLayer.from_flat_indices(
        range(10), weights, np.zeros(4), n_in=5, n_out=4
    )
    assert update(SET(), layer, 2)[0].tolist() == [5, 6]
    dropped, grown = update(SET(drop_rule="signed"), layer, 2)
    assert dropped.tolist() == [4, 5, 6]  # from -5 to 1.5: one more than two
    assert len(grown.indices) == 3
