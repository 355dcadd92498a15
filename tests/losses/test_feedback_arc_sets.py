"""Feedback arc sets and pairwise risks are one problem: Proposition 3 of 2013, Lemma 7 of 2010, both sides solved."""

from __future__ import annotations

import itertools
from graphlib import CycleError, TopologicalSorter

import numpy as np
import pytest
from amounts import part_of

from rankbench.losses.pairwise_disagreement import PairwiseDisagreement

Edges = list[tuple[int, int]]


def without_cycle(edges: Edges) -> bool:
    """Return whether a directed graph has no cycle."""
    above: dict[int, set[int]] = {}
    for tail, head in edges:
        above.setdefault(head, set()).add(tail)
    try:
        TopologicalSorter(above).prepare()
    except CycleError:
        return False
    return True


def least_feedback_arc_set(edges: Edges) -> int:
    """Return the least number of edges whose removal leaves no cycle, by trying all subsets, the smallest first."""
    for size in range(len(edges) + 1):
        for removed in itertools.combinations(edges, size):
            if without_cycle([edge for edge in edges if edge not in removed]):
                return size
    raise AssertionError("a graph without edges has no cycle")


def law_of(edges: Edges, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the reduction's law: each edge alone, of weight |E|, with probability 1 / |E|."""
    graphs = np.zeros((len(edges), m, m))
    for s, (tail, head) in enumerate(edges):
        graphs[s, tail, head] = len(edges)
    return graphs, np.full(len(edges), 1 / len(edges))


def instance(seed: int) -> tuple[Edges, int]:
    """Return a random directed graph; edges of both directions, which are cycles of two, among them."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 8))
    pairs = list(itertools.permutations(range(m), 2))
    count = int(rng.integers(1, min(len(pairs), 11) + 1))
    chosen = [pairs[i] for i in rng.choice(len(pairs), count, replace=False)]
    return chosen, m


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_the_least_risk_is_the_size_of_the_least_feedback_arc_set(first: int) -> None:
    loss, cyclic = PairwiseDisagreement(), 0
    for seed in range(first, first + 50):
        edges, m = instance(seed)
        least = least_feedback_arc_set(edges)
        graphs, chances = law_of(edges, m)
        found = loss.bayes_risk(graphs, chances)
        assert found.exact
        assert found.upper == pytest.approx(least, abs=1e-9)
        # The edges that the best scores reverse are such a set.
        kept = [(i, j) for i, j in edges if found.alpha[i] > found.alpha[j]]
        assert len(edges) - len(kept) == least
        assert without_cycle(kept)
        cyclic += least > 0
    assert 5 < cyclic < 50


@pytest.mark.parametrize("seed", part_of(range(400, 412)))
def test_scores_of_risk_k_are_feedback_arc_sets_of_k_edges(seed: int) -> None:
    """The decision problem, at every order: the k edges that it reverses break all cycles."""
    edges, m = instance(seed)
    graphs, chances = law_of(edges, m)
    risks = set()
    for order in itertools.permutations(range(m)):
        risk = PairwiseDisagreement().expected(np.array(order, float), graphs, chances)
        reversed_edges = [(i, j) for i, j in edges if order[i] < order[j]]
        assert risk == pytest.approx(len(reversed_edges))
        assert without_cycle([edge for edge in edges if edge not in reversed_edges])
        risks.add(len(reversed_edges))
    assert min(risks) == least_feedback_arc_set(edges)


def test_a_cycle_of_two_costs_one_edge() -> None:
    edges = [(0, 1), (1, 0), (1, 2)]
    assert least_feedback_arc_set(edges) == 1
    graphs, chances = law_of(edges, 3)
    assert graphs.sum() == 9
    assert PairwiseDisagreement().bayes_risk(graphs, chances).upper == pytest.approx(1)
