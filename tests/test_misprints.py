"""Misprints of the papers: as printed a statement fails, as corrected it holds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import approx_fprime

from rankbench.certificates.laws import Law, why_not_in_class

pytestmark = pytest.mark.lint


def test_theorem_11_of_2010_needs_a_gap_beyond_the_edge_that_is_against() -> None:
    """Its proof takes 2 over 3 below 1 over 3 less 1 over 2, whatever 3 over 1 weighs."""
    one, half = Fraction(1), Fraction(1, 2)

    def law(against: Fraction) -> Law:
        first = {(0, 1): one, (0, 2): Fraction(3, 2)}
        return Law(3, ((half, first), (half, {(1, 2): Fraction(1, 4), (2, 0): against})))

    assert why_not_in_class("low", law(Fraction(7, 5)))
    assert not why_not_in_class("low", law(Fraction(1, 4)))


def test_theorem_12_of_2010_exchanges_two_weights() -> None:
    """An edge 2 over 3 of probability .5 would lead more than 1 over 3 does, of .01."""
    edges, corrected = [(0, 1), (1, 2), (0, 2), (2, 0)], (".25", ".01", ".5", ".24")

    def law(chances: tuple[str, ...]) -> Law:
        return Law(3, tuple((Fraction(p), {edge: Fraction(1)}) for p, edge in zip(chances, edges, strict=True)))

    assert not why_not_in_class("low", law(corrected))
    assert why_not_in_class("low", law((".25", ".5", ".01", ".24")))


def test_the_slope_of_a_falling_convex_function_at_minus_infinity_is_positive() -> None:
    """Proof of Lemma 9 of 2010: minus infinity cannot be, for phi'(0) < 0."""
    for phi in (lambda t: math.exp(-t), lambda t: max(0.0, 1 - t), lambda t: (1 - t) ** 2):
        slopes = [(phi(-t) - phi(0)) / t for t in (1.0, 10.0, 100.0)]
        assert 0 < slopes[0] <= slopes[1] <= slopes[2]


def test_figure_1_is_a_graph_without_cycle_if_1_leads_3() -> None:
    """Nothing is ever preferred the other way on 2 and 3, so that the caption assumes nothing."""
    half = Fraction(1, 2)

    def law(against: int) -> Law:
        return Law(3, ((half, {(0, 1): Fraction(1), (0, 2): Fraction(2)}),
                       (half, {(1, 2): Fraction(1), (2, 0): Fraction(against)})))  # fmt: skip

    assert not why_not_in_class("dag", law(1))
    assert why_not_in_class("dag", law(3))


def test_the_tail_of_query_probabilities() -> None:
    """Section 9.3 of 2013: K_1 q^(-beta - 1) beyond q_0*."""
    for beta, first in ((0.5, 3.0), (1.0, 7.0), (2.0, 20.0)):
        tail = quad(lambda q, beta=beta: q ** (-beta - 1), first, math.inf)[0]
        assert tail == pytest.approx(first**-beta / beta, rel=1e-6)
        assert tail < first**beta / beta / 2


def test_the_difference_of_means_over_subsets() -> None:
    """Proof of Lemma 9 of 2013."""
    for m in range(3, 12):
        for k in range(1, m):
            found = Fraction(m, math.comb(m, k)) - Fraction(m - 1, math.comb(m - 1, k))
            assert found == Fraction(1 - k, math.comb(m - 1, k))


@pytest.mark.parametrize(("c", "step"), [(1.0, 0.5), (3.0, 2.0)])
def test_two_items_and_an_h_with_a_jump(c: float, step: float) -> None:
    """Section 10.2 of 2013: item 1 leads where it is preferred by the smaller weight, and h puts it last."""
    before = 1.0
    gamma = 0.9 * step / (4 * before + 2 * step)
    delta = 0.9 * 4 * gamma / (1 - 2 * gamma) * c
    # As corrected, item 1 is preferred by c; as printed it is preferred by c + delta.
    smaller, larger = (0.5 + gamma) * c, (0.5 - gamma) * (c + delta)
    assert smaller > larger
    assert (0.5 + gamma) * before < (0.5 - gamma) * (before + step)


def test_the_expectation_of_the_risk_of_surrogates_has_the_factor_of_the_risk() -> None:
    """(20) of 2013, for a surrogate of 1: (19) is 1 whatever the counts, so that its expectation is."""
    n, chances = 12, np.array([0.5, 0.3, 0.2])
    rng = np.random.default_rng(0)
    counts = rng.multinomial(n, chances, size=100)
    assert (counts.sum(axis=1) / n == 1).all()
    printed = sum(k * math.comb(n, k) * p**k * (1 - p) ** (n - k) for p in chances for k in range(1, n + 1))
    assert printed == pytest.approx(n)
    assert printed / n == pytest.approx(1)


def test_the_derivative_by_the_better_score_falls_with_the_pair() -> None:
    """Proposition 3 of rank-AD: L(g_i - g_j) has derivative L'(0) by g_i and -L'(0) by g_j where they are level."""

    def loss(g: np.ndarray) -> float:
        return math.log1p(math.exp(-(g[0] - g[1])))

    a, b = approx_fprime(np.zeros(2), loss)
    assert a == pytest.approx(-0.5, abs=1e-6)
    assert b == pytest.approx(0.5, abs=1e-6)


def test_an_exchange_of_two_scores_changes_the_risk_by_five_sums_and_a_term() -> None:
    """Proposition 3 of rank-AD: as printed the sum of k above i stands twice, and that of k below j is over k above i.

    The weight D grows with the distance of the labels, as the proof requires.
    """
    labels, i, j = np.array([0.0, 1.0, 2.5, 3.0, 5.0]), 3, 1

    def loss(t: float) -> float:
        return math.log1p(math.exp(-t))

    def d(high: int, low: int) -> float:
        return float(labels[high] - labels[low])

    def risk(g: np.ndarray) -> float:
        return sum(d(a, b) * loss(g[a] - g[b]) for a in range(5) for b in range(5) if labels[a] > labels[b])

    g = np.array([0.3, 0.9, -0.2, 0.1, 0.6])
    swapped = g.copy()
    swapped[[i, j]] = g[[j, i]]
    above, between, below = [4], [2], [0]

    def over_j(ks: list[int]) -> float:
        return sum((d(k, j) - d(k, i)) * (loss(g[k] - g[i]) - loss(g[k] - g[j])) for k in ks)

    def under_i(ks: list[int]) -> float:
        return sum((d(i, k) - d(j, k)) * (loss(g[j] - g[k]) - loss(g[i] - g[k])) for k in ks)

    middle = sum(d(i, k) * (loss(g[j] - g[k]) - loss(g[i] - g[k])) for k in between)
    middle += sum(d(k, j) * (loss(g[k] - g[i]) - loss(g[k] - g[j])) for k in between)
    rest = middle + d(i, j) * (loss(g[j] - g[i]) - loss(g[i] - g[j]))
    assert risk(swapped) - risk(g) == pytest.approx(rest + over_j(above) + under_i(below))
    assert risk(swapped) - risk(g) != pytest.approx(rest + 2 * over_j(above) + under_i(above), rel=1e-3)


def test_a_point_below_another_pulls_with_the_slope_at_the_other_sign() -> None:
    """Proposition 3 of rank-AD: L(g_k - g_j) has derivative -L'(g_k - g_j) by g_j; B has L'(g_j - g_k)."""
    above, own = 0.7, np.array([0.2])
    (found,) = approx_fprime(own, lambda g: math.log1p(math.exp(-(above - g[0]))))
    right, printed = (-1 / (1 + math.exp(t)) for t in (above - own[0], own[0] - above))
    assert found == pytest.approx(-right, rel=1e-6)
    assert found != pytest.approx(printed, rel=0.1)


def test_mcdiarmid_with_the_differences_of_lemma_2_is_its_exponent_for_twice_the_deviation() -> None:
    """The lemma's proof ends with the exponent of epsilon for deviations of 2 epsilon on a cover."""
    n, radius, eps = 50, 1.5, 0.3
    difference = 2 / n + 4 / n * radius
    at_centers = 2 * eps**2 / (n * difference**2)
    assert at_centers == pytest.approx(eps**2 * n / (2 * (1 + 2 * radius) ** 2))
    assert at_centers > (eps / 2) ** 2 * n / (2 * (1 + 2 * radius) ** 2)
