"""Scores that walk at random: modes of each time, the posterior of all times, compiled equal to plain."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from minima import step_to_minimum
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit

import rankbench
from rankbench.aggregators.likelihood import random_walk_smoother as module
from rankbench.aggregators.likelihood.random_walk_smoother import random_walk_scores
from rankbench.aggregators.sequential import DynamicBradleyTerry
from rankbench.errors import ContenderDiverged, SpecError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.aggregator_calls import call_aggregator
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.queries import Comparisons
from rankbench.interfaces.sequential_aggregator import TimedCounts


def votes(rng: np.random.Generator, n: int, m: int) -> Comparisons:
    winners = rng.integers(0, m, n).astype(np.int32)
    losers = ((winners + rng.integers(1, m, n)) % m).astype(np.int32)
    weights = rng.integers(1, 4, n) * 0.5
    return Comparisons(np.array([0, n]), winners, losers, weights, rng.random(n) < 0.3)


def loss(scores: np.ndarray, said: Comparisons) -> complex:
    gap = scores[said.winners] - scores[said.losers]
    assert said.ties is not None
    return complex((said.weights * (np.log1p(np.exp(-gap)) + np.where(said.ties, gap / 2, 0))).sum())


def test_votes_of_one_time_give_the_scores_of_bradley_terry_with_a_ridge() -> None:
    said = votes(np.random.default_rng(1), 40, 6)
    point = DynamicBradleyTerry(variance=2.0, drift=0.3)
    state = point.start(6)
    point.learn(state, said, 0)
    expected = rankbench.get(rankbench.Aggregator, "bradley-terry:ridge=0.5").from_comparisons(said, 6)
    assert point.ratings(state) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("weight", [1e9, 1e14, 3e15])
def test_a_huge_vote_gives_the_score_that_balances_it(weight: float) -> None:
    """Of one vote: s / v = w / (1 + exp(2 s))."""
    won = Comparisons(np.array([0, 1]), np.array([0], np.int32), np.array([1], np.int32), np.array([weight]))
    (score, other) = DynamicBradleyTerry().from_comparisons(won, 2)
    assert score == pytest.approx(brentq(lambda s: weight / (1 + math.exp(2 * s)) - s, 0.0, 40.0), rel=1e-7)
    assert other == -score


def test_votes_that_hide_the_variance_are_refused() -> None:
    won = Comparisons(np.array([0, 1]), np.array([0], np.int32), np.array([1], np.int32), np.array([6e16]))
    with pytest.raises(ContenderDiverged):
        call_aggregator(DynamicBradleyTerry(), won, 2)


def test_each_time_ends_at_the_mode_with_the_curvature_there() -> None:
    """Where the posterior under a dense normal prior is level, and its covariance by inverting the Hessian there."""
    rng = np.random.default_rng(2)
    point, m = DynamicBradleyTerry(variance=1.5, drift=0.2), 5
    state = point.start(m)
    mean, covariance, seen = np.zeros(m), 1.5 * np.eye(m), np.zeros(m)
    for time in range(6):
        said = votes(rng, 4, m)
        prior = covariance + 0.2 * np.diag(seen)
        inverse = np.linalg.inv(prior)

        def objective(s: np.ndarray, inverse: np.ndarray = inverse, mean: np.ndarray = mean, said=said) -> complex:
            return complex((s - mean) @ inverse @ (s - mean)) / 2 + loss(s, said)

        point.learn(state, said, time)
        found = state[:, 0].copy()
        assert np.abs(step_to_minimum(objective, found)).max() < 1e-8
        hessian = inverse.copy()
        for i, j, w in zip(said.winners, said.losers, said.weights, strict=True):
            x = np.zeros(m)
            x[i], x[j] = 1, -1
            p = expit(found[i] - found[j])
            hessian += w * p * (1 - p) * np.outer(x, x)
        assert state[:, 2:] == pytest.approx(np.linalg.inv(hessian), abs=1e-8)
        mean, covariance = found, state[:, 2:].copy()
        seen[np.unique([said.winners, said.losers])] = 1


def test_chances_are_those_over_the_posterior() -> None:
    """MacKay's approximation against the integral of the logistic function over a normal margin."""
    point = DynamicBradleyTerry()
    state = point.start(2)
    state[0, 0], state[:, 2:] = 1.3, [[0.5, 0.1], [0.1, 0.6]]
    margin = point.margins(state, np.array([0], np.int32), np.array([1], np.int32), 0)[0]
    spread = 0.5 + 0.6 - 0.2

    def weighed(x: float) -> float:
        return float(expit(x)) * math.exp(-((x - 1.3) ** 2) / (2 * spread)) / math.sqrt(2 * math.pi * spread)

    assert expit(margin) == pytest.approx(quad(weighed, -20, 20)[0], abs=0.003)


def test_more_items_than_a_matrix_of_all_pairs_holds_are_refused() -> None:
    with pytest.raises(SpecError, match="too many"):
        DynamicBradleyTerry().start(2001)


def test_votes_of_enormous_weight_that_contradict_one_another_have_a_mode_too() -> None:
    """Newton's steps go back and forth across it, unless they are halved."""
    winners, losers = np.array([0, 1, 0, 1], np.int32), np.array([1, 0, 2, 2], np.int32)
    point, heavy = DynamicBradleyTerry(), np.full(4, 1e9)
    state = point.start(3)
    for t in range(4):
        point.learn(state, Comparisons(np.array([0, 1]), winners[[t]], losers[[t]], heavy[[t]]), t)
    found = point.aggregate(winners, losers, heavy, 3)
    assert np.isfinite(found).all()
    assert found == pytest.approx(state[:, 0], rel=1e-8)


def small(seed: int, times: int = 4, m: int = 4, effects: int = 0) -> TimedCounts:
    """Return a log in which items come one after the other, and are not judged at all times; perhaps with covariates.

    With covariates each pair comes twice.
    """
    rng = np.random.default_rng(seed)
    starts, first, second, won, lost = [0], [], [], [], []
    for t in range(times):
        there = min(2 + t, m)
        pairs = [(i, j) for i in range(there) for j in range(i + 1, there) if rng.random() < 0.6] or [(0, 1)]
        pairs = pairs if t < times - 1 else [(i, i + 1) for i in range(m - 1)]
        for i, j in pairs * (1 + (effects > 0)):
            first.append(i)
            second.append(j)
            won.append(rng.integers(0, 4) + 0.5)
            lost.append(float(rng.integers(0, 4)))
        starts.append(len(first))
    gaps = rng.integers(1, 4, size=times).astype(np.float64)
    sides = np.array(first, np.int32), np.array(second, np.int32)
    covariates = rng.normal(size=(len(won), effects)) if effects else None
    return TimedCounts(m, gaps, np.array(starts), *sides, np.array(won), np.array(lost), covariates)


class Naive:
    """Minus the log posterior of all scores of all times, term by term; effects of covariates stand behind them."""

    def __init__(self, counts: TimedCounts, drift: float, variance: float) -> None:
        self.counts, self.drift, self.variance = counts, drift, variance
        self.born = [
            min(t for t, i, j in zip(counts.times, counts.first, counts.second, strict=True) if item in (i, j))
            for item in range(counts.m)
        ]
        nodes = [(t, i) for i in range(counts.m) for t in range(self.born[i], len(counts))]
        self.place = {node: n for n, node in enumerate(nodes)}

    def __call__(self, x: np.ndarray) -> complex:
        counts, value = self.counts, 0.0
        for e, t in enumerate(counts.times.tolist()):
            lead = x[self.place[t, counts.first[e]]] - x[self.place[t, counts.second[e]]]
            if counts.covariates is not None:
                lead = lead + counts.covariates[e] @ x[len(self.place) :]
            value += counts.won[e] * np.log1p(np.exp(-lead)) + counts.lost[e] * np.log1p(np.exp(lead))
        for i, begin in enumerate(self.born):
            terms = [(x[self.place[begin, i]], self.variance)]
            for t in range(begin + 1, len(counts)):
                step = x[self.place[t, i]] - x[self.place[t - 1, i]]
                terms.append((step, self.drift * counts.gaps[t]))
            value += sum(s**2 / (2 * v) + math.log(2 * math.pi * v) / 2 for s, v in terms)
        return value

    def hessian(self, x: np.ndarray, step: float = 1e-4) -> np.ndarray:
        n = len(x)
        found = np.zeros((n, n))
        for a in range(n):
            for b in range(a, n):
                signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
                values = [self(x + step * (s * np.eye(n)[a] + r * np.eye(n)[b])) * s * r for s, r in signs]
                found[a, b] = found[b, a] = sum(values) / (4 * step**2)
        return found


@given(
    seed=st.integers(0, 10_000),
    drift=st.sampled_from([0.01, 0.3, 2.0]),
    variance=st.sampled_from([0.5, 3.0]),
    effects=st.integers(0, 2),
)
def test_the_mode_is_where_the_posterior_is_level(seed: int, drift: float, variance: float, effects: int) -> None:
    counts = small(seed, effects=effects)
    naive = Naive(counts, drift, variance)
    history = random_walk_scores(counts, drift, variance)
    mode = np.array([*(history.scores[node] for node in naive.place), *history.effects])
    assert np.abs(step_to_minimum(naive, mode)).max() < 1e-8
    assert np.isnan(history.scores).sum() == len(counts) * counts.m - len(naive.place)


@pytest.mark.parametrize(("seed", "effects"), [(0, 0), (1, 0), (2, 0), (3, 1), (4, 2)])
@pytest.mark.parametrize("then", [0, 1, 3])
def test_covariances_and_evidence_are_those_of_the_hessian(seed: int, effects: int, then: int) -> None:
    counts = small(seed, effects=effects)
    naive = Naive(counts, 0.3, 1.5)
    history = random_walk_scores(counts, 0.3, 1.5)
    mode = np.array([*(history.scores[node] for node in naive.place), *history.effects])
    hessian = naive.hessian(mode)
    covariance = np.linalg.inv(hessian)
    laplace = -naive(mode) + len(mode) / 2 * math.log(2 * math.pi) - np.linalg.slogdet(hessian)[1] / 2
    assert history.evidence == pytest.approx(laplace, abs=1e-4)

    def nodes(t: int) -> tuple[list[int], list[int]]:
        items = [i for i in range(counts.m) if naive.born[i] <= t]
        return items, [naive.place[t, i] for i in items]

    of_effects = covariance[len(naive.place) :, len(naive.place) :]
    assert history.effects_covariance == pytest.approx(of_effects, abs=1e-5)
    spread, last = history.spread(then), len(counts) - 1
    (early, of_then), (late, of_now) = nodes(then), nodes(last)
    assert spread.now[np.ix_(late, late)] == pytest.approx(covariance[np.ix_(of_now, of_now)], abs=1e-5)
    assert spread.then[np.ix_(early, early)] == pytest.approx(covariance[np.ix_(of_then, of_then)], abs=1e-5)
    assert spread.across[np.ix_(early, late)] == pytest.approx(covariance[np.ix_(of_then, of_now)], abs=1e-5)
    assert np.isnan(spread.then).sum() == counts.m**2 - len(early) ** 2
    for t in range(len(counts)):
        items, places = nodes(t)
        around = np.eye(len(items)) - 1 / len(items)
        own = around @ covariance[np.ix_(places, places)] @ around
        assert spread.deviation[t, items] == pytest.approx(np.sqrt(own.diagonal()), abs=1e-5)
    known = np.arange(counts.m) != late[0]
    told = history.spread(then, known)
    for t in range(len(counts)):
        items, places = nodes(t)
        beside = known[items] if known[items].any() else np.ones(len(items), bool)
        around = np.eye(len(items)) - beside / beside.sum()
        own = around @ covariance[np.ix_(places, places)] @ around.T
        assert told.deviation[t, items] == pytest.approx(np.sqrt(own.diagonal()), abs=1e-5)


def test_one_time_alone_is_bradley_terry_with_a_ridge() -> None:
    counts = small(1, times=1)
    first, second = counts.first, counts.second
    both = Comparisons(
        np.array([0, 2 * len(first)]),
        np.concatenate([first, second]),
        np.concatenate([second, first]),
        np.concatenate([counts.won, counts.lost]),
    )
    said = PairCounts.from_comparisons(both, counts.m)
    scores = DynamicBradleyTerry(drift=0.1, variance=2.0).history(counts).scores[0]
    assert scores == pytest.approx(rankbench.get(Aggregator, "bradley-terry:ridge=0.5").from_counts(said), abs=1e-6)


def test_what_cannot_be_held_or_does_not_walk_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = small(1)
    with pytest.raises(SpecError, match="do not walk"):
        random_walk_scores(counts, 0.0, 1.0)
    monkeypatch.setattr(module, "MOST_NUMBERS", 10)
    with pytest.raises(SpecError, match="4 times of 4 items are covariances of 64 numbers"):
        random_walk_scores(counts, 0.1, 1.0)
    elo = rankbench.get(Aggregator, "elo")
    with pytest.raises(SpecError, match="aggregator 'elo' has no model of scores over time"):
        elo.history(counts)  # type: ignore[attr-defined]
