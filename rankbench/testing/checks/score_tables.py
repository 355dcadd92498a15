"""Aggregators of score tables: what a weight means."""

from __future__ import annotations

import numpy as np

from rankbench.kinds.score_aggregator import ScoreAggregator
from rankbench.testing import samples
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed, CheckSkipped
from rankbench.testing.close import relative_difference
from rankbench.testing.subjects import Subject

TOLERANCE = 1e-7


@conformance_check("aggregator")
def weighted_tasks_count_as_often(subject: Subject) -> None:
    """Of a score table, a task of weight 2 counts as one that is there twice, and one of weight 0 as none."""
    it = subject.it
    if not isinstance(it, ScoreAggregator):
        raise CheckSkipped("it is not made of score tables")
    for seeds in (1, 3):
        values = samples.score_table(5, 6, seeds)
        weights = np.array([2.0, 0.0, 1.0, 1.0, 3.0, 0.0])
        times = np.repeat(np.arange(6), weights.astype(np.int64))
        before = it.from_scores(values, np.tile(weights, (seeds, 1)))
        after = it.from_scores(values[:, times], np.ones((seeds, len(times))))
        if (difference := relative_difference(after, before)) > TOLERANCE:
            raise CheckFailed(f"{seeds} seeds: tasks that are repeated give other scores, by {difference:.3g}")
