"""Davidson's ties, of samples and of counts: the maximum of the model as it is written, and its limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from aggregator_samples import build, compiled, samples
from amounts import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from minima import step_to_minimum

from rankbench.aggregators.bradley_terry import BradleyTerry, Davidson
from rankbench.aggregators.likelihood.davidson_firth import fit_davidson
from rankbench.errors import ContenderDiverged
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.queries import Comparisons
from rankbench.logs.count import count_pairs


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


def test_ties_on_ballots_reach_the_model():
    orders = build([[[0, 1], [2]], [[0], [1], [2]], [[2], [0, 1]]])
    without = BradleyTerry().from_orders(orders, 3)
    scores = Davidson().from_orders(orders, 3)
    assert scores[0] > scores[1] > scores[2]
    assert not np.allclose(scores, without, atol=1e-3)


@examples(60)
@given(st.integers(0, 2**32 - 1), st.integers(2, 11), st.integers(3, 60), st.sampled_from([1e-6, 1.0]))
def test_weights_of_many_orders_of_magnitude(seed: int, m: int, n: int, ridge: float) -> None:
    """Sums of large weights round away small changes of the objective, but not of the gradient."""
    rng = np.random.default_rng(seed)
    winners = rng.integers(0, m, n)
    losers = (winners + rng.integers(1, m, n)) % m
    ties, weights = rng.random(n) < 0.4, 10 ** rng.uniform(-3, 6, n)
    ties[:2] = [True, False]
    try:
        fit = fit_davidson(count_pairs(winners, losers, weights=weights, ties=ties, m=m), ridge=ridge)
    except ContenderDiverged as error:
        assume("rounding hides a ridge of 1e-06" not in str(error))
        raise
    a, b, log_nu = fit.scores[winners], fit.scores[losers], np.log(fit.nu)
    logits = np.column_stack([(a - b) / 2, (b - a) / 2, np.full(n, log_nu)])
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    lead = weights * ((chances[:, 0] - chances[:, 1]) / 2 - np.where(ties, 0.0, 0.5))
    slope = np.bincount(winners, lead, m) - np.bincount(losers, lead, m) + ridge * fit.scores
    assert np.abs(slope).max() <= 1e-10 * weights.sum()
    assert abs(weights @ (chances[:, 2] - ties)) <= 1e-10 * weights.sum()


def test_two_items_of_which_one_won_and_tied_but_never_lost_run_apart() -> None:
    counts = count_pairs([0, 0], [1, 1], ties=[False, True])
    assert np.ptp(fit_davidson(counts).scores) > 20
    assert np.ptp(fit_davidson(counts, ridge=1.0).scores) < 1


def test_plain_maximum_likelihood() -> None:
    rng = np.random.default_rng(0)
    winners = rng.integers(0, 5, 400)
    losers = (winners + rng.integers(1, 5, 400)) % 5
    ties = rng.random(400) < 0.3

    def loss(x: np.ndarray) -> complex:
        s, log_nu = x[:5], x[5]
        a, b = s[winners], s[losers]
        total = np.log(np.exp(a) + np.exp(b) + np.exp(log_nu + (a + b) / 2))
        return np.sum(total - np.where(ties, log_nu + (a + b) / 2, a)) + s.sum() ** 2  # scores sum to zero

    fit = fit_davidson(count_pairs(winners, losers, ties=ties))
    assert np.abs(step_to_minimum(loss, np.append(fit.scores, np.log(fit.nu)))).max() < 1e-8


def test_scales_stay_apart() -> None:
    counts = count_pairs([0, 0, 0, 2, 2, 2, 0], [1, 1, 1, 3, 3, 3, 2], ties=[1, 0, 0, 1, 1, 0, 0])
    fit = fit_davidson(counts)
    assert fit.scales.scale_of.tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose([fit.scores[:2].sum(), fit.scores[2:].sum()], 0, atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_a_start_far_off_ends_at_the_same_maximum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 8))
    a = rng.integers(0, m, 4 * m)
    counts = count_pairs(a, (a + rng.integers(1, m, 4 * m)) % m, m=m)
    more = {name: getattr(counts, name) + 0.3 for name in ("forward", "backward", "ties")}
    counts = replace(counts, **more)
    expected = fit_davidson(counts, tolerance=1e-10)
    found = fit_davidson(counts, start=10 * rng.normal(size=m), start_nu=5.0, tolerance=1e-10)
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-8)
    assert found.nu == pytest.approx(expected.nu)
