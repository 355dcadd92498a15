"""Compiled least squares (28)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.signatures import GRADIENT

__all__ = ["value_and_gradient"]


@declared(GRADIENT)
def value_and_gradient(
    alpha: NDArray[np.float64],
    target: NDArray[np.float64],
    params: NDArray[np.float64],
    gradient: NDArray[np.float64],
) -> float:
    """Return ``|alpha - target|^2 / (2 m)`` and write its gradient."""
    m = alpha.shape[0]
    unit = 1.0 / m
    # Four partial sums: one alone would wait for its own addition every time.
    a = b = c = d = 0.0
    fours = m - m % 4
    for i in range(0, fours, 4):
        r0, r1 = alpha[i] - target[i], alpha[i + 1] - target[i + 1]
        r2, r3 = alpha[i + 2] - target[i + 2], alpha[i + 3] - target[i + 3]
        gradient[i], gradient[i + 1] = r0 * unit, r1 * unit
        gradient[i + 2], gradient[i + 3] = r2 * unit, r3 * unit
        a += r0 * r0
        b += r1 * r1
        c += r2 * r2
        d += r3 * r3
    for i in range(fours, m):
        r = alpha[i] - target[i]
        gradient[i] = r * unit
        a += r * r
    return float(0.5 * unit * ((a + b) + (c + d)))
