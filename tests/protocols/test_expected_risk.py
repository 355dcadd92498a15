"""Expected risks against every log of votes, simulated draws and SciPy; suprema against grids and SLSQP."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from rankbench.errors import SpecError
from rankbench.methods.baselines import UStatistic
from rankbench.protocols.expected_risk import (
    condition_ii,
    expected_moments,
    order_moments,
    sampling_bound,
    squared_constants,
    supremum,
)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_expected_risk_is_the_mean_over_all_logs(k):
    """All (3 queries, win or loss)^4 logs, each by its probability, through the method's own subset averages."""
    p, chance, c = np.array([0.5, 0.3, 0.2]), np.array([0.9, 0.5, 0.2]), 0.1
    n, total, squares = 4, np.zeros(3), np.zeros(3)
    outcomes = [(q, won) for q in range(3) for won in (True, False)]
    for log in itertools.product(outcomes, repeat=n):
        likely = math.prod(p[q] * (chance[q] if won else 1 - chance[q]) for q, won in log)
        votes = [[won for at, won in log if at == q] for q in range(3)]
        starts = np.cumsum([0, *map(len, votes)])
        mean, square = UStatistic(smoothing=c).moments(np.array([*itertools.chain(*votes)], np.bool_), starts, k)
        total += likely * np.diff(starts) / n * mean
        squares += likely * np.diff(starts) / n * square
    mean, square = expected_moments(chance, p, n, k, c)
    assert p * mean == pytest.approx(total, rel=1e-12)
    assert p * square == pytest.approx(squares, rel=1e-12)


def test_moments_at_an_order_are_binomial():
    mean, square = order_moments(np.array([0.3]), 3, 0.2)
    chances = [math.comb(3, w) * 0.3**w * 0.7 ** (3 - w) for w in range(4)]
    s = [math.log((w / 3 + 0.2) / (1.2 - w / 3)) for w in range(4)]
    assert mean[0] == pytest.approx(np.dot(chances, s))
    assert square[0] == pytest.approx(np.dot(chances, np.square(s)))


def test_an_order_that_is_too_large_is_rejected():
    with pytest.raises(SpecError, match="lower the exponent"):
        expected_moments(np.full(2000, 0.5), np.full(2000, 1 / 2000), 10**5, 10**5, 0.1)


numbers = st.floats(-3, 3).map(lambda x: round(x, 3))


@examples(60)
@given(st.lists(numbers, min_size=6, max_size=6), st.floats(0.1, 3), st.sampled_from(["as it is", "flat", "hard"]))
def test_supremum_over_a_ball_is_that_over_a_fine_grid(entries, radius, case):
    """Two coefficients; `hard` has no slope along the eigenvector of least curvature."""
    a, b, d, g, h, c = entries
    matrix = np.zeros((2, 2)) if case == "flat" else np.array([[a, b], [b, d]])
    slope = np.array([g, h])
    if case == "hard":
        matrix, slope = np.diag([-abs(a) - 1, abs(d)]), np.array([0.0, h])
    angles, lengths = np.linspace(0, 2 * np.pi, 2001), radius * np.linspace(0, 1, 101)
    grid = (lengths[:, None, None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)).reshape(-1, 2)
    values = np.abs(0.5 * np.einsum("td,de,te->t", grid, matrix, grid) - grid @ slope + c)
    found = supremum(matrix, slope, c, radius)
    # The gradient is at most |A| r + |b|, and a grid point is within r / 100.
    steep = np.linalg.norm(matrix, 2) * radius + np.linalg.norm(slope)
    assert values.max() - 1e-9 <= found <= values.max() + steep * radius / 100


def test_supremum_in_more_dimensions_is_what_slsqp_finds_from_many_starts():
    rng = np.random.default_rng(4)
    for d in (3, 6):
        root = rng.normal(size=(d, d))
        matrix, slope = root + root.T, rng.normal(size=d)

        def risk(t, matrix=matrix, slope=slope):
            return 0.5 * t @ matrix @ t - slope @ t + 0.3

        ball = {"type": "ineq", "fun": lambda t: 1.0 - t @ t}
        found = [
            abs(risk(minimize(lambda t, s=sign: s * risk(t), rng.normal(size=d) / d, constraints=ball).x))
            for sign in (-1.0, 1.0)
            for _ in range(12)
        ]
        assert supremum(matrix, slope, 0.3, 1.0) == pytest.approx(max(found), rel=1e-5)


@examples(60)
@given(
    st.lists(st.floats(0.01, 1), min_size=1, max_size=30),
    st.floats(0.02, 0.98),
    st.integers(1, 3000),
    st.integers(1, 12),
    st.floats(-2, 2),
)
def test_lemma_7_holds(shares, chance, n, k, score):
    p = np.array(shares) / sum(shares)
    chances = np.linspace(chance, 1 - chance, len(p))
    there, limit = expected_moments(chances, p, n, k, 0.1), order_moments(chances, k, 0.1)
    means, squares = (a - b for a, b in zip(there, limit, strict=True))
    bias = 0.5 * p @ (squares - 2 * score * means)
    bound = (abs(score) + math.log(11)) ** 2 / 2
    assert abs(bias) <= sampling_bound(p, n, k, bound) + 1e-12


def test_lemma_7_counts_rare_queries_alone():
    """Closed form: 2 (k + log k + 2 log n) = 2 (1 + 2 log 100) = 20.4 votes make a query frequent."""
    p = np.array([0.7, 0.25, 0.05])
    assert sampling_bound(p, 100, 1, 10.0) == pytest.approx(10 * (0.05 + 1e-4))


def test_assumption_e_bounds_losses_and_their_changes_and_both_are_attained():
    """Over random theta of the ball, and structures; at theta along the longest x both are equal."""
    rng = np.random.default_rng(1)
    x, radius, c = rng.normal(size=(30, 3)), 1.5, 0.1
    bound, lipschitz = squared_constants(x, radius, c)
    largest = math.log((1 + c) / c)
    theta = rng.normal(size=(200, 3))
    theta *= radius * rng.random((200, 1)) ** (1 / 3) / np.linalg.norm(theta, axis=1, keepdims=True)
    for s in (-largest, 0.3, largest):
        losses = (theta @ x.T - s) ** 2 / 2
        assert losses.max() <= bound
        change = np.abs(losses[:100] - losses[100:])
        assert (change <= lipschitz * np.linalg.norm(theta[:100] - theta[100:], axis=1)[:, None]).all()
    longest = x[np.linalg.norm(x, axis=1).argmax()]
    end = radius * longest / np.linalg.norm(longest)
    far, near = ((longest @ (scale * end) + largest) ** 2 / 2 for scale in (1, 1 - 1e-6))
    assert far == pytest.approx(bound)
    assert (far - near) / (1e-6 * radius) == pytest.approx(lipschitz, rel=1e-5)


def test_condition_ii_holds_for_orders_below_the_root_of_n_alone():
    """Section 4: with a fixed class any k = o(sqrt n) will do; the ratios are those of the formula, written out."""
    constants = squared_constants(np.ones((1, 4)), 1.0, 0.5)
    assert constants == pytest.approx(((2 + math.log(3)) ** 2 / 2, 2 * (2 + math.log(3))))

    def ratios(power):
        return np.array(
            [condition_ii(n, round(n**power), 0.5, constants, 1.0, 4, 0.1) for n in (10**4, 10**6, 10**8, 10**10)]
        )

    below, above = ratios(0.4), ratios(0.6)
    assert (np.diff(below, axis=0) < 0).all()
    assert (np.diff(above[:, 1]) > 0).all()
    bound, lipschitz = constants
    cover = 4 * math.log(1 + 2 / (0.1 / (4 * lipschitz)))
    by_hand = (40 * bound**3 / 10**4, 40 * bound * math.sqrt(cover) / 100)
    assert condition_ii(10**4, 40, 0.5, constants, 1.0, 4, 0.1) == pytest.approx(by_hand)
