import math

import numpy as np
import pytest
from amounts import examples
from compiled_losses import compiled
from hypothesis import given
from hypothesis import strategies as st

from rankbench.losses.pairwise_disagreement import PairwiseDisagreement


def by_the_formula(alpha, y):
    m = len(alpha)
    first = sum(y[i, j] * (alpha[i] <= alpha[j]) for i in range(m) for j in range(m) if i < j)
    return first + sum(y[i, j] * (alpha[i] < alpha[j]) for i in range(m) for j in range(m) if i > j)


@given(st.integers(1, 20), st.integers(0, 2**32 - 1))
@examples(60)
def test_equals_the_formula(m, seed):
    rng = np.random.default_rng(seed)
    alpha = rng.integers(0, 5, size=m).astype(float)
    y = rng.random((m, m)) * (rng.random((m, m)) < 0.5)
    expected = by_the_formula(alpha, y)
    off = y.sum() - np.trace(y)
    for loss, value in (
        (PairwiseDisagreement(), expected),
        (PairwiseDisagreement(normalize=True), expected / off if off else 0.0),
    ):
        assert loss.value(alpha, y) == pytest.approx(value, rel=1e-12, abs=1e-15)
        assert compiled(loss, alpha, y) == pytest.approx(value, rel=1e-12, abs=1e-15)
        assert loss.bounds()[0] <= value <= loss.bounds()[1] + 1e-12


def test_no_preferences_and_nan():
    for normalize in (False, True):
        loss = PairwiseDisagreement(normalize=normalize)
        assert loss.value(np.ones(3), np.zeros((3, 3))) == 0 == compiled(loss, np.ones(3), np.zeros((3, 3)))
        assert math.isnan(loss.value(np.array([1.0, np.nan]), np.ones((2, 2))))
        assert math.isnan(compiled(loss, np.array([1.0, np.nan]), np.ones((2, 2))))
