import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, norm, uniform

import naive
from cofire.layer import SparseLayer
from cofire.methods import METHODS, Method, UpdateContext, make_method
from cofire.methods.ctre import CTRESimultaneous
from cofire.methods.set import SET
from cofire.randomness import stream
from cofire.topology.rewire import rewire
from strategies import layers

fractions = st.floats(0, 1)
seeds = st.integers(0, 2**31 - 1)


def update(method, layer, n, seed, similarity=None):
    """Drop, search, grow: what the trainer does with one layer."""
    context = UpdateContext(seed=seed, epoch=3, max_epochs=10, layer_index=0)
    dropped = method.drop(layer, n, context)
    if "activations" in method.needs:
        if similarity is None:
            rng = np.random.default_rng(seed)
            similarity = rng.integers(4, size=(layer.n_out, layer.n_in)) / 4
        similar = np.sort(naive.most_similar(layer, dropped, similarity, n))
        context = replace(context, similar=similar)
    return dropped, method.grow(layer, dropped, n, context)


def n_replaced(layer, fraction):
    return min(int(fraction * layer.nnz), layer.n_in * layer.n_out - layer.nnz)


@pytest.mark.parametrize("returning", ["fresh", "kept"])
@pytest.mark.parametrize("name", sorted(METHODS))
@given(layer=layers(), seed=seeds, fraction=fractions)
def test_every_method_keeps_the_connection_budget(
    name, returning, layer, seed, fraction
):
    method = METHODS[name](returning=returning)
    n = n_replaced(layer, fraction)

    dropped, grown = update(method, layer, n, seed)
    new_weights = np.zeros(len(grown.places))
    after, origin = rewire(
        layer, dropped, grown.places, new_weights, returning=method.returning
    )

    after.check()
    assert after.nnz == layer.nnz
    assert len(dropped) == len(grown.places) == (n if method.rewires(3) else 0)
    assert 0 <= grown.n_random <= len(grown.places)
    assert set(grown.places.tolist()).isdisjoint(
        naive.places(layer) - set(dropped.tolist())
    )
    assert (np.diff(grown.places) > 0).all()
    kept = origin >= 0
    assert np.array_equal(after.weights[kept], layer.weights[origin[kept]])


@pytest.mark.parametrize("name", sorted(METHODS))
@given(layer=layers(), seed=seeds, fraction=fractions)
def test_every_method_repeats_itself(name, layer, seed, fraction):
    method, n = METHODS[name](), n_replaced(layer, fraction)
    one, two = (update(method, layer, n, seed) for _ in range(2))
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1].places, two[1].places)
    assert one[1].n_random == two[1].n_random


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_is_a_value(name):
    method = make_method(name)
    assert type(method) is METHODS[name]
    assert make_method(method) is method
    assert pickle.loads(pickle.dumps(method)) == method
    assert METHODS[name](new_values="zero") != method
    with pytest.raises(ValueError, match="unknown new_values 'zeros'"):
        METHODS[name](new_values="zeros")
    with pytest.raises(ValueError, match="unknown returning 'old'"):
        METHODS[name](returning="old")


def test_only_the_static_topologies_never_rewire():
    never = {name for name in METHODS if not METHODS[name]().rewires(1)}
    assert never == {"dense", "static"}
    assert {name for name in METHODS if METHODS[name].full} == {"dense"}
    assert {name for name in METHODS if METHODS[name].needs} == {"ctre_sim"}


def test_an_unknown_method_is_named():
    with pytest.raises(ValueError, match="unknown method 'ctre_sin'.*'ctre_sim'"):
        make_method("ctre_sin")


def test_a_method_must_say_where_it_grows():
    with pytest.raises(TypeError, match="abstract.*grow"):
        Method()


def test_a_context_has_one_stream_per_layer_and_epoch():
    context = UpdateContext(seed=5, epoch=3, max_epochs=10, layer_index=2)
    same = stream(5, "grow", layer=2, epoch=3)
    assert context.rng("grow").integers(2**63) == same.integers(2**63)


def test_new_weights_are_drawn_as_the_method_says():
    layer = SparseLayer.from_keys([0], [1], np.zeros(2), n_in=24, n_out=2)
    for new_values, law in [
        ("normal", norm(0, 0.1)),
        ("he_uniform", uniform(-0.5, 1)),  # sqrt(6 / 24) = 0.5
    ]:
        method, rng = SET(new_values=new_values), np.random.default_rng(0)
        weights = method.new_weights(layer, 3000, rng)
        assert weights.dtype == np.float32
        assert kstest(weights, law.cdf).pvalue > 0.001
    zeros = SET(new_values="zero").new_weights(layer, 3, np.random.default_rng(0))
    assert zeros.tolist() == [0, 0, 0]


def test_set_drops_the_smallest_and_may_grow_it_again():
    # Four places, three connections: the weakest goes, one of two places comes.
    layer = SparseLayer.from_keys([0, 1, 2], [3, -0.1, 2], [0, 0], n_in=2, n_out=2)
    seen = set()
    for seed in range(30):
        dropped, grown = update(SET(), layer, 1, seed)
        assert dropped.tolist() == [1]
        assert grown.n_random == 1
        seen.add(int(grown.places[0]))
    assert seen == {1, 3}


#     inputs 0 1 2
# output 0:  x . .     places 0 1 2
# output 1:  . x .     places 3 4 5
def two_connections(weights=(0.1, 5)):
    return SparseLayer.from_keys([0, 4], weights, [0, 0], n_in=3, n_out=2)


def test_ctre_sim_grows_the_similar_pair():
    similarity = np.array([[0.2, 0.1, 0.3], [0.1, 1.0, 0.9]])
    dropped, grown = update(CTRESimultaneous(), two_connections(), 1, 0, similarity)
    assert dropped.tolist() == [0]
    assert grown.places.tolist() == [5]  # 4 is more similar, but it is there
    assert grown.n_random == 0


def test_ctre_sim_grows_at_random_where_the_similar_pair_was_just_dropped():
    similarity = np.array([[0.9, 0.1, 0.3], [0.1, 1.0, 0.8]])
    seen = set()
    for seed in range(60):
        _, grown = update(CTRESimultaneous(), two_connections(), 1, seed, similarity)
        assert grown.n_random == 1
        seen.add(int(grown.places[0]))
    assert seen == {1, 2, 3, 5}  # neither 0, just dropped, nor 4, which stays


def test_ctre_sim_lets_dropped_places_return_where_no_other_is_left():
    layer = SparseLayer.from_keys([0, 1, 2, 3], [1, 2, 3, 9], [0], n_in=5, n_out=1)
    similarity = np.array([[0.9, 0.8, 0.7, 0.6, 0.1]])
    seen = set()
    for seed in range(60):
        dropped, grown = update(CTRESimultaneous(), layer, 3, seed, similarity)
        assert dropped.tolist() == [0, 1, 2]
        assert grown.n_random == 3
        assert 4 in grown.places
        seen.add(tuple(grown.places.tolist()))
    assert seen == {(0, 1, 4), (0, 2, 4), (1, 2, 4)}


@given(layer=layers(), seed=seeds, fraction=fractions)
def test_ctre_sim_follows_the_dense_rule(layer, seed, fraction):
    n = int(fraction * layer.nnz)  # more than the free places, too: some must return
    rng = np.random.default_rng(seed)
    similarity = rng.permutation(layer.n_in * layer.n_out)  # no ties
    similarity = similarity.reshape(layer.n_out, layer.n_in)

    dropped, grown = update(CTRESimultaneous(), layer, n, seed, similarity)

    added, n_random, pool = naive.ctre_sim(layer, dropped.tolist(), similarity, n)
    rest = set(grown.places.tolist()) - added
    assert added <= set(grown.places.tolist())
    assert grown.n_random == n_random == len(rest)
    if len(pool) >= n_random:
        assert rest <= pool
    else:
        assert pool <= rest <= pool | set(dropped.tolist())
