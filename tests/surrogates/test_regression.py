import itertools
import math

import numpy as np
import pytest

import rankbench
from rankbench.surrogates.regression import Regression

VARIANTS = [
    Regression(gain=gain, discount=discount, cutoff=cutoff)
    for gain, discount, cutoff in itertools.product(
        ("exp2", "identity", "exp"), ("log", "log2", "reciprocal"), (math.inf, 3.0)
    )
]
GAINS = {"exp2": lambda s: 2.0**s - 1, "identity": lambda s: s, "exp": math.exp}
DISCOUNTS = {"log": lambda j: math.log(1 + j), "log2": lambda j: math.log2(1 + j), "reciprocal": lambda j: j}


def naive_target(surrogate, s):
    """(28) by its words: the maximum over all orderings by enumeration."""
    g = [GAINS[surrogate.gain](v) for v in s]
    f = [DISCOUNTS[surrogate.discount](j) if j <= surrogate.cutoff else math.inf for j in range(1, len(s) + 1)]
    z = max(sum(a / b for a, b in zip(order, f, strict=True)) for order in itertools.permutations(g))
    return np.array([v / z for v in g]) if z > 0 and any(s) else np.zeros(len(s))


def compiled_target(surrogate, s):
    kernel = surrogate.target_kernel()
    work, target = np.zeros(kernel.work(len(s))), np.full(len(s), np.nan)
    kernel.function(s, kernel.params, work, target)
    assert not work.any(), "work must hold zeros on return"
    return target


@pytest.mark.parametrize("surrogate", VARIANTS, ids=str)
def test_target_is_the_gain_over_the_best_ordering(surrogate):
    rng = np.random.default_rng(7)
    silent = ([0.0, 0.0, 0.0], [0.0], [-1.0, -2.0, -0.5])
    for s in ([1.0, -0.5, 0.0, 0.0, 2.0, -0.25], [0.0, 3.0], [-1.0, -2.0, 0.5], *silent, *rng.normal(size=(5, 5))):
        s = np.array(s)
        for found in (surrogate.target(s), compiled_target(surrogate, s)):
            np.testing.assert_allclose(found, naive_target(surrogate, s), rtol=1e-12, atol=1e-15)
        alpha, off = np.arange(len(s)) / 3, np.arange(len(s)) / 3 - naive_target(surrogate, s)
        value, gradient = surrogate.value_and_gradient(alpha, surrogate.target(s))
        assert value == pytest.approx(off @ off / (2 * len(s)))  # (28)
        assert gradient == pytest.approx(off / len(s))


@pytest.mark.parametrize("m", [1, 7, 8, 9, 16, 63, 64, 65, 100, 129, 1000, 5000])
@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_compiled_target_at_every_size(m, share):
    rng = np.random.default_rng(m)
    s = np.where(rng.random(m) < share, rng.normal(size=m), 0.0)
    for surrogate in VARIANTS:
        np.testing.assert_allclose(compiled_target(surrogate, s), surrogate.target(s), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("m", [3, 7, 8])
@pytest.mark.parametrize("name", ["regression", "listnet", "cross-entropy", "linear", "linear-power"])
def test_compiled_forms_give_what_numpy_does(name, m):
    surrogate, rng = rankbench.get(rankbench.Surrogate, name), np.random.default_rng(m)
    scores, alpha, gradient = np.abs(rng.normal(size=m)), rng.normal(size=m), np.full(m, np.nan)
    target, kernel = surrogate.target(scores), surrogate.gradient_kernel()
    np.testing.assert_allclose(compiled_target(surrogate, scores), target)
    value = kernel.function(alpha, target, kernel.params, gradient)
    expected, slope = surrogate.value_and_gradient(alpha, target)
    assert value == pytest.approx(expected)
    np.testing.assert_allclose(gradient, slope)


def test_huge_scores_do_not_overflow():
    s = np.array([4000.0, 3999.0, 0.0, -4000.0])
    weight = 1 / np.log([2.0, 3.0])
    expected = np.array([1.0, 0.5, 0.0, 0.0]) / (weight[0] + weight[1] / 2)
    np.testing.assert_allclose(Regression().target(s), expected, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(compiled_target(Regression(), s), expected, rtol=1e-12, atol=1e-300)
    huge = np.array([1e308, 1.5e308, 1e308])
    expected = Regression(gain="identity").target(huge / 1e300)
    np.testing.assert_allclose(Regression(gain="identity").target(huge), expected, rtol=1e-12)
    np.testing.assert_allclose(compiled_target(Regression(gain="identity"), huge), expected, rtol=1e-12)
