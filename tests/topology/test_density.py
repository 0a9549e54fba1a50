import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cofire.topology.density import (
    connections_per_layer,
    counts_for_density,
)

some_sizes = st.lists(st.integers(1, 300), min_size=2, max_size=6)

# Features and classes; then the connections that a network of three hidden layers of
# 100, 500, 1000 neurons has at epsilon 1, 5, 13 (the paper prints them uncapped).
PAPER = {
    "madelon": (500, 2, "1102 5200 13200 3502 16000 40000 6502 29500 73500"),
    "isolet": (617, 26, "1243 6215 16159 3643 18215 47359 6643 33215 86359"),
    "mnist": (784, 10, "1394 6970 17692 3794 18970 47692 6794 33970 85192"),
    "cifar10": (3072, 10, "3682 18410 47436 6082 30410 77436 9082 45410 114936"),
    "cifar100": (3072, 100, "3772 18860 49036 6172 30860 80236 9172 45860 119236"),
}


@pytest.mark.parametrize("name", PAPER)
def test_counts_are_those_of_the_paper(name):
    n_features, n_classes, counts = PAPER[name]
    ours = [
        sum(connections_per_layer([n_features, n, n, n, n_classes], epsilon))
        for n in (100, 500, 1000)
        for epsilon in (1, 5, 13)
    ]
    assert ours == [int(count) for count in counts.split()]


def test_epsilon_may_be_a_real_number():
    assert connections_per_layer([500, 100, 2], 0.3) == [180, 31]


def test_epsilon_beyond_the_caps_gives_full_layers():
    assert connections_per_layer([5, 4, 3], float("inf")) == [20, 12]


@pytest.mark.parametrize("epsilon", [0, -1, float("nan")])
def test_epsilon_must_be_positive(epsilon):
    with pytest.raises(ValueError, match="epsilon must be positive"):
        connections_per_layer([5, 4], epsilon)


def test_an_epsilon_meant_for_adam_is_explained():
    with pytest.raises(ValueError, match=r"epsilon=1e-08.*layer 1 .*adam_epsilon"):
        connections_per_layer([784, 100, 10], 1e-8)


@given(sizes=some_sizes, density=st.floats(0, 1, exclude_min=True))
def test_a_density_is_met_to_the_connection(sizes, density):
    possible = [a * b for a, b in zip(sizes, sizes[1:], strict=False)]
    total = round(density * sum(possible))
    assume(total >= len(possible))

    counts = counts_for_density(sizes, density)

    assert sum(counts) == total
    assert all(1 <= n <= most for n, most in zip(counts, possible, strict=True))


@given(sizes=some_sizes, density=st.floats(0, 1, exclude_min=True))
def test_a_density_is_shared_as_one_epsilon_would(sizes, density):
    widths = [a + b for a, b in zip(sizes, sizes[1:], strict=False)]
    possible = [a * b for a, b in zip(sizes, sizes[1:], strict=False)]
    assume(
        round(density * sum(possible)) >= sum(widths)
    )  # so epsilon >= 1: none lifted

    counts = counts_for_density(sizes, density)
    epsilons = [n / width for n, width in zip(counts, widths, strict=True)]

    # Whoever is not full lies within one connection of the common epsilon, and
    # nobody has more than that.
    common = max(epsilons)
    for n, most, width in zip(counts, possible, widths, strict=True):
        assert n == most or n >= (common - 1 / min(widths)) * width - 1


def test_known_shares_of_a_density():
    # 60 connections at epsilon 60 / (25 + 6): layer 1 would get 11.6 and is full at 5,
    # so layer 0 gets 55 instead of 48.4.
    assert counts_for_density([20, 5, 1], 60 / 105) == [55, 5]


def test_the_smallest_layer_gets_its_one_connection_from_the_largest():
    # Fair shares of 10 are 6.7, 3.3 and 0.007.
    assert counts_for_density([1000, 1000, 1, 1], 10 / 1_001_001) == [6, 3, 1]


@pytest.mark.parametrize("density", [0, -0.1, 1.1, float("nan")])
def test_a_density_is_a_share(density):
    with pytest.raises(ValueError, match=r"density must lie in \(0, 1\]"):
        counts_for_density([5, 4], density)


def test_a_density_without_a_connection_for_every_layer_is_refused():
    assert counts_for_density([100, 100, 1], 2 / 10100) == [1, 1]
    with pytest.raises(ValueError, match="density=.* 1 connections for 2 layers"):
        counts_for_density([100, 100, 1], 1 / 10100)


@pytest.mark.parametrize("sizes", [[], [5], [5, 0], [5, -1, 2]])
def test_sizes_must_make_a_network(sizes):
    with pytest.raises(ValueError, match="sizes"):
        connections_per_layer(sizes, 1)
