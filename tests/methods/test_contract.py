"""One contract for the whole table of methods."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cofire.core.layer import SparseLayer
from cofire.core.optimizers import SGD
from cofire.lab.paper import published
from cofire.methods import METHODS, Grown, Similar, make_method
from cofire.methods.ctre.ablations import CTREWithoutRandom
from cofire.methods.set import SET
from cofire.methods.snip import SNIP
from cofire.methods.static import Static
from cofire.persistence.progress import describe_progress, restore_progress
from cofire.training.loop import train
from cofire.training.progress import Progress
from helpers import naive
from helpers.estimator_cases import network_bits, same
from helpers.method_cases import at, full_network, in_training, two_connections
from helpers.training_cases import SETTINGS, rewire_now
from helpers.training_cases import begin as start

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


# ---- the contract --------------------------------------------------------------------


def test_the_table_has_every_method_that_the_paper_prints():
    files = {path.stem for path in published.FOLDER.glob("*.csv")} - {"datasets"}
    lines = [row for file in files for row in published.rows(file) if "method" in row]
    printed = {published.cell_of(row).method for row in lines} - {"CTRE"}  # the better
    assert {"dense", "snip", "rigl", "set", "ctre_seq", "ctre_sim"} < printed
    assert printed <= set(METHODS)


@pytest.mark.parametrize("name", sorted(METHODS))
@given(seed=seeds, options=options(), epoch=st.integers(0, 9), stall=st.integers(0, 80))
@settings(max_examples=60)
def test_every_method_keeps_the_contract(name, seed, options, epoch, stall):
    method = make_method(name, options)
    progress, data, how = in_training(seed, method, epoch=epoch, longest_stall=stall)
    if not method.rewires(at(epoch)):
        return
    before = progress.network.copy()

    rewiring = rewire_now(progress, data, how)

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
        kept = naive.flat_indices(old) - set(dropped.tolist())
        assert kept.isdisjoint(grown.tolist())
        assert kept | set(grown.tolist()) == naive.flat_indices(new)
        assert 0 <= rewiring.n_random[i] <= len(grown)
        # Whoever stayed kept weight and momentum; by `returning` so did the returned.
        momentum = progress.optimizer.state[i].weights[0]
        stayed = np.isin(new.flat_indices, sorted(kept))
        if method.returning == "kept":
            stayed |= np.isin(new.flat_indices, dropped)
        was = np.searchsorted(old.flat_indices, new.flat_indices[stayed])
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
        rewire_now(progress, data, replace(how, n_threads=n_threads))
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


@pytest.mark.parametrize("name", ["dense", "static", "snip"])
def test_a_fixed_topology_is_never_rewired(name):
    assert not any(METHODS[name]().rewires(at(epoch)) for epoch in range(10))


@pytest.mark.parametrize(
    ("name", "before"),
    [("rigl", True), ("rigl_uniform", True), ("set", False), ("ctre_sim", False)],
)
def test_rigl_rewires_before_the_first_epoch_others_after_it(name, before):
    assert METHODS[name]().rewires(at(0)) is before


def test_dense_stays_full_and_snip_starts_full():
    assert METHODS["dense"]().full and not METHODS["dense"]().starts_full
    assert METHODS["snip"]().starts_full and not METHODS["snip"]().full
    for name in REWIRING:
        assert not METHODS[name]().full, name


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_method_whose_phase_waits_for_validation_says_that_it_needs_it(name):
    method = METHODS[name]()
    before, after = (method.phase(at(3, 500, longest_stall=n)) for n in (0, 99))
    assert (before != after) is method.needs_validation


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_method_has_no_phases_or_two_and_switches_once(name):
    method = METHODS[name]()
    points = [at(epoch, 500, longest_stall=epoch // 2) for epoch in range(500)]
    phases = [method.phase(point) for point in points]
    n_switches = sum(a != b for a, b in zip(phases, phases[1:], strict=False))
    assert n_switches == (phases[0] is not None)
    assert None not in phases or set(phases) == {None}


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
        rewire_now(progress, data, how)
    assert progress.network.layers[0] is layer  # nothing has changed


@pytest.mark.parametrize("drop_last", [False, True])
def test_a_search_may_look_at_the_last_rows_of_the_epoch_before(drop_last):
    """Ten rows in batches of four: the last batch has two rows, or is dropped."""
    layer = SparseLayer.from_flat_indices([0], [1], np.zeros(10), n_in=10, n_out=10)
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
    used = data.steps(how, progress.seed).pass_order(2)
    used = used[4:8] if drop_last else used[8:]
    rewiring = rewire_now(progress, data, how)
    (index,) = rewiring.grown[0].tolist()
    assert index % 10 in used


def test_what_the_forms_of_ctre_search_for():
    now = at(400, 500)
    names = [name for name in METHODS if name.startswith("ctre_")]
    searches = {name: METHODS[name]().search(now) for name in names}
    for name in ("ctre_sim", "ctre_seq", "ctre_wo_random", "ctre_seq_abl2"):
        assert searches[name] == Similar()
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
