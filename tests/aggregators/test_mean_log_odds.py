"""Mean log-odds: the formula, and its limits under BTL."""

import math

import numpy as np
import pytest
from aggregator_samples import compiled, matrix, samples
from amounts import examples
from hypothesis import given

from rankbench.aggregators.kernels.rates import parameters
from rankbench.aggregators.rates import MeanLogOdds


@pytest.mark.parametrize("frequencies", ["counts", "joint"])
@given(sample=samples())
@examples(40)
def test_formula(frequencies, sample):
    m = sample[-1]
    w = matrix(*sample)
    if frequencies == "joint":
        w /= w.sum()
    expected = [
        sum(math.log((w[i, j] + 0.3) / (w[j, i] + 0.3)) for j in range(m) if j != i) / (m - 1) for i in range(m)
    ]
    scores = MeanLogOdds(smoothing=0.3, frequencies=frequencies).aggregate(*sample)
    assert scores == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_counts_beyond_the_table_of_logarithms():
    # One pair on both sides of the end of the table.
    size = len(parameters(0.5, joint=False)) - 2
    for forward in (size - 1, size, size + 1):
        winners = np.array([0] * forward + [1], dtype=np.int32)
        scores = compiled(MeanLogOdds(), winners, 1 - winners, np.ones(forward + 1), 2)
        assert scores[0] == pytest.approx(math.log((forward + 0.5) / 1.5), rel=1e-14)


@given(sample=samples(weighted=False))
@examples(25)
def test_balanced_pairs_cancel_exactly(sample):
    # Items that nothing tells apart must be tied to the last bit, not to 1e-16.
    winners, losers, weights, m = sample
    both = np.concatenate([winners, losers]), np.concatenate([losers, winners]), np.concatenate([weights, weights])
    assert np.all(compiled(MeanLogOdds(), *both, m) == 0)
