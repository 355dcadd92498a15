"""Folds of a log: groups stay together, nothing is tested that was learned from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankbench.errors import SpecError
from rankbench.logs.folds import FOLDS, grouped_folds, grouping_of, split
from rankbench.logs.votes import Votes


def votes(n: int = 300, judges: int | None = 20, times: bool = True, seed: int = 0) -> Votes:
    rng = np.random.default_rng(seed)
    winners = rng.integers(0, 5, n).astype(np.int32)
    losers = ((winners + rng.integers(1, 5, n)) % 5).astype(np.int32)
    low, high = np.minimum(winners, losers), np.maximum(winners, losers)
    return Votes(
        list("abcde"), winners, losers, rng.random(n) < 0.2, np.ones(n),
        None if judges is None else rng.integers(0, judges, n),
        (low * 5 + high).astype(np.int32), rng.integers(0, 50, n) if times else None,
    )  # fmt: skip


@given(st.lists(st.integers(0, 12), min_size=1, max_size=80), st.integers(2, 6), st.integers(0, 9))
@settings(deadline=None, max_examples=60)
def test_groups_stay_together(groups: list[int], folds: int, seed: int) -> None:
    found = grouped_folds(np.array(groups), folds, np.random.default_rng(seed))
    assert ((found >= 0) & (found < folds)).all()
    for group in set(groups):
        assert len({fold for fold, g in zip(found, groups, strict=True) if g == group}) == 1


@pytest.mark.parametrize("grouping", ["judge", "pair"])
def test_a_partition_tests_every_vote_once(grouping) -> None:
    log = votes()
    tested = np.concatenate([split(log, grouping, r, np.random.default_rng(1))[1] for r in range(FOLDS)])
    assert sorted(tested) == list(range(len(log)))
    for r in range(FOLDS):
        train, test = split(log, grouping, r, np.random.default_rng(1))
        assert not set(train) & set(test)
        groups = grouping_of(log, grouping)
        assert not set(groups[train]) & set(groups[test])
        assert len(test) == pytest.approx(len(log) / FOLDS, abs=len(log) / FOLDS / 2)


def test_time_learns_from_the_past_alone() -> None:
    log = votes()
    assert log.times is not None
    for r in range(FOLDS):
        train, test = split(log, "time", r, np.random.default_rng(r))
        assert log.times[train].max() < log.times[test].min()
    later = [len(split(log, "time", r, np.random.default_rng())[0]) for r in range(FOLDS)]
    assert later == sorted(later)


@pytest.mark.parametrize(
    ("log", "grouping", "said"),
    [
        (votes(judges=None), "judge", "who judged"),
        (votes(judges=1), "judge", "of one judge"),
        (votes(times=False), "time", "say when"),
        (votes(n=3, judges=2), "judge", "too few"),
    ],
)
def test_what_a_log_does_not_say_is_said(log: Votes, grouping, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        [split(log, grouping, r, np.random.default_rng(0)) for r in range(FOLDS)]
