"""Glicko-2: the worked example of its paper, and what follows from its formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import rankbench
from rankbench.aggregators.elo import POINTS, Glicko2
from rankbench.aggregators.rating_formulas import attenuation, new_volatility
from rankbench.interfaces.queries import Comparisons


def rated(ratings: list[float], deviations: list[float], volatility: float = 0.06) -> np.ndarray:
    state = Glicko2(volatility=volatility).start(len(ratings))
    state[:, 0] = (np.array(ratings) - 1500) / POINTS
    state[:, 1] = np.array(deviations) / POINTS
    state[:, 3] = 0
    return state


def period(winners: list[int], losers: list[int]) -> Comparisons:
    ones = np.ones(len(winners))
    return Comparisons(np.array([0, len(ones)]), np.array(winners, np.int32), np.array(losers, np.int32), ones)


def test_the_example_of_the_paper() -> None:
    """Glickman (2012): 1500 (200) beats 1400 (30), loses to 1550 (100) and to 1700 (300): 1464.06 (151.52), .05999."""
    state = rated([1500, 1400, 1550, 1700], [200, 30, 100, 300])
    Glicko2().learn(state, period([0, 2, 3], [1, 0, 0]), 1)
    assert state[0, 0] * POINTS + 1500 == pytest.approx(1464.06, abs=0.02)
    assert state[0, 1] * POINTS == pytest.approx(151.52, abs=0.01)
    assert math.floor(state[0, 2] * 1e5) == 5999  # the paper cuts .059996 off


@pytest.mark.parametrize("delta", [0.0, 0.5, 3.0, 30.0])
@pytest.mark.parametrize(("phi", "v", "tau"), [(2.0, 1.7, 0.5), (0.2, 0.1, 1.2), (1.0, 50.0, 0.3)])
def test_the_volatility_is_the_root_of_its_equation(delta: float, phi: float, v: float, tau: float) -> None:
    sigma = 0.06

    def f(x: float) -> float:
        e = math.exp(x)
        return e * (delta**2 - phi**2 - v - e) / (2 * (phi**2 + v + e) ** 2) - (x - math.log(sigma**2)) / tau**2

    expected = math.exp(brentq(f, -60, 60, xtol=1e-14) / 2)
    assert new_volatility(sigma, delta, phi, v, tau) == pytest.approx(expected, rel=1e-8)


def test_attenuation() -> None:
    assert attenuation(0.0) == 1.0
    assert attenuation(math.pi**2) == 0.5


def test_periods_without_judgments_make_a_rating_less_certain_up_to_that_of_a_stranger() -> None:
    point = Glicko2()
    state = rated([1500, 1400], [50, 60])
    one, two = np.array([0], np.int32), np.array([1], np.int32)

    def expected(deviation: list[float]) -> float:
        both = math.hypot(*deviation) / POINTS
        return 100 / POINTS / math.sqrt(1 + 3 * both**2 / math.pi**2)

    grown = [math.sqrt((d / POINTS) ** 2 + 4 * 0.06**2) * POINTS for d in (50, 60)]
    assert point.margins(state, one, two, 5)[0] == pytest.approx(expected(grown), rel=1e-12)
    assert point.margins(state, one, two, 10**9)[0] == pytest.approx(expected([350, 350]), rel=1e-12)


def test_judgments_one_after_the_other_are_periods() -> None:
    rng = np.random.default_rng(2)
    winners = rng.integers(0, 5, 60).astype(np.int32)
    losers = ((winners + rng.integers(1, 5, 60)) % 5).astype(np.int32)
    weights = rng.integers(1, 4, 60).astype(np.float64)
    both = Comparisons(np.array([0, 60]), winners, losers, weights)
    point = rankbench.get(rankbench.Aggregator, "glicko-2")
    assert point.from_comparisons(both, 5) == pytest.approx(point.aggregate(winners, losers, weights, 5), abs=1e-9)


def test_a_tie_between_equals_says_nothing_but_that_they_met() -> None:
    state = rated([1500, 1500], [100, 100])
    tied = Comparisons(np.array([0, 1]), np.array([0], np.int32), np.array([1], np.int32), np.ones(1), np.array([True]))
    Glicko2().learn(state, tied, 1)
    assert state[:, 0] == pytest.approx([0, 0], abs=1e-15)
    assert (state[:, 1] < 100 / POINTS).all()
