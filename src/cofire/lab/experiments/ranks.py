"""Methods compared over many data sets by ranks (Demšar, 2006)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

_EXACT_UP_TO = 200  # pairs; beyond it the normal approximation is as good


@dataclass(frozen=True)
class SignedRank:
    """Wilcoxon's test: the smaller rank sum, p (two-sided), the pairs that differ."""

    statistic: float
    p: float
    n: int


def signed_rank(a: ArrayLike, b: ArrayLike) -> SignedRank | None:
    """Do Wilcoxon's signed-rank test of paired values: one pair per data set, or cell.

    Pairs without a difference are left out; None if none is left. Equal differences
    share their mean rank. p is exact, ties included: from all 2^n ways to give the
    ranks signs. For more than 200 pairs a normal approximation is used.

    >>> signed_rank([82, 72, 64, 61, 90], [58, 60, 58, 65, 80])
    SignedRank(statistic=1.0, p=0.125, n=5)
    """
    differences = _rounded(np.asarray(a, dtype=float) - np.asarray(b, dtype=float))
    differences = differences[differences != 0]
    n = len(differences)
    if n == 0:
        return None
    ranks = stats.rankdata(np.abs(differences))
    positive = float(ranks[differences > 0].sum())
    statistic = min(positive, float(ranks.sum()) - positive)
    if n > _EXACT_UP_TO:
        test = stats.wilcoxon(differences, method="asymptotic")
        return SignedRank(statistic, float(test.pvalue), n)
    # chances[s]: probability that the positive ranks sum to s / 2 if signs are random
    chances = np.ones(1)
    for rank in np.rint(2 * ranks).astype(int):
        chances = 0.5 * (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0)))
    below = float(chances[: round(2 * statistic) + 1].sum())
    return SignedRank(statistic, min(1.0, 2 * below), n)


@dataclass(frozen=True)
class Friedman:
    """Average ranks (1 is best) and Friedman's test that they differ by chance alone.

    statistic and p are None if all methods tie everywhere.
    """

    ranks: tuple[float, ...]
    n_cells: int
    statistic: float | None
    p: float | None


def friedman(scores: ArrayLike) -> Friedman:
    """Rank the methods in each cell; scores: (cells, methods), more is better.

    Equal scores share their mean rank. The statistic, for k methods, N cells and
    average ranks R, is 12 N / (k (k + 1)) Σ (R - (k + 1)/2)² / C, where C = 1 - Σ (t³ -
    t) / (N k (k² - 1)) over groups of t equal scores corrects for ties; p is that of
    chi-squared with k - 1 degrees of freedom, an approximation for few cells.

    >>> found = friedman([[0.9, 0.8, 0.7], [0.8, 0.6, 0.6], [0.9, 0.8, 0.5], [5, 4, 6]])
    >>> found.ranks, round(found.p, 2)
    ((1.25, 2.375, 2.375), 0.17)
    """
    table = np.asarray(scores, dtype=float)
    if table.ndim != 2 or table.shape[1] < 2 or table.shape[0] < 1:
        raise ValueError(
            f"scores: (cells, methods) with two methods or more; got {table.shape}."
        )
    n, k = table.shape
    ranks = stats.rankdata(-_rounded(table), axis=1)
    average = ranks.mean(axis=0)
    counts = [np.unique(row, return_counts=True)[1] for row in ranks]
    ties = sum(float(np.sum(c.astype(float) ** 3 - c)) for c in counts)
    correction = 1 - ties / (n * k * (k * k - 1))
    statistic = p = None
    if correction > 1e-12:
        spread = float(np.sum((average - (k + 1) / 2) ** 2))
        statistic = 12 * n / (k * (k + 1)) * spread / correction
        p = float(stats.chi2.sf(statistic, k - 1))
    return Friedman(tuple(average.tolist()), n, statistic, p)


def nemenyi_critical_difference(
    n_methods: int, n_cells: int, *, level: float = 0.05
) -> float:
    """Return the smallest difference of average ranks that counts (Nemenyi, 1963).

    q / sqrt(2) * sqrt(k (k + 1) / (6 N)), q of the studentized range for k methods and
    infinitely many degrees of freedom.

    >>> round(nemenyi_critical_difference(5, 30), 3)  # q / sqrt(2) is 2.728
    1.114
    """
    q = float(stats.studentized_range.ppf(1 - level, n_methods, np.inf))
    return q * _rank_error(n_methods, n_cells)


def nemenyi_p_values(ranks: ArrayLike, n_cells: int) -> np.ndarray:
    """Return p of each pair of methods from average ranks: (methods, methods).

    1 on the diagonal. Corrected for the number of pairs, as the critical difference is.

    >>> nemenyi_p_values([1.0, 1.5, 3.0], n_cells=12).round(3).tolist()
    [[1.0, 0.438, 0.0], [0.438, 1.0, 0.001], [0.0, 0.001, 1.0]]
    """
    average = np.asarray(ranks, dtype=float)
    k = len(average)
    distances = np.abs(average[:, None] - average) / _rank_error(k, n_cells)
    p = np.clip(stats.studentized_range.sf(distances, k, np.inf), 0.0, 1.0)
    p[np.diag_indices(k)] = 1.0
    return np.asarray(p)


def conover_p_values(scores: ArrayLike) -> np.ndarray | None:
    """Return p of each pair by Conover's test, Holm-corrected: (methods, methods).

    It finds more than Nemenyi's. None if every cell has the same ranks, all tied or
    not: then it divides by 0. Needs scikit-posthocs (`cofire[stats]`).
    """
    from scikit_posthocs import posthoc_conover_friedman

    table = _rounded(np.asarray(scores, dtype=float))
    ranks = stats.rankdata(table, axis=1)
    if np.all(ranks == ranks[0]):
        return None
    return np.asarray(posthoc_conover_friedman(table, p_adjust="holm"), dtype=float)


def _rank_error(n_methods: int, n_cells: int) -> float:
    return float(np.sqrt(n_methods * (n_methods + 1) / (12 * n_cells)))


def _rounded(values: np.ndarray) -> np.ndarray:
    """Remove the last digits: means that differ by rounding only are ties."""
    scale = float(np.max(np.abs(values), initial=0.0))
    return np.round(values / scale, 10) if scale > 0 else values
