"""Compiled phi(t) = max(0, 1 - t)^2 and its derivatives."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rankbench.kernels.signatures import PHI

__all__ = ["ddphi", "dphi", "phi"]


@njit(PHI, cache=True, nogil=True)
def phi(margins: NDArray[np.float64], params: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Write ``max(0, 1 - t)^2``."""
    for i in range(margins.shape[0]):
        out[i] = max(1.0 - margins[i], 0.0) ** 2


@njit(PHI, cache=True, nogil=True)
def dphi(margins: NDArray[np.float64], params: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Write ``-2 max(0, 1 - t)``."""
    for i in range(margins.shape[0]):
        out[i] = -2.0 * max(1.0 - margins[i], 0.0)


@njit(PHI, cache=True, nogil=True)
def ddphi(margins: NDArray[np.float64], params: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Write 2 where t < 1, else 0."""
    for i in range(margins.shape[0]):
        out[i] = 2.0 if margins[i] < 1.0 else 0.0
