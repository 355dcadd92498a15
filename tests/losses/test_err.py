import itertools
import math
from typing import ClassVar

import numpy as np
import pytest
from amounts import examples
from compiled_losses import compiled
from hypothesis import given
from hypothesis import strategies as st

from rankbench.losses.positions import ERR, ERRFamily

G = {
    "exp2": lambda s, top: min(max((2.0**s - 1) / 2.0**top, 0.0), 1.0),
    "logistic": lambda s, top: 1 / (1 + math.exp(-s)),
}
F = {"reciprocal": lambda j: j, "log2": lambda j: math.log2(1 + j)}
VARIANTS = [
    ERR(gain=gain, discount=discount, cutoff=cutoff, top=top)
    for gain, discount, (cutoff, top) in itertools.product(G, F, ((math.inf, 4.0), (2.0, 1.0), (4.0, 2.5)))
]


def one_order(chances, f):
    """(16) by its words: the user goes down the list until an item satisfies."""
    return 1 - sum(chances[i] / f(i + 1) * math.prod(1 - chances[j] for j in range(i)) for i in range(len(chances)))


def brute_force(alpha, s, gain, f):
    """(16) averaged over every order that agrees with alpha."""
    m = len(s)
    orders = [o for o in itertools.permutations(range(m)) if all(alpha[o[j]] >= alpha[o[j + 1]] for j in range(m - 1))]
    return np.mean([one_order([gain(s[i]) for i in o], f) for o in orders])


@pytest.mark.parametrize("loss", VARIANTS, ids=str)
def test_equals_the_mean_over_tie_permutations(loss):
    rng = np.random.default_rng(3)
    for levels in (1, 2, 3, 6):
        alpha, s = rng.integers(0, levels, size=6).astype(float), rng.uniform(-1, 5, size=6)
        gain, f = (lambda v: G[loss.gain](v, loss.top)), F[loss.discount]
        expected = brute_force(alpha, s, gain, lambda j, f=f: f(j) if j <= loss.cutoff else math.inf)
        assert loss.value(alpha, s) == pytest.approx(expected, rel=1e-12, abs=1e-14)
        assert compiled(loss, alpha, s) == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("m", [1, 8, 9, 100, 1000])
def test_compiled_at_every_size_and_all_tied(m):
    rng = np.random.default_rng(m)
    s = rng.integers(0, 5, size=m).astype(float)
    for alpha in (np.zeros(m), np.round(rng.normal(size=m), 1), rng.normal(size=m)):
        for loss in (ERR(), ERR(gain="logistic", discount="log2"), ERR(cutoff=7)):
            assert compiled(loss, alpha, s) == pytest.approx(loss.value(alpha, s), rel=1e-10)


def test_a_tie_of_thousands_that_are_worth_nothing():
    """Readers of TREC runs ask what one document costs behind so many."""
    n = 30_000
    found = ERR(discount="log2").value(np.r_[np.ones(n), 0.0], np.r_[np.zeros(n), 4.0])
    assert found == pytest.approx(1 - 15 / 16 / math.log2(n + 2), rel=1e-12)


@given(st.lists(st.lists(st.floats(0, 1), min_size=2, max_size=3), min_size=2, max_size=4), st.sampled_from(list(F)))
@examples(60)
def test_lemma_1_of_independent_scores_the_best_order_is_by_the_mean(values, discount):
    """Items' G are independent and uniform on their values; every joint outcome is judged."""

    class Given(ERRFamily):
        name: ClassVar[str] = "given"

        def gain_of(self, scores):
            return scores

        def discounts_of(self, m):
            return 1 / np.array([F[discount](j) for j in range(1, m + 1)])

    def risk(alpha):
        return np.mean([Given().value(np.array(alpha, float), np.array(s)) for s in itertools.product(*values)])

    risks = {order: risk(order) for order in itertools.permutations(range(len(values)))}
    means = np.array([np.mean(v) for v in values])
    assert risk(means) == pytest.approx(min(risks.values()), abs=1e-12)
    for alpha, own in risks.items():
        for first, second in itertools.pairwise(np.argsort(-np.array(alpha))):  # neighbors on the list
            swapped = list(alpha)
            swapped[first], swapped[second] = alpha[second], alpha[first]
            assert (risks[tuple(swapped)] - own) * np.sign(means[second] - means[first]) <= 1e-12
    assert Given().kernel() is None


def test_unusual_numbers():
    s = np.array([4.0, 0.0, 9000.0, -9000.0])
    alpha = np.array([1.0, 2.0, 0.0, 3.0])
    for loss, first in ((ERR(), 15 / 16), (ERR(gain="logistic"), 1 / (1 + math.exp(-4)))):
        expected = loss.value(alpha, s)
        assert np.isfinite(expected)
        assert compiled(loss, alpha, s) == pytest.approx(expected)
        assert loss.value(np.zeros(1), s[:1]) == pytest.approx(1 - first)
        assert math.isnan(loss.value(np.array([1.0, np.nan, 0.0, 0.0]), s))
        assert math.isnan(compiled(loss, np.array([1.0, np.nan, 0.0, 0.0]), s))
    endless = np.array([-np.inf, np.inf, 0.0, -np.inf])
    assert compiled(ERR(), endless, s) == pytest.approx(ERR().value(np.array([0.0, 2.0, 1.0, 0.0]), s))
    assert ERR().value(alpha, np.zeros(4)) == 1 == compiled(ERR(), alpha, np.zeros(4))
