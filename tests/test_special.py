"""The special functions are SciPy's own."""

from __future__ import annotations

import scipy.special

from rankbench import special


def test_they_are_those_of_scipy_special():
    for name in special.__all__:
        assert getattr(special, name) is getattr(scipy.special, name), name
