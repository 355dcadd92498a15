"""Gains of both signs that cancel: a Z(s) that is rounding is 0, in every form of the losses and the surrogate."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from amounts import examples
from compiled_losses import compiled
from hypothesis import given
from hypothesis import strategies as st

from rankbench.losses.evaluate import evaluate_all
from rankbench.losses.positions import NDCG, Precision
from rankbench.surrogates.regression import Regression

LOSSES = [
    Precision(k=3), Precision(k=12), Precision(k=40),
    NDCG(gain="identity", discount="reciprocal"), NDCG(gain="identity", discount="reciprocal", cutoff=3),
]  # fmt: skip


def exact(loss: Precision | NDCG, order: list[int], scores: list[int]) -> Fraction:
    """(14) in rational numbers, of an order without ties."""
    cutoff = loss.k if isinstance(loss, Precision) else loss.cutoff
    places = range(1, len(scores) + 1)
    table = [Fraction(0) if j > cutoff else Fraction(1, 1 if isinstance(loss, Precision) else j) for j in places]
    best = sum((Fraction(s) * d for s, d in zip(sorted(scores, reverse=True), table, strict=True)), Fraction(0))
    gained = sum((Fraction(scores[i]) * d for i, d in zip(order, table, strict=True)), Fraction(0))
    return 1 - gained / best if best > 0 else Fraction(0)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@given(
    st.lists(st.integers(-9, 9), min_size=1, max_size=12),
    st.booleans(),
    st.sampled_from([0.1, 1 / 3, 1e-7, 1e300]),
    st.randoms(),
)
@examples(60)
def test_equals_rational_numbers(loss, scores, centred, unit, random) -> None:
    """Scores are whole numbers times a unit, so that the sum of centred ones is 0 but for rounding."""
    if centred:
        scores[-1] -= sum(scores)
    order = random.sample(range(len(scores)), len(scores))
    alpha, s = np.empty(len(scores)), np.array(scores) * unit
    alpha[order] = np.arange(len(scores), 0, -1)
    expected = float(exact(loss, order, scores))
    together = evaluate_all([loss], alpha[None], s, np.array([0, len(s)]))[0, 0, 0]
    found = [loss.value(alpha, s), compiled(loss, alpha, s), together]
    assert found == pytest.approx([expected] * 3, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("m", [1000, 50_000])
@pytest.mark.parametrize("loss", [Precision(k=60_000), NDCG(gain="identity", discount="reciprocal")], ids=str)
def test_of_many_items(loss, m) -> None:
    """Rounding of a sum grows with the number of items."""
    rng = np.random.default_rng(m)
    whole = rng.integers(-1000, 1000, m)
    whole[0] -= whole.sum()
    order = rng.permutation(m)
    alpha, s = np.empty(m), whole * 0.1
    alpha[order] = np.arange(m, 0, -1)
    found = [loss.value(alpha, s), compiled(loss, alpha, s)]
    if isinstance(loss, Precision):
        assert found == [0.0, 0.0]
    else:
        places = np.arange(1, m + 1)
        best, gained = math.fsum(np.sort(s)[::-1] / places), math.fsum(s[order] / places)
        assert found == pytest.approx([1 - gained / best] * 2, rel=1e-11)


def test_the_surrogate_has_nothing_to_normalize_where_the_loss_has_not() -> None:
    """A cutoff of 1 in [DMJ13]_ (28) divides by the best score, which is not 0."""
    s = np.array([0.1, 0.2, -0.3])
    assert Precision(k=3).value(np.array([1.0, 2.0, 3.0]), s) == 0
    assert Regression(gain="identity", cutoff=1).target(s) == pytest.approx(s / 0.2 * math.log(2))
