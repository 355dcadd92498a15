"""Compiled phi(t) = e^-t and its derivatives."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rankbench.kernels.signatures import PHI

__all__ = ["ddphi", "dphi", "phi"]


@njit(PHI, cache=True, nogil=True)
def phi(margins: NDArray[np.float64], params: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Write ``e^-t``."""
    for i in range(margins.shape[0]):
        out[i] = math.exp(-margins[i])


@njit(PHI, cache=True, nogil=True)
def dphi(margins: NDArray[np.float64], params: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Write ``-e^-t``."""
    for i in range(margins.shape[0]):
        out[i] = -math.exp(-margins[i])


@njit(PHI, cache=True, nogil=True)
def ddphi(margins: NDArray[np.float64], params: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Write ``e^-t``."""
    for i in range(margins.shape[0]):
        out[i] = math.exp(-margins[i])
