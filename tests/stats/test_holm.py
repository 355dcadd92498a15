"""Holm's correction by hand, and between its bounds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankbench.stats.multiple_tests import holm


def test_holm_by_hand() -> None:
    p = np.array([0.01, np.nan, 0.04, 0.03, 0.005])
    np.testing.assert_allclose(holm(p), [0.03, np.nan, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm(np.array([0.6, 0.7])), [1, 1])
    assert np.isnan(holm(np.array([np.nan]))).all()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_between_p_and_bonferroni(values: list[float]) -> None:
    p = np.array(values)
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert (adjusted <= np.minimum(p * len(p), 1) + 1e-12).all()
