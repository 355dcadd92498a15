"""Davidson's ties: the maximum of the model as it is written, and its limits."""

import numpy as np
import pytest
from aggregator_samples import compiled, samples
from amounts import examples
from dense_oracles import davidson
from hypothesis import given
from hypothesis import strategies as st
from minima import step_to_minimum
from order_samples import build

from rankbench.aggregators.bradley_terry import BradleyTerry, Davidson
from rankbench.aggregators.likelihood.davidson import fit_davidson
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.queries import Comparisons


def record(winners, losers, weights, ties):
    return Comparisons(np.array([0, len(winners)]), winners, losers, weights, np.asarray(ties, dtype=bool))


def loss(theta, comparisons, ridge):
    """Return the penalized negative log-likelihood at (s, log nu), from the probabilities."""
    s, nu = np.exp(theta[:-1]), np.exp(theta[-1])
    total = ridge / 2 * theta[:-1] @ theta[:-1]
    rows = zip(comparisons.winners, comparisons.losers, comparisons.weights, comparisons.ties, strict=True)
    for i, j, weight, tie in rows:
        between = nu * np.sqrt(s[i] * s[j])
        total -= weight * np.log((between if tie else s[i]) / (s[i] + s[j] + between))
    return total


@given(sample=samples(max_items=5, weighted=False), ridge=st.sampled_from([1.0, 0.2]), data=st.data())
@examples(50)
def test_is_the_maximum_of_the_likelihood(sample, ridge, data):
    winners, losers, weights, m = sample
    ties = data.draw(st.lists(st.booleans(), min_size=len(winners), max_size=len(winners)))
    comparisons = record(winners, losers, weights, ties)
    fit = fit_davidson(PairCounts.from_comparisons(comparisons, m), ridge=ridge)
    scores, nu = fit.scores, fit.nu
    assert np.array_equal(Davidson(ridge=ridge).from_comparisons(comparisons, m), scores)
    dense, dense_nu = davidson(comparisons, m, ridge)
    assert scores == pytest.approx(dense, abs=1e-8)
    assert nu == pytest.approx(dense_nu, rel=1e-8)
    assert abs(scores.sum()) < 1e-8
    if all(ties):
        assert (nu, scores.tolist()) == (np.inf, [0.0] * m)
    elif not any(ties):
        assert nu == 0
        assert np.array_equal(scores, BradleyTerry(ridge=ridge).aggregate(winners, losers, weights, m))
    else:
        step = step_to_minimum(lambda at: loss(at, comparisons, ridge), np.append(scores, np.log(nu)))
        assert np.abs(step).max() < 1e-8


@given(sample=samples(weighted=True))
@examples(25)
def test_fewer_and_fewer_ties_lead_to_bradley_terry(sample):
    winners, losers, weights, m = sample
    plain = BradleyTerry().aggregate(winners, losers, weights, m)
    tied = record(
        np.append(winners, 0).astype(np.int32), np.append(losers, 1).astype(np.int32), np.append(weights, 1e-9), None
    )
    ties = np.zeros(len(winners) + 1, dtype=bool)
    ties[-1] = True
    said = Comparisons(tied.offsets, tied.winners, tied.losers, tied.weights, ties)
    fit = fit_davidson(PairCounts.from_comparisons(said, m), ridge=1.0)
    scores, nu = fit.scores, fit.nu
    assert 0 < nu < 1e-4
    assert scores == pytest.approx(plain, abs=1e-5)
    assert compiled(Davidson(), *sample) == pytest.approx(plain, abs=1e-8)


def test_tends_to_the_truth():
    rng = np.random.default_rng(8)
    truth, nu, k = np.array([1.2, 0.3, -0.1, -1.4]), 0.8, 60_000
    i = rng.integers(4, size=k)
    j = (i + rng.integers(1, 4, size=k)) % 4
    masses = np.stack([np.exp(truth[i]), np.exp(truth[j]), nu * np.exp((truth[i] + truth[j]) / 2)])
    outcome = (rng.random(k) > np.cumsum(masses / masses.sum(axis=0), axis=0)[:2]).sum(axis=0)
    winners, losers = np.where(outcome == 1, j, i), np.where(outcome == 1, i, j)
    comparisons = record(winners.astype(np.int32), losers.astype(np.int32), np.ones(k), outcome == 2)
    fit = fit_davidson(PairCounts.from_comparisons(comparisons, 4), ridge=1e-3)
    scores, found = fit.scores, fit.nu
    assert scores == pytest.approx(truth - truth.mean(), abs=0.04)
    assert found == pytest.approx(nu, abs=0.03)


def test_ties_on_ballots_reach_the_model():
    orders = build([[[0, 1], [2]], [[0], [1], [2]], [[2], [0, 1]]])
    without = BradleyTerry().from_orders(orders, 3)
    scores = Davidson().from_orders(orders, 3)
    assert scores[0] > scores[1] > scores[2]
    assert not np.allclose(scores, without, atol=1e-3)
