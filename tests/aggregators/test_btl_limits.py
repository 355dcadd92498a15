"""What aggregators tend to with more and more judgments under BTL (26), with random pairs."""

from __future__ import annotations

import numpy as np
import pytest
from aggregator_samples import btl_sample, compiled

from rankbench.aggregators.edges import AverageAdjacency, DifferenceGraph
from rankbench.aggregators.eigenvector import Eigenvector, GeometricMean, PageRank, RankCentrality
from rankbench.aggregators.rates import Borda, LimitScores, MeanLogOdds, ThurstoneMosteller, WinRate

LABELS = np.array([0.0, 0.0, 1.0, 2.0, 3.5])
K, M, C = 400_000, len(LABELS), 0.01
PAIRS = M * (M - 1) / 2
P = 1 / (1 + np.exp(LABELS[None, :] - LABELS[:, None]))
np.fill_diagonal(P, 0)
# A pair is seen K / PAIRS times; by the delta method its log-odds have the variance 1 / (n p (1 - p)).
WITHIN = np.sqrt(np.divide(PAIRS, K * P * (1 - P), out=np.zeros((M, M)), where=P > 0).sum(axis=1))
CENTERED, CHANCES = LABELS - LABELS.mean(), np.exp(LABELS)
JOINT = np.log((P / PAIRS + C) / (P.T / PAIRS + C)).sum(axis=1) / (M - 1)


@pytest.mark.parametrize(
    ("aggregator", "limit", "error"),
    [
        # A judgment adds 1, -1 or 0; an item takes part in a share 2 / m of them.
        (Borda(), (P - P.T).sum(axis=1) / PAIRS, np.sqrt(2 / M / K)),
        (WinRate(), P.sum(axis=1) / (M - 1) - 0.5, 0.5 / np.sqrt(0.98 * K * 2 / M)),
        (AverageAdjacency(), P / PAIRS, np.sqrt(P / PAIRS / K)),
        (DifferenceGraph(), np.maximum(P - P.T, 0) / PAIRS, 1 / np.sqrt(K)),
        (MeanLogOdds(), LimitScores().from_labels(LABELS), WITHIN / (M - 1)),
        # |d log(p + c)| <= 1 / c times a frequency's standard error, over 2 (m - 1) frequencies.
        (MeanLogOdds(frequencies="joint", smoothing=C), JOINT, np.sqrt(2 * P.max() / PAIRS / K / (M - 1)) / C),
        (ThurstoneMosteller(), CENTERED, WITHIN / M),
        (RankCentrality(scale="log"), CENTERED, 0.01),
        (PageRank(damping=0.999), CHANCES * P.sum(axis=0) / np.mean(CHANCES * P.sum(axis=0)), 0.01),
        (Eigenvector(), CHANCES / CHANCES.mean(), 0.014 * CHANCES / CHANCES.mean()),
        (GeometricMean(), CHANCES / CHANCES.mean(), 0.014 * CHANCES / CHANCES.mean()),
    ],
    ids=str,
)
def test_the_limit_is_that_of_the_formula(aggregator, limit, error):
    found = compiled(aggregator, *btl_sample(LABELS, K, 1))
    assert np.all(np.abs(found - limit) <= 4.5 * error)


def test_the_limit_of_joint_frequencies_is_not_27():
    assert np.abs(JOINT - LimitScores().from_labels(LABELS)).max() > 0.2
