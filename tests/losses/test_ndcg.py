"""NDCG and precision: tie permutations, scikit-learn, compiled equal to plain, subclasses."""

from __future__ import annotations

import itertools
import math
from typing import ClassVar

import numpy as np
import pytest
from amounts import examples
from compiled_losses import compiled
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from rankbench.losses.positions import NDCG, NDCGFamily, Precision

GAINS = {"exp2": lambda s: 2.0**s - 1, "identity": lambda s: s, "exp": math.exp}
DISCOUNTS = {"log": lambda j: math.log(1 + j), "log2": lambda j: math.log2(1 + j), "reciprocal": lambda j: j}
VARIANTS = [
    NDCG(gain=gain, discount=discount, cutoff=cutoff)
    for gain, discount, cutoff in itertools.product(
        ("exp2", "identity", "exp"), ("log", "log2", "reciprocal"), (math.inf, 2.0)
    )
]


def brute_force(alpha, s, gain, discount, cutoff):
    """(14) averaged over every way to break the ties of alpha, Z by enumeration."""
    m = len(s)
    f = [discount(j) if j <= cutoff else math.inf for j in range(1, m + 1)]

    def total(order):
        return sum(gain(s[i]) / f[j] for j, i in enumerate(order))

    orders = list(itertools.permutations(range(m)))
    z = max(map(total, orders))
    agreeing = [o for o in orders if all(alpha[o[j]] >= alpha[o[j + 1]] for j in range(m - 1))]
    return 1 - np.mean([total(o) for o in agreeing]) / z


@pytest.mark.parametrize("loss", VARIANTS, ids=str)
def test_equals_the_mean_over_tie_permutations(loss):
    rng = np.random.default_rng(3)
    for _ in range(6):
        alpha, s = rng.integers(0, 3, size=5).astype(float), np.append(rng.normal(size=4), 3.0)
        expected = brute_force(alpha, s, GAINS[loss.gain], DISCOUNTS[loss.discount], loss.cutoff)
        assert loss.value(alpha, s) == pytest.approx(expected, rel=1e-10, abs=1e-12)
        assert compiled(loss, alpha, s) == pytest.approx(expected, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("cutoff", [1, 3, 10, 100])
def test_equals_scikit_learn(cutoff):
    rng = np.random.default_rng(cutoff)
    for m in (2, 10, 60):
        r = rng.integers(0, 5, size=m).astype(float)
        r[0] = 1.0
        alpha = np.round(rng.normal(size=m), 1)
        ours = NDCG(discount="log2", cutoff=cutoff)
        theirs = ndcg_score([2**r - 1], [alpha], k=cutoff, ignore_ties=False)
        assert 1 - ours.value(alpha, r) == pytest.approx(theirs, rel=1e-12)
        assert 1 - compiled(ours, alpha, r) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("m", [1, 8, 9, 64, 65, 100, 333, 5000])
def test_compiled_at_every_size(m):
    rng = np.random.default_rng(m)
    alpha, s = np.round(rng.normal(size=m), 2), rng.normal(size=m)
    for loss in (*VARIANTS, Precision(k=7)):
        assert compiled(loss, alpha, s) == pytest.approx(loss.value(alpha, s), rel=1e-9, abs=1e-11)


def test_centred_scores_can_cost_more_than_one():
    s = np.array([0.2, -0.1, -0.1])
    assert NDCG(gain="identity").value(-s, s) > 1
    assert NDCG(gain="identity").bounds() == (0.0, math.inf)
    assert NDCG(gain="exp").bounds() == (0.0, 1.0)


@pytest.mark.parametrize("loss", [NDCG(), NDCG(gain="identity"), NDCG(gain="exp"), Precision()], ids=str)
def test_nothing_to_gain_is_loss_zero(loss):
    alpha = np.array([3.0, 1.0, 2.0])
    assert loss.value(alpha, np.zeros(3)) == 0 == compiled(loss, alpha, np.zeros(3))
    if loss.bounds()[1] > 1:
        s = np.array([-1.0, -2.0, -0.5])
        assert loss.value(alpha, s) == 0 == compiled(loss, alpha, s)


def test_unusual_numbers():
    s = np.array([3.0, 1.0, 0.0])
    assert math.isnan(NDCG().value(np.array([1.0, np.nan, 0.0]), s))
    assert math.isnan(compiled(NDCG(), np.array([1.0, np.nan, 0.0]), s))
    endless = np.array([-np.inf, np.inf, -np.inf])
    assert compiled(NDCG(), endless, s) == pytest.approx(NDCG().value(np.array([0.0, 1.0, 0.0]), s))
    assert NDCG().value(endless, s) == pytest.approx(NDCG().value(np.array([0.0, 1.0, 0.0]), s))
    assert compiled(NDCG(), -s, 2000 * s) == pytest.approx(1 - math.log(2) / math.log(4))


def test_any_gain_and_discount_by_subclassing():
    class Own(NDCGFamily):
        name: ClassVar[str] = "own"

        def gain_of(self, scores):
            return scores**3

        def discounts_of(self, m):
            return 1 / np.sqrt(np.arange(1, m + 1))

    alpha, s = np.array([1.0, 1.0, 0.0, 2.0]), np.array([1.0, 0.0, 2.0, 0.5])
    expected = brute_force(alpha, s, lambda v: v**3, math.sqrt, math.inf)
    assert Own().value(alpha, s) == pytest.approx(expected)
    assert Own().kernel() is None


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=30), st.integers(1, 12), st.integers(0, 2**32 - 1))
@examples(60)
def test_binary_labels_count_the_relevant_items_at_the_top(labels, k, seed):
    s = np.array(labels)
    alpha = np.random.default_rng(seed).permutation(len(s)).astype(float)
    hits = sum(s[i] for i in sorted(range(len(s)), key=lambda i: -alpha[i])[:k])
    possible = min(k, int(s.sum()))
    expected = 1 - hits / possible if possible else 0.0
    assert Precision(k=k).value(alpha, s) == pytest.approx(expected)
    assert compiled(Precision(k=k), alpha, s) == pytest.approx(expected)


def test_ties_share_the_places_that_are_left():
    # Three items tie for the second of two places; one of the three is relevant.
    alpha, s = np.array([5.0, 1.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.0, 0.0])
    assert Precision(k=2).value(alpha, s) == pytest.approx(1 - (1 + 1 / 3) / 2)
