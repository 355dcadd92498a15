"""Additive is what averages single judgments, whatever k; the others do not."""

import itertools

import numpy as np
import pytest
from aggregator_samples import samples
from amounts import examples
from hypothesis import given

from rankbench.aggregators import rankbench_register

ADDITIVE = [a for a in rankbench_register() if "additive" in a.properties]


@pytest.mark.parametrize("cls", ADDITIVE, ids=lambda cls: cls.name)
@given(sample=samples(max_items=5, max_judgments=5))
@examples(30)
def test_the_mean_over_subsets_is_the_mean_of_single_judgments(cls, sample):
    winners, losers, weights, m = sample
    means = []
    for k in range(1, len(winners) + 1):
        # Of every order, since a structure may look at the first judgment alone.
        chosen = [list(c) for c in itertools.permutations(range(len(winners)), k)]
        means.append(np.mean([cls().aggregate(winners[c], losers[c], weights[c], m) for c in chosen], axis=0))
    for mean in means[1:]:
        np.testing.assert_allclose(mean, means[0], rtol=1e-9, atol=1e-9 * weights.max())
