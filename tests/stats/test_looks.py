"""Looking several times: what the looks spend is the level, whenever one stops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankbench.tracking.turns import FIRST_LOOK, declared_looks, share_of_look


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
