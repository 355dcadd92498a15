"""Scores that walk at random: modes of each time, the joint posterior of a short log, compiled equal to plain."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from minima import step_to_minimum
from scipy.integrate import quad
from scipy.special import expit

import rankbench
from rankbench.aggregators.dynamic_bradley_terry import DynamicBradleyTerry
from rankbench.errors import SpecError
from rankbench.interfaces.queries import Comparisons


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


def test_the_compiled_form_is_the_plain_one() -> None:
    rng = np.random.default_rng(3)
    said, m = votes(rng, 90, 7), 7
    point = DynamicBradleyTerry(drift=0.05)
    starts = np.array([0, 1, 2, 10, 11, 40, 41, 60, 90])
    plain, margins = point.start(m), np.zeros(90)
    assert said.ties is not None
    for t, (begin, end) in enumerate(pairwise(starts)):
        rows = slice(begin, end)
        margins[rows] = point.margins(plain, said.winners[rows], said.losers[rows], t)
        some = Comparisons(
            np.array([0, end - begin]), said.winners[rows], said.losers[rows], said.weights[rows], said.ties[rows]
        )
        point.learn(plain, some, t)
    kernel, state, found = point.walk_kernel(), point.start(m), np.zeros(90)
    outcome = 1 - said.ties.astype(np.int8)
    kernel.function(said.winners, said.losers, outcome, said.weights, starts, state, kernel.params, np.zeros(0), found)
    assert found == pytest.approx(margins, abs=1e-9)
    assert state == pytest.approx(plain, abs=1e-9)


def test_one_after_the_other_is_the_compiled_form_too() -> None:
    said = votes(np.random.default_rng(4), 50, 5)
    decisive = Comparisons(said.offsets, said.winners, said.losers, said.weights)
    point = DynamicBradleyTerry()
    plain = point.aggregate(said.winners, said.losers, said.weights, 5)
    assert point.from_comparisons(decisive, 5) == pytest.approx(plain, abs=1e-9)


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
    plain = point.aggregate(winners, losers, heavy, 3)
    found = point.from_comparisons(Comparisons(np.array([0, 4]), winners, losers, heavy), 3)
    assert np.isfinite(plain).all()
    assert found == pytest.approx(plain, rel=1e-8)
