"""Remarks of [DMJ10] section 3: the regularizer is needed, scores give low noise, order-preserving spaces do not."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankbench.certificates.conditions import coercive
from rankbench.certificates.laws import Law, leads, why_not_in_class
from rankbench.certificates.true_risk import orders_of, true_loss
from rankbench.interfaces.exact import ExactSurrogate, PhiTerm
from rankbench.losses.pairwise_disagreement import PairwiseDisagreement
from rankbench.surrogates.pairwise import Linear

LOSS = true_loss(PairwiseDisagreement(), 3)


def test_without_r_wrong_scores_send_the_linear_loss_to_minus_infinity() -> None:
    """(14) with nu = 0 in low noise: the direction of 1 over 3 over 2 gains without end."""
    mean = {(0, 1): Fraction(1), (1, 2): Fraction(1), (0, 2): Fraction(3)}
    law = Law(3, ((Fraction(1), mean),))
    assert not why_not_in_class("low", law)
    right, _ = orders_of(LOSS, law)
    assert right == [(0, 1, 2)]
    net = [Fraction(4), Fraction(0), Fraction(-4)]
    wrong = [Fraction(2), Fraction(0), Fraction(1)]
    values = [sum(w * t * (wrong[j] - wrong[i]) for (i, j), w in mean.items()) for t in (1, 10, 100)]
    assert values == [-4 * t for t in (1, 10, 100)]
    without = ExactSurrogate((), tuple(-b for b in net), Fraction(0))
    assert not coercive(without)
    # With r(a) = a^2 / 2 it is bounded, and its minimizer is the net weights.
    exact = Linear().exact(tuple(net))
    assert exact is not None
    squares = [term for term in exact.terms if isinstance(term, PhiTerm)]
    assert len(squares) == 3
    assert coercive(exact)


@given(st.lists(st.tuples(st.integers(1, 5), st.tuples(*[st.integers(0, 9)] * 4)), min_size=1, max_size=4))
def test_graphs_of_score_differences_are_low_noise(scored: list[tuple[int, tuple[int, ...]]]) -> None:
    """Cossock and Zhang: leads are differences of mean scores, which add up along paths."""
    total = sum(weight for weight, _ in scored)
    pairs = list(permutations(range(4), 2))
    support = tuple(
        (Fraction(weight, total), {(i, j): Fraction(y[i] - y[j]) for i, j in pairs if y[i] > y[j]})
        for weight, y in scored
    )
    law = Law(4, support)
    assert not why_not_in_class("low", law)
    lead = leads(law.mean, 4)
    for i, j, k in permutations(range(4), 3):
        assert lead[i, k] == lead[i, j] + lead[j, k]


def order_graph(order: tuple[int, ...], second: Fraction) -> dict[tuple[int, int], Fraction]:
    """Return an ordering of three items as a graph: weight 1 of neighbors, `second` of the ends."""
    return {edge: Fraction(1) for edge in pairwise(order)} | {(order[0], order[2]): second}


@pytest.mark.parametrize("percent", [51, 60, 66, 67, 70, 90])
def test_two_orderings_are_low_noise_for_some_weight_only_beyond_two_thirds(percent: int) -> None:
    """Section 3.1, as corrected: 1, 2, 3 with probability p, and 2, 3, 1; w_2 in [2, p / (1 - p))."""
    p, found = Fraction(percent, 100), []
    for tenths in range(201):
        second = Fraction(tenths, 10)
        law = Law(3, ((p, order_graph((0, 1, 2), second)), (1 - p, order_graph((1, 2, 0), second))))
        if not why_not_in_class("low", law) and orders_of(LOSS, law)[0] == [(0, 1, 2)]:
            found.append(second)
    assert bool(found) == (p > Fraction(2, 3))
    assert all(2 <= second < p / (1 - p) for second in found)
    assert np.all(np.diff([float(second) for second in found]) < 0.11)
