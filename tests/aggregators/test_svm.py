"""SVM-RankAggregation against SciPy's general solver, and on matrices whose order is known."""

from __future__ import annotations

import numpy as np
import pytest
from aggregator_samples import btl_sample
from scipy.optimize import minimize

from rankbench.aggregators.svm import SVMRankAggregation, least_vector
from rankbench.errors import SpecError


def expected_counts(shares: np.ndarray, weight: float = 1000.0) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return comparisons with exactly these shares of wins."""
    winners, losers = np.nonzero(~np.eye(len(shares), dtype=bool))
    return winners.astype(np.int32), losers.astype(np.int32), weight * shares[winners, losers], len(shares)


def acyclic(m: int, seed: int) -> np.ndarray:
    """Return shares of wins of m items, best item first, with random leads."""
    shares = np.full((m, m), 0.5)
    low, high = np.triu_indices(m, 1)
    shares[low, high] = np.random.default_rng(seed).uniform(0.55, 0.98, len(low))
    shares[high, low] = 1 - shares[low, high]
    return shares


CYCLE = np.array([[0.5, 0.9, 0.2, 0.6], [0.1, 0.5, 0.7, 0.9], [0.8, 0.3, 0.5, 0.8], [0.4, 0.1, 0.2, 0.5]])
"""The first three items beat one another in a cycle."""


def soft_margin(shares: np.ndarray, cost: float) -> np.ndarray:
    """Return the scores of the soft margin, by SciPy's quasi-Newton method on the primal problem."""
    first, second = np.nonzero(shares > shares.T)
    rows = shares[first] - shares[second]

    def risk(a: np.ndarray) -> tuple[float, np.ndarray]:
        lacking = np.maximum(1 - rows @ a, 0)
        return float(a @ a + cost * lacking @ lacking), 2 * a - 2 * cost * rows.T @ lacking

    found = minimize(risk, np.zeros(len(shares)), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-11})
    scores = shares @ found.x
    return scores - scores.mean()


@pytest.mark.parametrize("cost", [0.3, 1.0, 20.0])
def test_a_cycle_has_the_soft_margin(cost: float) -> None:
    first, second = np.nonzero(CYCLE > CYCLE.T)
    assert not least_vector(CYCLE[first] - CYCLE[second]).any()
    scores = SVMRankAggregation(cost=cost).aggregate(*expected_counts(CYCLE))
    assert scores == pytest.approx(soft_margin(CYCLE, cost), abs=1e-6)
    assert np.ptp(scores) > 0.1
    # The rows of three items in a cycle sum to zero, so that every vector has as much to lose as to gain.
    three = SVMRankAggregation(cost=cost).aggregate(*expected_counts(CYCLE[:3, :3]))
    assert three == pytest.approx(np.zeros(3), abs=1e-9)


@pytest.mark.parametrize("m", [2, 4, 7])
def test_the_hard_margin_is_that_of_a_general_solver(m: int) -> None:
    shares = acyclic(m, m)
    low, high = np.triu_indices(m, 1)
    rows = shares[low] - shares[high]
    found = minimize(
        lambda a: a @ a,
        np.ones(m),
        jac=lambda a: 2 * a,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda a: rows @ a - 1, "jac": lambda a: rows},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    vector = least_vector(rows)
    assert vector == pytest.approx(found.x, abs=1e-4)
    assert (rows @ vector).min() == pytest.approx(1, abs=1e-9)
    centered = shares @ found.x - (shares @ found.x).mean()
    assert SVMRankAggregation().aggregate(*expected_counts(shares)) == pytest.approx(centered, abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_where_no_pair_contradicts_another_the_order_is_that_of_the_pairs(seed: int) -> None:
    order = np.random.default_rng(seed).permutation(8)
    winners, losers, weights, m = expected_counts(acyclic(8, seed))
    scores = SVMRankAggregation().aggregate(order[winners], order[losers], weights, m)
    assert np.argsort(-scores).tolist() == order.tolist()
    scaled = SVMRankAggregation().aggregate(order[winners], order[losers], 0.07 * weights, m)
    assert scaled == pytest.approx(scores, rel=1e-6)


def test_votes_that_say_nothing_leave_all_items_equal() -> None:
    level = np.full((4, 4), 0.5)
    assert SVMRankAggregation().aggregate(*expected_counts(level)).tolist() == [0, 0, 0, 0]
    # Rows are (1/2, 2/3, 1/2), (1/3, 1/2, 1/2) and, of the item without votes, halves: a = (3, 3, 0).
    scores = SVMRankAggregation().aggregate(np.array([0, 0, 1]), np.array([1, 1, 0]), np.ones(3), 3)
    assert scores == pytest.approx([0.5, -0.5, 0], abs=1e-9)


def test_more_items_than_it_can_rank_are_refused() -> None:
    with pytest.raises(SpecError, match="too many"):
        SVMRankAggregation().aggregate(*btl_sample(np.zeros(41), 500, 1))
