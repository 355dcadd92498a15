"""Folds of a log: groups stay together, nothing is tested that was learned from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from votewise import rows_of

from rankbench.errors import SpecError
from rankbench.protocols.folds import FOLDS, INNER, assigned_folds, chosen_grouping, cut_groups, grouping_of, sizes_of
from rankbench.ranking.votes import Votes


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


def grouped_folds(groups: NDArray, folds: int, rng: np.random.Generator, flags: NDArray | None = None) -> NDArray:
    """Return the fold of each vote."""
    total = np.bincount(groups)
    main = total if flags is None else np.bincount(groups[flags], minlength=len(total))
    return assigned_folds(total, main, folds, rng)[groups]


def split(log: Votes, grouping: str, repetition: int, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
    """Return the votes to learn from, and to test on."""
    cut = cut_groups(sizes_of(log, grouping), repetition, rng, np.random.default_rng(0))
    return rows_of(cut, grouping_of(log, grouping))


def inner_splits(
    log: Votes, grouping: str, repetition: int, seed: int
) -> tuple[NDArray, list[tuple[NDArray, NDArray]]]:
    """Return the training votes, and of these the places to learn from and to predict."""
    cut = cut_groups(sizes_of(log, grouping), repetition, np.random.default_rng(seed), np.random.default_rng(seed + 1))
    groups = grouping_of(log, grouping)
    train, _ = rows_of(cut, groups)
    part = cut.part[groups[train]]
    return train, [(np.flatnonzero(np.isin(part, learned)), np.flatnonzero(part == out)) for learned, out in cut.inner]


@given(st.lists(st.integers(0, 12), min_size=1, max_size=80), st.integers(2, 6), st.integers(0, 9))
@examples(60)
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


@given(st.lists(st.integers(1, 400), min_size=5, max_size=12), st.integers(0, 99))
@examples(80)
def test_no_fold_is_empty_where_groups_are_enough(sizes: list[int], seed: int) -> None:
    groups = np.repeat(np.arange(len(sizes)), sizes)
    found = np.bincount(grouped_folds(groups, FOLDS, np.random.default_rng(seed)), minlength=FOLDS)
    assert found.min() > 0
    # Greedy: the largest fold is at most one group fuller than the smallest.
    assert found.max() - found.min() <= max(sizes)


@given(st.lists(st.booleans(), min_size=5, max_size=40), st.integers(0, 99))
@examples(60)
def test_every_fold_has_a_decisive_vote_where_groups_have(decisive: list[bool], seed: int) -> None:
    flags = np.array([*decisive, *[True] * FOLDS])
    found = grouped_folds(np.arange(len(flags)) // 2 * 2, FOLDS, np.random.default_rng(seed), flags)
    if len(np.unique((np.arange(len(flags)) // 2)[flags])) >= FOLDS:
        assert np.bincount(found[flags], minlength=FOLDS).min() > 0


def test_partitions_differ() -> None:
    groups = np.repeat(np.arange(20), 10)
    assert len({tuple(grouped_folds(groups, FOLDS, np.random.default_rng(s))) for s in range(10)}) == 10


def unequal(sizes: list[int]) -> Votes:
    log = votes(n=sum(sizes))
    return replace(log, judges=np.repeat(np.arange(len(sizes)), sizes))


@pytest.mark.parametrize(
    ("log", "grouping", "said"),
    [
        (votes(judges=20), "judge", "All votes of a judge are held out together."),
        (votes(judges=4), "pair", "4 judges, who by their shares of the votes count like"),
        (unequal([200] + [10] * 20), "pair", "count like"),
        (unequal([100] + [10] * 38), "pair", "One judge cast 21% of the votes"),
        (votes(judges=None), "pair", "The log does not say who judged: folds are not by judge."),
        (replace(votes(judges=None), unsigned=3), "pair", "The log does not say who judged every vote: folds are not"),
        (votes(judges=None), "pair", "Votes on one pair of items (and query) are held out together."),
        (votes(judges=1), "pair", "of one judge"),
        (replace(votes(judges=4), groups=np.zeros(300, np.int32)), "vote", "Single votes are held out"),
        (replace(votes(judges=20), ties=votes(judges=20).judges > 3), "pair", "Few judges cast a decisive vote"),
    ],
)
def test_what_is_held_out_is_decided_by_what_the_log_has(log: Votes, grouping: str, said: str) -> None:
    found, notes = chosen_grouping(log, "judge")
    assert found == grouping
    assert said in " ".join(notes)
    for r in range(10):
        train, test = split(log, found, r, np.random.default_rng(r))
        assert log.decisive()[train].any()
        assert log.decisive()[test].any()


@pytest.mark.parametrize(
    ("log", "wanted", "said"),
    [
        (replace(votes(), ties=np.arange(300) > 3), "judge", "4 decisive votes: 5 folds need 5 or more"),
        (replace(votes(), groups=np.zeros(300, np.int32)), "pair", "fewer than 5 pairs"),
        (replace(votes(), times=np.arange(300), ties=np.arange(300) > 200), "time", "in the order of time"),
    ],
)
def test_folds_that_cannot_be_are_refused_at_once(log: Votes, wanted, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        chosen_grouping(log, wanted)


def test_time_has_five_runs() -> None:
    with pytest.raises(SpecError, match="5 runs in the order of time"):
        split(votes(), "time", FOLDS, np.random.default_rng(0))


@given(st.integers(0, 30), st.integers(0, 4), st.integers(12, 200))
@examples(60)
def test_inner_folds_by_time_learn_from_the_past_alone(seed: int, repetition: int, distinct: int) -> None:
    log = replace(votes(seed=seed), times=np.random.default_rng(seed).integers(0, distinct, 300))
    train, cut = inner_splits(log, "time", repetition, 0)
    assert 0 < len(cut) <= INNER
    tested = np.concatenate([later for _, later in cut])
    assert len(np.unique(tested)) == len(tested)
    for earlier, later in cut:
        times = log.times[train]
        assert times[earlier].max() < times[later].min()
        # All of the past, and nothing between.
        np.testing.assert_array_equal(np.sort(earlier), np.flatnonzero(times < times[later].min()))


@pytest.mark.parametrize("grouping", ["judge", "pair", "vote"])
def test_inner_folds_predict_every_vote_once_from_other_groups(grouping) -> None:
    log = votes()
    train, cut = inner_splits(log, grouping, 0, 1)
    assert len(cut) == INNER
    np.testing.assert_array_equal(np.sort(np.concatenate([out for _, out in cut])), np.arange(len(train)))
    groups = grouping_of(log, grouping)[train]
    for inside, outside in cut:
        assert not set(groups[inside].tolist()) & set(groups[outside].tolist())
        assert len(inside) + len(outside) == len(train)


def test_times_of_which_the_first_sixth_has_one_leave_nothing_to_choose_by() -> None:
    log = replace(votes(n=120), times=np.sort(np.arange(120) // 20), ties=np.zeros(120, bool))
    with pytest.raises(SpecError, match="parameters cannot be chosen"):
        chosen_grouping(log, "time")
