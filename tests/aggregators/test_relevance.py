"""Relevance of lists and graphs, against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from aggregator_samples import build, matrix, samples
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

import rankbench
from rankbench.aggregators.labels import GraphRelevance, OrderRelevance
from rankbench.errors import InputError
from rankbench.losses.positions import NDCG


def longest_paths(edges: np.ndarray) -> list[int]:
    """Return the longest walk from each item without a node twice, by trying all; cycles count as one node."""
    m = len(edges)
    reach = edges | np.eye(m, dtype=bool)
    for k in range(m):  # Warshall
        reach |= np.outer(reach[:, k], reach[k])
    same = reach & reach.T

    def walk(i: int) -> int:
        inside = np.flatnonzero(same[i])
        below = [j for a in inside for j in np.flatnonzero(edges[a]) if not same[i, j]]
        return max((1 + walk(j) for j in below), default=0)

    return [walk(i) for i in range(m)]


@given(samples())
@examples(60)
def test_a_grade_is_the_longest_path_below_an_item(sample):
    votes = matrix(*sample)
    assert GraphRelevance().aggregate(*sample).tolist() == longest_paths(votes > votes.T)


@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
@examples(40)
def test_grades_are_the_least_that_obey_every_edge(m, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(m)
    edges = [(order[i], order[j]) for i in range(m) for j in range(i + 1, m) if rng.random() < 0.5]
    winners, losers = np.array(edges or [(order[0], order[1])], np.int32).T
    grades = GraphRelevance().aggregate(winners, losers, np.ones(len(winners)), m)
    obeying = [
        alpha
        for alpha in itertools.product(range(min(m, 4)), repeat=m)
        if all(alpha[i] > alpha[j] for i, j in zip(winners, losers, strict=True))
    ]
    if obeying:  # a path of four edges needs five grades
        assert grades.tolist() == np.min(obeying, axis=0).tolist()
    assert all(grades[i] > grades[j] for i, j in zip(winners, losers, strict=True))


def test_a_cycle_is_one_node():
    # 0 over the cycle 1, 2, 3, which is over 4; 5 over 4 alone.
    winners, losers = np.array([(0, 1), (1, 2), (2, 3), (3, 1), (2, 4), (5, 4)], np.int32).T
    assert GraphRelevance().aggregate(winners, losers, np.ones(6), 6).tolist() == [2, 1, 1, 1, 0, 1]


def test_a_long_chain_is_read_once():
    m = 20_000
    winners, losers = np.arange(m - 1, dtype=np.int32), np.arange(1, m, dtype=np.int32)
    assert GraphRelevance().aggregate(winners, losers, np.ones(m - 1), m).tolist() == list(range(m - 1, -1, -1))


@st.composite
def weak_orders(draw):
    m = draw(st.integers(2, 6))
    count = draw(st.integers(1, 4))
    ballots = []
    for _ in range(count):
        ranked = draw(st.permutations(range(m)))[: draw(st.integers(2, m))]
        cuts = sorted(draw(st.sets(st.integers(1, len(ranked) - 1))) | {0, len(ranked)})
        ballots.append([list(ranked[a:b]) for a, b in itertools.pairwise(cuts)])
    return ballots, draw(st.lists(st.sampled_from([1.0, 2.0, 0.5]), min_size=count, max_size=count)), m


@given(weak_orders())
@examples(60)
def test_a_grade_counts_the_items_below_and_half_of_those_tied(given_ballots):
    ballots, weights, m = given_ballots
    expected = np.zeros(m)
    for ballot, weight in zip(ballots, weights, strict=True):
        place = {item: at for at, tied in enumerate(ballot) for item in tied}
        for i in place:
            below = sum(place[j] > place[i] for j in place) + sum(place[j] == place[i] for j in place if j != i) / 2
            expected[i] += weight * below / sum(weights)
    assert OrderRelevance().from_orders(build(ballots, weights), m) == pytest.approx(expected)


def test_a_list_costs_nothing_in_its_own_order():
    order = [3, 0, 2, 1]
    grades = OrderRelevance().from_orders(build([[[item] for item in order]]), 4)
    assert grades.tolist() == [2, 0, 1, 3]
    losses = [NDCG().value(np.array(alpha, float), grades) for alpha in itertools.permutations(range(4))]
    assert NDCG().value(grades, grades) == pytest.approx(min(losses), abs=1e-12)
    assert sum(loss < 1e-12 for loss in losses) == 1


def test_ballots_of_one_item_say_nothing():
    with pytest.raises(InputError, match="none of them ranks two items"):
        OrderRelevance().from_orders(build([[[0]], [[1]]]), 3)


def test_a_log_is_graded_by_its_graph():
    votes = {"winner": ["a", "a", "b", "d"], "loser": ["b", "c", "c", "c"], "query_id": ["q"] * 4}
    found = rankbench.aggregate(votes, "graph-relevance").table.select("item", "score")
    assert dict(found.rows()) == {"a": 2.0, "b": 1.0, "d": 1.0, "c": 0.0}
