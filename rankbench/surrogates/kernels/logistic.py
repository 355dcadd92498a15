"""Compiled phi(t) = log(1 + e^-t) and its derivatives; no exponential can overflow."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rankbench.kernels.signatures import PHI

__all__ = ["ddphi", "dphi", "phi"]


@njit(PHI, cache=True, nogil=True)
def phi(margins: NDArray[np.float64], params: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Write ``log(1 + e^-t)``."""
    for i in range(margins.shape[0]):
        out[i] = max(-margins[i], 0.0) + math.log1p(math.exp(-abs(margins[i])))


@njit(PHI, cache=True, nogil=True)
def dphi(margins: NDArray[np.float64], params: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Write ``-1 / (1 + e^t)``."""
    for i in range(margins.shape[0]):
        e = math.exp(-abs(margins[i]))
        out[i] = -(e if margins[i] > 0.0 else 1.0) / (1.0 + e)


@njit(PHI, cache=True, nogil=True)
def ddphi(margins: NDArray[np.float64], params: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Write ``e^t / (1 + e^t)^2``."""
    for i in range(margins.shape[0]):
        e = math.exp(-abs(margins[i]))
        out[i] = e / ((1.0 + e) * (1.0 + e))
