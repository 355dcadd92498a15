"""The linear model is the identity on features."""

from __future__ import annotations

import numpy as np

from rankbench.methods.models import LinearModel


def test_features_are_the_coordinates():
    x = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    mapped = LinearModel().features(x)
    assert mapped.dtype == np.float32
    np.testing.assert_array_equal(mapped, x)
    assert np.shares_memory(mapped, x)  # a copy of a large feature table would double the memory
