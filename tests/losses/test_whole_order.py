"""The loss of a whole order, against every order and against its definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.certificates.true_risk import true_loss
from rankbench.errors import SpecError
from rankbench.losses.pairwise_disagreement import PairwiseDisagreement, WholeOrder


def obeys(alpha, graph):
    """Whether every preference stands in the order of the scores."""
    m = len(alpha)
    return all(alpha[i] > alpha[j] for i in range(m) for j in range(m) if i != j and graph[i, j] > 0)


def drawn(seed, m, density):
    rng = np.random.default_rng(seed)
    return rng, rng.integers(1, 4, (m, m)) * (rng.random((m, m)) < density).astype(float)


@given(st.integers(1, 7), st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.2, 0.6]))
@examples(60)
def test_it_is_zero_exactly_where_every_preference_is_obeyed(m, seed, density):
    rng, graph = drawn(seed, m, density)
    alpha = rng.integers(0, 5, m).astype(float)
    assert WholeOrder().value(alpha, graph) == float(not obeys(alpha, graph))


@given(st.integers(2, 5), st.integers(1, 4), st.integers(0, 2**32 - 1))
@examples(40)
def test_the_bayes_risk_is_the_best_of_all_orders(m, count, seed):
    rng, _ = drawn(seed, m, 0.3)
    graphs = (rng.random((count, m, m)) < 0.3).astype(float)
    chances = rng.dirichlet(np.ones(count))
    found = WholeOrder().bayes_risk(graphs, chances)
    best = min(
        sum(p for p, graph in zip(chances, graphs, strict=True) if not obeys(order, graph))
        for order in itertools.permutations(range(m))
    )
    assert found.exact
    assert found.upper == pytest.approx(best, abs=1e-12)


def test_a_tie_obeys_no_preference():
    assert WholeOrder().value(np.zeros(2), np.array([[0.0, 1.0], [0.0, 0.0]])) == 1


def test_a_graph_without_cycle_has_an_order_and_a_cycle_has_none():
    edges = np.array([[0.0, 1, 1], [0, 0, 1], [0, 0, 0]])
    assert WholeOrder().bayes_risk(edges[None]).upper == 0
    assert WholeOrder().bayes_risk((edges + edges.T)[None]).lower == 1


def test_the_risk_is_not_that_of_the_mean_graph():
    """Two full orders and the order between them: 0-1 loss takes the likelier one, (10) the one between."""
    first, second = (
        np.array([[float(order.index(i) < order.index(j)) for j in range(3)] for i in range(3)])
        for order in ((0, 1, 2), (1, 2, 0))
    )
    laws, chances = np.stack([first, second]), np.array([0.4, 0.6])
    assert WholeOrder().bayes_risk(laws, chances).upper == pytest.approx(0.4)
    between = np.array([2.0, 3.0, 1.0])  # 1 > 0 > 2
    assert WholeOrder().expected(between, laws, chances) == 1
    assert PairwiseDisagreement().expected(between, laws, chances) == pytest.approx(0.4 * 1 + 0.6 * 1)
    with pytest.raises(SpecError, match="does not follow from the mean graph"):
        true_loss(WholeOrder(), 3)


def test_order_preserving_spaces_have_their_order_as_the_best_one():
    """Section 3.1: full orders whose probabilities fall with each swap away from 1, 2, 3."""
    weights = {(0, 1, 2): 0.4, (0, 2, 1): 0.2, (1, 0, 2): 0.2, (2, 0, 1): 0.08, (1, 2, 0): 0.08, (2, 1, 0): 0.04}
    graphs = np.array([[[float(o.index(i) < o.index(j)) for j in range(3)] for i in range(3)] for o in weights])
    found = WholeOrder().bayes_risk(graphs, np.array(list(weights.values())))
    assert np.argsort(-found.alpha).tolist() == [0, 1, 2]
    assert found.upper == pytest.approx(0.6)


def test_scores_that_are_no_numbers():
    assert math.isnan(WholeOrder().value(np.array([1.0, np.nan]), np.zeros((2, 2))))
