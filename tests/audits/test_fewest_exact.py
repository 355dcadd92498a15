"""Fewest votes that change the first place: equal to brute force over all subsets of small logs."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

import rankbench
from rankbench.audits import fewest_exact
from rankbench.audits.audit import vote_board
from rankbench.audits.fewest import fewest_judges, fewest_votes
from rankbench.audits.fewest_exact import Fewest, fewest_for_borda, fewest_for_win_rate, fewest_units_for_win_rate
from rankbench.interfaces.aggregator import Aggregator
from rankbench.logs.open import open_log
from rankbench.logs.votes import Votes, all_ones
from rankbench.plugin import manager


@st.composite
def small_logs(draw, most: int = 9) -> Votes:
    """Return a log of a few votes on two to four items, ties among them."""
    m = draw(st.integers(2, 4))
    pairs = list(itertools.permutations(range(m), 2))
    rows = draw(st.lists(st.tuples(st.sampled_from(pairs), st.booleans()), min_size=1, max_size=most))
    winners, losers = np.array([pair for pair, _ in rows], np.int32).T
    ties = np.array([tie for _, tie in rows])
    judges = np.array(draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))), np.int32)
    return Votes([f"i{k}" for k in range(m)], winners, losers, ties, all_ones(len(rows)), judges, judges, None)


def scores(votes: Votes, kept: np.ndarray, method: str) -> np.ndarray:
    """Return win rates or net wins of the votes that are kept, a vote at a time."""
    won, judged = np.zeros(len(votes.items)), np.zeros(len(votes.items))
    for row in np.flatnonzero(kept):
        one, other, tie = votes.winners[row], votes.losers[row], votes.ties[row]
        judged[[one, other]] += 1
        won[one] += 0.5 if tie else 1.0
        won[other] += 0.5 if tie else 0.0
    return 2 * won - judged if method == "borda" else np.where(judged > 0, won / np.maximum(judged, 1), 0.5)


def brute_force(votes: Votes, units: np.ndarray, first: int, method: str) -> int | None:
    """Return the size of the smallest set of units without which another item scores higher."""
    numbers = np.unique(units)
    for size in range(len(numbers) + 1):
        for removed in itertools.combinations(numbers, size):
            left = scores(votes, ~np.isin(units, removed), method)
            if left.max() > left[first] + 1e-9:
                return size
    return None


def check(votes: Votes, units: np.ndarray, found: Fewest | None, first: int, method: str) -> None:
    """Check that a set is as small as brute force's, and that its rival passes without it."""
    some = found is not None and len(found.units) > 0
    assert (len(found.units) if some else None) == brute_force(votes, units, first, method)
    if some:
        left = scores(votes, ~np.isin(units, found.units), method)
        assert left[found.rival] > left[first]
        assert found.bound == len(found.units)


@pytest.mark.parametrize("method", ["borda", "win-rate"])
def test_votes_equal_brute_force(method: str) -> None:
    @examples(200)
    @given(small_logs())
    def law(votes: Votes) -> None:
        first = int(np.argmax(scores(votes, np.ones(len(votes), bool), method)))
        rivals = np.flatnonzero(np.arange(len(votes.items)) != first)
        if method == "borda":
            found = fewest_for_borda(votes, votes.numbers, first, rivals)
        else:
            found = fewest_for_win_rate(votes, first, rivals)
        check(votes, votes.numbers, found, first, method)

    law()


@pytest.mark.full
@examples(200)
@given(small_logs(most=16))
def test_judges_of_win_rates_equal_brute_force(votes: Votes) -> None:
    first = int(np.argmax(scores(votes, np.ones(len(votes), bool), "win-rate")))
    judged = np.bincount(np.concatenate([votes.winners, votes.losers]), minlength=len(votes.items)) > 0
    rivals = np.flatnonzero(judged & (np.arange(len(votes.items)) != first))
    found = fewest_units_for_win_rate(votes, votes.judges, first, rivals)
    check(votes, votes.judges, found, first, "win-rate")


@pytest.mark.full
def test_bounds_hold_where_sets_are_too_many_to_enumerate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fewest_exact, "_SETS", 0)
    rng = np.random.default_rng(5)
    for _ in range(20):
        winners, n = rng.integers(0, 3, 60).astype(np.int32), 60
        losers = ((winners + rng.integers(1, 3, n)) % 3).astype(np.int32)
        judges = rng.integers(0, 8, n).astype(np.int32)
        votes = Votes(["a", "b", "c"], winners, losers, rng.random(n) < 0.2, all_ones(n), judges, judges, None)
        first = int(np.argmax(scores(votes, np.ones(n, bool), "win-rate")))
        found = fewest_units_for_win_rate(votes, judges, first, np.flatnonzero(np.arange(3) != first))
        assert found is not None
        assert 1 <= found.bound <= brute_force(votes, judges, first, "win-rate") <= len(found.units)


@examples(200)
@given(small_logs())
def test_judges_of_borda_equal_brute_force(votes: Votes) -> None:
    first = int(np.argmax(scores(votes, np.ones(len(votes), bool), "borda")))
    rivals = np.flatnonzero(np.arange(len(votes.items)) != first)
    found = fewest_for_borda(votes, votes.judges, first, rivals)
    check(votes, votes.judges, found, first, "borda")


def joined(votes: Votes, kept: np.ndarray, one: int, other: int) -> bool:
    """Return whether a chain of votes that are kept connects two items."""
    reached = {one}
    for _ in votes.items:
        for row in np.flatnonzero(kept):
            ends = {int(votes.winners[row]), int(votes.losers[row])}
            reached |= ends if ends & reached else set()
    return other in reached


def smallest_set(votes: Votes, units: np.ndarray, first: int, method: str) -> int | None:
    """Return the size of the smallest set after which an item on the first one's scale scores higher."""
    numbers = np.unique(units)
    for size in range(1, len(numbers)):
        for removed in itertools.combinations(numbers, size):
            kept = ~np.isin(units, removed)
            left = scores(votes, kept, method)
            for rival in np.flatnonzero(left > left[first] + 1e-9):
                if joined(votes, kept, first, int(rival)):
                    return size
    return None


@pytest.mark.full
@pytest.mark.parametrize("method", ["borda", "win-rate"])
@pytest.mark.parametrize("noun", ["votes", "judges"])
def test_what_a_removal_cuts_off_does_not_count(method: str, noun: str) -> None:
    @examples(60)
    @given(small_logs(most=8))
    def law(votes: Votes) -> None:
        log = pl.DataFrame(
            {
                "winner": [votes.items[i] for i in votes.winners],
                "loser": [votes.items[i] for i in votes.losers],
                "tie": votes.ties,
                "judge": [f"j{k}" for k in votes.judges],
            }
        )
        if noun == "judges" and log["judge"].n_unique() < 2:
            return
        source = open_log(log)
        board = vote_board(source.judged(), manager.get(Aggregator, method), 0)[0]
        if len(board.compared) < board.votes.counts().m:
            return  # brute force asks of one scale
        found = (fewest_votes if noun == "votes" else fewest_judges)(board)
        units = board.votes.numbers if noun == "votes" else board.votes.judges
        expected = smallest_set(board.votes, units, board.first, method)
        assert found.facts.get("removed") == expected
        if expected is None:
            assert found.answer == f"no removal of {noun} changes the first place (proved)"

    law()


def test_a_leader_without_votes_is_no_answer() -> None:
    """By win rate a leads with one vote: without it a is not ranked, and b, c and d follow in any case."""
    log = {"winner": ["a", "b", "b", "c"], "loser": ["b", "c", "d", "d"]}
    found = next(probe for probe in rankbench.audit(log, "win-rate").probes if probe.name == "fewest-votes")
    assert found.answer == "no removal of votes changes the first place (proved)"


@pytest.mark.full
def test_rows_name_votes_of_several_weights() -> None:
    """Of votes with weights the rows to remove stand in the answer: without them the first place changes."""
    rows = [("a", "b", 1, 3), ("a", "b", 10, 1), ("b", "a", 8, 2), ("a", "c", 5, 9), ("c", "a", 1, 4), ("b", "c", 3, 5)]
    log = pl.DataFrame(rows, ["winner", "loser", "weight", "time"], orient="row")
    for method in ("", "win-rate", "borda"):
        audited = rankbench.audit(log, method)
        table = next(probe.table for probe in audited.probes if probe.name == "fewest-votes")
        gone = table["row"].to_list()
        assert table.select("winner", "loser", "weight").rows() == [rows[i - 1][:3] for i in gone]
        left = log.filter(~pl.int_range(1, pl.len() + 1).is_in(gone))
        assert rankbench.aggregate(left, method or "bradley-terry:penalty=firth").table["item"][0] != audited.first
