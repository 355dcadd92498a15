"""Log ratios of times in turns, and intervals of medians."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from rankbench.tracking.turns import (
    FIRST_LOOK,
    declared_looks,
    launch_log_ratios,
    median_interval,
    share_of_look,
)


@given(arrays(np.float64, (3, 4), elements=st.floats(1, 5)), st.integers(0, 3), st.integers(0, 3))
def test_interruptions_of_all_calls_but_one_do_not_matter(late: np.ndarray, one: int, other: int) -> None:
    """Each launch has one call of each that nothing interrupts, in different rounds."""
    base, head = 2.0 * late, 3.0 * late[:, ::-1]
    base[:, one], head[:, other] = 2.0, 3.0
    np.testing.assert_allclose(launch_log_ratios(head, base), np.log(1.5), rtol=1e-12)


@given(
    arrays(np.float64, st.integers(1, 40), elements=st.floats(0.1, 9), unique=True), st.sampled_from([0.5, 0.9, 0.95])
)
def test_the_interval_of_a_median_is_that_of_signs(values: np.ndarray, level: float) -> None:
    lower, upper = median_interval(values, level)
    if np.isnan(lower):
        assert 2 * 0.5 ** len(values) > 1 - level
        return
    below = int((values < lower).sum())
    assert int((values > upper).sum()) == below
    assert 2 * stats.binom.cdf(below, len(values), 0.5) <= 1 - level < 2 * stats.binom.cdf(
        below + 1, len(values), 0.5
    ) or (below + 1 > len(values) // 2 - 1)


def test_the_interval_of_a_median_covers_it() -> None:
    rng = np.random.default_rng(2)
    intervals = np.array([median_interval(rng.exponential(size=12)) for _ in range(2000)])
    covered = ((intervals[:, 0] <= np.log(2)) & (np.log(2) <= intervals[:, 1])).mean()
    exact = 1 - 2 * stats.binom.cdf(2, 12, 0.5)  # between the third and the tenth
    assert covered == pytest.approx(exact, abs=0.015)


@given(st.integers(1, 5000))
def test_all_looks_together_spend_the_level(declared: int) -> None:
    looks = declared_looks(declared)
    assert list(looks) == sorted(set(looks))
    assert looks[-1] == declared
    assert looks[0] >= min(FIRST_LOOK, declared)
    assert sum(share_of_look(declared, look, last=False) for look in looks) == pytest.approx(1)


@given(st.integers(1, 2000), st.data())
def test_who_runs_out_of_time_gets_what_is_left(declared: int, data: st.DataObject) -> None:
    seen = data.draw(st.integers(1, declared))
    before = [look for look in declared_looks(declared) if look < seen]
    spent = sum(share_of_look(declared, look, last=False) for look in before)
    assert spent + share_of_look(declared, seen, last=True) == pytest.approx(1)
    assert share_of_look(declared, seen, last=True) > 0


def test_the_last_of_many_looks_keeps_most_of_the_level() -> None:
    assert declared_looks(60) == (6, 8, 11, 15, 21, 30, 42, 60)
    assert share_of_look(60, 60, last=False) == pytest.approx(1 - 0.7**3)
    assert share_of_look(60, 42, last=True) == pytest.approx(1 - 0.5**3)


def test_stopping_at_the_best_moment_raises_no_more_alarms_than_the_level() -> None:
    """The worst that one can do: stop at whichever look has the lowest p-value for its share."""
    rng, level, times = np.random.default_rng(1), 0.05, 4000
    values = rng.normal(size=(times, 60))
    alarm, naive = np.zeros(times, bool), np.zeros(times, bool)
    for look in declared_looks(60):
        part = values[:, :look]
        p = stats.t.sf(part.mean(axis=1) / part.std(axis=1, ddof=1) * np.sqrt(look), look - 1)
        alarm |= p <= level * share_of_look(60, look, last=False)
        naive |= p <= level
    assert stats.binomtest(int(alarm.sum()), times, level, alternative="greater").pvalue > 0.001
    assert naive.mean() > 2 * level
