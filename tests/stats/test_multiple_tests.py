"""Holm's correction by hand, and step-down tests beside a naive form that goes through every hypothesis."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankbench.stats import contrast_columns, simultaneous
from rankbench.stats.bootstrap import counts
from rankbench.stats.contrast_columns import AllPairs
from rankbench.stats.multiple_tests import FIRST, SECOND, holm, told_apart
from rankbench.stats.simultaneous import OwnErrors, allowing_for_resamples


def test_holm_by_hand() -> None:
    p = np.array([0.01, np.nan, 0.04, 0.03, 0.005])
    np.testing.assert_allclose(holm(p), [0.03, np.nan, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm(np.array([0.6, 0.7])), [1, 1])
    assert np.isnan(holm(np.array([np.nan]))).all()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_between_p_and_bonferroni(values: list[float]) -> None:
    p = np.array(values)
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert (adjusted <= np.minimum(p * len(p), 1) + 1e-12).all()


ALPHA = 0.05


def naive(means: np.ndarray, draws: np.ndarray, df: float, alpha: float = ALPHA) -> set[tuple[int, int]]:
    """Return the ordered pairs (i, j) of which "i is not greater than j" is rejected.

    Independent of the module: sets of hypotheses, a loop over them, normal quantiles turned into levels.
    """
    m = len(means)
    deviation = draws - means
    spread = {(i, j): np.std(draws[:, i] - draws[:, j], ddof=1) for i in range(m) for j in range(m) if i != j}
    standing = {pair for pair, s in spread.items() if s > 0}
    rejected: set[tuple[int, int]] = set()
    while True:
        if not standing:
            return rejected
        worst = np.max([(deviation[:, i] - deviation[:, j]) / spread[i, j] for i, j in standing], axis=0)
        # One-sided level of a single test: not above alpha / 2, and at least Bonferroni's.
        one = max(alpha / len(standing), min(float(stats.norm.sf(np.quantile(worst, 1 - alpha))), alpha / 2))
        limit = stats.t.isf(one, df)
        new = {(i, j) for i, j in standing if (means[i] - means[j]) / spread[i, j] > limit}
        if not new:
            return rejected
        rejected |= new
        standing -= new


def signs(means: np.ndarray, draws: np.ndarray, df: float, level: float = 1 - ALPHA) -> np.ndarray:
    m = len(means)
    first, second = np.triu_indices(m, 1)
    pairs = AllPairs(m).contrast_rows(draws - means)
    se = np.sqrt(pairs.variances())
    centre = np.zeros(len(se))

    def largest(sides: np.ndarray) -> np.ndarray:
        return pairs.largest(centre, se, sides)

    return told_apart(
        means[first] - means[second], se, lambda local: np.full(len(se), -stats.t.ppf(local / 2, df)), largest, level
    )


@examples(40)
@given(st.integers(2, 7), st.integers(0, 10_000), st.floats(0.0, 1.0))
def test_it_is_the_naive_form(m: int, seed: int, gap: float) -> None:
    rng = np.random.default_rng(seed)
    means = gap * rng.normal(size=m)
    draws = means + 0.3 * rng.normal(size=(400, m)) @ rng.normal(size=(m, m)) / np.sqrt(m)
    first, second = np.triu_indices(m, 1)
    found = signs(means, draws, 20.0)
    pairs = {(int(i), int(j)) for i, j, s in zip(first, second, found, strict=True) if s > 0}
    pairs |= {(int(j), int(i)) for i, j, s in zip(first, second, found, strict=True) if s < 0}
    assert pairs == naive(means, draws, 20.0)


def single_step(means: np.ndarray, draws: np.ndarray, df: float) -> np.ndarray:
    """Return the signs that simultaneous two-sided intervals give: the former rule."""
    first, second = np.triu_indices(len(means), 1)
    differences = (draws - means)[:, first] - (draws - means)[:, second]
    se = differences.std(axis=0, ddof=1)
    largest = np.abs(differences / se).max(axis=1)
    local = min(max(ALPHA / len(se), float(2 * stats.norm.sf(np.quantile(largest, 1 - ALPHA)))), ALPHA)
    lead = means[first] - means[second]
    return np.where(np.abs(lead) > -stats.t.ppf(local / 2, df) * se, np.sign(lead), 0)


def test_it_is_never_wider_than_one_step_and_sometimes_narrower() -> None:
    more = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        m = int(rng.integers(2, 12))
        means = rng.exponential(size=m) * rng.exponential()
        draws = means + 0.3 * rng.normal(size=(300, m))
        stepped, once = signs(means, draws, 40.0), single_step(means, draws, 40.0)
        assert ((stepped == once) | (once == 0)).all()
        more += bool((stepped != once).any())
    assert more >= 5


def test_without_replicates_it_is_holm() -> None:
    z = np.array([4.0, -2.75, 2.62, 1.0])
    se = np.ones(4)

    def critical(local: float) -> np.ndarray:
        return np.full(4, stats.norm.isf(local / 2))

    # Eight hypotheses: one-sided level .05 / 8 is 2.50; a pair that must not be counted away makes 2.73 of 16.
    assert told_apart(z, se, critical, None).tolist() == [1, -1, 1, 0]
    # The first is rejected at 16 (2.73), and so is the second; the third at 14: 2.69 still refuses it.
    assert told_apart(z, se, critical, None, hypotheses=16).tolist() == [1, -1, 0, 0]
    assert told_apart(np.array([1.0, 1.0]), np.zeros(2), lambda local: np.ones(2), None).tolist() == [0, 0]


@pytest.mark.parametrize("limit", [0, 10**9])
@pytest.mark.parametrize("arms", [2, 5, 63, 64, 65, 130])
def test_one_sided_maxima_are_numpy_bit_for_bit(arms: int, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contrast_columns, "HELD", limit)
    rng = np.random.default_rng(arms)
    values = rng.normal(size=(50, arms))
    first, second = np.triu_indices(arms, 1)
    differences = values[:, first] - values[:, second]
    centre, scale = differences.mean(axis=0), differences.std(axis=0)
    sides = rng.integers(0, 4, size=len(scale)).astype(np.uint8)
    scale[rng.random(len(scale)) < 0.2] = 0
    safe = np.where(scale > 0, scale, 1.0)
    z = (differences - centre) / safe
    up = np.where((scale > 0) & (sides & FIRST > 0), z, 0.0)
    down = np.where((scale > 0) & (sides & SECOND > 0), -z, 0.0)
    expected = np.maximum(up, down).max(axis=1).clip(min=0)
    np.testing.assert_array_equal(AllPairs(arms).contrast_rows(values).largest(centre, scale, sides), expected)


def wrong_shares(make: Callable[[np.random.Generator], np.ndarray], families: int, df: int) -> float:
    """Return the share of families with a wrong sign: means of df + 1 normal observations, their bootstrap."""
    wrong = 0
    for seed in range(families):
        rng = np.random.default_rng([seed, 77])
        truth = make(rng)
        m = len(truth)
        sample = truth + rng.normal(size=(df + 1, m)) * np.linspace(0.5, 2, m)
        mean = sample.mean(axis=0)
        weights = rng.multinomial(df + 1, np.full(df + 1, 1 / (df + 1)), size=400) / (df + 1)
        found = signs(mean, weights @ sample, df)
        first, second = np.triu_indices(m, 1)
        true = np.sign(truth[first] - truth[second])
        wrong += bool(((found != 0) & (found != true)).any())
    return wrong / families


@pytest.mark.long
@pytest.mark.parametrize(
    "truth",
    [[0.0] * 8, [0.0] * 4 + [3.0] * 4, [0, 0, 1, 1, 2, 2, 3, 3], [0.0] + [9.0] * 7, [0, 0.3, 0.6, 0.9, 1.2, 1.5]],
    ids=["equal", "two groups", "four pairs", "one apart", "evenly spaced"],
)
def test_wrong_signs_are_at_most_one_family_in_twenty(truth: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    """2,000 families: a share of 5% has a standard deviation of .5%."""
    share = wrong_shares(lambda rng: np.array(truth), 2000, 99)
    with capsys.disabled():
        print(f"\n{truth}: {share:.4f} of 2,000 families have a wrong sign")
    assert share <= 0.065


def looped(means: np.ndarray, seed: int, replicates: int) -> np.ndarray:
    """Return deviations, a resample and a pair at a time."""
    tasks, systems = means.shape
    drawn = counts(np.random.default_rng([seed, 2]), replicates, tasks).astype(int)
    found = np.empty((replicates, systems * (systems - 1) // 2))
    for row, often in enumerate(drawn):
        sample = np.repeat(means, often, axis=0)
        for at, (i, j) in enumerate(zip(*np.triu_indices(systems, 1), strict=True)):
            own, whole = sample[:, i] - sample[:, j], means[:, i] - means[:, j]
            variance = max(own.var(ddof=1) / len(own), whole.var(ddof=1) / tasks / 4)
            found[row, at] = (own.mean() - whole.mean()) / np.sqrt(variance)
    return found


def test_deviations_are_those_of_a_loop() -> None:
    means = np.random.default_rng(1).lognormal(0, 2, size=(12, 4))
    found = OwnErrors.of_pairs(means, 3, 50)
    assert found is not None
    expected = looped(means, 3, 50)
    np.testing.assert_allclose(found.values, expected, rtol=1e-9, atol=1e-12)
    sides = np.array([FIRST | SECOND, FIRST, SECOND, 0, FIRST | SECOND, FIRST], np.uint8)
    se = np.array([1.0, 1, 1, 1, 0, 1])
    largest = np.maximum.reduce([np.abs(expected[:, 0]), expected[:, 1], -expected[:, 2], expected[:, 5], np.zeros(50)])
    # On the scale of normal deviations of the same level.
    np.testing.assert_allclose(found.largest(se, sides), stats.norm.isf(stats.t.sf(largest, 11)), rtol=1e-9)


def test_systems_that_are_the_same_have_no_deviation() -> None:
    means = np.repeat(np.random.default_rng(1).normal(size=(12, 1)), 3, axis=1)
    found = OwnErrors.of_pairs(means, 3, 50)
    assert found is not None
    assert (found.values == 0).all()


def test_a_resample_without_the_one_task_that_differs_rules_nothing() -> None:
    means = np.zeros((40, 2))
    means[0, 0] = 1.0
    found = OwnErrors.of_pairs(means, 3, 2000)
    assert found is not None
    # The task is missing in a third of the resamples: a mean of 0, 1 / 40 less than that of all, at half its error.
    assert found.values.min() == pytest.approx(-2, rel=0.02)
    assert (found.values < -1.9).mean() == pytest.approx(np.exp(-1), abs=0.05)


@pytest.mark.parametrize(("held", "products"), [(60_000, 10**12), (10**9, 600_000)])
def test_what_would_take_too_much_is_done_with_fewer_resamples_or_not_at_all(
    held: int, products: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    means = np.random.default_rng(1).normal(size=(10, 10))
    monkeypatch.setattr(simultaneous, "_HELD", held)
    monkeypatch.setattr(simultaneous, "_PRODUCTS", products)
    found = OwnErrors.of_pairs(means, 1, 5000)
    assert found is not None
    assert found.values.shape == (1333, 45)
    monkeypatch.setattr(simultaneous, "FEWEST", 1400)
    assert OwnErrors.of_pairs(means, 1, 5000) is None


def test_an_allowance_for_resamples_is_one_of_a_binomial() -> None:
    # Of so many uniform deviates the order statistic at that level is above .95 in 95% of samples.
    for replicates in (1000, 10_000):
        level = allowing_for_resamples(0.95, replicates)
        order = int(np.ceil(level * (replicates - 1))) + 1
        assert stats.beta.sf(0.95, order, replicates - order + 1) == pytest.approx(0.95, abs=0.02)
    assert allowing_for_resamples(0.95, 2) == 1.0
