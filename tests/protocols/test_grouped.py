"""Grouped counts, held against the same done vote by vote."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
import votewise
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.aggregators.elo import Elo
from rankbench.aggregators.rates import WinRate
from rankbench.interfaces.aggregator import Aggregator
from rankbench.plugin import manager
from rankbench.protocols.folds import HeldOut, cut_groups, grouping_of
from rankbench.protocols.links import margin_disagreement
from rankbench.protocols.log_votes import compared_pairs, group_votes, pack_grouped, pack_pairs, unpack_grouped
from rankbench.protocols.trial import Trial, trial_losses
from rankbench.ranking.votes import Votes, all_ones

LOSSES = ("disagreement", "log-loss", "calibration", "three-outcome-loss")


def random_log(seed: int, n: int, m: int = 5, *, weighted: bool, queries: int = 2) -> Votes:
    """Return votes with judges, ties, times of which some are equal, queries, and perhaps weights."""
    rng = np.random.default_rng(seed)
    winners = rng.integers(0, m, n).astype(np.int32)
    losers = ((winners + rng.integers(1, m, n)) % m).astype(np.int32)
    pair = np.minimum(winners, losers) * m + np.maximum(winners, losers)
    groups = np.unique(rng.integers(0, queries, n) * m * m + pair, return_inverse=True)[1]
    times = np.unique(np.sort(rng.integers(0, n // 2, n)), return_inverse=True)[1]
    return Votes(
        [f"i{i}" for i in range(m)], winners, losers, rng.random(n) < rng.choice([0.0, 0.2, 0.6]),
        rng.choice([0.1, 1.0, 2.5, 1 / 3], n) if weighted else all_ones(n),
        np.unique(rng.integers(0, 14, n), return_inverse=True)[1],
        groups.astype(np.int32), times.astype(np.int32),
    )  # fmt: skip


def trials(log: Votes, kind: HeldOut, seed: int, repetition: int) -> tuple[Trial, tuple]:
    """Return a repetition on groups; and its votes to learn from, to test on, and within the training part."""
    grouped = group_votes(log, kind, *compared_pairs(log))
    assert len(grouped.slot) <= len(log)
    cut = cut_groups(grouped.sizes, repetition, *(np.random.default_rng([seed, k]) for k in (1, 2)))
    groups = grouping_of(log, kind)
    train, test = votewise.rows_of(cut, groups)
    part = cut.part[groups[train]]
    inner = [(np.flatnonzero(np.isin(part, learned)), np.flatnonzero(part == out)) for learned, out in cut.inner]
    return Trial(grouped, cut, log.items, lambda: log), (train, test, inner)


LOGS = st.builds(random_log, st.integers(0, 10_000), st.integers(80, 300), weighted=st.booleans())


@given(LOGS, st.sampled_from(get_args(HeldOut)), st.integers(0, 4), st.floats(0.0, 4.0), st.floats(0.01, 3.0))
@examples(120)
def test_losses_are_those_of_single_votes(log: Votes, kind: HeldOut, repetition: int, b: float, nu: float) -> None:
    from rankbench.protocols import links

    trial, (_, test, _) = trials(log, kind, 3, repetition)
    # Scores that both are given, of sizes that no link was fitted to; two are equal.
    scores = np.random.default_rng(len(log)).normal(size=len(log.items))
    scores[0] = scores[1]
    trial.scores = lambda *_: scores
    pairs = trial.tested(WinRate())
    votes = votewise._outcomes(scores, log, test)
    decisive = votes.decisive()
    wrong = (decisive.margins < 0) + 0.5 * (decisive.margins == 0)
    close = {"rel": 1e-12, "abs": 1e-15, "nan_ok": True}
    if len(decisive.margins):
        assert links.margin_disagreement(pairs) == pytest.approx(
            decisive.weights @ wrong / decisive.weights.sum(), **close
        )
    assert links.tie_log_loss(pairs, b, nu) == pytest.approx(votewise.tie_log_loss(votes, b, nu), **close)
    for link in links.LINKS:
        expected = votewise.win_log_loss(votes, b, link)
        assert links.win_log_loss(pairs, b, link) == pytest.approx(expected, **close)
        expected = votewise.calibration_error(votes, b, link)
        assert links.calibration_error(pairs, b, link) == pytest.approx(expected, **close)


@given(LOGS, st.sampled_from(get_args(HeldOut)), st.integers(0, 4))
@examples(15)
@pytest.mark.parametrize("aggregator", [BradleyTerry(), WinRate(), Elo(factor=8)], ids=str)
def test_a_contender_is_judged_as_vote_by_vote(aggregator, log: Votes, kind: HeldOut, repetition: int) -> None:
    """Up to the tolerance of the simplex search that the plain form fits its links by."""
    trial, rows = trials(log, kind, 5, repetition)
    found, _ = trial_losses([aggregator], trial, LOSSES)
    expected, _ = votewise._judged([aggregator], log, *rows)
    for loss in LOSSES:
        assert found[loss] == pytest.approx(expected[loss], rel=1e-5, abs=1e-6, nan_ok=True)


@given(LOGS, st.sampled_from(get_args(HeldOut)), st.integers(0, 4))
@examples(60)
def test_scores_come_from_the_votes_of_the_parts(log: Votes, kind: HeldOut, repetition: int) -> None:
    trial, (train, _, inner) = trials(log, kind, 7, repetition)
    for (learned, _), (inside, _) in zip(trial.cut.inner, inner, strict=True):
        expected = votewise.scores_of(WinRate(), log, train[inside])
        np.testing.assert_allclose(trial.scores(WinRate(), learned), expected, rtol=1e-12, atol=1e-15)
    expected = votewise.scores_of(Elo(), log, train)
    np.testing.assert_array_equal(trial.scores(Elo(), tuple(range(trial.cut.tested))), expected)


def test_nothing_is_left_of_votes_that_are_held_out() -> None:
    """.1 + .2 - .2 - .1 is not 0: what the other folds hold is added up, never taken away from the whole."""
    log = random_log(1, 200, 12, weighted=True, queries=1)
    for repetition in range(5):
        trial, (train, _, _) = trials(log, "judge", 1, repetition)
        everything = trial._counts[tuple(range(trial.cut.tested))]
        expected = log.counts(train)
        np.testing.assert_array_equal(everything.starts, expected.starts)
        np.testing.assert_array_equal(everything.high, expected.high)
        for name in ("forward", "backward", "ties"):
            np.testing.assert_allclose(getattr(everything, name), getattr(expected, name), rtol=1e-14)
        assert everything.judgments == expected.judgments


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", get_args(HeldOut))
def test_grouped_votes_come_back(kind: HeldOut, weighted: bool) -> None:
    log = random_log(2, 150, weighted=weighted)
    grouped = group_votes(log, kind, *compared_pairs(log))
    found = unpack_grouped(pack_grouped(grouped) | pack_pairs(grouped.pairs))
    assert found.sizes.kind == kind
    for name in ("starts", "slot", "count", "weight"):
        np.testing.assert_array_equal(getattr(found, name), getattr(grouped, name))
    assert len(grouped.weight) == (len(grouped.slot) if weighted else 0)
    assert int(grouped.count.sum()) == len(log)
    assert int(grouped.sizes.decisive.sum()) == int(log.decisive().sum())


def test_many_votes_of_a_judge_on_a_pair_are_one_row() -> None:
    log = random_log(4, 3000, 3, weighted=False, queries=1)
    assert len(group_votes(log, "judge", *compared_pairs(log)).slot) <= 14 * 3 * 3
    assert len(group_votes(log, "pair", *compared_pairs(log)).slot) <= 3 * 3


@pytest.mark.parametrize("method", ["pagerank", "thurstone-mosteller"])
@pytest.mark.parametrize("seed", range(4))
def test_items_of_the_same_record_have_equal_scores_whatever_their_names(method: str, seed: int) -> None:
    """A few votes on many items: rounding sets apart what is equal, one way or the other by the order of the names."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 200, 250).astype(np.int32)
    second = ((first + rng.integers(1, 200, 250)) % 200).astype(np.int32)
    items, one = [f"{i:03d}" for i in range(200)], np.zeros(250, np.int32)
    found = []
    for names in (np.arange(200, dtype=np.int32), rng.permutation(200).astype(np.int32)):
        votes = Votes(items, names[first], names[second], one > 0, np.ones(250), None, one, None)
        grouped = group_votes(votes, "vote", *compared_pairs(votes))
        cut = cut_groups(grouped.sizes, 0, np.random.default_rng(1), np.random.default_rng(2))
        outcomes = Trial(grouped, cut, items, lambda known=votes: known).tested(manager.get(Aggregator, method))
        found.append((np.count_nonzero(outcomes.margins), margin_disagreement(outcomes)))
    assert found[0] == found[1]
