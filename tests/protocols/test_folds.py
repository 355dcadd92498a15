"""Folds of a log, and links from scores to chances, against scikit-learn and numbers by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import votewise
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import special, stats
from votewise import rows_of

from rankbench.errors import SpecError
from rankbench.logs.votes import Votes
from rankbench.protocols.folds import FOLDS, INNER, assigned_folds, chosen_grouping, cut_groups, grouping_of, sizes_of
from rankbench.protocols.links import (
    LINKS,
    PairOutcomes,
    calibration_error,
    fit_link,
    fit_tie_link,
    margin_disagreement,
    tie_log_loss,
    win_log_loss,
)


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


def split(log: Votes, grouping: str, repetition: int) -> tuple[NDArray, NDArray]:
    """Return the votes to learn from, and to test on."""
    cut = cut_groups(grouping, sizes_of(log, grouping), 1, repetition)
    return rows_of(cut, grouping_of(log, grouping))


def inner_splits(
    log: Votes, grouping: str, repetition: int, seed: int
) -> tuple[NDArray, list[tuple[NDArray, NDArray]]]:
    """Return the training votes, and of these the places to learn from and to predict."""
    cut = cut_groups(grouping, sizes_of(log, grouping), seed, repetition)
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


@pytest.mark.parametrize("grouping", ["judge", "query", "pair"])
def test_a_partition_tests_every_vote_once(grouping) -> None:
    log = replace(votes(), queries=np.arange(300, dtype=np.int32) // 7)
    tested = np.concatenate([split(log, grouping, r)[1] for r in range(FOLDS)])
    assert sorted(tested) == list(range(len(log)))
    for r in range(FOLDS):
        train, test = split(log, grouping, r)
        assert not set(train) & set(test)
        groups = grouping_of(log, grouping)
        assert not set(groups[train]) & set(groups[test])
        assert len(test) == pytest.approx(len(log) / FOLDS, abs=len(log) / FOLDS / 2)


def test_time_learns_from_the_past_alone() -> None:
    log = votes()
    assert log.times is not None
    for r in range(FOLDS):
        train, test = split(log, "time", r)
        assert log.times[train].max() < log.times[test].min()
    later = [len(split(log, "time", r)[0]) for r in range(FOLDS)]
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
        [split(log, grouping, r) for r in range(FOLDS)]


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
        train, test = split(log, found, r)
        assert log.decisive()[train].any()
        assert log.decisive()[test].any()


@pytest.mark.parametrize(
    ("log", "wanted", "said"),
    [
        (replace(votes(), ties=np.arange(300) > 3), "judge", "4 decisive votes: 5 folds need 5 or more"),
        (replace(votes(), groups=np.zeros(300, np.int32)), "pair", "fewer than 5 pairs"),
        (replace(votes(), queries=np.arange(300) // 80), "query", "fewer than 5 queries have a decisive vote"),
        (replace(votes(), times=np.arange(300), ties=np.arange(300) > 200), "time", "in the order of time"),
    ],
)
def test_folds_that_cannot_be_are_refused_at_once(log: Votes, wanted, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        chosen_grouping(log, wanted)


def test_time_has_five_runs() -> None:
    with pytest.raises(SpecError, match="5 runs in the order of time"):
        split(votes(), "time", FOLDS)


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
    with pytest.raises(SpecError, match="No parameters can be chosen"):
        chosen_grouping(log, "time")


def outcomes(margins, weights=None, ties=None) -> PairOutcomes:
    """Return votes, each on a pair of its own; the winner comes first."""
    margins = np.asarray(margins, dtype=np.float64)
    weights = np.ones(len(margins)) if weights is None else np.asarray(weights, dtype=np.float64)
    tied = np.zeros(len(margins), bool) if ties is None else np.asarray(ties, bool)
    one = np.ones(len(margins))
    return PairOutcomes(margins, weights * ~tied, 0 * one, weights * tied, one * ~tied, one)


def test_the_log_loss_by_hand() -> None:
    votes = outcomes([1.0, -2.0, 5.0], [1, 3, 10], [False, False, True])
    expected = (np.log1p(np.exp(-0.5)) + 3 * np.log1p(np.exp(1.0))) / 4
    assert win_log_loss(votes, 0.5, "logistic") == pytest.approx(expected)
    expected = -(stats.norm.logcdf(0.5) + 3 * stats.norm.logcdf(-1.0)) / 4
    assert win_log_loss(votes, 0.5, "probit") == pytest.approx(expected)
    assert win_log_loss(votes, 0.0, "logistic") == pytest.approx(np.log(2))
    assert np.isnan(win_log_loss(outcomes([1.0], ties=[True]), 1.0, "logistic"))


@pytest.mark.parametrize("link", ["logistic", "probit"])
def test_the_scale_is_found_again(link) -> None:
    rng = np.random.default_rng(3)
    d = rng.normal(size=40_000)
    p = 1 / (1 + np.exp(-1.7 * d)) if link == "logistic" else stats.norm.cdf(1.7 * d)
    won = rng.random(len(d)) < p
    assert fit_link(outcomes(np.where(won, d, -d)), link)[0] == pytest.approx(1.7, rel=0.03)


def test_scores_that_separate_all_votes_get_a_finite_scale() -> None:
    assert 0 < fit_link(outcomes([1.0, 2.0, 3.0]), "logistic")[0] < 10
    assert fit_link(outcomes([-1.0, -2.0, -3.0]), "logistic")[0] == 0
    assert fit_link(outcomes([0.0, 0.0]), "logistic")[0] == 0


def test_davidson_chances_sum_to_one() -> None:
    b, nu, d = 1.3, 0.8, 0.4
    chances = [np.exp(-tie_log_loss(outcomes([x], ties=[t]), b, nu)) for x, t in ((d, False), (-d, False), (d, True))]
    assert sum(chances) == pytest.approx(1)
    assert chances[0] / chances[1] == pytest.approx(np.exp(b * d))


def test_calibration_by_hand() -> None:
    # Two votes at p = .75 (one won, one lost, which is won at .25), logistic link.
    d = np.log(3)
    assert calibration_error(outcomes([d, -d]), 1.0, "logistic") == pytest.approx(0.25)
    assert calibration_error(outcomes([d, d, d, -d]), 1.0, "logistic") == pytest.approx(0, abs=1e-12)
    assert np.isnan(calibration_error(outcomes([d], ties=[True]), 1.0, "logistic"))


def random_pairs(seed: int, n: int, spread: float) -> PairOutcomes:
    """Return pairs with several votes each, of which some go against the margin; margins of many sizes."""
    rng = np.random.default_rng(seed)
    margins = rng.normal(size=n) * 10.0 ** rng.uniform(-spread, spread, n)
    margins[rng.random(n) < 0.1] = 0.0
    counts = rng.integers(0, 4, (3, n)).astype(np.float64)
    counts[0] *= rng.random(n) < special.expit(margins)
    counts[1] *= rng.random(n) < special.expit(-margins)
    return PairOutcomes(margins, *counts, counts[0] + counts[1], counts.sum(axis=0))


PAIRS = st.builds(random_pairs, st.integers(0, 10_000), st.integers(1, 60), st.sampled_from([0.0, 0.5, 3.0]))


LEVEL = 1e-8
"""Slope up to which rounding of the loss hides that it falls: the square root of 1e-16."""


@given(PAIRS, st.sampled_from(LINKS))
@examples(150)
def test_the_fitted_scale_is_the_minimum(pairs: PairOutcomes, link: str) -> None:
    """The padded loss, vote by vote, is level there; the scale follows the unit of the scores."""
    b, loss = fit_link(pairs, link)
    assert loss == pytest.approx(win_log_loss(pairs, b, link), rel=1e-12, nan_ok=True)
    sizes = np.repeat(np.abs(pairs.margins), pairs.decided.astype(int))
    if not sizes.any():
        assert b == 0
        return
    unit = np.median(sizes[sizes > 0])
    votes = votewise.Outcomes.of_pairs(pairs)
    padded = votewise.Outcomes(
        np.concatenate([votes.margins / unit, [1.0, -1.0]]),
        np.concatenate([votes.weights, [1.0, 1.0]]),
        np.concatenate([votes.ties, [False, False]]),
    )

    # The loss is convex in b, so that it is least where its slope is zero.
    if b == 0:
        gained = np.log(2) - votewise.win_log_loss(padded, votewise.least_scale(padded, link), link)
        assert gained <= 1.001e-12
    else:
        assert abs(votewise.win_slope(padded, b * unit, link)) <= LEVEL * padded.mean_size()
    other = PairOutcomes(7 * pairs.margins, pairs.won, pairs.lost, pairs.tied, pairs.decided, pairs.votes)
    assert fit_link(other, link)[0] * 7 == pytest.approx(b, rel=1e-5)


@given(PAIRS)
@examples(100)
def test_the_tie_link_is_the_minimum(pairs: PairOutcomes) -> None:
    b, nu = fit_tie_link(pairs)
    assert b >= 0
    assert nu > 0
    votes = votewise.Outcomes.of_pairs(pairs)
    sizes = np.repeat(np.abs(pairs.margins), pairs.votes.astype(int))
    unit = np.median(sizes[sizes > 0]) if sizes.any() else 1.0
    padded = votewise.Outcomes(
        np.concatenate([votes.margins / unit, [1.0, -1.0, 1.0]]),
        np.concatenate([votes.weights, np.ones(3)]),
        np.concatenate([votes.ties, [False, False, True]]),
    )

    # The loss is convex in (b, log nu); at b = 0 it may fall below.
    in_b, in_nu = votewise.tie_slopes(padded, b * unit, nu)
    assert abs(in_nu) <= LEVEL
    assert in_b >= -LEVEL * padded.mean_size()
    assert b == 0 or in_b <= LEVEL * padded.mean_size()


@pytest.mark.parametrize("far", [1e30, 1e100, 1e200])
@pytest.mark.parametrize("link", LINKS)
def test_margins_of_very_different_sizes_get_a_finite_scale(link: str, far: float) -> None:
    pairs = outcomes([1.0, -1.0, 1.0, far, -far, 1 / far])
    assert np.isfinite(fit_link(pairs, link)).all()


@pytest.mark.parametrize("far", [1e14, 1e16, 1e18, 1e25])
def test_one_margin_that_is_far_larger_hides_no_other(far: float) -> None:
    """Decided long before the others: the scale is that of the log without it, whatever rounding hides at 0."""
    margins, won, lost, tied = np.array(
        [[1.0, 1, 1, 1, 2, far], [3, 2, 4, 1, 2, 1], [1, 1, 1, 1, 1, 0], [1, 0, 1, 0, 1, 0]]
    )
    whole, rest = (
        PairOutcomes(*(column[:n] for column in (margins, won, lost, tied, won + lost, won + lost + tied)))
        for n in (6, 5)
    )
    for link in LINKS:
        assert fit_link(whole, link)[0] == pytest.approx(fit_link(rest, link)[0], rel=1e-9)
    assert fit_tie_link(whole) == pytest.approx(fit_tie_link(rest), rel=1e-6)


@given(PAIRS, st.sampled_from([1e-6, 0.25, 7.0, 1e9]))
@examples(60)
def test_the_unit_of_weights_means_nothing(pairs: PairOutcomes, unit: float) -> None:
    other = PairOutcomes(
        pairs.margins, unit * pairs.won, unit * pairs.lost, unit * pairs.tied, pairs.decided, pairs.votes
    )
    for link in LINKS:
        b, loss = fit_link(pairs, link)
        again, padded = fit_link(other, link)
        assert win_log_loss(pairs, again, link) == pytest.approx(loss, rel=1e-9, nan_ok=True)
        assert padded == pytest.approx(loss, rel=1e-9, nan_ok=True)
        assert again == pytest.approx(b, rel=1e-5)
    if pairs.votes.any():
        expected = tie_log_loss(pairs, *fit_tie_link(pairs))
        assert tie_log_loss(pairs, *fit_tie_link(other)) == pytest.approx(expected, rel=1e-9)


def test_every_coarse_log_has_a_tie_link() -> None:
    rng = np.random.default_rng(0)
    for _ in range(3000):
        margins = rng.integers(-5, 6, 4) * 0.1
        won, lost, tied = rng.integers(0, [[4], [4], [3]], (3, 4)).astype(float)
        b, nu = fit_tie_link(PairOutcomes(margins, won, lost, tied, won + lost, won + lost + tied))
        assert 0 <= b < np.inf
        assert 0 < nu < np.inf


def test_a_tie_link_whose_scale_rounding_hides_is_still_found() -> None:
    # The large margin went either way as often: the best b is 1e-10 of its unit, and no step is relatively small.
    won, lost, tied = np.array([[4.0, 5], [2, 5], [2, 3]])
    pairs = PairOutcomes(np.array([6e-5, -2e5]), won, lost, tied, won + lost, won + lost + tied)
    b, nu = fit_tie_link(pairs)
    assert 0 <= b * 2e5 < 1e-6
    assert nu == pytest.approx(2 * 6 / 18)


def test_equal_scores_count_half() -> None:
    assert margin_disagreement(outcomes([0.0, 1.0, -1.0, -2.0], [2, 1, 1, 1])) == pytest.approx((1 + 1 + 1) / 5)
    assert np.isnan(margin_disagreement(outcomes([1.0], ties=[True])))
