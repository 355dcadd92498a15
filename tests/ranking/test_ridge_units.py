"""What a ridge does to a planted effect: beside the sum over votes nothing, beside their mean nearly all of it."""

from __future__ import annotations

import numpy as np
import pytest
from amounts import trials
from scipy.optimize import brentq
from scipy.special import expit

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.interfaces.covariate_aggregator import CovariateVotes

VOTES, EFFECT = 20_000, 0.25


def beside_the_mean(won: float) -> float:
    """Return the effect on n votes between equals with a ridge of 1 beside the mean log-likelihood."""
    return float(brentq(lambda b: won / VOTES - expit(b) - b, -5, 5))


def test_a_ridge_beside_the_sum_leaves_an_effect_and_one_beside_the_mean_does_not() -> None:
    rng, first = np.random.default_rng(15), (np.arange(VOTES) % 2).astype(np.int32)
    summed, mean = [], []
    for _ in range(trials(100)):
        outcome = (rng.random(VOTES) < expit(EFFECT)).astype(np.float64)
        votes = CovariateVotes.from_arrays(first, 1 - first, outcome, np.ones((VOTES, 1)), items=["a", "b"])
        summed.append(float(BradleyTerry(ridge=1.0).fit_controlled(votes.summed()).effects[0]))
        mean.append(beside_the_mean(float(outcome.sum())))
    print(f"sum: {np.mean(summed):.3f} +- {np.std(summed):.3f}; mean: {np.mean(mean):.3f} +- {np.std(mean):.3f}")
    assert np.mean(summed) == pytest.approx(EFFECT, abs=0.01)
    assert np.mean(mean) < 0.06
