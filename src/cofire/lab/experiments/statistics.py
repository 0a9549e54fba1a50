"""Statistics of runs: arrays in, plain values out.

Here are the measures of the paper. Effect sizes with intervals are in `effect_sizes`,
comparisons of methods over many data sets in `ranks`; all can be imported from here.
A value that a sample is too small or too uniform for is None, never NaN.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from cofire.lab.experiments.effect_sizes import (
    Estimate,
    cliffs_delta,
    hedges_g,
    mean_difference,
)
from cofire.lab.experiments.ranks import (
    Friedman,
    SignedRank,
    conover_p_values,
    friedman,
    nemenyi_critical_difference,
    nemenyi_p_values,
    signed_rank,
)
from cofire.lab.table import mean_and_spread

__all__ = [
    "Agreement",
    "Estimate",
    "Friedman",
    "KSTest",
    "PARTNER_NOTE",
    "SignedRank",
    "agreement",
    "better_variant",
    "cliffs_delta",
    "conover_p_values",
    "friedman",
    "hedges_g",
    "holm",
    "ks_test",
    "mean_and_spread",
    "mean_difference",
    "nemenyi_critical_difference",
    "nemenyi_p_values",
    "selected_so_far",
    "signed_rank",
    "training_delay",
]

PARTNER_NOTE = (
    "CTRE is the one of CTRE_seq and CTRE_sim with the higher mean. To take the better "
    "of two is a selection: it favours CTRE, and the p-values do not account for it."
)
"""For the caption of a table that compares methods with `better_variant`."""


def selected_so_far(validation: Iterable[float], test: Iterable[float]) -> list[float]:
    """Return the test score of the best validated epoch so far; of ties the earlier.

    >>> selected_so_far([0.5, 0.7, 0.7, 0.6], [0.1, 0.2, 0.3, 0.4])
    [0.1, 0.2, 0.2, 0.2]
    """
    selected, best = [], (float("-inf"), 0.0)
    for pair in zip(validation, test, strict=True):
        best = pair if pair[0] > best[0] else best
        selected.append(best[1])
    return selected


@dataclass(frozen=True)
class KSTest:
    """Largest distance of two empirical distributions, its p, and whether p < level.

    can_reject: whether samples of these sizes can differ at that level at all.
    """

    statistic: float
    p: float
    rejected: bool
    can_reject: bool


def ks_test(a: ArrayLike, b: ArrayLike, *, level: float = 0.05) -> KSTest:
    """Two-sample two-sided Kolmogorov-Smirnov test with the exact p-value.

    15 values against 15 differ at 0.05 if the statistic is at least 8/15. Three against
    three never do: the smallest possible p is 0.1. With ties p is an upper bound.

    >>> test = ks_test(range(15), range(8, 23))
    >>> round(test.p, 3), test.rejected
    (0.026, True)
    >>> ks_test([1, 2, 3], [4, 5, 6]).can_reject
    False
    """
    smallest = 2 / math.comb(np.size(a) + np.size(b), np.size(a))
    test = stats.ks_2samp(np.ravel(a), np.ravel(b), method="exact")
    p = min(float(test.pvalue), 1.0)
    return KSTest(float(test.statistic), p, p < level, smallest < level)


def better_variant(
    variants: Mapping[str, ArrayLike], *, seed_wise_maximum: bool = False
) -> tuple[str, np.ndarray]:
    """Return the variant with the highest mean, which the others are compared with.

    The paper compares every method with "CTRE", the better of CTRE_seq and CTRE_sim.
    That is a selection after the fact (see `PARTNER_NOTE`). `seed_wise_maximum` takes
    the larger value seed by seed instead: that is biased upwards even if the variants
    do not differ at all, and is here only because the paper's words can be read so.

    >>> better_variant({"ctre_seq": [0.7, 0.8], "ctre_sim": [0.9, 0.5]})
    ('ctre_seq', array([0.7, 0.8]))
    >>> better_variant({"a": [0.7, 0.8], "b": [0.9, 0.5]}, seed_wise_maximum=True)
    ('max(a, b)', array([0.9, 0.8]))
    """
    samples = {name: np.asarray(v, dtype=float) for name, v in variants.items()}
    if seed_wise_maximum:
        together = np.array(list(samples.values()))
        return f"max({', '.join(samples)})", together.max(axis=0)
    best = max(samples, key=lambda name: mean_and_spread(samples[name])[0])
    return best, samples[best]


def training_delay(
    curves: Mapping[str, ArrayLike],
    reference: Iterable[str] | None = None,
    *,
    threshold: float = 0.9,
) -> dict[str, float | None]:
    """Return the per cent of the epochs until a method is nearly as good as the best.

    curves: (seeds, epochs) of test accuracies selected so far, for each method. It is
    the first epoch in which the mean over seeds is at least `threshold` times the
    largest final mean among the `reference` methods (default: all); None for a method
    that does not reach it.

    >>> training_delay({"slow": [[0.1, 0.2, 0.3, 0.8]], "fast": [[0.5, 0.8, 0.8, 0.8]],
    ...     "weak": [[0.5, 0.6, 0.6, 0.6]]})
    {'slow': 100.0, 'fast': 50.0, 'weak': None}
    """
    # float64: the curves of the run store are float32, whose means round coarsely
    means = {
        name: np.atleast_2d(np.asarray(curve, dtype=np.float64)).mean(axis=0)
        for name, curve in curves.items()
    }
    names = list(means) if reference is None else list(reference)
    best = max(float(means[name][-1]) for name in names)
    rounding = 1e-12 * abs(best)
    goal = threshold * best - rounding
    delays: dict[str, float | None] = {}
    for name, mean in means.items():
        reached = np.flatnonzero(mean >= goal)
        delays[name] = 100 * float(reached[0] + 1) / len(mean) if len(reached) else None
    return delays


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust the p-values of several tests so that together they keep the level.

    Holm (1979): the smallest of m is multiplied by m, the next by m - 1 and so on; none
    becomes smaller than the one before it, or larger than 1. A test that was not
    possible (None) stays None and is not counted.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    tests = [(p, i) for i, p in enumerate(p_values) if p is not None]
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, i) in enumerate(sorted(tests)):
        largest = max(largest, min(1.0, (len(tests) - rank) * p))
        adjusted[i] = largest
    return adjusted


@dataclass(frozen=True)
class Agreement:
    """Whether a cell agrees with the paper's, our mean minus theirs, Welch's p."""

    mark: Literal["agrees", "above", "below"]
    difference: float
    p: float | None

    @property
    def agrees(self) -> bool:
        """Whether the means are close enough."""
        return self.mark == "agrees"


def p_of_equal_means(
    ours: ArrayLike, mean: float, sd: float, seeds: int, *, equal_var: bool = False
) -> float | None:
    """Return p of Welch's test (with `equal_var` Student's) against a printed mean.

    The printed spread is taken for the population's, as ours is. None if either side
    has a single seed, or if neither has a spread.
    """
    sample = np.asarray(ours, dtype=float)
    our_mean, our_sd = mean_and_spread(sample)
    if min(len(sample), seeds) < 2 or not (sd > 0 or our_sd > 0):
        return None
    test = stats.ttest_ind_from_stats(
        *(our_mean, our_sd * np.sqrt(len(sample) / (len(sample) - 1)), len(sample)),
        *(mean, sd * np.sqrt(seeds / (seeds - 1)), seeds),
        equal_var=equal_var,
    )
    return float(test.pvalue)


def near(difference: float, sd: float, other_sd: float) -> bool:
    """Whether two means in per cent agree, by the rule of `agreement`.

    >>> near(2.4, 1.0, 0.0), near(2.6, 1.0, 0.0)
    (True, False)
    """
    return bool(abs(difference) <= 2 * np.hypot(sd, other_sd) + 0.5)


def agreement(ours: ArrayLike, mean: float, sd: float, seeds: int) -> Agreement:
    """Compare accuracies in per cent with a printed mean, spread and number of seeds.

    They agree if the means differ by at most 2 sqrt(sd_paper² + sd_ours²) + 0.5 points:
    the noise of both, and half a point for rounding and for what the paper leaves open.
    p is that of Welch's test of equal means: see `p_of_equal_means`.

    >>> agreement([54.0, 56.0], mean=54.9, sd=1.0, seeds=15).mark
    'agrees'
    >>> agreement([64.0, 66.0], mean=54.9, sd=1.0, seeds=15).mark
    'above'
    """
    sample = np.asarray(ours, dtype=float)
    our_mean, our_sd = mean_and_spread(sample)
    difference = our_mean - mean
    p = p_of_equal_means(sample, mean, sd, seeds)
    if near(difference, sd, our_sd):
        return Agreement("agrees", difference, p)
    return Agreement("above" if difference > 0 else "below", difference, p)
