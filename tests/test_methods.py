"""One contract for the whole table, and every method beside its definition."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest, norm, uniform

import naive
import naive_methods
from cofire.core.layer import SparseLayer
from cofire.core.optimizers import SGD
from cofire.core.random import stream
from cofire.methods import (
    METHODS,
    Gradient,
    Grown,
    Method,
    Similar,
    TrainingPoint,
    UpdateContext,
    make_method,
)
from cofire.methods.ctre.ablations import CTREWithoutRandom
from cofire.methods.ctre.sequential import CTRESequential
from cofire.methods.ctre.simultaneous import CTRESimultaneous
from cofire.methods.rigl import RigL
from cofire.methods.set import SET
from cofire.methods.snip import SNIP
from cofire.methods.static import Static
from cofire.persistence.progress import describe_progress, restore_progress
from cofire.training.loop import train
from cofire.training.progress import Progress
from cofire.training.rewiring import begin, rewire_network
from estimator_cases import network_bits, same
from method_cases import in_training, whole_layer
from test_training import SETTINGS
from test_training import begin as start


def at(epoch, max_epochs=10, **how):
    """Where training stands before this epoch, with one update per epoch."""
    return TrainingPoint(update=epoch, epoch=epoch, max_epochs=max_epochs, **how)


OURS = (
    "cofire ctre_sim ctre_seq set rigl snip static dense ctre_wo_random ctre_sim_lth "
    "ctre_sim_hebb ctre_seq_hebb ctre_sim_euclidean ctre_sample2 ctre_sample4 "
    "ctre_seq_abl1 ctre_seq_abl2 rigl_uniform"
).split()
REWIRING = [name for name in sorted(METHODS) if METHODS[name]().rewires(at(1))]
seeds = st.integers(0, 2**31 - 1)


def options():
    """Draw any setting of the knobs that all methods share."""
    return st.fixed_dictionaries(
        {
            "drop_rule": st.sampled_from(["magnitude", "signed"]),
            "new_values": st.sampled_from(
                ["normal", "he_uniform", "zero", "layer_spread"]
            ),
            "returning": st.sampled_from(["fresh", "kept"]),
            "ties": st.sampled_from(["random", "index"]),
            "first_update": st.sampled_from(["none", "index_order"]),
        }
    )


def update(method, layer, n, seed=0, candidates=None, **moment):
    """Drop and grow in one layer: what the trainer does with it."""
    moment = {"epoch": 3, "max_epochs": 10} | moment
    moment |= {"update": moment["epoch"]}
    context = UpdateContext(seed=seed, layer_index=0, drop_fraction=0.2, **moment)
    dropped = method.drop(layer, n, context)
    if candidates is not None:
        context = replace(context, candidates=np.array(candidates))
    return dropped, method.grow(layer, dropped, len(dropped), context)


# ---- the contract --------------------------------------------------------------------


def test_the_table_has_all_methods_of_the_paper():
    assert set(OURS) <= set(METHODS)
    assert list(METHODS)[:18] == OURS


@pytest.mark.parametrize("name", sorted(METHODS))
@given(seed=seeds, options=options(), epoch=st.integers(0, 9), stall=st.integers(0, 80))
@settings(max_examples=60)
def test_every_method_keeps_the_contract(name, seed, options, epoch, stall):
    method = make_method(name, options)
    progress, data, how = in_training(seed, method, epoch=epoch, longest_stall=stall)
    if not method.rewires(at(epoch)):
        return
    before = progress.network.copy()

    rewiring = rewire_network(progress, data, how)

    for i, (old, new) in enumerate(
        zip(before.layers, progress.network.layers, strict=True)
    ):
        new.check()
        last = i == len(before.layers) - 1
        if method.shrinks and not last:
            kept = old.nnz - len(rewiring.dropped[i])
            assert kept <= new.nnz <= old.nnz
            assert new.nnz == old.nnz or 2 * kept >= old.n_out
        else:
            assert new.nnz == old.nnz
        dropped, grown = rewiring.dropped[i], rewiring.grown[i]
        assert (np.diff(grown) > 0).all() and (np.diff(dropped) > 0).all()
        kept = naive.places(old) - set(dropped.tolist())
        assert kept.isdisjoint(grown.tolist())
        assert kept | set(grown.tolist()) == naive.places(new)
        assert 0 <= rewiring.n_random[i] <= len(grown)
        # Whoever stayed kept weight and momentum; by `returning` so did the returned.
        momentum = progress.optimizer.state[i].weights[0]
        stayed = np.isin(new.keys, sorted(kept))
        if method.returning == "kept":
            stayed |= np.isin(new.keys, dropped)
        was = np.searchsorted(old.keys, new.keys[stayed])
        assert np.array_equal(new.weights[stayed], old.weights[was])
        assert np.array_equal(momentum[stayed], was + 1)
        assert not momentum[~stayed].any()
        if method.new_values == "zero":
            assert not new.weights[~stayed].any()


@pytest.mark.parametrize("name", REWIRING)
@given(seed=seeds, options=options())
@settings(max_examples=15)
def test_every_method_repeats_itself(name, seed, options):
    method = make_method(name, options)
    results = []
    for n_threads in (1, 3):
        progress, data, how = in_training(seed, method)
        rewire_network(progress, data, replace(how, n_threads=n_threads))
        results.append(network_bits(progress.network))
    assert same(*results)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_is_a_value(name):
    method = make_method(name)
    assert type(method) is METHODS[name]
    assert make_method(method) is method
    assert pickle.loads(pickle.dumps(method)) == method == METHODS[name]()
    assert repr(method).startswith(f"{METHODS[name].__name__}(drop_rule='magnitude', ")
    assert METHODS[name](returning="kept") != method
    assert hash(METHODS[name](returning="kept")) != hash(method)
    with pytest.raises(ValueError, match="unknown returning 'old'"):
        METHODS[name](returning="old")
    with pytest.raises(ValueError, match="unknown drop_rule 'weakest'"):
        METHODS[name](drop_rule="weakest")


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_gives_the_same_bits_after_a_resume(name):
    """Also where a phase ends in between, which validation decides."""
    scores = iter(2 * [0.5, 0.6, 0.4, 0.5, 0.5, 0.5, 0.7, 0.6])

    def validate(network):
        return next(scores), 0.0

    patience = {"patience": 3} if METHODS[name].needs_validation else {}
    how = replace(SETTINGS, method=METHODS[name](**patience), max_epochs=8)
    through, data = start(validate=validate)
    train(through, data, how, n_epochs=8)
    stopped, _ = start()
    for n_epochs in (1, 4, 3):
        train(stopped, data, how, n_epochs=n_epochs)
        arrays = {}
        plain = describe_progress(stopped, arrays)
        stopped = restore_progress(plain, {k: v.copy() for k, v in arrays.items()})
    assert same(network_bits(through.network), network_bits(stopped.network))
    for key in ("random_phase", "switched", "replaced", "random_share", "alive"):
        one, two = ([r[key] for r in p.history] for p in (through, stopped))
        assert one == two
    if patience:
        assert [r["switched"] for r in through.history] == 4 * [False] + 4 * [True]


def test_who_rewires_when_and_what_it_needs():
    methods = {name: METHODS[name]() for name in OURS}
    assert {n for n, m in methods.items() if not m.rewires(at(1))} == {
        "dense",
        "static",
        "snip",
    }
    assert {n for n, m in methods.items() if m.rewires(at(0))} == {
        "rigl",
        "rigl_uniform",
    }
    assert {n for n, m in methods.items() if m.full} == {"dense"}
    assert {n for n, m in methods.items() if m.starts_full} == {"snip"}
    assert {n for n, m in methods.items() if m.needs_validation} == {
        "ctre_seq",
        "ctre_seq_hebb",
        "ctre_seq_abl1",
    }
    now = at(3)
    phases = {n for n, m in methods.items() if m.phase(now) is not None}
    assert phases == {"ctre_seq", "ctre_seq_hebb", "ctre_seq_abl1", "ctre_seq_abl2"}
    late = at(400, 500, longest_stall=99)
    switched = {n for n, m in methods.items() if m.phase(late) != m.phase(now)}
    assert switched == phases


@pytest.mark.parametrize(
    ("grown", "error", "message"),
    [
        (np.array([1]), TypeError, "Rogue.grow must return a Grown, got ndarray"),
        (Grown(np.array([1.0]), 0), ValueError, "must return 1 whole .* of float64"),
        (
            Grown(np.array([1, 2]), 0),
            ValueError,
            "as many indices as the layer may grow",
        ),
        (Grown(np.array([1]), 2), ValueError, r"n_random must lie in \[0, 1\], got 2"),
        (Grown(np.array([1]), -1), ValueError, "got -1"),
    ],
)
def test_what_a_method_must_not_return_is_refused(grown, error, message):
    class Rogue(SET):
        def grow(self, layer, dropped, n, context):
            return grown

    progress, data, how = full_network([1] * 6)
    layer = two_connections()
    progress.network.layers[0] = layer
    progress.optimizer.start(progress.network)
    how = replace(how, method=Rogue(), drop_fraction=0.5)
    with pytest.raises(error, match=message):
        rewire_network(progress, data, how)
    assert progress.network.layers[0] is layer  # nothing has changed


@pytest.mark.parametrize("drop_last", [False, True])
def test_a_search_may_look_at_the_last_rows_of_the_epoch_before(drop_last):
    """Ten rows in batches of four: the last batch has two rows, or is dropped."""
    layer = SparseLayer.from_keys([0], [1], np.zeros(10), n_in=10, n_out=10)
    progress, data, how = in_training(0, CTREWithoutRandom(rows="last_batch"))
    data = replace(
        data,
        rows=type(data.rows)(np.eye(10, dtype=np.float32)),
        targets=np.zeros((10, 10), np.float32),
        sample_weight=None,
        row_ids=np.arange(10),
    )
    network = replace(progress.network, layers=[layer], activation="relu")
    layer.bias[:] = 1  # every output fires, an input only in its own row
    progress = Progress(network, SGD(), 1, epoch=3)
    progress.optimizer.start(network)
    how = replace(how, batch_size=4, drop_last=drop_last, drop_fraction=1.0)
    used = data.order(how, progress.seed, 2)
    used = used[4:8] if drop_last else used[8:]
    rewiring = rewire_network(progress, data, how)
    (place,) = rewiring.grown[0].tolist()
    assert place % 10 in used


def test_what_the_forms_of_ctre_search_for():
    now = at(400, 500)
    searches = {name: METHODS[name]().search(now) for name in OURS if "ctre" in name}
    usual = {"ctre_sim", "ctre_seq", "ctre_wo_random", "ctre_seq_abl2"}
    assert {n for n, search in searches.items() if search == Similar()} == usual
    assert searches["ctre_seq_abl1"] is None  # random until validation stalls
    for name, rows in [("ctre_sample2", 0.5), ("ctre_sample4", 0.25)]:
        assert searches[name] == Similar("cosine", rows)
    for name, score in [
        ("ctre_sim_lth", "lowest_cosine"),
        ("ctre_sim_hebb", "hebb"),
        ("ctre_seq_hebb", "hebb"),
        ("ctre_sim_euclidean", "euclidean"),
    ]:
        assert searches[name] == Similar(score)


def test_ctre_searches_from_the_second_epoch_on():
    method = CTREWithoutRandom(first_update="index_order")
    assert method.search(at(0)) is None
    assert method.search(at(1)) == Similar()


def test_static_never_rewires():
    assert not any(Static().rewires(at(epoch)) for epoch in (0, 1, 3, 400))


def test_only_a_method_that_starts_full_says_how():
    class Careless(Static):
        starts_full = True

    network, _, _ = in_training(0, Careless())
    with pytest.raises(
        TypeError, match=r"Careless has starts_full = True and must define begin"
    ):
        Careless().begin(network, [], [], seed=0)
    assert Careless().first_batches == SNIP().first_batches == 1
    assert SNIP(batches=3).first_batches == 3


# ---- settings ------------------------------------------------------------------------


def test_an_unknown_method_is_named():
    with pytest.raises(ValueError, match="unknown method 'ctre_sin'.*'ctre_sim'"):
        make_method("ctre_sin")


def test_options_go_to_the_methods_that_have_them():
    options = {"returning": "kept", "patience": 7, "rows": 0.1, "new_values": "normal"}
    assert make_method("set", options) == SET(returning="kept")
    assert make_method("ctre_seq", options) == CTRESequential(
        returning="kept", patience=7, rows=0.1
    )
    assert make_method("rigl", options) == RigL(returning="kept")  # always zeros
    assert make_method("rigl_uniform", options).new_values == "normal"


def test_an_option_that_no_method_has_is_refused():
    with pytest.raises(ValueError, match="unknown option .* 'patiense'.*'patience'"):
        make_method("set", {"patiense": 3})
    with pytest.raises(ValueError, match="SET is an object that brings its own"):
        make_method(SET(), {"returning": "kept"})
    with pytest.raises(TypeError, match="method_options must be a dict.*'returning'"):
        make_method("set", "returning")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SET(new_values="zeros"), "unknown new_values 'zeros'.*'zero'"),
        (lambda: CTRESimultaneous(score="cosin"), "unknown score 'cosin'"),
        (lambda: CTRESimultaneous(score="gradient"), "unknown score .*cosine, euclid"),
        (lambda: CTRESimultaneous(rows="next_batch"), "CTRE compares activations"),
        (lambda: CTRESimultaneous(rows="every"), "rows must be one of.*'every'"),
        (lambda: CTRESimultaneous(rows=0.0), r"rows must be .*\(0, 1\].*, got 0.0"),
        (lambda: CTRESimultaneous(rows=1.5), r"rows must be .*\(0, 1\].*, got 1.5"),
        (lambda: CTRESimultaneous(ties="first"), "unknown ties 'first'"),
        (lambda: CTRESimultaneous(first_update="all"), "unknown first_update 'all'"),
        (lambda: CTRESequential(patience=0), "patience must be at least 1, got 0"),
        (lambda: RigL(batch="all"), "unknown batch 'all'"),
        (lambda: SNIP(batches=0), "batches must be at least 1, got 0"),
        (lambda: SNIP(scope="network"), "unknown scope 'network'"),
    ],
)
def test_a_wrong_setting_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_rigl_has_no_say_in_its_new_values():
    with pytest.raises(TypeError, match="new_values"):
        RigL(new_values="normal")
    assert RigL().new_values == "zero"


def test_a_method_grows_what_it_searched_for_or_must_say_where():
    _, grown = update(Method(), two_connections(), 1, candidates=[5])
    assert (grown.indices.tolist(), grown.n_random) == ([5], 0)
    with pytest.raises(TypeError, match=r"Method must define search\(\) or grow\(\)"):
        update(Method(), two_connections(), 1)


def test_a_point_is_the_first_fit_without_a_stall_by_default():
    point = at(3)
    assert (point.first_epoch, point.longest_stall) == (0, 0)
    context = UpdateContext(seed=5, update=3, epoch=3, max_epochs=10, layer_index=2)
    assert (context.drop_fraction, context.candidates) == (0, None)


def test_points_and_settings_that_all_share_go_by_name():
    for make in (
        lambda: TrainingPoint(3, 3, 10),
        lambda: UpdateContext(3, 3, 10, seed=5, layer_index=2),
        lambda: UpdateContext(5, 2, update=3, epoch=3, max_epochs=10),
        lambda: SET("signed"),
    ):
        with pytest.raises(TypeError, match="positional"):
            make()


def test_a_context_has_one_stream_per_layer_and_update():
    context = UpdateContext(seed=5, update=7, epoch=3, max_epochs=10, layer_index=2)
    same_stream = stream(5, "grow", layer=2, epoch=7)
    assert context.rng("grow").integers(2**63) == same_stream.integers(2**63)


def test_new_weights_are_drawn_as_the_method_says():
    weights = np.linspace(-1, 1, 24) * np.sqrt(3)  # a spread of about 1
    layer = SparseLayer.from_keys(range(24), weights, np.zeros(2), n_in=24, n_out=2)
    for new_values, law in [
        ("normal", norm(0, 0.1)),
        ("he_uniform", uniform(-0.5, 1)),  # sqrt(6 / 24) = 0.5
        ("layer_spread", norm(0, weights.std() / 2)),
    ]:
        method, rng = SET(new_values=new_values), np.random.default_rng(0)
        drawn = method.new_weights(layer, 3000, rng)
        assert drawn.dtype == np.float32
        assert kstest(drawn, law.cdf).pvalue > 0.001
    zeros = SET(new_values="zero").new_weights(layer, 3, np.random.default_rng(0))
    assert (zeros.tolist(), zeros.dtype) == ([0, 0, 0], np.float32)


def test_the_spread_of_weights_that_differ_little_is_not_rounded_away():
    near_zero, near_4096 = (
        SparseLayer.from_keys([0, 1], [middle, middle + 2**-11], [0], 2, 1)
        for middle in (0, 4096)  # both are float32 numbers, their mean is not
    )
    method = SET(new_values="layer_spread")
    drawn = [
        method.new_weights(layer, 5, np.random.default_rng(0))
        for layer in (near_zero, near_4096)
    ]
    assert np.array_equal(*drawn) and drawn[0].all()


@pytest.mark.parametrize(
    "rows", ["all", "last_batch", "next_batch", "random_batch", 0.1, 1.0]
)
def test_a_search_is_a_value_that_names_its_rows(rows):
    search = Similar("hebb", rows)
    assert search.rows == rows
    assert len({search, Similar("hebb", rows), Similar("cosine", rows)}) == 2


@pytest.mark.parametrize("batch", ["next_batch", "random_batch"])
def test_rigl_searches_the_batch_that_it_was_told(batch):
    now = at(3)
    assert RigL(batch=batch).search(now) == Gradient(batch)


# ---- known answers -------------------------------------------------------------------

#     inputs 0 1 2
# output 0:  x . .     places 0 1 2
# output 1:  . x .     places 3 4 5


def two_connections(weights=(0.1, 5)):
    return SparseLayer.from_keys([0, 4], weights, [0, 0], n_in=3, n_out=2)


def test_set_drops_the_smallest_and_may_grow_it_again():
    # Four places, three connections: the weakest goes, one of two places comes.
    layer = SparseLayer.from_keys([0, 1, 2], [3, -0.1, 2], [0, 0], n_in=2, n_out=2)
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
    layer = SparseLayer.from_keys(range(10), weights, np.zeros(4), n_in=5, n_out=4)
    assert update(SET(), layer, 2)[0].tolist() == [5, 6]
    dropped, grown = update(SET(drop_rule="signed"), layer, 2)
    assert dropped.tolist() == [4, 5, 6]  # from -5 to 1.5: one more than two
    assert len(grown.indices) == 3


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


def test_ctre_sim_lets_dropped_places_return_where_no_other_is_left():
    layer = SparseLayer.from_keys([0, 1, 2, 3], [1, 2, 3, 9], [0], n_in=5, n_out=1)
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
    layer = SparseLayer.from_keys([0, 4], [0.1, 5], [0, 0], n_in=3, n_out=2)
    _, grown = update(method, layer, 1, epoch=0)
    assert grown.indices.tolist() == [0]
    layer = SparseLayer.from_keys([0, 3, 4], [9, 0.1, 0.2], [0, 0], n_in=3, n_out=2)
    dropped, grown = update(method, layer, 2, epoch=0)
    assert dropped.tolist() == [3, 4]
    assert grown.indices.tolist() == [1, 3]  # input 0 to output 1, input 1 to output 0


def test_rigl_grows_where_the_gradient_is():
    # x = (1, 0, 2), target - output = (0, 3): the gradient is largest at place 5.
    progress, data, how = in_training(0, RigL())
    layer = SparseLayer.from_keys([0, 4], [1, 5], [0, 0], n_in=3, n_out=2)
    X = np.array([[1, 0, 2]], np.float32)
    data = replace(
        data,
        rows=type(data.rows)(X),
        targets=np.array([[1, 3]], np.float32),
        sample_weight=None,
        row_ids=np.array([0]),
    )
    network = replace(progress.network, layers=[layer])
    progress = Progress(network, SGD(), 1)
    progress.optimizer.start(network)
    rewiring = rewire_network(progress, data, replace(how, drop_fraction=0.5))
    assert rewiring.dropped[0].tolist() == [0]
    assert rewiring.grown[0].tolist() == [5]
    assert network.layers[0].weights.tolist() == [5, 0]


def full_network(weights):
    """One full layer of three inputs and two outputs."""
    layer = SparseLayer.from_keys(range(6), weights, [0, 0], n_in=3, n_out=2)
    progress, data, how = in_training(0, SNIP())
    network = replace(progress.network, layers=[layer])
    progress = Progress(network, SGD(), 1)
    progress.optimizer.start(network)
    return progress, data, how


def test_snip_keeps_what_matters_most():
    # x = (1, 2, 0): outputs (3, 0) where (0, 1) is wanted, so the gradients are
    # 3, 6, 0 and -1, -2, 0; times the weights 3, 6, 0 and 2, 2, 0.
    progress, data, how = full_network([1, 1, 9, 2, -1, 9])
    data = replace(
        data,
        rows=type(data.rows)(np.array([[1, 2, 0]], np.float32)),
        targets=np.array([[0, 1]], np.float32),
        sample_weight=None,
        row_ids=np.array([0]),
    )
    begin(progress, data, replace(how, method=SNIP()), [2])
    (layer,) = progress.network.layers
    assert layer.keys.tolist() == [0, 1]
    assert layer.weights.tolist() == [1, 1]  # as they were at first
    assert [len(m) for m in progress.optimizer.state[0].weights] == [2]


def test_snip_counts_the_penalty_in():
    # Without data every gradient is that of the penalty: the largest weights stay.
    progress, data, how = full_network([1, -5, 2, 4, 3, 0])
    data = replace(
        data,
        rows=type(data.rows)(np.ones((1, 3), np.float32)),
        targets=np.ones((1, 2), np.float32),
        row_ids=np.array([0]),
        sample_weight=np.zeros(1, np.float32),
    )
    progress.optimizer.alpha = 0.1
    begin(progress, data, replace(how, method=SNIP()), [3])
    assert progress.network.layers[0].keys.tolist() == [1, 3, 4]


def test_snip_over_all_layers_leaves_none_empty():
    progress, data, how = full_network([1, 2, 3, 4, 5, 6])
    small = SparseLayer.from_keys(range(4), [0.1, 0.2, 0.3, 0.4], [0, 0], 2, 2)
    network = replace(progress.network, layers=[*progress.network.layers, small])
    ones = [np.ones(6, np.float32), np.ones(4, np.float32)]
    chosen = SNIP(scope="global").begin(network, ones, [3, 2], seed=0)
    assert [places.tolist() for places in chosen] == [[2, 3, 4, 5], [3]]
    chosen = SNIP().begin(network, ones, [3, 2], seed=0)
    assert [places.tolist() for places in chosen] == [[3, 4, 5], [2, 3]]


def test_snip_over_all_layers_keeps_the_best_of_each_and_then_the_best():
    two = [SparseLayer.from_keys([0, 1], w, [0], 2, 1) for w in ([10, 1], [9, 8])]
    network = replace(full_network([1] * 6)[0].network, layers=two)
    ones = [np.ones(2, np.float32)] * 2
    chosen = SNIP(scope="global").begin(network, ones, [2, 1], seed=0)
    assert [places.tolist() for places in chosen] == [[0], [0, 1]]  # 10, 9, then 8


def test_snip_draws_lots_anew_in_each_layer():
    layer = SparseLayer.from_keys(range(50), np.ones(50), np.zeros(5), 10, 5)
    network = replace(full_network([1] * 6)[0].network, layers=[layer, layer])
    ones = [np.ones(50, np.float32)] * 2
    first, second = SNIP().begin(network, ones, [25, 25], seed=0)
    assert not np.array_equal(first, second)


def test_snip_wants_gradients_and_a_count_for_every_layer():
    network, ones = full_network([1] * 6)[0].network, [np.ones(6, np.float32)]
    with pytest.raises(ValueError, match="longer"):
        SNIP().begin(network, 2 * ones, [3], seed=0)
    with pytest.raises(ValueError, match="longer"):
        SNIP().begin(network, ones, [3, 3], seed=0)


# ---- every update beside its definition ----------------------------------------------


@pytest.mark.parametrize("name", sorted(naive_methods.DEFINITIONS))
@pytest.mark.parametrize("variant", ["", "signed", "index"])
def test_every_update_equals_the_definition(name, variant):
    """On at least 1,000 layers for each method (a third of them for each variant)."""
    method = make_method(
        name,
        {
            "drop_rule": "signed" if variant == "signed" else "magnitude",
            "ties": "index" if variant == "index" else "random",
        },
    )
    index = variant == "index" and any(f.name == "ties" for f in fields(method))
    n_layers = seed = 0
    while n_layers < 400:
        seed += 1
        # Before and after the switch of the sequential ones.
        moment = {"longest_stall": 45 * (seed % 2), "epoch": 3 + 4 * (seed % 2)}
        progress, data, how = in_training(seed, method, **moment)
        expected = naive_methods.update(
            name,
            progress,
            data,
            how,
            signed=variant == "signed",
            ties="index" if index else "random",
        )
        rewiring = rewire_network(progress, data, how)
        for i, (dropped, grown) in enumerate(expected):
            assert set(rewiring.dropped[i].tolist()) == dropped, (seed, i)
            assert set(rewiring.grown[i].tolist()) == grown, (seed, i)
        n_layers += len(expected)


def test_snip_equals_the_definition():
    """The largest |w g|, layer by layer, on 1,000 layers."""
    n_layers = seed = 0
    while n_layers < 1000:
        seed += 1
        progress, data, how = in_training(seed, SNIP())
        rng = np.random.default_rng(seed)
        for i, layer in enumerate(progress.network.layers):
            n = layer.n_in * layer.n_out
            weights = rng.integers(-4, 5, size=n)
            progress.network.layers[i] = SparseLayer.from_keys(
                range(n), weights, layer.bias, layer.n_in, layer.n_out
            )
        progress.optimizer.start(progress.network)
        data = replace(data, sample_weight=None)
        counts = [
            int(rng.integers(1, x.n_in * x.n_out + 1)) for x in progress.network.layers
        ]
        network = progress.network.copy()
        begin(progress, data, replace(how, shuffle=False), counts)

        used = data.row_ids[:7]
        gradients = naive_methods.gradients(network, data, used)
        for layer, gradient, kept, n in zip(
            network.layers, gradients, progress.network.layers, counts, strict=True
        ):
            saliency = np.abs(naive.to_dense(layer) * gradient).ravel()
            assert kept.nnz == n
            chosen, rest = kept.keys, np.setdiff1d(layer.keys, kept.keys)
            # Sums of whole numbers over seven rows: equal up to the division by 7.
            if len(rest):
                lowest, highest = saliency[chosen].min(), saliency[rest].max()
                assert lowest >= highest - 1e-5 * max(1, highest)
            n_layers += 1


def test_layers_of_whole_numbers_are_of_all_kinds():
    kinds = {
        (layer.nnz == 0, layer.is_full)
        for layer in (whole_layer(np.random.default_rng(s), 3, 2) for s in range(200))
    }
    assert kinds == {(False, False), (True, False), (False, True)}
