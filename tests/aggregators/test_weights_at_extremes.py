"""Weights and ridges of any size: the optimum, or an error that says what keeps the method from it."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from rankbench.aggregators.bradley_terry import BradleyTerry, Davidson
from rankbench.aggregators.plackett_luce import PlackettLuce
from rankbench.errors import RankbenchError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.aggregator_calls import call_aggregator
from rankbench.interfaces.queries import Comparisons, Orders
from rankbench.plugin import manager


def ballots(weights: list[float]) -> Orders:
    """Return a > b, a > b and b > a, and an item that nobody ranked."""
    items, places = np.array([0, 1, 0, 1, 1, 0], np.int32), np.array([0, 1] * 3, np.int32)
    return Orders(np.array([0, 3]), np.array([0, 2, 4, 6]), items, places, np.array(weights))


def comparisons(weights: list[float], *, ties: bool = False) -> Comparisons:
    winners, losers = np.array([0, 0, 1], np.int32), np.array([1, 1, 0], np.int32)
    tied = np.array([False, False, True]) if ties else None
    return Comparisons(np.array([0, 3]), winners, losers, np.array(weights), tied)


def score_of_first(won: float, lost: float, ridge: float) -> float:
    """Return the score of the first of two items, from the equation of its derivative, in logarithms of the ridge."""

    def slope(s: float) -> float:
        return won / (1 + math.exp(2 * s)) - lost / (1 + math.exp(-2 * s)) - ridge * s

    return float(brentq(slope, -350, 350, xtol=1e-13, rtol=1e-14))


def test_a_tiny_ridge_leaves_the_maximum_where_it_is() -> None:
    found = PlackettLuce(ridge=1e-12).from_orders(ballots([1.0, 1.0, 1.0]), 3)
    np.testing.assert_allclose(found, [math.log(2) / 2, -math.log(2) / 2, 0.0], atol=1e-9)


@given(
    st.floats(-14, 14), st.floats(-14, 14), st.floats(-3, 3), st.sampled_from([PlackettLuce, BradleyTerry, Davidson])
)
def test_any_ridge_and_weight_has_the_optimum(
    ridge: float, weight: float, other: float, kind: type[PlackettLuce | BradleyTerry | Davidson]
) -> None:
    """Against a root of the one equation that two items have."""
    rho, won, lost = 10**ridge, 10**weight, 10 ** (weight + other)
    method = kind(ridge=rho)
    if isinstance(method, PlackettLuce):
        found = method.from_orders(ballots([won / 2, won / 2, lost]), 3)
    else:
        found = method.from_comparisons(comparisons([won / 2, won / 2, lost]), 3)
    expected = score_of_first(won, lost, rho)
    np.testing.assert_allclose(found, [expected, -expected, 0.0], rtol=1e-6, atol=1e-8)


@given(st.integers(1, 11))
def test_a_ridge_that_alone_keeps_items_together_is_enough(power: int) -> None:
    """One item won all: the scores end where e^(-2s) is about the ridge times s; chances are held to 1e-16."""
    rho = 10.0**-power
    expected = pytest.approx(score_of_first(2.0, 0.0, rho), abs=1e-3)
    assert call_aggregator(PlackettLuce(ridge=rho), ballots([1.0, 1.0, 0.0]), 3)[0] == expected
    assert call_aggregator(BradleyTerry(ridge=rho), comparisons([1.0, 1.0, 0.0]), 3)[0] == expected


WEIGHTS = (
    [1e-300, 1e-300, 1e-300], [6e16, 6e16, 6e16], [6e16, 0.0, 0.0], [1e150, 1e150, 1e150], [1e300, 1e300, 1e300],
    [1e300, 1e-300, 1.0], [1e-300, 1e300, 1.0],
)  # fmt: skip

NAMES = (
    "bradley-terry",
    "bradley-terry:ridge=1e-300",
    "bradley-terry:ridge=1e300",
    "bradley-terry:penalty=firth",
    "davidson",
    "davidson:penalty=firth",
    "elo",
    "glicko-2",
    "dynamic-bradley-terry",
    "dynamic-bradley-terry:variance=1e4",
    "thurstone-mosteller",
    "mean-log-odds",
)


@pytest.mark.parametrize("name", NAMES)
def test_any_weight_has_finite_scores_or_a_reason(name: str) -> None:
    method = manager.get(Aggregator, name)
    for weights in WEIGHTS:
        for ties in (False, True):
            with contextlib.suppress(RankbenchError):
                assert np.isfinite(call_aggregator(method, comparisons(weights, ties=ties), 3)).all()
