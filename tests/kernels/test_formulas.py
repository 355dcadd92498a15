import math
from typing import ClassVar

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.core.gains import DISCOUNTS, GAINS, SATISFACTIONS, discounts, gains, satisfaction
from rankbench.kernels.declared import elementwise, looped
from rankbench.kernels.gains import (
    DISCOUNT_CODES,
    GAIN_CODES,
    SATISFACTION_CODES,
    TABLE,
    discount,
    gain_at,
    gain_params,
    satisfied,
)
from rankbench.kernels.signatures import GRADIENT
from rankbench.plugin.component_description import has_compiled_form
from rankbench.surrogates.kernels import order_preserving as value_and_gradient
from rankbench.surrogates.pairwise import PairwiseFormula
from rankbench.surrogates.phi import PhiFormula


def huber(t):
    return np.where(t < 0, 0.5 - t, 0.5 * np.square(np.maximum(1 - t, 0.0)))


def smoothed(t):
    """The hinge rounded off between 0 and 1, without a choice."""
    return 0.5 * np.square(np.maximum(1.0 - np.maximum(t, 0.0), 0.0)) + np.maximum(-t, 0.0)


def smoothed_slope(t):
    return -np.maximum(1.0 - np.maximum(t, 0.0), 0.0) * (t > 0) - (t <= 0)


class Smoothed(PairwiseFormula):
    """The smoothed hinge: nothing but its formula."""

    name: ClassVar[str] = "pairwise-smoothed"
    source: ClassVar[str] = "test"
    properties: ClassVar[frozenset[str]] = frozenset({"convex", "shift-invariant", "equivariant"})
    formula: ClassVar[PhiFormula] = PhiFormula(smoothed, smoothed_slope)


class Another(Smoothed):
    """A phi of its own, of which the inherited formula says nothing."""

    name: ClassVar[str] = "pairwise-another"

    def phi(self, margin):
        return 2 * np.square(margin)


@given(st.lists(st.floats(-50, 50), max_size=30))
@examples(30)
def test_a_formula_alone_gives_both_forms(margins):
    t, it = np.array(margins, dtype=np.float64), Smoothed()
    np.testing.assert_allclose(it.phi(t), huber(t), rtol=1e-14)
    assert has_compiled_form(Smoothed)
    for kernel, form in zip(it.phi_kernels(), (it.phi, it.dphi, None), strict=True):
        if form is None:
            assert kernel is None
            continue
        out = np.full(len(t), np.nan)
        kernel.function(t, kernel.params, out)
        np.testing.assert_allclose(out, form(t), rtol=1e-15)
    with pytest.raises(TypeError, match="not twice differentiable"):
        it.ddphi(t)


def test_a_phi_of_ones_own_must_have_a_compiled_form_of_its_own():
    assert "it defines phi anew, and inherits phi_kernels of" in Another.defect()


def test_a_formula_must_be_declared():
    class Nothing(PairwiseFormula):
        """Without."""

        name: ClassVar[str] = "pairwise-nothing"
        source: ClassVar[str] = "test"

    assert Nothing.defect() == "it declares no formula, a PhiFormula"
    assert Smoothed.defect() == ""


def test_a_formula_is_compiled_once():
    assert elementwise(smoothed) is elementwise(smoothed)
    assert elementwise(smoothed) is not elementwise(smoothed_slope)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.data())
@examples(30)
def test_value_and_gradient_of_a_sum_over_pairs_are_made_of_phi_and_dphi(alpha, data):
    m = len(alpha)
    weights = data.draw(st.lists(st.sampled_from([0.0, 0.5, 3.0]), min_size=m, max_size=m))
    kernel, gradient = value_and_gradient(Smoothed.formula), np.full(m, np.nan)
    value = kernel(np.array(alpha), np.array(weights), np.zeros(0), gradient)
    pairs = [(j, i) for j in range(m) for i in range(m)]
    assert value == pytest.approx(math.fsum(weights[j] * float(huber(alpha[j] - alpha[i])) for j, i in pairs))
    slopes = np.zeros(m)
    for j, i in pairs:
        slope = weights[j] * float(smoothed_slope(np.array(alpha[j] - alpha[i])))
        slopes[j] += slope
        slopes[i] -= slope
    np.testing.assert_allclose(gradient, slopes, rtol=1e-12, atol=1e-12)


def test_loops_of_two_formulas_are_two_functions():
    def loop(alpha, target, params, gradient):
        return phi(alpha[0])  # noqa: F821

    one, two = (looped(loop, GRADIENT, phi=formula) for formula in (smoothed, smoothed_slope))
    at, none = np.array([-2.0]), np.zeros(0)
    assert (one(at, none, none, none), two(at, none, none, none)) == (2.5, -1.0)


GAIN = {"exp2": lambda s: 2.0**s - 1, "identity": lambda s: s, "exp": math.exp}
DISCOUNT = {"log": lambda j: 1 / math.log(1 + j), "log2": lambda j: 1 / math.log2(1 + j), "reciprocal": lambda j: 1 / j}
SATISFIED = {
    "exp2": lambda s: min(max((2.0 ** min(s, 5.0) - 1) / 2.0**4, 0.0), 1.0),
    "logistic": lambda s: 1 / (1 + math.exp(-s)),
}
grades = st.one_of(st.integers(-20, 20).map(float), st.floats(-20, 20))


def test_every_formula_has_a_name_and_a_code():
    assert GAINS.keys() == GAIN.keys() == GAIN_CODES.keys()
    assert DISCOUNTS.keys() == DISCOUNT.keys() == DISCOUNT_CODES.keys()
    assert SATISFACTIONS.keys() == SATISFIED.keys() == SATISFACTION_CODES.keys()


@pytest.mark.parametrize("name", GAIN)
@given(grades)
@examples(60)
def test_gains(name, grade):
    plain = gains(name, np.array([grade]), scaled=False)[0]
    assert plain == pytest.approx(GAIN[name](grade), rel=1e-14, abs=1e-15)
    assert gain_at(grade, 0.0, 1.0, GAIN_CODES[name]) == pytest.approx(plain, rel=1e-15, abs=1e-15)


@pytest.mark.parametrize("name", GAIN)
def test_gains_that_would_overflow_are_all_shifted_alike(name):
    scores = np.array([2000.0, 1999.0, 1500.0]) if name != "identity" else np.array([1.6e308, 0.8e308, 1e300])
    shifted = gains(name, scores)
    assert np.isfinite(shifted.sum())
    wanted = {"exp2": 2.0, "exp": math.e, "identity": 2.0}[name]
    assert shifted[0] / shifted[1] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("name", DISCOUNT)
def test_discounts_of_the_table_and_beyond_it(name):
    params = gain_params("identity", name)
    for position in (0, 1, 9, TABLE - 1, TABLE, 10 * TABLE):
        expected = pytest.approx(DISCOUNT[name](position + 1), rel=1e-14)
        assert discount(params, position) == expected
        assert discounts(name, position + 1)[-1] == expected
    assert discount(gain_params("identity", name, 3), 3) == 0.0


@pytest.mark.parametrize("name", SATISFIED)
@given(grades)
@examples(60)
def test_probabilities_to_satisfy(name, grade):
    plain = satisfaction(name, np.array([grade]), 4.0)[0]
    assert plain == pytest.approx(SATISFIED[name](grade), rel=1e-13, abs=1e-16)
    assert satisfied(grade, float(SATISFACTION_CODES[name]), 4.0) == pytest.approx(plain, rel=1e-15, abs=1e-16)
