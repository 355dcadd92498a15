"""The baseline that knows nothing."""

from __future__ import annotations

import numpy as np
from scipy import stats
from small_blocks import make_block

from rankbench.methods.baselines import RandomScores


def test_streams_and_repetitions_are_independent_standard_normals():
    blocks = [make_block([2000, 2000], 10, seed=seed) for seed in (0, 1)]
    draws = [RandomScores(stream=stream).fit(one).score(one.design) for stream in (0, 1) for one in blocks]
    for draw in draws:
        assert stats.kstest(draw, "norm").pvalue > 1e-4
    correlations = np.corrcoef(draws)[np.triu_indices(4, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(4000)
