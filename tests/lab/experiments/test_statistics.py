"""The statistics: known answers, brute force, scipy, samples that say nothing."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cofire.lab.experiments import statistics as s
from helpers.needs import needs_package

# Few different values: ties and constant samples come without asking for them.
values = st.integers(0, 6).map(float) | st.floats(-50, 50, allow_subnormal=False)
samples = st.lists(values, min_size=1, max_size=7)
SETTINGS = settings(max_examples=60, deadline=None)


# ---- mean, selected epochs -------------------------------------------------------


def test_the_spread_is_the_population_s():
    assert s.mean_and_spread([2, 4, 4, 4, 5, 5, 7, 9]) == (5.0, 2.0)


def test_equal_values_have_no_spread_at_all():
    assert np.std([0.1] * 3) > 0  # what rounding would say
    assert s.mean_and_spread([0.1] * 3) == (0.1, 0.0)
    assert s.mean_and_spread([0.3]) == (0.3, 0.0)


def test_the_mean_of_nothing_is_an_error():
    with pytest.raises(ValueError, match="no values"):
        s.mean_and_spread([])


@given(validation=samples, seed=st.integers(0, 99))
def test_the_selected_epoch_is_the_first_with_the_best_validation(validation, seed):
    test = np.random.default_rng(seed).random(len(validation)).tolist()
    selected = s.selected_so_far(validation, test)
    for i, score in enumerate(selected):
        assert score == test[int(np.argmax(validation[: i + 1]))]


# ---- Kolmogorov-Smirnov ----------------------------------------------------------


def brute_force_ks(a, b):
    """p by all ways to deal the values out (no ties among them)."""

    def distance(one, other):
        return max(
            abs(np.mean(np.less_equal(one, x)) - np.mean(np.less_equal(other, x)))
            for x in [*one, *other]
        )

    together, seen = [*a, *b], distance(a, b)
    dealt = [
        (chosen, [together[i] for i in range(len(together)) if i not in picked])
        for picked in combinations(range(len(together)), len(a))
        for chosen in [[together[i] for i in picked]]
    ]
    return seen, np.mean([distance(*pair) >= seen - 1e-9 for pair in dealt])


@pytest.mark.parametrize("seed", range(3))
def test_ks_is_exact(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=4), rng.normal(1, 1, size=5)
    found = s.ks_test(a, b)
    assert (found.statistic, found.p) == pytest.approx(brute_force_ks(a, b))


def test_ks_rejects_15_seeds_from_8_fifteenths_on():
    far, near = (s.ks_test(range(15), np.arange(15) + k) for k in (8, 7))
    assert far.rejected and far.p == pytest.approx(0.0262, abs=1e-4)
    assert not near.rejected and near.p == pytest.approx(0.0755, abs=1e-4)
    assert far.statistic == pytest.approx(8 / 15)


@given(st.permutations(range(6)))
def test_ks_never_rejects_with_three_seeds(order):
    found = s.ks_test(order[:3], order[3:])
    assert not found.rejected and found.p >= 0.1 - 1e-12
    assert not found.can_reject


@pytest.mark.parametrize(("n", "m"), [(1, 15), (3, 3), (3, 4), (3, 5), (4, 4), (15, 3)])
def test_ks_can_reject_if_values_wholly_apart_are_rejected(n, m):
    apart = s.ks_test(range(n), range(100, 100 + m))
    mixed = s.ks_test(range(n), range(m))
    assert apart.can_reject == mixed.can_reject == apart.rejected


def test_ks_of_equal_and_of_single_values():
    assert s.ks_test([1.0] * 15, [1.0] * 15) == s.KSTest(0.0, 1.0, False, True)
    assert s.ks_test([1.0], [2.0]) == s.KSTest(1.0, 1.0, False, False)


def test_the_partner_is_the_variant_with_the_higher_mean():
    runs = {"ctre_seq": [3, 3, 3], "ctre_sim": [1, 2, 5]}
    name, chosen = s.better_variant(runs)
    assert name == "ctre_seq" and chosen.tolist() == [3, 3, 3]
    name, chosen = s.better_variant(runs, seed_wise_maximum=True)
    assert name == "max(ctre_seq, ctre_sim)" and chosen.tolist() == [3, 3, 5]
    assert "selection" in s.PARTNER_NOTE


def test_the_first_of_equal_variants_is_the_partner():
    assert s.better_variant({"ctre_seq": [1, 3], "ctre_sim": [2, 2]})[0] == "ctre_seq"


# ---- training delay --------------------------------------------------------------


def steps(*levels, epochs=500):
    """A curve that is at 0, then from each epoch (from 1) on at a level."""
    curve = np.zeros(epochs)
    for epoch, level in levels:
        curve[epoch - 1 :] = level
    return curve


def test_training_delay_is_taken_from_the_mean_curve():
    # Seeds that get there in epochs 10 and 30: their mean does in 30, not in 20.
    curves = {"a": [steps((10, 0.8)), steps((30, 0.8))], "b": [steps((1, 0.5))] * 2}
    assert s.training_delay(curves) == {"a": 6.0, "b": None}


def test_training_delay_counts_from_the_first_epoch_in_steps_of_one_epoch():
    curves = {"at once": [steps((1, 0.8))], "last": [steps((500, 0.8))]}
    assert s.training_delay(curves) == {"at once": 0.2, "last": 100.0}


def test_training_delay_reaches_a_threshold_exactly():
    curves = {"best": np.float32([[0.5, 0.5]]), "other": np.float32([[0.1, 0.45]])}
    assert s.training_delay(curves)["other"] is None  # 0.45 is less in float32
    curves = {"best": [[0.7, 0.7]] * 3, "other": [[0.1, 0.63]] * 3}
    assert s.training_delay(curves)["other"] == 100.0


def test_training_delay_is_relative_to_the_reference_methods():
    curves = {"set": [steps((50, 0.5))], "mine": [steps((5, 0.45), (400, 0.9))]}
    assert s.training_delay(curves) == {"set": None, "mine": 80.0}
    assert s.training_delay(curves, ["set"]) == {"set": 10.0, "mine": 1.0}
    with pytest.raises(KeyError, match="snip"):
        s.training_delay(curves, ["snip"])


def test_the_best_method_always_has_a_delay():
    rng = np.random.default_rng(0)
    curves = {k: np.maximum.accumulate(rng.random((3, 40)), axis=1) for k in "abc"}
    best = max(curves, key=lambda k: curves[k][:, -1].mean())
    assert s.training_delay(curves)[best] is not None


# ---- Holm ------------------------------------------------------------------------


def test_holm_by_hand():
    assert s.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert s.holm([0.5, 0.6]) == [1.0, 1.0]
    assert s.holm([0.2]) == [0.2]
    assert s.holm([None, 0.2, None]) == [None, 0.2, None]
    assert s.holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_holm_lies_between_no_correction_and_bonferroni(p_values):
    adjusted = s.holm(p_values)
    for p, q in zip(p_values, adjusted, strict=True):
        assert p <= q <= 1.0
    order = np.argsort(p_values, kind="stable")
    assert np.all(np.diff(np.array(adjusted)[order]) >= 0)
    smallest = int(order[0])
    assert adjusted[smallest] == min(1.0, len(p_values) * p_values[smallest])


# ---- effect sizes ----------------------------------------------------------------


@pytest.mark.parametrize("paired", [False, True])
def test_intervals_of_a_difference_are_scipy_s(paired):
    rng = np.random.default_rng(3)
    a, b = rng.normal(2, 1, 8), rng.normal(0, 4, 8)
    test = (
        stats.ttest_rel(a, b) if paired else stats.ttest_ind(a, b, equal_var=False)
    ).confidence_interval(0.95)
    found = s.mean_difference(a, b, paired=paired)
    assert (found.low, found.high) == pytest.approx((test.low, test.high))
    assert found.value == pytest.approx(a.mean() - b.mean())
    narrow = s.mean_difference(a, b, paired=paired, level=0.5)
    assert found.low < narrow.low < narrow.high < found.high


def test_hedges_g_by_hand():
    # pooled variance 1, difference 3, J(4) = Γ(2) / (sqrt(2) Γ(1.5)) = 0.79788
    found = s.hedges_g([4, 5, 6], [1, 2, 3])
    assert found.value == pytest.approx(3 * 0.7978845608)
    error = np.sqrt(6 / 9 + found.value**2 / 12)
    assert found.high - found.value == pytest.approx(1.959964 * error)


def test_hedges_g_is_unbiased():
    rng = np.random.default_rng(0)
    draws = [s.hedges_g(rng.normal(1, 1, 4), rng.normal(0, 1, 4)) for _ in range(2000)]
    assert np.mean([d.value for d in draws]) == pytest.approx(1, abs=0.05)
    covered = np.mean([d.low <= 1 <= d.high for d in draws])
    assert 0.92 < covered < 0.99


@given(a=samples, b=samples)
@SETTINGS
def test_cliffs_delta_is_the_double_loop(a, b):
    wins = sum((x > y) - (x < y) for x in a for y in b)
    found = s.cliffs_delta(a, b)
    assert found.value == pytest.approx(wins / (len(a) * len(b)))
    if min(len(a), len(b)) > 1:
        assert -1 <= found.low <= found.value <= found.high <= 1
    else:
        assert found.low is None and found.high is None


def test_the_interval_of_cliffs_delta_covers():
    rng = np.random.default_rng(1)
    true = 2 * stats.norm.cdf(1 / np.sqrt(2)) - 1
    found = [
        s.cliffs_delta(rng.normal(1, 1, 15), rng.normal(size=15)) for _ in range(500)
    ]
    assert 0.92 < np.mean([d.low <= true <= d.high for d in found]) <= 0.99


@given(a=samples, b=samples)
@SETTINGS
def test_effects_change_sign_with_the_order(a, b):
    for effect in (s.mean_difference, s.hedges_g, s.cliffs_delta):
        one, other = effect(a, b), effect(b, a)
        if one is None:
            assert other is None
            continue
        assert one.value == pytest.approx(-other.value)
        if one.low is not None:
            assert one.low <= one.value <= one.high
            bounds = -other.high, -other.low
            assert (one.low, one.high) == pytest.approx(bounds, abs=1e-9)


def test_what_does_not_vary_has_no_interval():
    assert s.mean_difference([0.1] * 3, [0.2] * 3).low is None
    assert s.mean_difference([0.3, 0.4], [0.1, 0.2], paired=True).value > 0
    assert s.hedges_g([0.1] * 3, [0.2] * 3) is None
    assert s.hedges_g([1, 2], [3]) is None
    assert s.mean_difference([0.1] * 3, [0.2, 0.3]).low is not None


def test_samples_must_be_rows_and_pairs_pairs():
    with pytest.raises(ValueError, match="as many values"):
        s.mean_difference([1, 2], [1], paired=True)
    with pytest.raises(ValueError, match="row of values"):
        s.cliffs_delta([], [1])


# ---- ranks -----------------------------------------------------------------------


def brute_force_signed_rank(differences):
    """Share of all signs whose smaller rank sum is at most the one seen."""
    d = np.array([x for x in differences if x != 0])
    ranks = stats.rankdata(np.abs(d))
    sums = [ranks @ signs for signs in product([0, 1], repeat=len(d))]
    smaller = np.minimum(sums, ranks.sum() - sums)
    seen = min(ranks[d > 0].sum(), ranks[d < 0].sum())
    return seen, np.mean(smaller <= seen + 1e-9)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8))
@SETTINGS
def test_signed_ranks_are_exact_with_ties_and_zeros(differences):
    found = s.signed_rank(differences, np.zeros(len(differences)))
    if not any(differences):
        assert found is None
    else:
        expected = brute_force_signed_rank(differences)
        assert (found.statistic, found.p) == pytest.approx(expected)
        assert found.n == np.count_nonzero(differences)


def test_signed_ranks_are_scipy_s_where_nothing_ties():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 54)) + [[0.3], [0]]
    expected = stats.wilcoxon(a, b, method="exact")
    found = s.signed_rank(a, b)
    assert (found.statistic, found.p) == pytest.approx(expected)


def test_many_pairs_are_approximated():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 300)) + [[0.1], [0]]
    assert s.signed_rank(a, b).p == pytest.approx(stats.wilcoxon(a, b).pvalue, rel=1e-3)


def test_differences_equal_but_for_rounding_tie():
    found = s.signed_rank([0.3, 0.9, 0.5], [0.2, 0.8, 0.6])  # 0.1, 0.1, -0.1
    assert found == s.SignedRank(statistic=2.0, p=1.0, n=3)


def test_friedman_is_scipy_s():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 5, size=(12, 4))
    expected = stats.friedmanchisquare(*scores.T)
    found = s.friedman(scores)
    assert (found.statistic, found.p) == pytest.approx(tuple(expected))
    assert sum(found.ranks) == pytest.approx(4 * 5 / 2)
    assert found.n_cells == 12


def test_friedman_ranks_the_best_first():
    found = s.friedman([[0.9, 0.5, 0.7]] * 4)
    assert found.ranks == (1.0, 3.0, 2.0)
    assert found.statistic == pytest.approx(8.0)


def test_friedman_of_ties_alone_says_nothing():
    assert s.friedman([[0.5] * 3] * 4) == s.Friedman((2.0, 2.0, 2.0), 4, None, None)
    with pytest.raises(ValueError, match="two methods"):
        s.friedman([[1.0], [2.0]])


# Demšar (2006), table 5a: q / sqrt(2) at 0.05
@pytest.mark.parametrize("k, q", [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_has_the_printed_constants(k, q):
    expected = q * np.sqrt(k * (k + 1) / (6 * 14))
    assert s.nemenyi_critical_difference(k, 14) == pytest.approx(expected, abs=1e-3)


def test_a_pair_at_the_critical_difference_has_p_at_the_level():
    gap = s.nemenyi_critical_difference(3, 20)
    p = s.nemenyi_p_values([1.0, 1.0 + gap, 1.0], 20)
    assert p[0, 1] == pytest.approx(0.05) and p[0, 2] == 1.0
    assert np.array_equal(p, p.T) and np.all(np.diag(p) == 1)


def test_p_values_of_pairs_are_those_of_scikit_posthocs():
    posthocs = needs_package("scikit_posthocs", "pip install cofire[stats]")
    scores = np.random.default_rng(0).random((9, 4))
    found = s.nemenyi_p_values(s.friedman(scores).ranks, 9)
    expected = posthocs.posthoc_nemenyi_friedman(scores).to_numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    conover = s.conover_p_values(scores)
    assert conover.shape == (4, 4) and np.all((conover >= 0) & (conover <= 1))
    assert s.conover_p_values(np.ones((3, 3))) is None
    assert s.conover_p_values([[1, 2, 3]] * 4) is None


# ---- agreement with the paper ----------------------------------------------------


def test_agreement_has_two_spreads_and_half_a_point():
    ours = [60.0, 62.0]  # mean 61, spread 1
    limit = 2 * np.hypot(1, 2) + 0.5
    for shift, mark in [(0.01, "agrees"), (-0.01, "below")]:
        found = s.agreement(ours, mean=61 + limit - shift, sd=2, seeds=15)
        assert (found.mark, found.agrees) == (mark, mark == "agrees")
    found = s.agreement(ours, mean=50, sd=2, seeds=15)
    assert found.mark == "above" and found.difference == pytest.approx(11)


def test_agreement_has_welch_s_p_for_raw_values():
    rng = np.random.default_rng(0)
    a, b = rng.normal(50, 2, 5), rng.normal(52, 1, 15)
    printed = b.mean(), b.std(), 15
    expected = stats.ttest_ind(a, b, equal_var=False).pvalue
    assert s.agreement(a, *printed).p == pytest.approx(expected)
    pooled = s.p_of_equal_means(a, *printed, equal_var=True)
    assert pooled == pytest.approx(stats.ttest_ind(a, b).pvalue)
    assert pooled != pytest.approx(expected)


@pytest.mark.parametrize(
    "ours, sd, seeds", [([50.0], 1.0, 15), ([0.1] * 3, 0.0, 15), ([50, 51], 1.0, 1)]
)
def test_agreement_has_no_p_without_spread_or_seeds(ours, sd, seeds):
    assert s.agreement(ours, 50.0, sd, seeds).p is None
