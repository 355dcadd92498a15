"""The baseline that knows nothing."""

from __future__ import annotations

import numpy as np
from scipy import stats

from rankbench.interfaces.method import Block
from rankbench.interfaces.queries import Comparisons, Queries
from rankbench.methods.baselines import RandomScores


def queries(sizes) -> Queries:
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    total = int(offsets[-1])
    return Queries([str(q) for q in range(len(sizes))], offsets, np.zeros((total, 0), np.float32), np.zeros(total))


def block(design: Queries, repetition: int = 0) -> Block:
    none = np.zeros(0, np.int32)
    comparisons = Comparisons(np.zeros(len(design) + 1, np.int64), none, none, np.zeros(0))
    return Block(design, comparisons, 0, repetition, (20, repetition))


def test_streams_and_repetitions_are_independent_standard_normals():
    design = queries([2000, 2000])
    draws = [
        RandomScores(stream=stream).fit(block(design, repetition)).score(design)
        for stream in (0, 1)
        for repetition in (0, 1)
    ]
    for draw in draws:
        assert stats.kstest(draw, "norm").pvalue > 1e-4
    correlations = np.corrcoef(draws)[np.triu_indices(4, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(4000)
