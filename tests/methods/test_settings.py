"""Settings of methods, searches and points of training."""

import numpy as np
import pytest
from scipy.stats import kstest, norm, uniform

from cofire.core.layer import SparseLayer
from cofire.core.random import stream
from cofire.methods import (
    Gradient,
    Method,
    Similar,
    TrainingPoint,
    UpdateContext,
    make_method,
)
from cofire.methods.ctre.sequential import CTRESequential
from cofire.methods.ctre.simultaneous import CTRESimultaneous
from cofire.methods.rigl import RigL
from cofire.methods.set import SET
from cofire.methods.snip import SNIP
from helpers.method_cases import at, two_connections, update


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
    layer = SparseLayer.from_flat_indices(
        range(24), weights, np.zeros(2), n_in=24, n_out=2
    )
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
        SparseLayer.from_flat_indices([0, 1], [middle, middle + 2**-11], [0], 2, 1)
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
