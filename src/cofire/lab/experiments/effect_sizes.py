"""How much two samples differ, with intervals: a p-value does not say that.

All are positive if the first sample is larger. The interval is None if a sample has a
single value, or if neither varies.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats


@dataclass(frozen=True)
class Estimate:
    """A value and its confidence interval."""

    value: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.3g}"
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"


def mean_difference(
    a: ArrayLike, b: ArrayLike, *, paired: bool = False, level: float = 0.95
) -> Estimate:
    """Return mean(a) - mean(b) with a t interval: difference ± t(df) se.

    Welch's, with sizes n and variances v (divided by n - 1): se² = va/na + vb/nb,
    df = se⁴ / ((va/na)²/(na - 1) + (vb/nb)²/(nb - 1)). `paired`, for runs that share a
    seed: that of the differences, se² = vd/n, df = n - 1.

    >>> print(mean_difference([4, 5, 6], [1, 2, 3]))
    3 [0.733, 5.27]
    >>> print(mean_difference([4, 5, 7], [1, 2, 3], paired=True))
    3.33 [1.9, 4.77]
    >>> mean_difference([4], [1])
    Estimate(value=3.0, low=None, high=None)
    """
    x, y = _sample(a), _sample(b)
    value = float(x.mean() - y.mean())
    if paired:
        if len(x) != len(y):
            raise ValueError(f"pairs need as many values: got {len(x)} and {len(y)}.")
        samples = [x - y]
    else:
        samples = [x, y]
    if min(map(len, samples)) < 2:
        return Estimate(value)
    errors = [_squared_error(sample) for sample in samples]
    total = sum(errors)
    if total == 0:
        return Estimate(value)
    # as fractions of the total: the squares of very small numbers would be 0
    terms = zip(errors, samples, strict=True)
    df = 1 / sum((e / total) ** 2 / (len(sample) - 1) for e, sample in terms)
    margin = float(stats.t.ppf((1 + level) / 2, df) * np.sqrt(total))
    return Estimate(value, value - margin, value + margin)


def hedges_g(a: ArrayLike, b: ArrayLike, *, level: float = 0.95) -> Estimate | None:
    """Return the difference of the means in pooled standard deviations, without bias.

    g = J (mean(a) - mean(b)) / s
    s² = ((na - 1) va + (nb - 1) vb) / df, df = na + nb - 2
    J = Γ(df/2) / (sqrt(df/2) Γ((df - 1)/2))

    Interval: g ± z se, se² = (na + nb)/(na nb) + g²/(2 (na + nb)) (Hedges and Olkin,
    1985), an approximation that is rough for a handful of values. None with fewer than
    four values, or without spread.

    >>> print(hedges_g([4, 5, 6], [1, 2, 3]))
    2.39 [0.297, 4.49]
    """
    x, y = _sample(a), _sample(b)
    df = len(x) + len(y) - 2
    if df < 2 or (np.ptp(x) == 0 and np.ptp(y) == 0):
        return None
    squares = sum(float(np.sum((v - v.mean()) ** 2)) for v in (x, y))
    if squares == 0:  # spread so small that its square is 0
        return None
    log_j = special.gammaln(df / 2) - special.gammaln((df - 1) / 2)
    j = float(np.exp(log_j) / np.sqrt(df / 2))
    g = j * float(x.mean() - y.mean()) / float(np.sqrt(squares / df))
    n = len(x) + len(y)
    error = float(np.sqrt(n / (len(x) * len(y)) + g * g / (2 * n)))
    margin = float(stats.norm.ppf((1 + level) / 2)) * error
    return Estimate(g, g - margin, g + margin)


def cliffs_delta(a: ArrayLike, b: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Return how much more often a value of a is the larger: P(a > b) - P(a < b).

    D = mean of d_ij = sign(a_i - b_j). The interval stays within -1 and 1 (Feng and
    Cliff, 2004):

    (D - D³ ± z s sqrt((1 - D²)² + z² s²)) / (1 - D² + z² s²)
    s² = (nb² Σ(d_i. - D)² + na² Σ(d_.j - D)² - Σ(d_ij - D)²)
        / (na nb (na - 1)(nb - 1)), at least (1 - D²)/(na nb - 1);
    d_i. and d_.j are means over a row, a column

    At D = ±1 its other end is ±(n - z²)/(n + z²), n being the smaller sample's size.

    >>> print(cliffs_delta([1, 2, 3, 4], [1, 1, 2, 2]))
    0.5 [-0.304, 0.888]
    >>> print(cliffs_delta([3, 3, 3], [1, 2, 1]))
    1 [-0.123, 1]
    """
    x, y = _sample(a), _sample(b)
    signs = np.sign(x[:, None] - y)
    delta = float(signs.mean())
    n_x, n_y = signs.shape
    if min(n_x, n_y) < 2:
        return Estimate(delta)
    z2 = float(stats.norm.ppf((1 + level) / 2)) ** 2
    if abs(delta) == 1:
        end = delta * (min(n_x, n_y) - z2) / (min(n_x, n_y) + z2)
        return Estimate(delta, min(end, delta), max(end, delta))
    variance = (
        n_y**2 * np.sum((signs.mean(axis=1) - delta) ** 2)
        + n_x**2 * np.sum((signs.mean(axis=0) - delta) ** 2)
        - np.sum((signs - delta) ** 2)
    ) / (n_x * n_y * (n_x - 1) * (n_y - 1))
    rest = 1 - delta**2
    s2 = max(float(variance), rest / (n_x * n_y - 1))
    centre, scale = delta * rest, rest + z2 * s2
    margin = float(np.sqrt(z2 * s2 * (rest**2 + z2 * s2)))
    return Estimate(delta, (centre - margin) / scale, (centre + margin) / scale)


def _sample(values: ArrayLike) -> np.ndarray:
    sample = np.asarray(values, dtype=float)
    if sample.ndim != 1 or len(sample) == 0:
        raise ValueError(f"a sample is a row of values, got the shape {sample.shape}.")
    return sample


def _squared_error(sample: np.ndarray) -> float:
    """Return the squared standard error of the mean of two or more values."""
    if np.ptp(sample) == 0:  # rounding gives equal values a variance of 1e-34
        return 0.0
    return float(sample.var(ddof=1)) / len(sample)
