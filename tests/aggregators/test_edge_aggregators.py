"""Edge structures: the average adjacency matrix, the difference graph, the first judgment alone."""

import numpy as np
import pytest
from aggregator_samples import btl_sample, compiled, matrix, samples
from amounts import examples
from hypothesis import given

from rankbench.aggregators.edges import AverageAdjacency, DifferenceGraph, Identity
from rankbench.surrogates.pairwise import PairwiseLogistic


@given(sample=samples())
@examples(40)
def test_average_adjacency_is_the_mean_of_the_judgments(sample):
    expected = matrix(*sample) / len(sample[0])
    assert AverageAdjacency().aggregate(*sample) == pytest.approx(expected, rel=1e-12)


@given(sample=samples())
@examples(25)
def test_identity_is_the_first_judgment(sample):
    winners, losers, weights, m = sample
    assert np.array_equal(Identity().aggregate(*sample), matrix(winners[:1], losers[:1], weights[:1], m))


@given(sample=samples(max_judgments=1))
@examples(25)
def test_one_judgment_is_its_own_average(sample):
    assert np.array_equal(compiled(AverageAdjacency(), *sample), compiled(Identity(), *sample))


def test_edges_come_in_order_of_first_appearance():
    kernel = AverageAdjacency().kernel()
    winners, losers = np.array([[2, 0, 2, 1], [1, 1, 1, 2]], dtype=np.int32)
    tails, heads, weights = np.zeros(4, dtype=np.int32), np.zeros(4, dtype=np.int32), np.zeros(4)
    count = kernel.function(winners, losers, np.ones(4), 3, kernel.params, np.zeros(9), tails, heads, weights)
    assert list(zip(tails[:count], heads[:count], weights[:count], strict=True)) == [
        (2, 1, 0.5),
        (0, 1, 0.25),
        (1, 2, 0.25),
    ]


def test_limit_of_average_adjacency():
    labels = np.array([0.0, 0.0, 1.0, 2.0, 3.5])
    k, m = 200_000, len(labels)
    limit = 1 / (1 + np.exp(labels[None, :] - labels[:, None])) / (m * (m - 1) / 2)
    np.fill_diagonal(limit, 0)
    average = compiled(AverageAdjacency(), *btl_sample(labels, k, 9))
    assert np.all(np.abs(average - limit) <= 4.5 * np.sqrt(limit / k))


@given(sample=samples())
@examples(40)
def test_difference_graph_is_the_positive_part_of_the_differences(sample):
    average = compiled(AverageAdjacency(), *sample)
    graph = compiled(DifferenceGraph(), *sample)
    assert graph == pytest.approx(np.maximum(average - average.T, 0), rel=1e-9, abs=1e-9)
    assert np.all(graph >= 0)
    assert not (graph * graph.T).any(), "an edge in either direction"


@given(sample=samples())
@examples(25)
def test_a_pairwise_surrogate_on_the_difference_graph_is_23(sample):
    m = sample[-1]
    alpha = np.random.default_rng(m).normal(size=m)
    w = matrix(*sample) / len(sample[0])
    expected = sum(
        max(w[i, j] - w[j, i], 0) * np.log1p(np.exp(alpha[j] - alpha[i])) for i in range(m) for j in range(m)
    )
    graph = compiled(DifferenceGraph(), *sample)
    i, j = np.nonzero(graph)
    assert graph[i, j] @ PairwiseLogistic().phi(alpha[i] - alpha[j]) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_difference_graph_of_judgments_that_cancel_is_empty():
    winners, losers = np.array([[2, 1, 1, 0], [1, 2, 0, 1]], dtype=np.int32)
    assert not compiled(DifferenceGraph(), winners, losers, np.ones(4), 3).any()
    assert not DifferenceGraph().aggregate(winners, losers, np.ones(4), 3).any()


def test_difference_graph_by_hand():
    # 0 over 1 leads by one of four judgments; 2 and 1 are level.
    winners, losers = np.array([0, 1, 2, 0], dtype=np.int32), np.array([1, 2, 1, 2], dtype=np.int32)
    expected = np.zeros((3, 3))
    expected[0, 1] = expected[0, 2] = 0.25
    assert np.array_equal(compiled(DifferenceGraph(), winners, losers, np.ones(4), 3), expected)


def test_limit_of_difference_graph():
    labels = np.array([0.0, 1.0, 3.0])
    k = 100_000
    p = 1 / (1 + np.exp(labels[None, :] - labels[:, None]))
    limit = 2 * np.maximum(2 * p - 1, 0) / 6
    assert np.abs(compiled(DifferenceGraph(), *btl_sample(labels, k, 3)) - limit).max() < 4.5 / np.sqrt(k)
