"""Intervals, ranks and tests: formulas, SciPy, how often they are wrong, and all pairs without an array of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from amounts import examples, part_of, trials
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq
from test_stats_bootstrap import effects

from rankbench.stats import contrast_columns as module
from rankbench.stats.bootstrap import Crossed, crossed, widened_for_overlap, widening
from rankbench.stats.contender_ranks import contender_rank_ranges, contenders_that_may_be_best, ranges_from_the_best
from rankbench.stats.contrast_columns import AllPairs, ArmContrast, ContrastMatrix, DenseColumns, VarianceSources
from rankbench.stats.contrasts import (
    above_least,
    contrasts,
    contrasts_over_draws,
    mean_intervals,
    pitman_morgan,
    sd_ratios,
    studentized_contrasts,
    too_few_to_rank,
    within_range,
)
from rankbench.stats.multiple_tests import equivalent, not_equivalent
from rankbench.stats.simultaneous import SimultaneousIntervals, Studentized, p_values

DIFFERENCE = np.array([[1.0], [-1.0]])
SEEDS = trials(200)
ALLOWED = stats.binom.ppf(0.999, SEEDS, 0.05)
"""A test of level 5% rejects at most so often, but for once in a thousand."""


def pairs(arms: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs i < j, shape (P, 2), and the matrix of contrasts i - j, shape (arms, P)."""
    index = np.stack(np.triu_indices(arms, 1), axis=1)
    return index, np.eye(arms)[:, index[:, 0]] - np.eye(arms)[:, index[:, 1]]


def test_mean_interval_is_scipys() -> None:
    values = np.random.default_rng(0).normal(size=(7, 3))
    found = mean_intervals(values, 0.9)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    np.testing.assert_allclose(found.lower, expected.low)
    np.testing.assert_allclose(found.upper, expected.high)
    np.testing.assert_allclose(found.se, stats.sem(values))


def test_few_draws_have_no_interval_of_a_mean() -> None:
    values = np.random.default_rng(0).random((4, 3))
    for draws in (1, 2, 3):
        found = mean_intervals(values[:draws])
        assert np.isnan([found.lower, found.upper]).all()
        np.testing.assert_array_equal(found.mean, values[:draws].mean(axis=0))
        np.testing.assert_allclose(found.se, stats.sem(values[:draws]) if draws > 1 else np.full(3, np.nan))
    assert np.isfinite(mean_intervals(values).lower).all()


def test_paired_difference_over_draws_is_the_paired_t_test() -> None:
    losses = np.random.default_rng(0).random((9, 20, 2))
    found = contrasts_over_draws(crossed(losses, 0), DIFFERENCE)
    means = losses.mean(axis=1)
    expected = stats.ttest_rel(means[:, 0], means[:, 1])
    interval = expected.confidence_interval(0.95)
    assert (found.lower[0], found.upper[0], found.p[0]) == pytest.approx((interval.low, interval.high, expected.pvalue))


def test_independent_maxima_give_sidaks_level() -> None:
    rng = np.random.default_rng(0)
    many = VarianceSources.only(5, 1e6)

    def local(replicates: np.ndarray, units: int) -> float:
        return Studentized.from_replicates(np.zeros(5), replicates, many, units=units).intervals().local

    assert local(rng.normal(size=(40_000, 5)), 100) == pytest.approx(1 - 0.95 ** (1 / 5), rel=0.1)
    copies = np.repeat(rng.normal(size=(40_000, 1)), 5, axis=1)
    assert local(copies, 100) == pytest.approx(0.05, rel=0.05)
    assert local(copies, 3) == pytest.approx(0.05 / 5)  # Bonferroni


def test_critical_values_are_those_of_the_dominating_source() -> None:
    sources = VarianceSources(np.array([1.0, 0.0, 0.5]), 4, 99)
    t_draws, t_queries = stats.t.ppf(0.975, [4, 99])
    np.testing.assert_allclose(sources.quantile(0.05), [t_draws, t_queries, (t_draws + t_queries) / 2])
    np.testing.assert_allclose(sources.p(np.array([t_draws, -t_queries, 0.0])), [0.05, 0.05, 1.0], rtol=1e-9)
    assert sources.p(np.full(3, 1e30))[0] < 1e-100
    rng = np.random.default_rng(0)
    draws, queries = rng.normal(size=(5, 2)), rng.normal(size=(50, 2))
    expected = (draws.var(axis=0, ddof=1) / 5) / (draws.var(axis=0, ddof=1) / 5 + queries.var(axis=0, ddof=1) / 50)
    np.testing.assert_allclose(VarianceSources.from_means(DenseColumns(draws), DenseColumns(queries)).share, expected)
    assert (VarianceSources.from_means(DenseColumns(draws[:1]), DenseColumns(queries)).share == 0).all()
    assert (VarianceSources.from_means(DenseColumns(np.zeros((3, 1))), DenseColumns(np.zeros((4, 1)))).share == 1).all()


def test_identical_contenders_are_never_different() -> None:
    losses = effects(np.random.default_rng(0), 12, 30, 3)
    losses[:, :, 1] = losses[:, :, 0]
    losses[:, :, 2] += 5
    sample = crossed(losses, 0, 500)
    found = contrasts(sample, pairs(3)[1])
    assert (found.se[0], found.lower[0], found.upper[0], found.p[0]) == pytest.approx((0, 0, 0, 1), abs=1e-12)
    assert contender_rank_ranges(sample).tolist() == [[1, 2], [1, 2], [3, 3]]
    assert contender_rank_ranges(sample, maximize=True).tolist() == [[2, 3], [2, 3], [1, 1]]


@pytest.mark.parametrize("size", [1.0, 1e6])
@pytest.mark.parametrize("seed", range(5))
def test_the_last_bit_of_a_loss_says_nothing(seed: int, size: float) -> None:
    """Two ways to compute one thing: which of them is a bit smaller is the machine's, and no rank."""
    losses = size * np.abs(effects(np.random.default_rng(seed), 12, 40, 4))
    bits = np.random.default_rng(seed).choice([-1.0, 0.0, 1.0], size=losses.shape[:2], p=[0.1, 0.3, 0.6])
    losses[:, :, 1] = losses[:, :, 0] * (1 + bits * 2.0**-52)
    assert (losses[:, :, 1].mean(axis=1) != losses[:, :, 0].mean(axis=1)).any()
    sample = crossed(losses, seed, 300)
    for found in (contrasts(sample, pairs(4)[1]), contrasts_over_draws(sample, pairs(4)[1])):
        assert (found.lower[0], found.upper[0], found.p[0]) == (0.0, 0.0, 1.0)
    ranges = contender_rank_ranges(sample)
    np.testing.assert_array_equal(ranges[0], ranges[1])


def test_a_constant_difference_is_certain_and_a_single_number_is_not() -> None:
    base = np.random.default_rng(0).random((5, 6, 1))
    shifted = np.concatenate([base, base + 0.25], axis=2)
    assert contender_rank_ranges(crossed(shifted, 0, 100)).tolist() == [[1, 1], [2, 2]]
    one = crossed(np.array([[[0.1, 0.9]]]), 0, 100)
    assert np.isnan(contrasts(one, DIFFERENCE).lower[0])
    assert contender_rank_ranges(one).tolist() == [[1, 2], [1, 2]]


@examples(15)
@given(st.integers(2, 5), st.integers(0, 999))
def test_rank_ranges_are_equivariant_and_mirror(arms: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    losses = effects(rng, 12, 25, arms) + np.linspace(0, 0.5, arms)
    ranges = contender_rank_ranges(crossed(losses, 0, 200))
    assert ((ranges >= 1) & (ranges <= arms)).all()
    assert (ranges[:, 0] <= ranges[:, 1]).all()
    order = rng.permutation(arms)
    assert (contender_rank_ranges(crossed(losses[:, :, order], 0, 200)) == ranges[order]).all()
    mirrored = contender_rank_ranges(crossed(-losses, 0, 200), maximize=True)
    assert (mirrored == ranges).all()


@pytest.mark.parametrize(
    ("draws", "queries", "arms"), part_of([(20, 100, 2), (3, 100, 2), (20, 60, 8), (5, 60, 8), (2, 100, 8), (1, 80, 4)])
)
@pytest.mark.parametrize(("sd_r", "sd_q", "sd"), [(0.1, 0.1, 0.1), (0.1, 0.0, 0.3), (0.0, 0.1, 0.1), (0.0, 0.0, 0.3)])
def test_equal_contenders_are_seldom_called_different(
    draws: int, queries: int, arms: int, sd_r: float, sd_q: float, sd: float
) -> None:
    """The null experiment: contenders equal in distribution; any declared difference is wrong."""
    if draws == 1:
        sd_r = 0.0  # what one draw cannot show; leaderboards say so
    declared = 0
    for seed in range(SEEDS):
        losses = effects(np.random.default_rng([seed, draws]), draws, queries, arms, sd_r, sd_q, sd)
        ranges = contender_rank_ranges(crossed(losses, seed, 300))
        declared += bool((ranges != [1, arms]).any())
    assert declared <= ALLOWED


@pytest.mark.parametrize(("draws", "queries", "arms"), [(20, 100, 2), (20, 60, 8), (1, 80, 4)])
def test_ranges_that_begin_with_those_that_may_be_the_best_hold_together(draws: int, queries: int, arms: int) -> None:
    """Nearly equal contenders, where ranges are wrong most often: 2%, 4% and 6% of 400 tables, not 10%."""
    truth, wrong = np.arange(1, arms + 1), 0
    for seed in range(SEEDS):
        losses = effects(np.random.default_rng([seed, draws]), draws, queries, arms, 0.1 * (draws > 1), 0.1, 0.1)
        low, high = ranges_from_the_best(crossed(losses + 1e-7 * truth, seed, 300)).T
        wrong += bool(((low > truth) | (high < truth)).any())
    assert wrong <= ALLOWED


@pytest.mark.parametrize("maximize", [False, True])
def test_ranges_begin_with_1_for_those_that_may_be_the_best_alone(maximize: bool) -> None:
    sample = sample_of(12, 7)
    whole, first = (one(sample, maximize=maximize) for one in (contender_rank_ranges, contenders_that_may_be_best))
    found = ranges_from_the_best(sample, maximize=maximize)
    assert maximize or (whole[:, 0] == 1).sum() > first.sum() > 1
    np.testing.assert_array_equal(found[:, 0] == 1, first)
    np.testing.assert_array_equal(found[:, 1], whole[:, 1])
    np.testing.assert_array_equal(found[whole[:, 0] > 1], whole[whole[:, 0] > 1])


def test_one_that_alone_may_be_the_best_has_rank_1() -> None:
    """Of two with a p value between 5% and 10% the ranges are both 1 to 2, and the worse one is not the best."""
    paired = np.random.default_rng(2).normal(size=(1, 60, 1))
    paired += 0.23 * paired.std(ddof=1) - paired.mean()
    sample = crossed(np.concatenate([0 * paired, paired], axis=2), 1)
    assert contender_rank_ranges(sample).tolist() == [[1, 2], [1, 2]]
    assert ranges_from_the_best(sample).tolist() == [[1, 1], [2, 2]]


def test_queries_alone_would_declare_too_much() -> None:
    """Why draws are resampled too: given the trained models, equal contenders do differ."""
    declared = 0
    for seed in range(SEEDS):
        losses = effects(np.random.default_rng([seed, 9]), 5, 100, 2, 0.1, 0.05, 0.1)
        declared += stats.ttest_rel(*losses.mean(axis=0).T).pvalue < 0.05
    assert declared > 2 * ALLOWED


def test_power() -> None:
    found = 0
    for seed in range(50):
        losses = effects(np.random.default_rng(seed), 20, 200, 6, 0.02, 0.1, 0.1)
        losses[:, :, 0] -= 0.1  # nearly seven standard errors of a difference
        ranges = contender_rank_ranges(crossed(losses, seed, 300))
        found += ranges[0].tolist() == [1, 1]
    assert found >= 47


def test_coverage_of_crossed_intervals() -> None:
    covered = 0
    for seed in range(SEEDS):
        losses = effects(np.random.default_rng([seed, 4]), 12, 60, 2) + np.array([0.3, 0.0])
        found = contrasts(crossed(losses, seed, 300), DIFFERENCE)
        covered += bool(found.lower[0] <= 0.3 <= found.upper[0])
    assert covered >= SEEDS - ALLOWED


def test_equivalence() -> None:
    lower, upper = np.array([-0.1, 0.2, -0.5, np.nan, -0.3]), np.array([0.1, 0.4, 0.1, np.nan, -0.2])
    assert equivalent(lower, upper, 0.15).tolist() == [True, False, False, False, False]
    assert not_equivalent(lower, upper, 0.15).tolist() == [False, True, False, False, True]


def test_equivalence_at_the_margin_is_declared_at_most_at_its_level() -> None:
    declared = 0
    for seed in range(SEEDS):
        losses = effects(np.random.default_rng([seed, 5]), 12, 60, 2, 0.02, 0.02, 0.1) + np.array([0.03, 0.0])
        found = contrasts(crossed(losses, seed, 300), DIFFERENCE, 0.9)
        declared += bool(equivalent(found.lower, found.upper, 0.03)[0])
    assert declared <= ALLOWED


def test_pitman_morgan_inverts_the_correlation_test() -> None:
    """Equal variances are rejected exactly when sums and differences correlate (scipy)."""
    rng = np.random.default_rng(0)
    for scale in (1.0, 1.5, 3.0):
        a, b = rng.multivariate_normal([0, 0], [[scale**2, 0.5 * scale], [0.5 * scale, 1]], 15).T
        p = stats.pearsonr(a + b, a - b).pvalue
        for level in (1 - p * 1.001, 1 - p * 0.999):
            _, lower, upper = pitman_morgan(a, b, level)
            assert (lower > 1 or upper < 1) == (level < 1 - p)
    ratio, lower, upper = pitman_morgan(a, b)
    assert ratio == pytest.approx(a.std() / b.std())
    assert lower * upper == pytest.approx(ratio**2)
    assert np.isnan(pitman_morgan(a, np.zeros(15))).all()
    assert np.isnan(pitman_morgan(a[:2], b[:2])).all()


def test_sd_ratios_under_the_null_and_with_power() -> None:
    wrong = right = 0
    index = np.array([[0, 1]])
    for seed in range(SEEDS):
        losses = effects(np.random.default_rng([seed, 6]), 20, 60, 3, 0.1, 0.1, 0.1)
        losses[:, :, 2] += np.random.default_rng(seed).normal(0, 0.5, (20, 1))
        sample = crossed(losses, seed, 300)
        found = sd_ratios(sample, index)
        wrong += bool(found.lower[0] > 0 or found.upper[0] < 0)
        right += bool(sd_ratios(sample, np.array([[2, 1]])).lower[0] > 0)
    assert wrong <= ALLOWED
    assert right >= 0.9 * SEEDS


def test_sd_ratios_need_draws_and_spread() -> None:
    rng = np.random.default_rng(0)
    few = crossed(effects(rng, 5, 20, 2), 0, 100)
    assert np.isnan(sd_ratios(few, np.array([[0, 1]])).lower[0])
    losses = effects(rng, 20, 20, 2)
    losses[:, :, 1] = 0.5
    assert np.isnan(sd_ratios(crossed(losses, 0, 100), np.array([[0, 1]])).lower[0])


def corrected(differences: np.ndarray, test_share: float | None) -> SimultaneousIntervals:
    sample = widened_for_overlap(crossed(differences[:, None, None], 1), test_share)
    return contrasts(sample, np.eye(1))


def test_corrected_t_by_hand_and_without_a_test_share() -> None:
    differences = np.array([0.1, 0.3, 0.2, 0.4])
    found = corrected(differences, 0.2)
    se = np.sqrt((0.25 + 0.25) * differences.var(ddof=1))
    half = stats.t.ppf(0.975, 3) * se
    assert (found.estimate[0], found.lower[0], found.upper[0]) == pytest.approx((0.25, 0.25 - half, 0.25 + half))
    assert found.p[0] == pytest.approx(2 * stats.t.sf(0.25 / se, 3))
    assert corrected(differences, None).p[0] == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    # Two arms that vary, and agree.
    twice = np.repeat(differences[:, None, None], 2, axis=2)
    equal = contrasts_over_draws(widened_for_overlap(crossed(twice, 1), 0.1), np.array([[1.0], [-1.0]]))
    assert (equal.p[0], equal.lower[0], equal.upper[0]) == (1, 0, 0)


def test_corrected_t_on_overlapping_splits_keeps_its_level() -> None:
    """Random 80/20 splits of one sample of paired differences with mean zero."""
    wrong = naive = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng([seed, 8])
        sample = rng.normal(size=50)
        splits = np.array([sample[rng.permutation(50)[:10]].mean() for _ in range(15)])
        wrong += corrected(splits, 0.2).p[0] < 0.05
        naive += stats.ttest_1samp(splits, 0).pvalue < 0.05
    assert wrong <= ALLOWED < naive


def test_the_widening_of_subsets_of_one_pool_is_that_of_finite_populations() -> None:
    pool = np.array([0.3, 1.9, -0.4, 2.2, 0.8, 5.0])
    subsets = [np.mean(subset) for subset in itertools.combinations(pool, 4)]
    # Infinitely many subsets are as good as the pool itself: the standard error of its mean.
    widened_variance = np.var(subsets) * widening(10**9, 4 / 6) ** 2 / 10**9
    assert widened_variance == pytest.approx(pool.var(ddof=1) / 6)


def test_one_unit_that_is_the_same_every_time_tells_nothing() -> None:
    losses = np.tile(np.array([0.3, 0.4, 0.5]), (20, 1, 1))
    sample = crossed(losses, 1)
    assert sample.alike
    for found in (contrasts(sample, np.eye(3)), contrasts_over_draws(sample, np.eye(3))):
        assert np.isnan(found.lower).all()
        assert np.isnan(found.upper).all()
    assert contender_rank_ranges(sample).tolist() == [[1, 3]] * 3
    # Where draws differ at all, an arm that never does is certain.
    losses[3, 0, 1] += 0.01
    assert contrasts(crossed(losses, 1), np.eye(3)).lower[0] == pytest.approx(0.3)


def sample_of(arms: int, seed: int, draws: int = 6, queries: int = 40) -> Crossed:
    """Return a sample with contenders that are equal, and ones that differ by a constant."""
    rng = np.random.default_rng(seed)
    losses = rng.normal(0.5, 0.1, (draws, queries, 1)) + rng.normal(0, 0.02, (draws, queries, arms))
    losses += np.linspace(0, 0.05, arms)
    if arms > 3:
        losses[..., 1] = losses[..., 0]
        losses[..., 3] = losses[..., 2] + 0.25
    return crossed(losses, seed, 300)


@pytest.mark.parametrize("arms", [2, 3, 5, 63, 64, 65, 130])
@pytest.mark.parametrize("rows", [2, 7, 300])
def test_the_kernels_are_numpy_on_the_differences_bit_for_bit(arms: int, rows: int) -> None:
    values = np.random.default_rng(arms).normal(size=(rows, arms))
    differences = values @ pairs(arms)[1]
    held, tiled = DenseColumns(differences), module._Differences(values)
    assert (tiled.rows, tiled.count) == differences.shape
    if arms > 2:  # of one column NumPy adds up pairwise: it is always held
        np.testing.assert_array_equal(tiled.variances(), differences.var(axis=0, ddof=1))
    centre, scale = differences.mean(axis=0), differences.std(axis=0)
    scale[::3] = 0
    expected = np.abs((differences - centre)[:, scale > 0] / scale[scale > 0]).max(axis=1, initial=0)
    np.testing.assert_array_equal(tiled.largest(centre, scale), expected)
    if (scale > 0).any():
        np.testing.assert_array_equal(held.largest(centre, scale), expected)


@pytest.mark.parametrize("arms", part_of([2, 4, 9, 70]))
@pytest.mark.parametrize("draws", [1, 2, 3, 6])
@pytest.mark.parametrize("limit", [0, 10**9])
def test_pairs_are_the_contrasts_of_their_matrix(
    arms: int, draws: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HELD", limit)
    sample = sample_of(arms, 3, draws)
    found, expected = contrasts(sample, AllPairs(arms)), contrasts(sample, ContrastMatrix(pairs(arms)[1]))
    for name in ("estimate", "se", "lower", "upper", "p", "local"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def test_one_arm_is_the_contrast_of_a_unit_vector() -> None:
    sample = sample_of(5, 4)
    for arm in range(5):
        found, expected = contrasts(sample, ArmContrast(arm)), contrasts(sample, np.eye(5)[:, [arm]])
        for name in ("estimate", "se", "lower", "upper", "p", "local"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


@pytest.mark.parametrize("maximize", [False, True])
def test_ranks_count_who_is_better_and_who_is_worse(maximize: bool) -> None:
    arms = 12
    sample = sample_of(arms, 5)
    index, matrix = pairs(arms)
    intervals = contrasts(sample, -matrix if maximize else matrix)
    expected = np.tile([1, arms], (arms, 1))
    for (i, j), lower, upper in zip(index, intervals.lower, intervals.upper, strict=True):
        if lower > 0 or upper < 0:
            better, worse = (i, j) if upper < 0 else (j, i)
            expected[worse, 0] += 1
            expected[better, 1] -= 1
    found = contender_rank_ranges(sample, maximize=maximize)
    np.testing.assert_array_equal(found, expected)
    assert len(np.unique(found, axis=0)) > 3


@pytest.mark.parametrize("times", [2, 3, 8])
def test_copies_of_a_repetition_say_no_more_and_no_less_than_it(times: int) -> None:
    """A contender without randomness on the same data was only computed again, however often."""
    once = effects(np.random.default_rng(5), 1, 60, 5) + np.array([0.0, 0.0, 0.1, 0.2, 0.3])
    alone, again = crossed(once, 0), crossed(np.repeat(once, times, axis=0), 0)
    assert len(np.unique(contender_rank_ranges(alone), axis=0)) > 1
    np.testing.assert_array_equal(contender_rank_ranges(again), contender_rank_ranges(alone))
    np.testing.assert_allclose(contrasts(again, AllPairs(5)).lower, contrasts(alone, AllPairs(5)).lower)
    assert not too_few_to_rank(again).any()


def test_few_repetitions_rank_those_that_are_copies_and_not_the_others() -> None:
    """Two copies have Student's t over 60 queries, Bonferroni's of three pairs; the third has 2 degrees of freedom."""
    rng = np.random.default_rng(6)
    losses = np.repeat(effects(rng, 1, 60, 3), 3, axis=0)
    losses[:, :, 2] += rng.normal(0, 0.1, (3, 1))
    found = studentized_contrasts(crossed(losses, 0), AllPairs(3)).intervals()
    half = found.upper - found.estimate
    df = np.array([59, 2, 2])
    np.testing.assert_allclose(half, stats.t(df).ppf(1 - 0.05 / 6) * found.se)
    assert too_few_to_rank(crossed(losses, 0)).tolist() == [False, False, True]


@given(votes=st.integers(2, 60), data=st.data(), low=st.sampled_from([0.0, -2.0]), level=st.sampled_from([0.8, 0.99]))
def test_an_interval_of_a_share_that_would_leave_the_range_is_wilsons(
    votes: int, data: st.DataObject, low: float, level: float
) -> None:
    wins = data.draw(st.integers(1, votes - 1))
    p, z = wins / votes, stats.norm.ppf(0.5 + level / 2)
    half = z * math.sqrt(p * (1 - p) / votes)
    given_ends = low + 3 * (p - half), low + 3 * (p + half)
    found = within_range(*(np.array([x]) for x in (low + 3 * p, *given_ends)), (low, low + 3))
    expected = given_ends
    if p - half < 0 or p + half > 1:
        ci = stats.binomtest(wins, votes).proportion_ci(level, method="wilson")
        expected = low + 3 * ci.low, low + 3 * ci.high
    assert (found[0][0], found[1][0]) == pytest.approx(expected, abs=1e-9)


@given(events=st.integers(1, 60), low=st.sampled_from([0.0, -2.0]), level=st.sampled_from([0.8, 0.99]))
def test_an_interval_that_would_begin_below_the_least_value_is_the_score_interval_of_a_poisson_mean(
    events: int, low: float, level: float
) -> None:
    """Its ends are the means from which so many events are z standard deviations away."""
    z = stats.norm.ppf(0.5 + level / 2)
    given_ends = low + events - z * math.sqrt(events), low + events + z * math.sqrt(events)
    found = above_least(*(np.array([x]) for x in (low + events, *given_ends)), low)
    if given_ends[0] < low:
        ends = [brentq(lambda mean, side=side: mean + side * z * math.sqrt(mean) - events, 0, 1e4) for side in (1, -1)]
        assert (found[0][0] - low, found[1][0] - low) == pytest.approx(ends, abs=1e-9)
    else:
        assert (found[0][0], found[1][0]) == given_ends


@pytest.mark.parametrize("draws", [2, 3, 4])
def test_of_few_repetitions_copies_alone_have_intervals_and_p_values(draws: int) -> None:
    """The first difference is of copies, the others are not: one rule for differences and means, alone or together."""
    losses = np.repeat(effects(np.random.default_rng(6), 1, 60, 3), draws, axis=0)
    losses[:, :, 2] += np.random.default_rng(7).normal(0, 0.1, (draws, 1))
    sample = crossed(losses, 0)
    for found in (contrasts(sample, AllPairs(3)), contrasts_over_draws(sample, AllPairs(3))):
        assert np.isfinite(found.lower).tolist() == [True, *[draws == 4] * 2]
        assert np.isfinite(found.p).tolist() == [True, *[draws == 4] * 2]
    means = [contrasts(sample, ArmContrast(arm)) for arm in range(3)]
    assert [np.isfinite(one.upper[0]) for one in means] == [True, True, draws == 4]
    assert np.isfinite(p_values(means)).tolist() == [True, True, draws == 4]


@pytest.mark.parametrize(
    ("draws", "queries", "few"), [(1, 1, True), (1, 9, False), (2, 1, True), (3, 9, True), (4, 1, False)]
)
def test_repetitions_are_too_few_where_they_show_no_spread(draws: int, queries: int, few: bool) -> None:
    sample = crossed(effects(np.random.default_rng(7), draws, queries, 2), 0)
    assert too_few_to_rank(sample).tolist() == [few] * 2
