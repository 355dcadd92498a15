"""Comparisons implied by ballots, against a loop that follows the definition; ties in comparisons."""

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from order_samples import ballots, build

from rankbench.aggregators.edges import Identity
from rankbench.aggregators.rates import Borda, Kemeny
from rankbench.errors import InputError
from rankbench.interfaces.queries import Comparisons, implied_comparisons, with_unranked


def naive(places_of_ballots, weights, m, unranked):
    """Return the implied (winner, loser, tie, weight) of each ballot by looking at every pair."""
    found = []
    for places, weight in zip(places_of_ballots, weights, strict=True):
        group = {item: at for at, tied in enumerate(places) for item in tied}
        if unranked == "last":
            group |= {item: len(places) for item in range(m) if item not in group}
        named = {item for tied in places for item in tied}
        rows = set()
        for a in range(m):
            for b in range(m):
                if a == b or a not in group or b not in group or not {a, b} & named:
                    continue
                if group[a] < group[b]:
                    rows.add((a, b, False, weight))
                elif group[a] == group[b] and a < b:
                    rows.add((a, b, True, weight))
        found.append(rows)
    return found


@given(sample=ballots(), unranked=st.sampled_from(["absent", "last"]))
@examples(100)
def test_implied_comparisons_are_all_pairs_that_a_ballot_orders(sample, unranked):
    places, weights, m = sample
    orders = build(places, weights, unranked=unranked)
    expected = naive(places, weights, m, unranked)
    if not any(expected):
        with pytest.raises(InputError, match="ballots say nothing"):
            implied_comparisons(orders, m)
        return
    found = implied_comparisons(orders, m)
    ties = np.zeros(len(found), dtype=bool) if found.ties is None else found.ties
    rows = []
    for winner, loser, tie, weight in zip(found.winners, found.losers, ties, found.weights, strict=True):
        pair = (min(winner, loser), max(winner, loser)) if tie else (winner, loser)
        rows.append((int(pair[0]), int(pair[1]), bool(tie), float(weight)))
    # Ballot after ballot, nothing twice.
    at = 0
    for some in expected:
        assert sorted(rows[at : at + len(some)]) == sorted(some)
        at += len(some)
    assert at == len(rows)
    assert found.offsets.tolist() == [0, len(rows)]


def test_unranked_items_follow_on_a_place_of_their_own():
    orders = build([[[2], [0, 3]], [[1]]], [1.0, 2.0], unranked="last")
    whole, ranked = with_unranked(orders, 4)
    assert whole.items.reshape(2, 4).tolist() == [[2, 0, 3, 1], [1, 0, 2, 3]]
    assert ranked.tolist() == [3, 1]
    places = whole.places.reshape(2, 4)
    assert (places[0, 3] > places[0, 2], places[0, 1] == places[0, 2]) == (True, True)
    assert len(set(places[1, 1:].tolist())) == 1
    same, _ = with_unranked(build([[[2]]], [1.0]), 4)
    assert same.items.tolist() == [2]


@given(m=st.integers(2, 7), data=st.data())
@examples(25)
def test_borda_on_complete_ballots_is_the_classical_count(m, data):
    rankings = data.draw(st.lists(st.permutations(range(m)), min_size=1, max_size=6))
    orders = build([[[i] for i in ranking] for ranking in rankings], np.ones(len(rankings)))
    classical = sum(m - 1 - np.argsort(ranking) for ranking in map(np.array, rankings))
    pairs = len(rankings) * m * (m - 1) / 2
    expected = (2 * classical - len(rankings) * (m - 1)) / pairs
    assert Borda().from_orders(orders, m) == pytest.approx(expected)


def test_borda_on_partial_ballots():
    # Of 4 items, 0 before 1; the other two share what is left: places 3.5 and 3.5.
    last = Borda().from_orders(build([[[0], [1]]], [1.0], unranked="last"), 4)
    assert last == pytest.approx(np.array([3, 1, -2, -2]) / 5)
    assert Borda().from_orders(build([[[0], [1]]], [1.0]), 4) == pytest.approx([1, -1, 0, 0])


def test_kemeny_on_ballots_of_condorcet():
    # The 60 voters of Condorcet (1785): Borda elects 1, the majorities a > b > c do not.
    cast = [([0, 1, 2], 23), ([1, 2, 0], 17), ([1, 0, 2], 2), ([2, 0, 1], 10), ([2, 1, 0], 8)]
    orders = build([[[i] for i in order] for order, _ in cast], [float(n) for _, n in cast])
    # Majorities: 33:27 for 0 over 1, 42:18 for 1 over 2, 35:25 for 2 over 0: the weakest gives way.
    assert Kemeny().from_orders(orders, 3) == pytest.approx([-1, 1, 0])


def test_a_tie_is_half_a_win_each_way():
    record = Comparisons(
        np.array([0, 3, 4]),
        np.array([0, 1, 2, 0], dtype=np.int32),
        np.array([1, 2, 0, 1], dtype=np.int32),
        np.array([1.0, 3.0, 2.0, 4.0]),
        np.array([False, True, False, True]),
    )
    whole = record.without_ties()
    assert whole.ties is None
    assert whole.offsets.tolist() == [0, 4, 6]
    assert whole.winners.tolist() == [0, 1, 2, 2, 0, 1]
    assert whole.losers.tolist() == [1, 2, 1, 0, 1, 0]
    assert whole.weights.tolist() == [1, 1.5, 1.5, 2, 2, 2]
    assert (whole.winners.dtype, whole.offsets.dtype) == (np.int32, record.offsets.dtype)


def test_a_record_without_ties_is_left_alone():
    plain = Comparisons(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.int32), np.ones(1), np.array([False]))
    assert plain.without_ties().winners is plain.winners
    assert plain.without_ties().ties is None


def test_the_first_judgment_may_be_a_tie():
    first = Comparisons(
        np.array([0, 2]), np.array([1, 0], np.int32), np.array([2, 1], np.int32), np.ones(2), np.array([True, False])
    )
    expected = np.zeros((3, 3))
    expected[1, 2] = expected[2, 1] = 0.5
    assert np.array_equal(Identity().from_comparisons(first, 3), expected)
