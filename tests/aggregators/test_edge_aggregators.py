"""Edge structures: the average adjacency matrix and the first judgment alone."""

import numpy as np
import pytest
from aggregator_samples import btl_sample, compiled, matrix, samples
from hypothesis import given, settings

from rankbench.aggregators import AverageAdjacency, Identity


@given(sample=samples())
@settings(max_examples=40, deadline=None)
def test_average_adjacency_is_the_mean_of_the_judgments(sample):
    expected = matrix(*sample) / len(sample[0])
    assert AverageAdjacency().aggregate(*sample) == pytest.approx(expected, rel=1e-12)


@given(sample=samples())
@settings(max_examples=25, deadline=None)
def test_identity_is_the_first_judgment(sample):
    winners, losers, weights, m = sample
    assert np.array_equal(Identity().aggregate(*sample), matrix(winners[:1], losers[:1], weights[:1], m))


@given(sample=samples(max_judgments=1))
@settings(max_examples=25, deadline=None)
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
