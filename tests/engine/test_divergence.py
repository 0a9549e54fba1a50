"""What is not finite stays visible, and never reaches the caller's network."""

import numpy as np
import pytest
import scipy.sparse

from cofire import engine
from cofire.core.network import ACTIVATIONS, OUTPUTS
from cofire.errors import DivergenceError
from helpers.engine_cases import OPTIMIZERS, Case, Samples, random_network
from helpers.engine_checks import all_bits

FULL = {"densities": [1.0, 1.0, 1.0], "sizes": (9, 8, 8, 3)}


def train_in_place(case, n_threads=1):
    return engine.train_epoch(
        case.network,
        case.optimizer,
        case.samples.rows,
        case.targets,
        order=case.order,
        batch_size=case.batch_size,
        sample_weight=case.sample_weight,
        n_threads=n_threads,
    )


def assert_diverges_and_leaves_all_alone(case, n_threads=1):
    before = all_bits(case.network, case.optimizer), case.optimizer.steps_done
    with pytest.raises(DivergenceError, match="not finite") as caught:
        train_in_place(case, n_threads)
    assert before == (
        all_bits(case.network, case.optimizer),
        case.optimizer.steps_done,
    )
    return caught.value.layer


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_huge_rate_diverges_and_changes_nothing(optimizer, output, n_threads):
    case = Case.random(
        0,
        activation="identity",
        output=output,
        optimizer=optimizer,
        moving=True,
        n_used=200,
        optimizer_settings={"learning_rate": 1e30},
        **FULL,
    )
    layer = assert_diverges_and_leaves_all_alone(case, n_threads)
    assert layer in (0, 1, 2)


def test_moments_that_overflow_are_seen():
    """Adam divides by the root of an infinite moment: the weight would never move."""
    case = Case.random(0, output="identity", optimizer="adam", n_used=16, **FULL)
    case.targets[:] = 1e25
    assert_diverges_and_leaves_all_alone(case)


@pytest.mark.parametrize("kind", ["floats", "bytes", "sparse"])
def test_a_network_whose_outputs_overflow_after_the_last_step_is_seen(kind):
    case = Case.random(
        0,
        kind=kind,
        activation="identity",
        output="identity",
        n_used=16,
        optimizer_settings={"learning_rate": 1e18},
        **FULL,
    )
    assert case.n_steps == 1  # the weights are finite, their products are not
    assert_diverges_and_leaves_all_alone(case)


def test_weights_that_overflow_in_the_last_step_are_seen():
    case = Case.random(
        0,
        output="identity",
        n_used=16,
        optimizer_settings={"learning_rate": 3e38},
        **FULL,
    )
    assert case.n_steps == 1
    assert_diverges_and_leaves_all_alone(case)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("layer", [0, 1, 2])
@pytest.mark.parametrize("where", ["weights", "bias"])
def test_the_error_names_the_first_layer_that_is_not_finite(activation, layer, where):
    case = Case.random(0, activation=activation, **FULL)
    getattr(case.network.layers[layer], where)[0] = np.nan
    assert assert_diverges_and_leaves_all_alone(case) == layer


@pytest.mark.parametrize("output", ["sigmoid", "identity"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_target_that_is_not_finite_is_seen(output, bad):
    case = Case.random(0, output=output, **FULL)
    case.targets[case.order[20], 1] = bad
    assert_diverges_and_leaves_all_alone(case)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_sample_weight_that_is_not_finite_is_seen(bad):
    case = Case.random(0, weighted=True, **FULL)
    case.sample_weight[case.order[20]] = bad
    assert_diverges_and_leaves_all_alone(case)


def nan_in_row_3(kind):
    X = Samples.random(np.random.default_rng(0), kind, 20, 9).dense.astype(np.float32)
    X[3, 2] = np.nan
    return engine.Rows(X if kind == "floats" else scipy.sparse.csr_array(X))


@pytest.mark.parametrize("kind", ["floats", "sparse"])
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_nan_in_a_row_shows_in_that_row_alone(activation, output, kind):
    network = random_network(
        np.random.default_rng(0), FULL["sizes"], activation, output, densities=[1.0] * 3
    )
    is_nan = np.isnan(engine.predict(network, nan_in_row_3(kind)))
    assert is_nan[3].all()
    assert not np.delete(is_nan, 3, axis=0).any()


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_nan_in_a_row_ends_the_epoch(activation):
    case = Case.random(0, activation=activation, n_used=17, **FULL)
    case.samples.rows = nan_in_row_3("floats")
    case.order[-1] = 3
    assert assert_diverges_and_leaves_all_alone(case) == 0
