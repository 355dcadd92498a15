"""Gains, discounts and probabilities to satisfy: what is compiled and what is not are one formula."""

import math

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.core.gains import DISCOUNTS, GAINS, SATISFACTIONS, discounts, gains, satisfaction
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
