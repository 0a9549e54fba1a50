"""Predictions: equal to the oracle, row by row, and accurate to a few ulp."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from cofire import engine
from cofire.core.layer import SparseLayer
from cofire.core.network import ACTIVATIONS, OUTPUTS, SparseNetwork
from cofire.core.optimizers import SGD
from helpers import oracle
from helpers.engine_cases import ROW_KINDS, Samples, cases, examples, random_network
from helpers.engine_checks import EPS

TINY = float(np.finfo(np.float32).tiny)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@examples(15)
@given(data=st.data())
def test_predictions_equal_the_oracle(activation, output, data):
    case = data.draw(cases(activation=activation, output=output))
    expected = oracle.DenseNetwork(case.network).predict(case.samples.dense)
    actual = engine.predict(case.network, case.samples.rows)
    assert actual.dtype == np.float32
    # Sums of at most 49 terms of size 1, four layers deep.
    np.testing.assert_allclose(actual, expected, rtol=0, atol=16 * EPS)


@pytest.mark.parametrize("n_features", [8193, 32769])
def test_predictions_of_wide_layers_equal_the_oracle(n_features):
    rng = np.random.default_rng(0)
    network = random_network(rng, (n_features, 3, 3), densities=[1.0, 1.0])
    samples = Samples.random(rng, "floats", 100, n_features)
    expected = oracle.DenseNetwork(network).predict(samples.dense)
    actual = engine.predict(network, samples.rows)
    # The rounding of a long sum grows like a random walk.
    near = EPS * np.sqrt(n_features)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=near)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("output", OUTPUTS)
def test_a_row_is_predicted_alike_alone_and_among_others(activation, output):
    rng = np.random.default_rng(0)
    network = random_network(rng, (17, 20, 9, 4), activation, output)
    X = rng.normal(size=(1100, 17)).astype(np.float32)
    everything = engine.predict(network, engine.Rows(X))
    for subset in (slice(0, 1), slice(5, 14), slice(7, 71), slice(1, 1100, 3)):
        some = engine.predict(network, engine.Rows(X[subset]))
        assert some.tobytes() == everything[subset].tobytes()


@pytest.mark.parametrize("n_threads", [1, 3])
def test_several_networks_predict_the_mean(n_threads):
    rng = np.random.default_rng(0)
    networks = [random_network(rng, (17, n, 4), output="softmax") for n in (5, 9, 300)]
    rows = engine.Rows(rng.normal(size=(2500, 17)).astype(np.float32))
    alone = [engine.predict(network, rows) for network in networks]
    expected = ((alone[0] + alone[1]) + alone[2]) / np.float32(3)
    actual = engine.predict(networks, rows, n_threads=n_threads)
    assert actual.tobytes() == expected.tobytes()


def test_networks_that_do_not_fit_together_are_refused():
    rng = np.random.default_rng(0)
    networks = [random_network(rng, (6, n)) for n in (2, 3)]
    rows = engine.Rows(np.zeros((1, 6), np.float32))
    with pytest.raises(ValueError, match="networks: expected 2 outputs of each, got 3"):
        engine.predict(networks, rows)


def test_the_kinds_of_rows_agree_bit_for_bit():
    rng = np.random.default_rng(0)
    network = random_network(rng, (33, 20, 4))
    X = rng.integers(0, 3, size=(130, 33), dtype=np.uint8)
    floats = X.astype(np.float32)
    expected = engine.predict(network, engine.Rows(floats)).tobytes()
    for other in (X, scipy.sparse.csr_array(floats), scipy.sparse.csr_matrix(floats)):
        assert engine.predict(network, engine.Rows(other)).tobytes() == expected


@pytest.mark.parametrize("kind", ROW_KINDS)
def test_no_rows_give_no_predictions(kind):
    rng = np.random.default_rng(0)
    network = random_network(rng, (5, 4, 3))
    rows = Samples.random(rng, kind, 0, 5).rows
    assert engine.predict(network, rows).shape == (0, 3)


# ---- exp, tanh and log ---------------------------------------------------------------

WIDE = np.concatenate(
    [
        np.linspace(-100, 100, 20_001),
        np.linspace(-1, 1, 5_001),
        *(sign * np.logspace(-30, 30, 601) for sign in (-1, 1)),
        [0.0, -0.0],
    ]
).astype(np.float32)


def one_input(activation, output, n_out=1):
    """A network whose output is a function of one number: weight 1, bias 0."""
    first = SparseLayer.from_flat_indices(
        [0], [1], np.zeros(n_out), n_in=1, n_out=n_out
    )
    if activation is None:
        return SparseNetwork([first], "identity", output)
    last = SparseLayer.from_flat_indices([0], [1], [0], n_in=1, n_out=1)
    return SparseNetwork([first, last], activation, output)


def in_ulp(actual, exact):
    """Distance from the exact value, in units of its last float32 place."""
    place = np.spacing(np.maximum(np.abs(exact), TINY).astype(np.float32))
    return np.abs(actual - exact) / place.astype(np.float64)


def of_wide(network):
    return engine.predict(network, engine.Rows(WIDE[:, None]))


def test_tanh_is_accurate_to_3_ulp_and_odd():
    actual = of_wide(one_input("tanh", "identity"))[:, 0]
    assert in_ulp(actual, np.tanh(WIDE.astype(np.float64))).max() <= 3
    mirrored = engine.predict(
        one_input("tanh", "identity"), engine.Rows(-WIDE[:, None])
    )
    assert np.array_equal(mirrored[:, 0], -actual)
    assert np.abs(actual).max() == 1


def test_sigmoid_is_accurate_to_4_ulp():
    actual = of_wide(one_input(None, "sigmoid"))[:, 0]
    exact = oracle.sigmoid(WIDE.astype(np.float64))
    is_normal = exact > 2 * TINY  # below that the engine may stop at any such number
    assert in_ulp(actual, exact)[is_normal].max() <= 4
    assert (actual[~is_normal] <= 2 * TINY).all()
    assert (actual[WIDE == 0] == 0.5).all()


def test_softmax_is_accurate_to_4_ulp_and_sums_to_one():
    actual = of_wide(one_input(None, "softmax", n_out=2))
    exact = oracle.softmax(np.stack([WIDE, 0 * WIDE], axis=1).astype(np.float64))
    is_normal = exact > 2 * TINY
    assert in_ulp(actual, exact)[is_normal].max() <= 4
    assert (actual[~is_normal] <= 2 * TINY).all()
    assert np.abs(actual.astype(np.float64).sum(axis=1) - 1).max() <= 2 * EPS
    assert (actual[WIDE == 0] == 0.5).all()


def mean_loss(output, z, targets, label_smoothing):
    """The loss that the engine reports for one row whose last sums are z and 0."""
    network = one_input(None, output, n_out=2)
    optimizer = SGD(learning_rate=0.0, alpha=0.0)
    optimizer.start(network)
    return engine.train_epoch(
        network,
        optimizer,
        engine.Rows(np.array([[z]], np.float32)),
        targets,
        order=np.array([0]),
        batch_size=1,
        label_smoothing=label_smoothing,
    ).loss


@pytest.mark.parametrize("output", ["softmax", "sigmoid"])
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("smoothing", [0.0, 0.25])
def test_losses_are_accurate_from_tiny_to_huge_scores(output, label, smoothing):
    targets = np.array([label], np.int32)
    if output == "sigmoid":
        targets = np.eye(2, dtype=np.float32)[targets]
    for z in WIDE[::97]:
        scores = np.array([[z, 0]], np.float64)
        exact = oracle.losses(scores, targets, output, smoothing)[0]
        # A difference of scores is right to the larger one's last places.
        near = 2 * EPS * max(1.0, abs(float(z)))
        assert abs(mean_loss(output, z, targets, smoothing) - exact) <= near, z
