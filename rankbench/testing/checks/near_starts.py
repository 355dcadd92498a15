"""Aggregators that begin at scores of fewer judgments: where they begin changes nothing."""

from __future__ import annotations

import numpy as np

from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.counts import PairCounts
from rankbench.testing import samples
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed, CheckSkipped
from rankbench.testing.close import relative_difference
from rankbench.testing.subjects import Subject

TOLERANCE = 1e-6


@conformance_check("aggregator")
def near_starts_end_at_the_same_scores(subject: Subject) -> None:
    """The scores of ``from_counts_near`` are those of ``from_counts``, whatever they begin at."""
    it = subject.it
    if not isinstance(it, Aggregator) or type(it).from_counts_near is Aggregator.from_counts_near:
        raise CheckSkipped("it has no from_counts_near")
    for seed, (m, k) in enumerate([(2, 6), (5, 60), (8, 300)]):
        judged = samples.tied_sample(samples.votes(m, k, seed, weighted=seed % 2 == 1))
        counts = PairCounts.from_comparisons(judged, m).observed()
        expected = it.from_counts(counts)
        rng = np.random.default_rng([seed, m])
        for start in (expected, expected + 0.1 * rng.normal(size=m), np.zeros(m)):
            if (difference := relative_difference(it.from_counts_near(counts, start), expected)) > TOLERANCE:
                raise CheckFailed(f"{m} items, {k} judgments: another start gives other scores, by {difference:.3g}")
