"""The forms of CTRE, by known answers."""

from dataclasses import replace

from cofire.core.layer import SparseLayer
from cofire.methods import Similar, make_method
from cofire.methods.ctre.ablations import CTREWithoutRandom
from cofire.methods.ctre.sequential import CTRESequential
from cofire.methods.ctre.simultaneous import CTRESimultaneous
from helpers.method_cases import at, two_connections, update


def test_ctre_sim_grows_the_similar_pair():
    method = CTRESimultaneous()
    dropped, grown = update(method, two_connections(), 1, candidates=[5])
    assert dropped.tolist() == [0]
    assert grown.indices.tolist() == [5]
    assert grown.n_random == 0


def test_ctre_sim_grows_at_random_where_the_similar_pair_was_just_dropped():
    seen = set()
    for seed in range(60):
        _, grown = update(CTRESimultaneous(), two_connections(), 1, seed, [0])
        assert grown.n_random == 1
        seen.add(int(grown.indices[0]))
    assert seen == {1, 2, 3, 5}  # neither 0, just dropped, nor 4, which stays


def test_ctre_sim_lets_dropped_indices_return_where_no_other_is_left():
    layer = SparseLayer.from_flat_indices(
        [0, 1, 2, 3], [1, 2, 3, 9], [0], n_in=5, n_out=1
    )
    seen = set()
    for seed in range(60):
        dropped, grown = update(CTRESimultaneous(), layer, 3, seed, [0, 1, 2])
        assert dropped.tolist() == [0, 1, 2]
        assert grown.n_random == 3
        assert 4 in grown.indices
        seen.add(tuple(grown.indices.tolist()))
    assert seen == {(0, 1, 4), (0, 2, 4), (1, 2, 4)}


def test_ctre_wo_random_lets_the_dropped_pair_return():
    _, grown = update(CTREWithoutRandom(), two_connections(), 1, candidates=[0])
    assert grown.indices.tolist() == [0]
    assert grown.n_random == 0


def test_ctre_seq_switches_for_good_after_forty_epochs_in_a_row():
    method = CTRESequential()
    assert method.patience == 40
    assert CTRESequential(patience=1).phase(at(2, 5, longest_stall=1)) == "random"
    before, after = (at(99, 500, longest_stall=n) for n in (39, 40))
    assert (method.phase(before), method.phase(after)) == ("similar", "random")
    assert method.search(before) == Similar("cosine", "all", "random")
    assert method.search(after) is None
    _, grown = update(method, two_connections(), 1, candidates=[5], longest_stall=39)
    assert (grown.indices.tolist(), grown.n_random) == ([5], 0)
    seen = {
        int(update(method, two_connections(), 1, seed, longest_stall=40)[1].indices[0])
        for seed in range(60)
    }
    assert seen == {0, 1, 2, 3, 5}


def test_the_reversed_orders_begin_at_random():
    abl1, abl2 = make_method("ctre_seq_abl1"), make_method("ctre_seq_abl2")
    for stall, is_random in [(0, True), (39, True), (40, False)]:
        point = at(60, 500, longest_stall=stall)
        assert (abl1.phase(point) == "random") is is_random
    # The update after epoch 250 is the last random one; it opens the epoch with
    # number 250, counted from 0.
    for epoch, is_random in [(1, True), (250, True), (251, False), (499, False)]:
        point = at(epoch, 500, longest_stall=99)
        assert (abl2.phase(point) == "random") is is_random
        later = replace(point, epoch=epoch + 500, first_epoch=500)
        assert (abl2.phase(later) == "random") is is_random


def test_the_first_update_in_index_order_fills_the_first_rows():
    method = CTREWithoutRandom(first_update="index_order")
    assert method.rewires(at(0)) and not CTREWithoutRandom().rewires(at(0))
    # Input 0 to output 0 is dropped and free again; then input 0 to output 1, …
    layer = SparseLayer.from_flat_indices([0, 4], [0.1, 5], [0, 0], n_in=3, n_out=2)
    _, grown = update(method, layer, 1, epoch=0)
    assert grown.indices.tolist() == [0]
    layer = SparseLayer.from_flat_indices(
        [0, 3, 4], [9, 0.1, 0.2], [0, 0], n_in=3, n_out=2
    )
    dropped, grown = update(method, layer, 2, epoch=0)
    assert dropped.tolist() == [3, 4]
    assert grown.indices.tolist() == [1, 3]  # input 0 to output 1, input 1 to output 0
