"""How many connections a layer gets: from epsilon or from a density, with limits."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise


def connections_per_layer(sizes: Sequence[int], epsilon: float) -> list[int]:
    """Give each layer epsilon * (n_in + n_out) connections, at most a full layer.

    >>> connections_per_layer([784, 1000, 10], epsilon=13)
    [23192, 10000]
    """
    if not epsilon > 0:
        raise ValueError(f"epsilon must be positive, got {epsilon}")
    counts = [round(min(epsilon * (a + b), a * b)) for a, b in _shapes(sizes)]
    if 0 in counts:
        layer = counts.index(0)
        raise ValueError(
            f"epsilon={epsilon} leaves layer {layer + 1} ({sizes[layer]} x "
            f"{sizes[layer + 1]}) without a connection. If you meant scikit-learn's "
            "epsilon of Adam, it is called adam_epsilon here."
        )
    return counts


def full_counts(sizes: Sequence[int]) -> list[int]:
    """How many connections each layer can have.

    >>> full_counts([784, 1000, 10])
    [784000, 10000]
    """
    return [a * b for a, b in _shapes(sizes)]


def counts_for_density(sizes: Sequence[int], density: float) -> list[int]:
    """Distribute round(density * n) of n possible connections as epsilon would.

    The total is exact. What a full layer cannot take goes to the others, and every
    layer gets at least one connection.

    >>> counts_for_density([784, 300, 10], density=0.1)
    [20820, 3000]
    """
    if not 0 < density <= 1:
        raise ValueError(f"density must lie in (0, 1], got {density}")
    shapes = _shapes(sizes)
    total = round(density * sum(a * b for a, b in shapes))
    if total < len(shapes):
        raise ValueError(
            f"density={density} means {total} connections for {len(shapes)} layers; "
            "every layer needs at least one"
        )
    return _at_least_one(_largest_remainder(_exact_counts(shapes, total), total))


def _shapes(sizes: Sequence[int]) -> list[tuple[int, int]]:
    if len(sizes) < 2 or min(sizes) < 1:
        raise ValueError(f"sizes must be two or more positive numbers, got {sizes}")
    return list(pairwise(map(int, sizes)))


def _exact_counts(shapes: list[tuple[int, int]], total: int) -> list[Fraction]:
    # Solve sum(min(epsilon * (a + b), a * b)) = total. Filling a layer raises epsilon
    # for the rest, so layers once full stay full. Fractions keep the sum exact.
    exact = [Fraction(a * b) for a, b in shapes]
    free = list(range(len(shapes)))
    while free:
        filled = sum(a * b for i, (a, b) in enumerate(shapes) if i not in free)
        epsilon = Fraction(total - filled, sum(sum(shapes[i]) for i in free))
        still_free = [i for i in free if epsilon * sum(shapes[i]) < exact[i]]
        if still_free == free:
            for i in free:
                exact[i] = epsilon * sum(shapes[i])
            break
        free = still_free
    return exact


def _largest_remainder(exact: list[Fraction], total: int) -> list[int]:
    counts = [int(count) for count in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: counts[i] - exact[i])
    for i in by_remainder[: total - sum(counts)]:
        counts[i] += 1
    return counts


def _at_least_one(counts: list[int]) -> list[int]:
    while 0 in counts:
        counts[counts.index(max(counts))] -= 1
        counts[counts.index(0)] = 1
    return counts
