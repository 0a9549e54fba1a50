"""Layers, networks and rewirings made by hand: broken ones are refused by name."""

import numpy as np
import pytest

from cofire import engine
from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.topology.indices import distinct
from cofire.topology.rewire import rewire
from cofire.topology.select import random_absent, smallest_magnitude

NONE = np.empty(0, np.int64)


def layer():
    return SparseLayer.from_flat_indices(
        [0, 3, 7], [0.5, -1, 2], [0, 0], n_in=4, n_out=2
    )


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"flat_indices": [3, 0, 7]}, "flat_indices"),
        ({"flat_indices": [0, 0, 7]}, "flat_indices"),
        ({"flat_indices": [-1, 3, 7]}, "flat_indices"),
        ({"flat_indices": [0, 3, 8]}, "flat_indices"),
        ({"flat_indices": [0.5, 3, 7]}, "flat_indices"),
        ({"flat_indices": [0, 3, np.nan]}, "flat_indices"),
        ({"flat_indices": ["a", "b", "c"]}, "flat_indices"),
        ({"flat_indices": [0, 3]}, "flat_indices"),
        ({"weights": [1, 2]}, "weights"),
        ({"bias": [0]}, "biases"),
        ({"n_in": 0}, "n_in"),
        ({"n_in": 2**31}, "n_in"),
        ({"n_in": -4, "n_out": -2}, "n_in"),
        ({"n_out": 0, "bias": []}, "n_out"),
    ],
)
def test_a_layer_that_is_none(change, named):
    sound = {"flat_indices": [0, 3, 7], "weights": [1, 2, 3], "bias": [0, 0]}
    with pytest.raises((ValueError, TypeError), match=named):
        SparseLayer.from_flat_indices(**sound | {"n_in": 4, "n_out": 2} | change)


BROKEN = {
    "indptr": [
        [0, 2, 9],
        [0, 5, 3],
        [1, 2, 3],
        [-1, 2, 3],
        [0, 3],
        [],
        [0, 2**62, 3],
    ],
    "indices": [[0, 3, 4], [0, -1, 3], [2**31 - 1, 3, 3], [0, 3]],
    "weights": [[1, 2], [1, 2, 3, 4], []],
    "bias": [[0], [0, 0, 0]],
    "n_in": [3, 0, -1, 2**31],
}
DTYPES = {"indptr": "i8", "indices": "i4", "weights": "f4", "bias": "f4"}


@pytest.mark.parametrize(
    ("field", "value"),
    [(f, v) for f, values in BROKEN.items() for v in values],
    ids=str,
)
def test_the_engine_does_not_follow_a_broken_layer(field, value):
    sound = layer()
    parts = {name: getattr(sound, name) for name in (*DTYPES, "n_in")}
    parts[field] = np.array(value, DTYPES[field]) if field in DTYPES else value
    network = SparseNetwork([SparseLayer(**parts)], "relu", "identity")
    with pytest.raises(ValueError):
        network.check()
    with pytest.raises((ValueError, TypeError)):
        engine.predict(network, engine.Rows(np.ones((3, 4), np.float32)))


@pytest.mark.parametrize(
    ("dropped", "grown", "weights", "named"),
    [
        ([1], [], [], "dropped"),
        ([0, 0], [1, 2], [1, 1], "dropped"),
        ([0.0], [1], [1], "dropped"),
        ([0], [3], [1], "grown"),
        ([0], [8], [1], "grown"),
        ([0], [-1], [1], "grown"),
        ([0, 3], [1, 1], [1, 1], "grown"),
        ([0], [1.5], [1], "grown"),
        ([0], [1], [np.nan], "new_weights"),
        ([0], [1], [np.inf], "new_weights"),
        ([0], [1], [1, 2], "weights"),
    ],
)
def test_a_rewiring_that_cannot_be(dropped, grown, weights, named):
    before = layer()
    indices = (np.array(a) if a else NONE for a in (dropped, grown))
    with pytest.raises((ValueError, TypeError), match=named):
        rewire(before, *indices, np.array(weights, np.float64))
    before.check()
    assert before.flat_indices.tolist() == [0, 3, 7]


def test_more_indices_than_there_are():
    rng = np.random.default_rng(0)
    for n in (-1, 6, 10**12):
        with pytest.raises(ValueError, match=str(n)):
            random_absent(layer(), n, rng)
        with pytest.raises(ValueError, match=str(n)):
            smallest_magnitude(layer(), n, rng)
    with pytest.raises(ValueError, match="distinct numbers"):
        distinct(3, 4, rng)
