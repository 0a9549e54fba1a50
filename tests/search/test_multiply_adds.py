"""What a search costs, in multiply-adds."""

import numpy as np
import pytest

from cofire import engine
from cofire.search import Exact, Linear, Screened
from helpers.engine_cases import random_network
from helpers.search_cases import Case
from helpers.similarity_cases import find, lifelike, pairs

pytestmark = pytest.mark.usefixtures("small_networks_are_screened")


def always_firing(n_rows=1000, sizes=(12, 20, 9)):
    """Every neuron fires in every row, and every index but the connections is free."""
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, size=(n_rows, sizes[0])).astype(np.float32)
    network = random_network(rng, sizes, densities=[0.3, 0.3], output="identity")
    for layer in network.layers:
        layer.weights[:], layer.bias[:] = np.abs(layer.weights), 1
    kept, ids = [layer.flat_indices for layer in network.layers], np.arange(n_rows)
    rows, dense = engine.Rows(X), X.astype(np.float64)
    case = Case(network, rows, dense, ids, None, kept, [30, 20])
    case.targets = np.zeros((n_rows, sizes[-1]), np.float32)
    return case


def parts_of(case):
    """Numbers of connections of each layer, of neurons, and of pairs of neurons."""
    layers = case.network.layers
    n_neurons = layers[0].n_in + sum(layer.n_out for layer in layers)
    n_pairs = sum(layer.n_in * layer.n_out for layer in layers)
    return [layer.nnz for layer in layers], n_neurons, n_pairs


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_exact_search_goes_forward_twice_and_takes_every_product(n_threads):
    case = always_firing()
    connections, n_neurons, n_pairs = parts_of(case)
    found = find(case, "exact", n_threads=n_threads)
    assert found.multiply_adds == 1000 * (2 * sum(connections) + n_neurons + n_pairs)


def test_a_search_of_gradients_goes_backward_as_well():
    case = always_firing()
    (first, second), n_neurons, n_pairs = parts_of(case)
    search = pairs(case, score="gradient", targets=case.targets)
    passes = 2 * (first + 3 * second)
    norms = 2 * n_neurons - case.network.layers[0].n_in
    found = Exact().find(search, None, None)
    assert found.multiply_adds == 1000 * (passes + norms + n_pairs)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_screened_search_counts_sketch_screen_and_race(n_threads):
    case = always_firing()
    connections, n_neurons, n_pairs = parts_of(case)
    forward = 1000 * sum(connections)
    sketch, screen = 1000 * n_neurons, 256 * (n_neurons + n_pairs)
    race = 1000 * (n_neurons + n_pairs - sum(connections))  # all free indices
    found = find(case, Screened(recall=1.0), n_threads=n_threads)
    assert found.multiply_adds == 2 * forward + sketch + screen + race


def test_a_hashed_search_counts_the_sketch_and_the_pairs_that_meet():
    case = always_firing()
    connections, n_neurons, n_pairs = parts_of(case)
    least = 1000 * (sum(connections) + n_neurons) + 256 * n_neurons
    one, two = (find(case, Linear(tables)).multiply_adds for tables in (1, 8))
    assert least < one < two <= least + 256 * 8 * 2 * n_pairs
    assert (one - least) % 256 == (two - least) % 256 == 0


def test_a_screened_search_of_many_rows_takes_less_than_an_exact_one():
    case = lifelike(20_000)
    nearly, exact = (find(case, mode).multiply_adds for mode in ("screened", "exact"))
    assert 0 < nearly < exact / 3
