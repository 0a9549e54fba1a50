"""Tables of C files: steps lead to the right inputs, whole numbers to the weights."""

import ctypes

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofire import SparseMLPClassifier
from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.export.c.tables import model_tables, rounded
from cofire.export.c.write import to_c
from cofire.export.plain import Classes, PlainModel
from cofire.export.reading import rows_of
from helpers.c_programs import CModel


def model_of(layer):
    network = SparseNetwork([layer], "relu", "softmax")
    target = Classes(np.arange(layer.n_out))
    return PlainModel((), False, None, (network,), target)


def read(tables, n_out, n_in):
    """Return the matrix that a program reads from tables."""
    matrix, k = np.zeros((n_out, n_in)), 0
    for i, count in enumerate(tables.counts):
        at = 0
        for _ in range(count):
            at += int(tables.steps[k])
            scale = 1 if tables.scale is None else tables.scale[i]
            matrix[i, at] += tables.weights[k] * scale
            k += 1
    assert k == len(tables.steps) == len(tables.weights)
    return matrix


@st.composite
def layers(draw):
    n_in, n_out = draw(st.sampled_from([1, 5, 256, 257, 700, 70_000])), 4
    last = n_in * n_out - 1
    flat = sorted(draw(st.sets(st.integers(0, last), max_size=30)))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    weights, bias = rng.normal(size=len(flat)), rng.normal(size=n_out)
    return SparseLayer.from_flat_indices(
        np.array(flat, np.int64), weights, bias, n_in, n_out
    )


@given(layers(), st.sampled_from(["float", "int16", "int8"]))
def test_tables_say_what_the_layer_does(layer, kind):
    (tables,) = model_tables(model_of(layer), kind)
    found = read(tables, layer.n_out, layer.n_in)
    expected = rounded(model_of(layer), kind).networks[0].layers[0]
    np.testing.assert_allclose(found, expected.to_scipy().toarray(), rtol=1e-6)
    largest = np.zeros(layer.n_out)
    np.maximum.at(largest, layer.rows, np.abs(layer.weights))
    off = np.abs(expected.weights - layer.weights) / largest[layer.rows]
    most = {"float": 0, "int16": 0.51 / 32767, "int8": 0.51 / 127}[kind]
    assert off.max(initial=0) <= most


@pytest.mark.parametrize("n_in", [10, 516, 517, 5000])
def test_no_sum_of_products_is_too_large(n_in):
    weights = np.where(np.arange(n_in) % 2, 1.0, -1.0)
    layer = SparseLayer.from_flat_indices(
        np.arange(n_in), weights, np.zeros(1), n_in, 1
    )
    for kind, largest in (("int8", 2**31 - 1), ("int16", 2**63 - 1)):
        (tables,) = model_tables(model_of(layer), kind)
        total = np.abs(tables.weights.astype(object)).sum() * tables.most
        assert total <= largest
        assert tables.most == 32767 or total > 0.9 * largest


@pytest.mark.parametrize(
    ("places", "n_bytes"),
    [
        ([0, 255, 510], 1),  # fit bytes
        ([0, 256], 2),  # 2 * (2 + 4) bytes, or with one between 3 * (1 + 4)
        ([*range(0, 80, 4), 400], 1),
        (list(range(0, 6000, 300)), 2),
        (list(range(0, 60_000_000, 3_000_000)), 2),
    ],
)
def test_steps_take_the_smaller_type(places, n_bytes):
    n = places[-1] + 1
    layer = SparseLayer.from_flat_indices(
        np.array(places), np.ones(len(places)), np.zeros(1), n, 1
    )
    (tables,) = model_tables(model_of(layer), "float")
    assert tables.steps.itemsize == n_bytes


def test_a_wide_model_in_c(tmp_path):
    """More inputs than 16 bits count, and steps beyond them."""
    import scipy.sparse

    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((200, 70_000), density=0.001, rng=rng).tocsr()
    y = np.asarray(X[:, :35_000].sum(axis=1) > X[:, 35_000:].sum(axis=1)).astype(int)
    model = SparseMLPClassifier(
        (3,), epsilon=1, max_iter=2, n_networks=1, random_state=0, n_jobs=1
    )
    model.fit(X, y)
    done = to_c(model, tmp_path / "model.c")
    program = CModel(done, 2)
    outputs = program.each(rows_of(model, X), "predict_proba", ctypes.c_float)
    assert abs(outputs - model.predict_proba(X)).max() < 1e-5
