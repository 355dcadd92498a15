"""Rules of social choice: brute force by definition, laws, and the winners that pref_voting finds."""

from __future__ import annotations

import json
from itertools import combinations, pairwise, permutations, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from amounts import examples, part_of
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import rankbench
from rankbench.aggregators.ballot_rules import MaximalLotteries
from rankbench.aggregators.social_choice import (
    Copeland,
    Minimax,
    RankedPairs,
    Schulze,
    beatpaths,
    locked_chains,
    smith_set,
)

RULES = [Copeland(), Minimax(), RankedPairs(), Schulze(), MaximalLotteries()]


@st.composite
def tables(draw, most=5, largest=3):
    """Draw leads of 2 to `most` items: many are equal, or 0."""
    m = draw(st.integers(2, most))
    table = np.zeros((m, m))
    for i, j in combinations(range(m), 2):
        table[i, j] = draw(st.integers(-largest, largest))
    return table - table.T


def scores(rule, lead):
    """Return the scores of votes with these leads."""
    winners, losers = np.nonzero(lead > 0)
    if not len(winners):  # two votes that cancel
        return rule.aggregate(np.array([0, 1], np.int32), np.array([1, 0], np.int32), np.ones(2), len(lead))
    return rule.aggregate(winners.astype(np.int32), losers.astype(np.int32), lead[winners, losers], len(lead))


def middle_places(above):
    """Return the middle of the first and the last place that complete orders of a relation give each item."""
    m = len(above)
    orders = [
        order for order in permutations(range(m))
        if not any(above[later, before] for at, later in enumerate(order) for before in order[:at])
    ]  # fmt: skip
    found = np.array([[order.index(i) for i in range(m)] for order in orders])
    return (m - 1) / 2 - (found.min(axis=0) + found.max(axis=0)) / 2


def strongest_paths(lead):
    """Return the strength of the best of all paths from row to column."""
    m = len(lead)
    found = np.zeros((m, m))
    for size in range(2, m + 1):
        for path in permutations(range(m), size):
            strength = min(lead[i, j] for i, j in pairwise(path))
            found[path[0], path[-1]] = max(found[path[0], path[-1]], strength)
    return found


def reached(edges, m):
    """Return whether a path of edges leads from row to column."""
    there = np.zeros((m, m), dtype=bool)
    for i, j in edges:
        there[i, j] = True
    for _ in range(m):
        there |= (there.astype(int) @ there) > 0
    return there


def locked_by_definition(lead):
    """Return the chains of ranked pairs: equal leads judged together, each against all others."""
    m, locked = len(lead), []
    for size in sorted(set(lead[lead > 0]), reverse=True):
        against = reached(locked, m)
        level = [(i, j) for i, j in zip(*np.nonzero(lead == size), strict=True) if not against[j, i]]
        there = reached(locked + level, m)
        locked += [(i, j) for i, j in level if not there[j, i]]
    return reached(locked, m)


@given(lead=tables())
@examples(60)
def test_places_are_those_of_the_definitions(lead):
    assert np.array_equal(beatpaths(lead), strongest_paths(lead))
    assert np.array_equal(locked_chains(lead), locked_by_definition(lead))
    paths = strongest_paths(lead)
    assert scores(Schulze(), lead).tolist() == middle_places(paths > paths.T).tolist()
    assert scores(RankedPairs(), lead).tolist() == middle_places(locked_by_definition(lead)).tolist()
    m = len(lead)
    won = [sum(np.sign(lead[i, j]) for j in range(m)) for i in range(m)]
    assert scores(Copeland(), lead).tolist() == won
    assert scores(Minimax(), lead).tolist() == [min(lead[i, j] for j in range(m) if j != i) for i in range(m)]


def winners_by_all_orders(lead):
    """Return the items that no chain leads to, by some order of equal leads."""
    m, winners = len(lead), set()
    for order in permutations(zip(*np.nonzero(lead > 0), strict=True)):
        if all(lead[one] >= lead[other] for one, other in pairwise(order)):
            locked = []
            for i, j in order:
                locked += [] if reached(locked, m)[j, i] else [(i, j)]
            winners |= {*np.flatnonzero(~reached(locked, m).any(axis=0)).tolist()}
    return winners


def test_no_chain_of_ranked_pairs_leads_to_the_winners_by_all_orders_of_three_items():
    for upper in product(range(-2, 3), repeat=3):
        lead = np.zeros((3, 3))
        lead[np.triu_indices(3, 1)] = upper
        lead -= lead.T
        assert {*np.flatnonzero(~locked_chains(lead).any(axis=0)).tolist()} == winners_by_all_orders(lead)


@given(lead=tables(most=6))
@examples(60)
def test_no_maximal_lottery_has_a_smaller_sum_of_squares(lead):
    m = len(lead)
    chances = scores(MaximalLotteries(), lead)
    assert chances.sum() == pytest.approx(1, abs=1e-8)
    assert (chances @ lead).min() >= -1e-7
    # The shortest vector of a convex set has no smaller product with any other: an independent linear program.
    least = linprog(chances, A_ub=-lead.T, b_ub=np.zeros(m), A_eq=np.ones((1, m)), b_eq=[1.0])
    assert least.fun >= chances @ chances - 1e-7


def test_chances_of_three_items_on_a_cycle_are_the_leads_between_the_others():
    lead = np.array([[0.0, 5.0, -2.0], [-5.0, 0.0, 3.0], [2.0, -3.0, 0.0]])
    assert scores(MaximalLotteries(), lead) == pytest.approx([0.3, 0.2, 0.5])


@pytest.mark.parametrize("rule", RULES, ids=str)
@given(lead=tables(), winner=st.integers(0, 4))
@examples(20)
def test_a_condorcet_winner_is_first_alone(rule, lead, winner):
    winner %= len(lead)
    lead[winner] = np.where(np.arange(len(lead)) == winner, 0, np.maximum(np.abs(lead[winner]), 1))
    lead[:, winner] = -lead[winner]
    assert smith_set(lead).tolist() == [winner]
    found = scores(rule, lead)
    assert (found >= found[winner]).sum() == 1


@given(lead=tables(most=4), of=st.integers(0, 3), between=st.integers(-3, 3))
@examples(40)
def test_clones_leave_the_chains_between_others_as_they_are(lead, of, between):
    m = len(lead)
    of %= m
    items = [*range(m), of]
    more = lead[np.ix_(items, items)]
    more[m, of], more[of, m] = between, -between
    for before, after in (
        (locked_chains(lead), locked_chains(more)),
        (beatpaths(lead) > beatpaths(lead).T, beatpaths(more) > beatpaths(more).T),
    ):
        expected = before[np.ix_(items, items)]
        expected[m, of], expected[of, m] = after[m, of], after[of, m]
        assert np.array_equal(after, expected)


@pytest.mark.parametrize("seed", range(5))
def test_clones_share_the_chance_of_an_item(seed):
    lead = np.random.default_rng(seed).normal(size=(7, 7))
    lead -= lead.T
    items = [*range(7), 0, 0]
    more = lead[np.ix_(items, items)]
    more[np.ix_([0, 7, 8], [0, 7, 8])] = np.array([[0.0, 1.0, -3.0], [-1.0, 0.0, 2.0], [3.0, -2.0, 0.0]])
    before, after = scores(MaximalLotteries(), lead), scores(MaximalLotteries(), more)
    assert after[1:7] == pytest.approx(before[1:], abs=1e-7)
    assert after[[0, 7, 8]] == pytest.approx(before[0] * np.array([2, 3, 1]) / 6, abs=1e-7)


@pytest.mark.parametrize("rule", [Copeland(), RankedPairs(), Schulze()], ids=str)
@given(lead=tables(most=7))
@examples(20)
def test_reversed_votes_reverse_the_order(rule, lead):
    assert scores(rule, -lead).tolist() == (-scores(rule, lead)).tolist()


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_sums_that_differ_by_rounding_are_equal(rule):
    # .1 + .2 is not .3, nor is .7 - .4.
    votes = [("a", "b", 0.1), ("a", "b", 0.2), ("b", "c", 0.3), ("c", "a", 0.7), ("a", "c", 0.4)]
    found = rankbench.aggregate(
        [{"winner": winner, "loser": loser, "weight": weight} for winner, loser, weight in votes], rule.name
    ).table["score"]
    assert found.n_unique() == 1, "a cycle of three equal leads has three equal items"


FOUND = json.loads((Path(__file__).parent / "pref_voting_winners.json").read_text())


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_winners_are_those_of_pref_voting(rule):
    assert {"distinct", "tied"} == {row["leads"] for row in FOUND["tables"]}
    for row in FOUND["tables"]:
        lead, m = np.zeros((row["items"], row["items"])), row["items"]
        lead[np.triu_indices(m, 1)] = row["upper"]
        lead -= lead.T
        if rule.name == "maximal-lotteries":
            if row["leads"] == "distinct":  # odd and distinct: one lottery
                assert scores(rule, lead) == pytest.approx(row[rule.name], abs=2e-6)
            continue
        found = scores(rule, lead)
        winners = np.flatnonzero(rule.elected(lead)).tolist()
        assert set(np.flatnonzero(found == found.max())) <= set(winners), "scores order winners further"
        if rule.name == "ranked-pairs" and row["leads"] == "tied":  # pref_voting tries all orders of ties
            assert set(winners) <= set(row["ranked-pairs"])
        else:
            assert winners == row[rule.name]


@pytest.mark.parametrize(
    ("rule", "winners"),
    part_of(
        [
            ("schulze", "12"),
            ("ranked-pairs", "12"),
            ("minimax", "12"),
            ("maximal-lotteries", "12"),
            ("copeland", "2"),
            ("plurality", "12"),
            ("instant-runoff", "12"),
            ("borda", None),
        ]
    ),
)
def test_winners_of_a_log_are_all_that_the_rule_elects(rule, winners):
    # Four voters have 2 before 0; both other pairs are level.
    ballots = {"ranking": ["2>0>1", "1>2>0"], "count": [2, 2]}
    found = rankbench.aggregate(ballots, rule)
    if winners is None:
        assert "winners" not in found.facts
        assert "winner" not in found.table.columns
        return
    assert {*found.facts["winners"]} == {*winners}
    assert {*found.table.filter("winner")["item"]} == {*winners}
    if rule in ("plurality", "instant-runoff"):
        return
    votes = [("2", "0", 4), ("2", "1", 2), ("1", "2", 2), ("0", "1", 2), ("1", "0", 2)]
    log = pl.DataFrame(votes, schema=["winner", "loser", "count"], orient="row")
    assert {*rankbench.aggregate(log, rule).facts["winners"]} == {*winners}
    both = pl.concat([log.with_columns(query_id=pl.lit("a")), log.with_columns(query_id=pl.lit("b"))])
    table = rankbench.aggregate(both, rule, by="query").table.filter("winner")
    assert {*table.select("query", "item").rows()} == {*product("ab", winners)}
