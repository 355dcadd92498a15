"""The mean of Elo ratings over permutations, against the rule one vote at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from aggregator_samples import btl_sample

from rankbench.aggregators.permuted_elo import PermutedElo
from rankbench.aggregators.sequential import Elo
from rankbench.interfaces.queries import Comparisons


def one_by_one(winners: np.ndarray, losers: np.ndarray, ties: np.ndarray, m: int, factor: float) -> np.ndarray:
    scores, eta = np.zeros(m), factor * math.log(10) / 400
    for i, j, tie in zip(winners, losers, ties, strict=True):
        step = eta * ((0.5 if tie else 1.0) - 1 / (1 + math.exp(scores[j] - scores[i])))
        scores[i] += step
        scores[j] -= step
    return scores


def test_it_is_the_mean_over_permutations() -> None:
    winners, losers, weights, m = btl_sample(np.array([0.0, 1.0, 2.0]), 40, 3)
    ties = np.arange(40) % 5 == 0
    votes = Comparisons(np.array([0, 40]), winners, losers, weights, ties)
    named = [sorted(pair) if tie else list(pair) for *pair, tie in zip(winners, losers, ties, strict=True)]
    rows = sorted(range(40), key=lambda at: (*named[at], ties[at]))
    orders = [np.array(rows)[np.random.default_rng([p]).permutation(40)] for p in range(7)]
    expected = np.mean([one_by_one(winners[o], losers[o], ties[o], m, 50) for o in orders], axis=0)
    assert PermutedElo(factor=50, permutations=7).from_comparisons(votes, m) == pytest.approx(expected, abs=1e-12)
    turned = Comparisons(votes.offsets, np.where(ties, losers, winners), np.where(ties, winners, losers), weights, ties)
    again = PermutedElo(factor=50, permutations=7).from_comparisons(turned, m)
    assert again == pytest.approx(expected, abs=1e-12)
    assert len({tuple(order) for order in orders}) == 7
    rows = sorted(range(40), key=lambda at: (winners[at], losers[at]))
    orders = [np.array(rows)[np.random.default_rng([p]).permutation(40)] for p in range(7)]
    plain = np.mean([one_by_one(winners[o], losers[o], np.zeros(40), m, 32) for o in orders], axis=0)
    assert PermutedElo(permutations=7).aggregate(winners, losers, weights, m) == pytest.approx(plain, abs=1e-12)


def test_the_order_of_the_votes_says_nothing() -> None:
    winners, losers, weights, m = btl_sample(np.linspace(0, 1, 5), 600, 1)
    order = np.random.default_rng(4).permutation(600)
    again = winners[order], losers[order], weights, m
    assert np.array_equal(
        PermutedElo().aggregate(winners, losers, weights, m),
        PermutedElo().aggregate(*again),
    )
    assert not np.allclose(Elo().aggregate(winners, losers, weights, m), Elo().aggregate(*again), atol=0.05)
