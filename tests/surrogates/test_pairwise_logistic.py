import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankbench.surrogates.pairwise import PairwiseLogistic

SURROGATE = PairwiseLogistic()
margins = st.floats(-700, 700)


def test_phi_is_the_logarithm_of_one_plus_exp():
    for t in (-30.0, -1.0, 0.0, 0.5, 4.0, 30.0):
        assert SURROGATE.phi(np.array(t)) == pytest.approx(math.log(1 + math.exp(-t)), rel=1e-12)


def test_far_margins_neither_overflow_nor_vanish():
    t = np.array([-1e4, 1e4, 700.0, -700.0])
    with np.errstate(all="raise", under="ignore"):
        np.testing.assert_allclose(SURROGATE.phi(t), [1e4, 0.0, math.exp(-700), 700.0])
        np.testing.assert_allclose(SURROGATE.dphi(t), [-1.0, 0.0, -math.exp(-700), -1.0])
        np.testing.assert_allclose(SURROGATE.ddphi(t), [0.0, 0.0, math.exp(-700), math.exp(-700)])


@given(st.floats(-30, 30))
@settings(deadline=None)
def test_derivatives_by_finite_differences(t):
    step = 1e-5
    at = np.array([t - step, t, t + step])
    phi, dphi = SURROGATE.phi(at), SURROGATE.dphi(at)
    assert dphi[1] == pytest.approx((phi[2] - phi[0]) / (2 * step), abs=1e-8)
    assert SURROGATE.ddphi(at)[1] == pytest.approx((dphi[2] - dphi[0]) / (2 * step), abs=1e-8)


@given(margins, margins, st.floats(0, 1))
@settings(deadline=None)
def test_convex_on_chords(a, b, share):
    ends = SURROGATE.phi(np.array([a, b]))
    middle = float(SURROGATE.phi(np.array(share * a + (1 - share) * b)))
    assert middle <= (share * ends[0] + (1 - share) * ends[1]) * (1 + 1e-12) + 1e-12


@given(st.lists(margins, max_size=40))
@settings(deadline=None)
def test_compiled_equals_numpy(t):
    t = np.array(t, dtype=np.float64)
    forms = (SURROGATE.phi, SURROGATE.dphi, SURROGATE.ddphi)
    for form, kernel in zip(forms, SURROGATE.phi_kernels(), strict=True):
        out = np.full(len(t), np.nan)
        kernel.function(t, kernel.params, out)
        np.testing.assert_allclose(out, form(t), rtol=1e-13, atol=1e-300)
