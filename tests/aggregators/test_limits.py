"""[DMJ13] Assumption A: structures of k judgments approach the limits that docstrings state, as k grows."""

from __future__ import annotations

import numpy as np
import pytest

import rankbench
from rankbench.interfaces.aggregator import Aggregator
from rankbench.losses.positions import NDCG

LABELS = np.array([1.7, 0.0, 1.0, 2.2, 0.4])
M = len(LABELS)
PAIRS = np.argwhere(~np.eye(M, dtype=bool))
BEATS = 1 / (1 + np.exp(LABELS[None, :] - LABELS[:, None]))
np.fill_diagonal(BEATS, 0)
CENTERED = LABELS - LABELS.mean()
RATIO = np.exp(LABELS) / np.exp(LABELS).mean()
LIMIT_SCORES = CENTERED * M / (M - 1)
"""(27): the mean over others of the log-odds, r_i - r_j."""
LEADS = np.maximum(2 * BEATS - 1, 0)
np.fill_diagonal(LEADS, 0)


def joint_log_odds(c: float) -> np.ndarray:
    pairs = M * (M - 1) / 2
    odds = np.log((BEATS / pairs + c) / (BEATS.T / pairs + c))
    return np.asarray(odds.sum(axis=1) / (M - 1))


def pagerank(damping: float) -> np.ndarray:
    """Return the stationary law of a walk from losers to winners that starts anew with probability 1 - damping."""
    walk = BEATS.T / BEATS.T.sum(axis=1, keepdims=True)
    law = np.linalg.solve(np.eye(M) - damping * walk.T, np.full(M, (1 - damping) / M))
    return law * M


LIMITS = {
    "mean-log-odds": LIMIT_SCORES,
    "mean-log-odds:frequencies=joint,smoothing=0.01": joint_log_odds(0.01),
    "thurstone-mosteller": CENTERED,
    "bradley-terry": CENTERED,
    "davidson": CENTERED,
    "rank-centrality": RATIO,
    "rank-centrality:scale=log": CENTERED,
    "eigenvector": RATIO,
    "eigenvector:scale=log": CENTERED,
    "geometric-mean:scale=log": CENTERED,
    "pagerank:damping=0.85": pagerank(0.85),
    "borda": 2 / (M * (M - 1)) * (BEATS - BEATS.T).sum(axis=1),
    "net-weights": 2 / (M * (M - 1)) * (BEATS - BEATS.T).sum(axis=1),
    "win-rate": BEATS.sum(axis=1) / (M - 1) - 0.5,
    "budgeted": BEATS.sum(axis=1) / (M - 1) - 0.5,
    "kemeny": LABELS.argsort().argsort() - (M - 1) / 2,
    "ranked-pairs": LABELS.argsort().argsort() - (M - 1) / 2,
    "schulze": LABELS.argsort().argsort() - (M - 1) / 2,
    "copeland": 2 * LABELS.argsort().argsort() - (M - 1),
    "graph-relevance": LABELS.argsort().argsort(),
    "average-adjacency": 2 / (M * (M - 1)) * BEATS,
    "difference-graph": 2 / (M * (M - 1)) * LEADS,
}
"""Limits under BTL (26) with uniform pairs, by contender."""


def structure(aggregator: Aggregator, k: int, seed: int) -> np.ndarray:
    """Return the structure of k drawn judgments."""
    chances = BEATS[tuple(PAIRS.T)]
    counts = np.random.default_rng(seed).multinomial(k, chances / chances.sum())
    winners, losers = np.repeat(PAIRS, counts, axis=0).T.astype(np.int32)
    return np.asarray(aggregator.aggregate(winners, losers, np.ones(k), M))  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", LIMITS)
def test_structures_approach_their_limits(name: str) -> None:
    aggregator, limit = rankbench.get(rankbench.Aggregator, name), LIMITS[name]
    few, many = (
        np.mean([np.abs(structure(aggregator, k, seed) - limit).max() for seed in range(3)]) for k in (100, 400_000)
    )
    # Errors fall as 1 / sqrt(k): 63 times.
    assert many < 0.02 * np.abs(limit).max()
    assert many < few / 15


def test_the_risk_of_many_judgments_is_the_risk_of_the_limit() -> None:
    """(4) of [DMJ13]: scores in a wrong order lose as much on structures of many judgments as on their limit."""
    loss, alpha = NDCG(), np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    aggregator = rankbench.get(rankbench.Aggregator, "mean-log-odds")
    risks = [np.mean([loss.value(alpha, structure(aggregator, k, seed)) for seed in range(20)]) for k in (10, 100_000)]
    limit = loss.value(alpha, LIMIT_SCORES)
    assert abs(risks[1] - limit) < 0.002
    assert abs(risks[1] - limit) < abs(risks[0] - limit) / 5
