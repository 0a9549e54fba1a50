"""Centres and scales of columns, beside plain NumPy and StandardScaler."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.preprocessing import StandardScaler

from cofire.estimators import scaling
from cofire.estimators.scaling import (
    BEND,
    LEAST,
    MOST,
    bend,
    column_scales,
    eps_of,
    flag_scales,
    sparse_scales,
    standardise,
)

N = 400


def scales_of(columns, weight=None, *, dtype=np.float64, bounded=False):
    """`column_scales` of an array with columns as users have them."""
    X = np.asarray(columns, dtype)
    eps = np.full(X.shape[1], eps_of(X.dtype))
    block = np.array(X.T, np.float64, order="C")
    return column_scales(block, weight, eps, bounded=bounded)


def encoded(columns, weight=None):
    """Columns, standardised by what is learnt of them."""
    centre, scale = scales_of(columns, weight)
    values = np.array(columns, np.float64)
    standardise(values, centre, scale, bounded=False)
    return values


# ---- a slow twin ---------------------------------------------------------------------


def naive_quantile(values, weight, q):
    order = np.argsort(values, kind="stable")
    total = 0.0
    for i in order:
        total += weight[i]
        if total >= q * weight.sum():
            return values[i]
    raise AssertionError


def naive_scale(column, weight, *, middle=None):
    """Centre and scale of one column."""
    known = ~np.isnan(column)
    x, w = column[known], weight[known]
    m = naive_quantile(x, w, 0.5) if middle is None else middle
    v = x - m
    other = v != 0
    if not other.any():
        return m, 0.0
    s = naive_quantile(np.abs(v[other]), w[other], 0.75) / 1.1503493803760079
    if np.abs(v).max() > 20 * s:
        v = np.clip(v, -4 * s, 4 * s)
    mean = np.average(v, weights=w)
    deviation = np.sqrt(np.average((v - mean) ** 2, weights=w))
    typical = np.sqrt(np.average(v[other] ** 2, weights=w[other]))
    return m + mean, max(deviation, 0.1 * typical)


def kinds(rng, n=N):
    """Columns as they occur."""
    with_gaps = rng.normal(size=n)
    with_gaps[rng.random(n) < 0.3] = np.nan
    outlier = rng.normal(size=n)
    outlier[7] = 1e30
    sentinel = rng.normal(5, 1, size=n)
    sentinel[rng.random(n) < 0.1] = -999
    return np.stack(
        [
            rng.normal(size=n),
            rng.standard_cauchy(n),
            rng.lognormal(0, 2, n),
            rng.random(n) * (rng.random(n) < 0.05),
            rng.integers(0, 5, n).astype(float),
            (rng.random(n) < 0.01).astype(float),
            np.where(rng.random(n) < 0.45, 0.0, 1e5) + rng.normal(size=n) * 1e-3,
            with_gaps,
            outlier,
            sentinel,
        ],
        axis=1,
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_columns_are_those_of_the_slow_twin(seed, weighted):
    rng = np.random.default_rng(seed)
    X = kinds(rng)
    weight = rng.integers(1, 4, N).astype(float) if weighted else np.ones(N)
    centre, scale = scales_of(X, weight if weighted else None)
    expected = np.array([naive_scale(X[:, j], weight) for j in range(X.shape[1])])
    np.testing.assert_allclose(centre, expected[:, 0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(scale, expected[:, 1], rtol=1e-10)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_columns_are_those_of_the_slow_twin(seed, weighted):
    rng = np.random.default_rng(seed)
    X = np.nan_to_num(kinds(rng)) * (rng.random((N, 10)) < 0.3)
    X[:, 4] = 0
    weight = rng.integers(1, 4, N).astype(float) if weighted else np.ones(N)
    scale = sparse_scales(scipy.sparse.csr_array(X), weight if weighted else None)
    expected = [naive_scale(X[:, j], weight, middle=0.0)[1] for j in range(10)]
    np.testing.assert_allclose(scale, expected, rtol=1e-10)
    assert scale[4] == 0


def test_sparse_columns_in_parts_are_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((300, 70), density=0.2, format="csr", rng=rng)
    whole = sparse_scales(X, None)
    by_hand = [sparse_scales(X[:, [j]], None)[0] for j in range(70)]
    assert np.array_equal(whole, by_hand)


# ---- plain columns -------------------------------------------------------------------


def plain(rng, n=5000):
    return np.stack(
        [
            rng.normal(3, 2, n),
            rng.random(n),
            rng.exponential(size=n),
            rng.integers(0, 100, n).astype(float),
            (rng.random(n) < 0.2).astype(float),
            rng.laplace(size=n),
        ],
        axis=1,
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_plain_columns_are_those_of_StandardScaler(dtype):
    X = plain(np.random.default_rng(0)).astype(dtype)
    weight = np.random.default_rng(1).random(len(X))
    for own in (None, weight):
        theirs = StandardScaler().fit(X.astype(np.float64), sample_weight=own)
        centre, scale = scales_of(X, own, dtype=dtype)
        np.testing.assert_allclose(centre, theirs.mean_, rtol=1e-12)
        np.testing.assert_allclose(scale, theirs.scale_, rtol=1e-12)
    near = np.abs(theirs.transform(X)) <= BEND
    np.testing.assert_allclose(
        encoded(X, weight)[near], theirs.transform(X)[near], rtol=1e-4, atol=1e-6
    )


def test_sparse_columns_are_those_of_StandardScaler():
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((2000, 40), density=0.3, format="csr", rng=rng)
    for own in (None, rng.random(2000)):
        theirs = StandardScaler(with_mean=False).fit(X, sample_weight=own)
        np.testing.assert_allclose(sparse_scales(X, own), theirs.scale_, rtol=1e-10)


@pytest.mark.parametrize("factor", [1e-200, 1e-6, 1e6, 1e200])
@pytest.mark.parametrize("offset", [0, 1e8])
def test_units_and_offsets_do_not_matter(factor, offset):
    X = kinds(np.random.default_rng(0))[:, :9]
    moved = X * factor + offset * factor
    np.testing.assert_allclose(encoded(moved), encoded(X), rtol=1e-5, atol=1e-5)


def test_offsets_beyond_the_unit_do_not_matter():
    X = np.random.default_rng(0).normal(size=(N, 3))
    moved = X * [1e-3, 1, 1e6] + 1e8
    np.testing.assert_allclose(encoded(moved), encoded(X), atol=1e-4)


@pytest.mark.parametrize("largest", [1e308, 1.7e308, 5e-324, 1e-310])
def test_the_ends_of_float64(largest):
    X = np.array([[-largest], [largest], [largest], [0.0]])
    with np.errstate(all="raise", under="ignore"):
        centre, scale = scales_of(X)
    assert np.isfinite(centre).all() and np.isfinite(scale).all()
    if 1e-300 < largest <= 1e308:  # beyond, a difference overflows and is cut off
        np.testing.assert_allclose(encoded(X), encoded(X / largest), rtol=1e-10)


# ---- what is far out -----------------------------------------------------------------


@pytest.mark.parametrize("outlier", [1e3, 1e30, -1e300])
@pytest.mark.parametrize("n", [10, 50, 30_000])
def test_one_outlier_does_not_flatten_the_others(n, outlier):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 1))
    changed = X.copy()
    changed[n // 2] = outlier
    others = np.arange(n) != n // 2
    found = encoded(changed)
    tolerance = 1.5 / np.sqrt(n) + 4 / n
    np.testing.assert_allclose(found[others], encoded(X)[others], atol=4 * tolerance)
    assert found[others].std() > 0.5
    assert BEND < abs(found[n // 2, 0]) <= MOST


@pytest.mark.parametrize("tail", ["cauchy", "lognormal"])
def test_heavy_tails_leave_the_middle_in_sight(tail):
    rng = np.random.default_rng(0)
    x = rng.standard_cauchy(5000) if tail == "cauchy" else rng.lognormal(0, 3, 5000)
    z = encoded(x[:, None])[:, 0]
    low, high = np.quantile(z, [0.25, 0.75])
    assert high - low > 0.3
    assert np.abs(z).max() <= MOST
    order = np.argsort(x)
    assert (np.diff(z[order]) >= 0).all()


def test_bending_is_smooth_odd_and_monotone():
    x = np.linspace(-50, 50, 100_001)
    y = x.copy()
    bend(y)
    inside = np.abs(x) <= BEND
    assert np.array_equal(y[inside], x[inside])
    np.testing.assert_allclose(y, -y[::-1], atol=1e-12)
    slope = np.diff(y) / np.diff(x)
    assert (slope > 0).all() and slope.max() < 1 + 1e-9
    assert np.abs(np.diff(slope)).max() < 1.1e-3  # no kink
    far = np.array([1e5, 1e30, np.inf, -np.inf])
    bend(far)
    assert far.tolist() == [MOST, MOST, MOST, -MOST]


def test_rare_values_are_not_blown_up():
    x = np.zeros((10_000, 1))
    x[5] = 3.0
    centre, scale = scales_of(x)
    assert scale[0] == pytest.approx(LEAST * 3)
    assert centre[0] == pytest.approx(3e-4)
    sparse = sparse_scales(scipy.sparse.csr_array(x), None)
    assert sparse[0] == pytest.approx(LEAST * 3)
    centre, scale = flag_scales(np.array([0.0, 1e-4, 0.5, 1.0]))
    assert scale.tolist() == [0, LEAST, 0.5, 0]
    assert centre.tolist() == [0, 1e-4, 0.5, 1]


# ---- constants -----------------------------------------------------------------------


def test_constants_and_what_differs_by_rounding_become_zero():
    ulps = np.arange(N) % 3
    X = np.stack(
        [
            np.full(N, 7.3),
            np.zeros(N),
            0.1 + ulps * np.spacing(0.1),
            1e8 + ulps * np.spacing(1e8),
            np.full(N, np.nan),
            np.full(N, 1.7e308),
        ],
        axis=1,
    )
    centre, scale = scales_of(X)
    assert scale.tolist() == [0] * 6
    assert centre == pytest.approx([7.3, 0, 0.1, 1e8, 0, 1.7e308])
    values = np.array([[1e30, -1e300, 5, -1.7e308, 1, -1.7e308]])
    standardise(values, centre, scale, bounded=False)
    assert values.tolist() == [[0] * 6]


def test_rounding_is_that_of_the_type():
    x = np.float32(0.1) + (np.arange(N) % 2) * np.spacing(np.float32(0.1))
    assert scales_of(x[:, None], dtype=np.float32)[1] == 0
    assert scales_of(x[:, None].astype(np.float64))[1] > 0


def test_sparse_constants_become_zero():
    X = np.stack([np.full(N, 0.1), 0.1 + (np.arange(N) % 2) * 1e-17, np.zeros(N)], 1)
    assert sparse_scales(scipy.sparse.csr_array(X), None).tolist() == [0, 0, 0]


# ---- weights -------------------------------------------------------------------------


def test_a_weight_of_two_is_two_rows():
    rng = np.random.default_rng(0)
    X = kinds(rng)
    weight = rng.integers(1, 4, N)
    once = scales_of(X, weight.astype(float))
    twice = scales_of(np.repeat(X, weight, axis=0))
    for ours, theirs in zip(once, twice, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    sparse = scipy.sparse.csr_array(np.nan_to_num(X) * (X > 0))
    repeated = sparse[np.repeat(np.arange(N), weight)]
    np.testing.assert_allclose(
        sparse_scales(sparse, weight.astype(float)),
        sparse_scales(repeated, None),
        rtol=1e-10,
    )


# ---- many rows -----------------------------------------------------------------------


def test_quantiles_of_a_sample_change_nothing_for_plain_columns(monkeypatch):
    X = plain(np.random.default_rng(0))
    whole = scales_of(X)
    monkeypatch.setattr(scaling, "_SAMPLE", 200)
    for ours, theirs in zip(scales_of(X), whole, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_rare_values_are_found_in_many_rows(monkeypatch):
    monkeypatch.setattr(scaling, "_SAMPLE", 200)
    rng = np.random.default_rng(0)
    x = np.zeros((5000, 1))
    x[rng.choice(5000, 50, replace=False)] = rng.normal(3, 0.1, (50, 1))
    x[np.flatnonzero(x)[0]] = 1e30
    _, expected = naive_scale(x[:, 0], np.ones(5000))
    assert scales_of(x)[1][0] == pytest.approx(expected)
    assert sparse_scales(scipy.sparse.csr_array(x), None)[0] == pytest.approx(expected)


# ---- bytes ---------------------------------------------------------------------------


def test_bounded_values_stay_within_bounds():
    x = np.zeros((10_000, 2))
    x[3, 0], x[:20, 1], x[0, 1] = 255, 1, 255
    centre, scale = scales_of(x, bounded=True)
    assert np.abs((x - centre) / scale).max() <= MOST * (1 + 1e-12)
    values = np.array([[1e6, -1e6]])
    standardise(values, centre, scale, bounded=True)
    assert values.tolist() == [[MOST, -MOST]]
