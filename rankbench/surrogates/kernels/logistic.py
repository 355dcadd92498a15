"""Compiled phi(t) = log(1 + e^-t) and its derivatives; no exponential can overflow."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rankbench.kernels import PHI

__all__ = ["ddphi", "dphi", "phi"]


@njit(PHI, cache=True, nogil=True)
def phi(margin: float, params: NDArray[np.float64]) -> float:
    """Return ``log(1 + e^-t)``."""
    return max(-margin, 0.0) + math.log1p(math.exp(-abs(margin)))


@njit(PHI, cache=True, nogil=True)
def dphi(margin: float, params: NDArray[np.float64]) -> float:
    """Return ``-1 / (1 + e^t)``."""
    e = math.exp(-abs(margin))
    return -(e if margin > 0.0 else 1.0) / (1.0 + e)


@njit(PHI, cache=True, nogil=True)
def ddphi(margin: float, params: NDArray[np.float64]) -> float:
    """Return ``e^t / (1 + e^t)^2``."""
    e = math.exp(-abs(margin))
    return e / ((1.0 + e) * (1.0 + e))
