"""How often each item was judged, against a count one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.queries import Comparisons, Orders, Selections
from rankbench.ranking.lists import Ballots, Sessions
from rankbench.ranking.ranked_log import tallies_of_counts

M = 4
VOTES = st.lists(
    st.tuples(st.integers(0, M - 1), st.integers(0, M - 1), st.sampled_from([1.0, 2.5]), st.booleans()).filter(
        lambda vote: vote[0] != vote[1]
    ),
    min_size=1,
    max_size=30,
)


@given(VOTES)
def test_votes_and_wins(votes: list[tuple[int, int, float, bool]]) -> None:
    winners, losers, weights, ties = (np.array(column) for column in zip(*votes, strict=True))
    offsets = np.array([0, len(votes)])
    comparisons = Comparisons(offsets, winners.astype(np.int32), losers.astype(np.int32), weights, ties)
    found = tallies_of_counts(PairCounts.from_comparisons(comparisons, M))
    judged, won = np.zeros(M), np.zeros(M)
    for winner, loser, weight, tie in votes:
        judged[[winner, loser]] += weight
        won[winner] += weight / 2 if tie else weight
        won[loser] += weight / 2 if tie else 0
    np.testing.assert_allclose(found.judged, judged)
    np.testing.assert_allclose(found.won, won)
    assert (found.judged_words, found.won_words) == ("votes", "wins")


def test_ballots_and_firsts() -> None:
    # 2 > 0 = 1 by three voters; 1 = 3 by one.
    orders = Orders(
        np.array([0, 2]), np.array([0, 3, 5]), np.array([2, 0, 1, 1, 3], np.int32),
        np.array([0, 1, 1, 0, 0], np.int32), np.array([3.0, 1.0]),
    )  # fmt: skip
    found = Ballots(list("abcd"), orders).tallies()
    assert found.judged.tolist() == [3, 4, 3, 1]
    assert found.won.tolist() == [0, 1, 3, 1]


def test_shown_and_clicked() -> None:
    shown = Selections(
        np.array([0, 2]), np.array([0, 2, 5]), np.array([0, 1, 2, 1, 0], np.int32),
        np.array([False, True, False, True, False]),
    )  # fmt: skip
    found = Sessions(list("abcd"), shown).tallies()
    assert found.judged.tolist() == [2, 2, 1, 0]
    assert found.won.tolist() == [0, 2, 0, 0]
