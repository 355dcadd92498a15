"""Edge structures: the average adjacency matrix, the difference graph, the first judgment alone."""

import numpy as np
import pytest
from aggregator_samples import compiled, matrix, samples
from amounts import examples
from hypothesis import given

from rankbench.aggregators.edges import AverageAdjacency, DifferenceGraph, Identity


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


@given(sample=samples())
@examples(40)
def test_difference_graph_is_the_positive_part_of_the_differences(sample):
    average = compiled(AverageAdjacency(), *sample)
    graph = compiled(DifferenceGraph(), *sample)
    assert graph == pytest.approx(np.maximum(average - average.T, 0), rel=1e-9, abs=1e-9)
    assert np.all(graph >= 0)
    assert not (graph * graph.T).any(), "an edge in either direction"


def test_difference_graph_of_judgments_that_cancel_is_empty():
    winners, losers = np.array([[2, 1, 1, 0], [1, 2, 0, 1]], dtype=np.int32)
    assert not compiled(DifferenceGraph(), winners, losers, np.ones(4), 3).any()
    assert not DifferenceGraph().aggregate(winners, losers, np.ones(4), 3).any()
